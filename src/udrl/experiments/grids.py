"""The paper's grids for random search (Appendix "Grids for Random Hyperparameter Search"), as data."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from udrl.errors import UserError


@dataclasses.dataclass(frozen=True)
class Grid:
    """Values to choose from, for each hyper-parameter. What is not named keeps the task's value."""

    values: Mapping[str, tuple[Any, ...]]
    trials: int
    """How many combinations the paper tried."""
    seeds: int
    """How many runs each of them had."""
    tied: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Hyper-parameters that always have the value of another one."""

    def __post_init__(self) -> None:
        for name, choices in self.values.items():
            if not isinstance(choices, list | tuple) or not choices:
                raise UserError(f"{name} must be a list of values to choose from, not {choices!r}.")

    @property
    def size(self) -> int:
        """The number of combinations."""
        return math.prod(map(len, self.values.values()))

    def settings(self, indices: Mapping[str, int]) -> dict[str, Any]:
        """The values at these places of the lists."""
        chosen = {name: choices[indices[name]] for name, choices in self.values.items()}
        return chosen | {name: chosen[other] for name, other in self.tied.items()}

    def sample(self, n: int, seed: int) -> list[dict[str, int]]:
        """The first `n` random combinations, all different: a longer search begins with those of a shorter one."""
        rng = np.random.default_rng(seed)
        found: dict[tuple[int, ...], dict[str, int]] = {}
        while len(found) < min(n, self.size):
            indices = {name: int(rng.integers(len(choices))) for name, choices in self.values.items()}
            found.setdefault(tuple(indices.values()), indices)
        return list(found.values())


Values = dict[str, tuple[Any, ...]]

_RATES = tuple(np.logspace(-4, -2, num=101).tolist())

_COMMON: Values = {"activation": ("tanh", "relu"), "gamma": (0.98, 0.99, 0.995, 0.999)}

# Steps per update are those of all copies of the environment together, so there is one.
_ONE_COPY: Values = {"n_envs": (1,)}

_DQN: Values = {
    **_COMMON,
    "batch_size": (16, 32, 64, 128),
    "buffer_size": (10_000, 50_000, 100_000, 500_000, 1_000_000),
    "exploration_fraction": (0.1, 0.2, 0.4),
    "exploration_final_eps": (0.0, 0.01, 0.05, 0.1),
    "learning_rate": _RATES,
    "train_freq": (1, 2, 4),
    "target_update_interval": (100, 500, 1000),
}
_A2C: Values = {
    **_COMMON,
    **_ONE_COPY,
    "ent_coef": (0.0, 0.01, 0.02, 0.05, 0.1),
    "learning_rate": _RATES,
    "vf_coef": (0.1, 0.2, 0.5, 1.0),
    "rms_prop_decay": (0.98, 0.99, 0.995),
    "n_steps": (1, 2, 5, 10, 20),
}
# The paper's grid has an entropy coefficient too, 0, 0.1 or 0.2: the library's TRPO has no such term.
_TRPO: Values = {
    **_COMMON,
    **_ONE_COPY,
    "n_steps": (256, 512, 1024, 2048),
    "target_kl": (0.005, 0.01, 0.02),
    "cg_max_steps": (5, 10, 20),
    "gae_lambda": (0.95, 0.98, 0.99),
    "n_critic_updates": (1, 3, 5),
}
_PPO: Values = {
    **_COMMON,
    **_ONE_COPY,
    "learning_rate": _RATES,
    "n_steps": (64, 128, 256),
    "ent_coef": (0.005, 0.01, 0.02),
    "vf_coef": (1.0, 0.5, 0.1),
    "gae_lambda": (0.9, 0.95, 0.99),
    "n_minibatches": (2, 4, 8),
    "n_epochs": (2, 4, 8),
    "clip_range": (0.1, 0.2, 0.4),
}
_DDPG: Values = {
    **_COMMON,
    "ou_sigma": (0.1, 0.5, 1.0),
    "normalize_observations": (False, True),
    "tau": (0.001, 0.002, 0.005),
    "batch_size": (128, 256),
    "normalize_returns": (False, True),
    "actor_learning_rate": _RATES,
    "critic_learning_rate": _RATES,
    "reward_scale": (0.1, 1.0, 10.0),
    "buffer_size": (50_000, 100_000),
    "random_exploration": (0.0, 0.1),
}
_UDRL: Values = {
    "batch_size": (512, 768, 1024, 1536, 2048),
    "fast_net_option": ("bilinear", "gated"),
    "horizon_scale": (0.01, 0.015, 0.02, 0.025, 0.03),
    "last_few": (25, 50, 75, 100),
    "learning_rate": _RATES,
    "n_episodes_per_iter": (10, 20, 30, 40),
    "n_updates_per_iter": (100, 150, 200, 250, 300),
    "n_warm_up_episodes": (10, 30, 50),
    "replay_size": (300, 400, 500, 600, 700),
    "return_scale": (0.01, 0.015, 0.02, 0.025, 0.03),
}
# Bilinear in the last layer only, and the horizon is the return.
_UDRL_TAKECOVER: Values = {
    **{name: choices for name, choices in _UDRL.items() if name != "horizon_scale"},
    "fast_net_option": ("bilinear",),
    "n_updates_per_iter": (200, 300, 400, 500),
    "replay_size": (200, 300, 400, 500),
    "return_scale": (0.1, 0.15, 0.2, 0.25, 0.3),
}
_UDRL_MUJOCO: Values = {
    "batch_size": (256, 512, 1024),
    "fast_net_option": ("bilinear", "gated"),
    "horizon_scale": (0.01, 0.02, 0.03, 0.05, 0.08),
    "last_few": (1, 5, 10, 20),
    "learning_rate": (0.0001, 0.0002, 0.0004, 0.0006, 0.0008, 0.001),
    "n_episodes_per_iter": (5, 10, 20),
    "n_updates_per_iter": (250, 500, 750, 1000),
    "n_warm_up_episodes": (10, 30, 50),
    "replay_size": (50, 100, 200, 300, 500),
    "return_scale": (0.01, 0.02, 0.05, 0.1, 0.2),
}

_LUNARLANDER_NETWORKS: Values = {
    "hidden_sizes": (
        (32,), (32, 32), (32, 64), (32, 64, 64), (32, 64, 64, 64),
        (64,), (64, 64), (64, 128), (64, 128, 128), (64, 128, 128, 128),
    ),
}  # fmt: skip
_TAKECOVER_NETWORKS: Values = {
    "conv_channels": ((32, 48, 96, 128), (32, 64, 128, 256), (48, 96, 192, 384)),
    "hidden_sizes": ((64, 128), (64, 128, 128), (128, 256), (128, 256, 256), (128, 128), (256, 256)),
}
_MUJOCO_NETWORKS: Values = {
    "hidden_sizes": ((128,), (128, 256), (256, 256), (64, 128, 128, 128), (128, 256, 256, 256)),
}


def _family(tasks: tuple[str, ...], networks: Values, of: dict[str, Values], **more: Any) -> dict[str, dict[str, Grid]]:
    return {task: {name: Grid(networks | values, **more) for name, values in of.items()} for task in tasks}


GRIDS: dict[str, dict[str, Grid]] = {
    **_family(
        ("lunarlander", "lunarlander-sparse"),
        _LUNARLANDER_NETWORKS,
        {"udrl": _UDRL, "dqn": _DQN, "a2c": _A2C},
        trials=256,
        seeds=3,
    ),
    **_family(("takecover",), _TAKECOVER_NETWORKS, {"dqn": _DQN, "a2c": _A2C}, trials=72, seeds=2),
    **_family(
        ("swimmer", "swimmer-sparse", "inverted-double-pendulum", "inverted-double-pendulum-sparse"),
        _MUJOCO_NETWORKS,
        {"udrl": _UDRL_MUJOCO, "trpo": _TRPO, "ppo": _PPO, "ddpg": _DDPG},
        trials=144,
        seeds=2,
    ),
}
"""By task and algorithm."""

GRIDS["takecover"]["udrl"] = Grid(
    _TAKECOVER_NETWORKS | _UDRL_TAKECOVER, trials=72, seeds=2, tied={"horizon_scale": "return_scale"}
)


def find_grid(task: str, algorithm: str) -> Grid:
    """The paper's grid for an algorithm on a task."""
    if algorithm not in GRIDS.get(task, {}):
        there = "; ".join(f"{name}: {', '.join(grids)}" for name, grids in GRIDS.items())
        raise UserError(f"The paper has no grid for {algorithm} on {task}: give one by --grid FILE. It has {there}.")
    return GRIDS[task][algorithm]
