"""Algorithm 2 for a batch of commands: act, step, and let each command shrink by what was obtained."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Literal, Protocol, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Sharding

from udrl.actions import Distribution
from udrl.behavior import BehaviorFunction, split
from udrl.command import Command, shrink
from udrl.environments import Environments
from udrl.episode import Episode
from udrl.frames import Stack
from udrl.randomness import Purpose, generator

Act = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""(observations [n, *o], commands [n, 2], noise [n, k]) -> actions [n, k]"""

Way = Literal["sample", "mode", "describe"]

Parameters = Sequence[jax.Array | np.ndarray]
"""What is learned of a behavior function, in the order of its tree."""

SEED_RANGES: dict[str, tuple[int, int]] = {
    "training": (1_000_000, 10_000_000),
    "tuning": (500_000, 1_000_000),
    "final": (1, 500_000),
}
"""The paper's half-open ranges of environment seeds (Appendix "Benchmarking Setup")."""

NOISE_STEPS = 128
"""Steps of noise that an episode draws at a time."""

ROWS, IMAGE_ROWS = 20, 8
"""Rows of the compiled `act`. The last bits of a product depend on how many rows it has: with a fixed number an
episode is the same whoever runs beside it, in whichever process. Vectors: the paper's episodes per iteration, since a
call costs more than its rows. Images: fewer, since a row costs more than the call."""


@dataclasses.dataclass(frozen=True)
class Batch:
    """Everything that decides how a batch of episodes goes, but for the parameters."""

    how: Literal["warm_up", "sample", "mode"]
    command: Command  # [n]
    seed: int
    purpose: Purpose
    iteration: int
    episodes: range
    """Their numbers, which their random numbers follow from."""
    environment_seeds: Literal["training", "tuning", "final"]
    is_bounded: bool = False
    """Bound the network's command whatever the configuration says, as evaluation and users have it."""

    def part(self, start: int, stop: int) -> "Batch":
        """Some of the episodes."""
        return dataclasses.replace(self, command=self.command[start:stop], episodes=self.episodes[start:stop])

    def generators(self) -> list[np.random.Generator]:
        """One per episode: first its environment seed comes from it, then its noise."""
        return [generator(self.seed, self.purpose, self.iteration, episode) for episode in self.episodes]


class Collector(Protocol):
    """What collects episodes: this process (`Rollouts`) or several others (`Workers`)."""

    def collect(self, parameters: Parameters, batch: Batch) -> list[Episode]: ...

    def close(self) -> None: ...


class Rollouts:
    """Collects episodes in this process, for behavior functions that differ in their parameters only."""

    def __init__(self, environments: Environments, behavior: BehaviorFunction, device: Sharding | None = None) -> None:
        self.environments, self.distribution = environments, behavior.distribution
        self._actor = Actor(behavior, device)
        is_bounded = behavior.command_input.is_bounded  # the same function: compiled once
        self._bounded_actor = self._actor if is_bounded else Actor(behavior.bounded(), device)

    def collect(self, parameters: Parameters, batch: Batch) -> list[Episode]:
        if batch.how == "warm_up":
            act = warm_up_act(self.distribution)
        else:
            act = (self._bounded_actor if batch.is_bounded else self._actor).act(parameters, batch.how)
        at_a_time, n = self.environments.most_copies, len(batch.episodes)
        parts = [batch.part(first, first + at_a_time) for first in range(0, n, at_a_time)]
        return [episode for part in parts for episode in self._collect(act, part)]

    def _collect(self, act: Act, batch: Batch) -> list[Episode]:
        randomness = batch.generators()
        seeds = [environment_seed(rng, batch.environment_seeds) for rng in randomness]
        return collect_episodes(self.environments, act, self.distribution, batch.command, seeds, randomness)

    def close(self) -> None:
        self.environments.close()


class Actor:
    """The one way of acting, compiled for a fixed number of rows; on the device given, or where JAX puts it."""

    def __init__(self, behavior: BehaviorFunction, device: Sharding | None = None) -> None:
        self._device = device
        learned, rest = split(behavior)
        structure = jax.tree.structure(learned)
        k = behavior.distribution.draw_noise(np.random.default_rng(0), 1).shape[1]

        def compiled(how: Way) -> Callable[..., jax.Array]:
            # A flat list: taking modules apart in Python at every call would cost as much as the network does.
            def act(parameters: list[jax.Array], numbers: jax.Array, *images: jax.Array) -> jax.Array:
                one: BehaviorFunction = eqx.combine(jax.tree.unflatten(structure, parameters), rest)
                commands, noise, vectors = jnp.split(numbers, [2, 2 + k], axis=1)
                return jax.vmap(getattr(one, how))(*images or (vectors,), commands, noise)

            return jax.jit(act)

        self._compiled: dict[Way, Callable[..., jax.Array]] = {how: compiled(how) for how in get_args(Way)}

    def act(self, parameters: Parameters, how: Way = "sample") -> Act:
        """How the behavior function with these parameters acts, or describes what it would draw actions from."""
        compiled, parameters = self._compiled[how], jax.device_put(list(parameters), self._device)

        def act(observations: np.ndarray, commands: np.ndarray, noise: np.ndarray) -> np.ndarray:
            n, rows = len(observations), IMAGE_ROWS if observations.ndim > 2 else ROWS
            inputs = _packed(-(-n // rows) * rows, observations, commands, noise)
            if n <= rows:
                return np.asarray(compiled(parameters, *inputs))[:n]
            parts = [
                np.asarray(compiled(parameters, *(array[i : i + rows] for array in inputs))) for i in range(0, n, rows)
            ]
            return np.concatenate(parts)[:n]

        return act


def parameters_of(behavior: BehaviorFunction) -> list[jax.Array]:
    """What is learned of `behavior`."""
    return jax.tree.leaves(split(behavior)[0])


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
    running = np.arange(n)  # [r], and all arrays of a step hold the running episodes only
    stack = Stack(environments.start(seeds), environments.frame_stack)
    desired = commands.as_array(n)  # [r, 2]
    noise = np.empty((0, n, 0), np.float32)  # [NOISE_STEPS, r, k] of the next steps
    steps: list[Step] = []
    terminated = np.zeros(n, bool)
    while running.size:
        t = len(steps) % NOISE_STEPS
        if t == 0:
            noise = np.stack([distribution.draw_noise(randomness[i], NOISE_STEPS) for i in running.tolist()], axis=1)
        actions = act(stack.observations, desired, noise[t])
        observations, rewards, has_terminated, has_truncated = environments.step(running, actions)
        steps.append((running, stack.newest, actions, rewards))
        shrink(desired, rewards)
        stack.push(observations)
        ended = has_terminated | has_truncated
        if np.count_nonzero(ended):
            terminated[running[ended]] = has_terminated[ended]
            goes_on = ~ended
            running, desired, noise = running[goes_on], desired[goes_on], noise[:, goes_on]
            stack.keep(goes_on)
    return _episodes(steps, terminated)


def environment_seed(rng: np.random.Generator, seeds: Literal["training", "tuning", "final"]) -> int:
    """An environment seed from one of the paper's ranges."""
    return int(rng.integers(*SEED_RANGES[seeds]))


Step = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Which episodes ran [r], what they saw [r, *o], did [r, k] and earned [r]."""


def _episodes(steps: Sequence[Step], terminated: np.ndarray) -> list[Episode]:
    """The steps of all episodes, put in the order of episodes and then of time."""
    owners, *fields = (np.concatenate(arrays) for arrays in zip(*steps, strict=True))
    order = np.argsort(owners, kind="stable")
    ends = np.cumsum(np.bincount(owners, minlength=len(terminated)))[:-1]
    parts = [np.split(field[order], ends) for field in fields]
    # Copies: the replay keeps some of the episodes, and must not keep the memory of the others.
    return [
        Episode(observations.copy(), actions.copy(), rewards.copy(), bool(ended))
        for observations, actions, rewards, ended in zip(*parts, terminated, strict=True)
    ]


def _packed(n: int, observations: np.ndarray, commands: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, ...]:
    """The inputs of the compiled `act`, padded to `n` rows: the fewer arrays, the quicker the call.

    Vectors of float32 share one array with commands and noise; bytes and images keep one of their own.
    """
    m, k = noise.shape
    if observations.ndim == 2 and observations.dtype == np.float32:
        numbers = np.zeros((n, 2 + k + observations.shape[1]), np.float32)
        numbers[:m, 2 + k :] = observations
        rest = ()
    else:
        numbers, padded = np.zeros((n, 2 + k), np.float32), np.zeros((n, *observations.shape[1:]), observations.dtype)
        padded[:m] = observations
        rest = (padded,)
    numbers[:m, :2], numbers[:m, 2 : 2 + k] = commands, noise
    return numbers, *rest
