"""The paper's evaluation for the baselines: the same episodes, in environments of their own, with noise of their own.

Discrete actions are sampled from the policy and of continuous ones the mode is taken, as for UDRL. DQN has no policy to
sample from: it takes the action of the largest value, without random ones. DDPG acts without its noise.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy

from udrl.actions import distribution_for
from udrl.baselines.copies import as_seen
from udrl.baselines.settings import Baseline
from udrl.command import Command
from udrl.environments import Environments
from udrl.episode import Episode
from udrl.errors import UserError
from udrl.evaluation import evaluate, how_to_evaluate
from udrl.randomness import Purpose
from udrl.rollout import Act, Batch, Parameters, collect_episodes, environment_seed
from udrl.run_folder import Metrics


class BaselineCollector:
    """Collects a baseline's episodes as UDRL's are collected; commands are there and not obeyed."""

    def __init__(self, environments: Environments, algorithm: BaseAlgorithm) -> None:
        self.environments, self._algorithm = environments, algorithm
        self._distribution = distribution_for(environments.actions)

    def collect(self, parameters: Parameters, batch: Batch) -> list[Episode]:
        assert batch.how != "warm_up"
        act, n = acting(self._algorithm, batch.how), len(batch.episodes)
        starts = range(0, n, self.environments.most_copies)
        parts = [batch.part(start, start + self.environments.most_copies) for start in starts]
        return [episode for part in parts for episode in self._collect(act, part)]

    def _collect(self, act: Act, batch: Batch) -> list[Episode]:
        randomness = batch.generators()
        seeds = [environment_seed(rng, batch.environment_seeds) for rng in randomness]
        return collect_episodes(self.environments, act, self._distribution, batch.command, seeds, randomness)

    def close(self) -> None:
        self.environments.close()


def evaluate_baseline(collector: BaselineCollector, settings: Baseline, iteration: int) -> Metrics:
    """What the algorithm as it now is obtains."""
    n = settings.n_evaluation_episodes
    how = how_to_act(settings, collector.environments.actions.is_discrete)
    nothing = Command(np.zeros(n), np.zeros(n))
    batch = Batch(
        how, nothing, settings.seed, Purpose.EVALUATION, iteration, range(n), settings.evaluation_seeds
    )  # fmt: skip
    summary = evaluate(collector, (), batch).summary()
    return {f"eval/{name}": value for name, value in summary.items() if not name.startswith("desired")}


def how_to_act(settings: Baseline, is_discrete: bool) -> Literal["sample", "mode"]:
    """In evaluation; the two that have no distribution over actions take the one that they think best."""
    if settings.algorithm not in ("dqn", "ddpg"):
        return how_to_evaluate(settings.evaluation_actions, is_discrete)
    if settings.evaluation_actions == "sample":
        raise UserError(f"{settings.algorithm} has no actions to sample: leave evaluation_actions out.")
    return "mode"


def acting(algorithm: BaseAlgorithm, how: Literal["sample", "mode"]) -> Act:
    """How the algorithm acts as it now is: (observations [n, *o], commands, noise [n, k]) -> actions [n, k]."""
    normalization, policy = algorithm.get_vec_normalize_env(), algorithm.policy
    policy.set_training_mode(False)

    def act(observations: np.ndarray, commands: np.ndarray, noise: np.ndarray) -> np.ndarray:
        seen: Any = as_seen(observations)
        if normalization is not None:
            seen = normalization.normalize_obs(seen)
        if how == "mode":
            actions, _ = policy.predict(seen, deterministic=True)
        else:
            assert isinstance(policy, ActorCriticPolicy)
            actions = sample(policy, seen, noise)
        return actions.reshape(len(observations), -1)

    return act


def sample(policy: ActorCriticPolicy, observations: np.ndarray, noise: np.ndarray) -> np.ndarray:  # [n, k]
    """Actions from the policy's distribution, by noise from outside: torch's generator is training's."""
    with torch.no_grad():
        distribution: Any = policy.get_distribution(policy.obs_to_tensor(observations)[0]).distribution
        if isinstance(distribution, torch.distributions.Normal):
            return (distribution.mean + distribution.stddev * torch.as_tensor(noise)).numpy()
        parts: Sequence[Any] = distribution if isinstance(distribution, list) else [distribution]
        return np.stack([invert(part.probs.cpu().numpy(), noise[:, i]) for i, part in enumerate(parts)], axis=1)


def invert(probabilities: np.ndarray, noise: np.ndarray) -> np.ndarray:  # [n, choices], [n] -> [n]
    """The first choice at which the cumulative probability passes the uniform noise."""
    cumulative = np.cumsum(probabilities, axis=1)[:, :-1]  # the last may round to less than the noise
    return (cumulative <= noise[:, None]).sum(axis=1).astype(np.int32)
