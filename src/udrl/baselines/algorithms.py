"""Stable-Baselines3's algorithms with what the paper's grids ask for and the library does not have."""

from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box
from sb3_contrib import TRPO
from stable_baselines3 import A2C, DDPG, DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.noise import OrnsteinUhlenbeckActionNoise
from stable_baselines3.common.utils import LinearSchedule, update_learning_rate
from stable_baselines3.common.vec_env import VecEnv

from udrl.baselines.networks import ACTIVATIONS, Convolutions
from udrl.baselines.settings import A2c, Baseline, Ddpg, Dqn, Ppo, Schedule, Trpo


class DoubleDQN(DQN):
    """The learned network chooses the next action, the target network says what it is worth (the library's does both
    with the target network)."""

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        learned, target = self.q_net, self.q_net_target

        def value_of_choice(next_observations: torch.Tensor) -> torch.Tensor:  # [B, *o] -> [B, 1]
            choice = learned(next_observations).argmax(dim=1, keepdim=True)
            return target(next_observations).gather(1, choice)

        # The library takes the maximum over what its target network answers: over one value, that value.
        self.q_net_target = value_of_choice  # type: ignore[assignment]
        try:
            super().train(gradient_steps, batch_size)
        finally:
            self.q_net_target = target


class TwoRatesDDPG(DDPG):
    """A learning rate for each network, and uniformly random actions now and then."""

    def __init__(self, *args: Any, settings: Ddpg, **kwargs: Any) -> None:
        self.settings = settings
        super().__init__(*args, **kwargs)

    def _update_learning_rate(self, optimizers: Any) -> None:
        # The library sets both to the one rate that it knows before each training.
        update_learning_rate(self.actor.optimizer, self.settings.actor_learning_rate)
        update_learning_rate(self.critic.optimizer, self.settings.critic_learning_rate)

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        if self.settings.random_exploration > 0 and np.random.random() < self.settings.random_exploration:  # noqa: NPY002 (the library's generator)
            # As in its warm-up, where all actions are uniform.
            return super()._sample_action(self.num_timesteps + 1, None, n_envs)
        return super()._sample_action(learning_starts, action_noise, n_envs)


def make_algorithm(settings: Baseline, copies: VecEnv, device: str) -> BaseAlgorithm:
    """The algorithm that the settings are for, ready to learn."""
    common: dict[str, Any] = {"gamma": settings.gamma, "seed": settings.seed, "device": device, "verbose": 0}
    policy = _policy(settings, copies)
    match settings:
        case Dqn():
            names = ("batch_size", "buffer_size", "exploration_fraction", "exploration_final_eps", "learning_rate",
                     "train_freq", "gradient_steps", "target_update_interval", "learning_starts")  # fmt: skip
            return DoubleDQN("MlpPolicy", copies, policy_kwargs=policy, **_values(settings, names), **common)
        case A2c():
            names = ("ent_coef", "vf_coef", "n_steps", "normalize_advantage", "gae_lambda")
            rate = _rate(settings.learning_rate, settings.learning_rate_schedule)
            policy |= {
                "optimizer_class": torch.optim.RMSprop,
                "optimizer_kwargs": {"alpha": settings.rms_prop_decay, "eps": 1e-5, "weight_decay": 0.0},
            }
            return A2C("MlpPolicy", copies, rate, policy_kwargs=policy, **_values(settings, names), **common)
        case Ppo():
            names = ("n_steps", "ent_coef", "vf_coef", "gae_lambda", "n_epochs", "clip_range")
            rate = _rate(settings.learning_rate, settings.learning_rate_schedule)
            batch = settings.n_steps * settings.n_envs // settings.n_minibatches
            values = _values(settings, names) | {"batch_size": batch}
            return PPO("MlpPolicy", copies, rate, policy_kwargs=policy, **values, **common)
        case Trpo():
            names = ("n_steps", "target_kl", "cg_max_steps", "gae_lambda", "n_critic_updates", "learning_rate")
            values = _values(settings, names) | {
                "batch_size": min(settings.batch_size, settings.n_steps * settings.n_envs)
            }
            return TRPO("MlpPolicy", copies, policy_kwargs=policy, **values, **common)
        case Ddpg():
            values = _values(settings, ("tau", "batch_size", "buffer_size", "learning_starts"))
            k = (copies.action_space.shape or (1,))[0]
            noise = OrnsteinUhlenbeckActionNoise(np.zeros(k), np.full(k, settings.ou_sigma))
            return TwoRatesDDPG(
                "MlpPolicy", copies, action_noise=noise, policy_kwargs=policy, settings=settings, **values, **common
            )
        case _:
            raise NotImplementedError(settings.algorithm)


def _policy(settings: Baseline, copies: VecEnv) -> dict[str, Any]:
    """The networks: the paper's convolutions for images, then fully connected layers."""
    activation = ACTIVATIONS[settings.activation]
    policy: dict[str, Any] = {"net_arch": list(settings.hidden_sizes), "activation_fn": activation}
    space = copies.observation_space
    if isinstance(space, Box) and space.dtype == np.uint8 and len(space.shape) == 3:
        kwargs = {"channels": settings.conv_channels, "activation": activation}
        policy |= {"features_extractor_class": Convolutions, "features_extractor_kwargs": kwargs}
    return policy


def _rate(value: float, schedule: Schedule) -> float | LinearSchedule:
    return value if schedule == "constant" else LinearSchedule(value, 0.0, 1.0)


def _values(settings: Baseline, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in names}
