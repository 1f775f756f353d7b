"""Algorithm 2 for a batch of commands: act, step, and let each command shrink by what was obtained."""

from collections.abc import Callable, Sequence
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from udrl.actions import Distribution
from udrl.behavior import BehaviorFunction, split
from udrl.command import Command
from udrl.environments import Environments
from udrl.episode import Episode
from udrl.randomness import Purpose, generator

Act = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""(observations [B, *o], commands [B, 2], noise [B, k]) -> actions [B, k]"""

SEED_RANGES: dict[str, tuple[int, int]] = {
    "training": (1_000_000, 10_000_000),
    "tuning": (500_000, 1_000_000),
    "final": (1, 500_000),
}
"""The paper's half-open ranges of environment seeds (Appendix "Benchmarking Setup")."""

NOISE_STEPS = 128
"""Steps of noise that an episode draws at a time."""


class Actor:
    """The one way of acting, compiled for a batch, for behavior functions that differ in their parameters only."""

    def __init__(self, behavior: BehaviorFunction) -> None:
        parameters, rest = split(behavior)
        structure = jax.tree.structure(parameters)

        def compiled(how: Literal["sample", "mode"]) -> Callable[..., jax.Array]:
            # A flat list: taking modules apart in Python at every call would cost as much as the network does.
            def act(leaves: list[jax.Array], *inputs: jax.Array) -> jax.Array:
                one: BehaviorFunction = eqx.combine(jax.tree.unflatten(structure, leaves), rest)
                return jax.vmap(getattr(one, how))(*map(jnp.asarray, inputs))

            return jax.jit(act)

        self._compiled = {"sample": compiled("sample"), "mode": compiled("mode")}

    def act(self, behavior: BehaviorFunction, how: Literal["sample", "mode"] = "sample") -> Act:
        """How `behavior` acts."""
        leaves, compiled = jax.tree.leaves(split(behavior)[0]), self._compiled[how]
        return lambda observations, commands, noise: np.asarray(compiled(leaves, observations, commands, noise))


def warm_up_act(distribution: Distribution) -> Act:
    """Random actions (Algorithm 1, line 1)."""
    return lambda observations, commands, noise: distribution.draw_warm_up(noise)


def collect_episodes(
    environments: Environments,
    act: Act,
    distribution: Distribution,
    commands: Command,
    seeds: Sequence[int],
    randomness: Sequence[np.random.Generator],
) -> list[Episode]:
    """One episode per environment seed, all started together, each to its own end.

    An episode's actions depend on its own generator alone, not on who runs beside it.
    """
    n = len(seeds)
    observations = environments.start(seeds)  # [B, *o]
    running = np.arange(n)
    command = Command(np.zeros(n) + commands.desired_return, np.zeros(n) + commands.desired_horizon)
    history: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    lengths, terminated = np.zeros(n, np.int64), np.zeros(n, bool)
    noise = np.empty((0, n, 0), np.float32)  # of the next steps, drawn when it runs out
    while running.size:
        t = len(history)
        if t % NOISE_STEPS == 0:
            noise = _noise(distribution, randomness, running)
        actions = act(observations, command.as_array(n), noise[t % NOISE_STEPS])
        result = environments.step(running, actions[running])
        rewards = np.zeros(n)
        rewards[running] = result.rewards
        history.append((observations, actions, rewards))
        command = command.after(rewards)
        ended = result.terminated | result.truncated
        if running.size == n:
            observations = result.observations
        else:  # the rows of episodes that have ended keep their last values: nobody looks at them
            observations = observations.copy()
            observations[running] = result.observations
        if ended.any():
            lengths[running[ended]] = t + 1
            terminated[running[ended]] = result.terminated[ended]
            running = running[~ended]
    return _episodes(history, lengths, terminated)


def environment_seed(rng: np.random.Generator, seeds: Literal["training", "tuning", "final"]) -> int:
    """An environment seed from one of the paper's ranges."""
    return int(rng.integers(*SEED_RANGES[seeds]))


def episode_generators(seed: int, purpose: Purpose, iteration: int, n: int) -> list[np.random.Generator]:
    """One generator per episode: first its environment seed comes from it, then its noise."""
    return [generator(seed, purpose, iteration, episode) for episode in range(n)]


def _noise(
    distribution: Distribution, randomness: Sequence[np.random.Generator], running: np.ndarray
) -> np.ndarray:  # [NOISE_STEPS, B, k]
    blocks = {i: distribution.draw_noise(randomness[i], NOISE_STEPS) for i in running.tolist()}
    empty = np.zeros_like(next(iter(blocks.values())))
    return np.stack([blocks.get(i, empty) for i in range(len(randomness))], axis=1)


def _episodes(
    history: list[tuple[np.ndarray, np.ndarray, np.ndarray]], lengths: np.ndarray, terminated: np.ndarray
) -> list[Episode]:
    observations, actions, rewards = (np.stack(arrays) for arrays in zip(*history, strict=True))  # [T, B, ...]
    return [
        Episode(observations[:n, i].copy(), actions[:n, i].copy(), rewards[:n, i].copy(), bool(terminated[i]))
        for i, n in enumerate(lengths)
    ]
