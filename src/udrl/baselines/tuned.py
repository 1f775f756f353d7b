"""The baselines' values for each task that has a name.

`ZOO` are the published values of RL Baselines3 Zoo (DLR-RM/rl-baselines3-zoo, hyperparams/*.yml), for the same task or
an earlier version of it. `UNTUNED` has what no one has published: plain values, marked as such; `udrl search` looks for
better ones. Whatever is in neither keeps the defaults of `settings.py`, which are Stable-Baselines3's.
"""

from typing import Any

from udrl.baselines.settings import BASELINES, Baseline
from udrl.tasks import find_task

Values = dict[str, Any]

# Its budget for A2C and DQN is 0.2 M and 0.1 M steps; parts of the budget and schedules stretch to ours.
_LUNARLANDER: dict[str, Values] = {
    "dqn": {
        "hidden_sizes": (256, 256),
        "batch_size": 128,
        "buffer_size": 50_000,
        "exploration_fraction": 0.12,
        "exploration_final_eps": 0.1,
        "learning_rate": 6.3e-4,
        "train_freq": 4,
        "gradient_steps": -1,
        "target_update_interval": 250,
        "learning_starts": 0,
    },
    "a2c": {
        "gamma": 0.995,
        "n_envs": 8,
        "n_steps": 5,
        "learning_rate": 8.3e-4,
        "learning_rate_schedule": "linear",
        "ent_coef": 1e-5,
    },
    "ppo": {
        "gamma": 0.999,
        "n_envs": 16,
        "n_steps": 1024,
        "n_minibatches": 256,
        "gae_lambda": 0.98,
        "n_epochs": 4,
        "ent_coef": 0.01,
    },
    "trpo": {"n_envs": 2, "n_steps": 512, "gae_lambda": 0.98, "n_critic_updates": 15, "learning_rate": 1e-3},
}
_NORMALIZED: Values = {"normalize_observations": True, "normalize_returns": True}
# Its values of TRPO for all of MuJoCo.
_TRPO_MUJOCO: Values = {
    **_NORMALIZED,
    "n_envs": 2,
    "n_steps": 1024,
    "batch_size": 128,
    "cg_max_steps": 25,
    "n_critic_updates": 20,
    "learning_rate": 1e-3,
}

ZOO: dict[str, dict[str, Values]] = {
    "cartpole": {
        "dqn": {
            "hidden_sizes": (256, 256),
            "batch_size": 64,
            "buffer_size": 100_000,
            "exploration_fraction": 0.16,
            "exploration_final_eps": 0.04,
            "learning_rate": 2.3e-3,
            "train_freq": 256,
            "gradient_steps": 128,
            "target_update_interval": 10,
            "learning_starts": 1000,
        },
        "a2c": {"n_envs": 8},
        "ppo": {
            "gamma": 0.98,
            "n_envs": 8,
            "n_steps": 32,
            "n_minibatches": 1,
            "gae_lambda": 0.8,
            "n_epochs": 20,
            "learning_rate": 1e-3,
            "learning_rate_schedule": "linear",
        },
        "trpo": {"n_envs": 2, "n_steps": 512, "batch_size": 512, "gae_lambda": 0.98, "n_critic_updates": 20},
    },
    "lunarlander": _LUNARLANDER,
    "swimmer": {
        "a2c": {**_NORMALIZED, "gamma": 0.9999, "n_envs": 1},
        "ppo": {
            **_NORMALIZED,
            "gamma": 0.9999,
            "n_envs": 4,
            "n_steps": 1024,
            "n_minibatches": 16,
            "learning_rate": 6e-4,
            "gae_lambda": 0.98,
        },
        "trpo": {**_TRPO_MUJOCO, "gamma": 0.9999},
    },
    "inverted-double-pendulum": {
        "ppo": {
            **_NORMALIZED,
            "gamma": 0.98,
            "n_envs": 1,
            "n_steps": 128,
            "n_minibatches": 1,
            "learning_rate": 1.55454e-4,
            "ent_coef": 1.05057e-6,
            "clip_range": 0.4,
            "gae_lambda": 0.8,
            "vf_coef": 0.695929,
        },
        "trpo": _TRPO_MUJOCO,
    },
    # Its values for Atari, the nearest to TakeCover; A2C there has TensorFlow's variant of RMSProp.
    "takecover": {
        "dqn": {
            "batch_size": 32,
            "buffer_size": 10_000,
            "exploration_fraction": 0.1,
            "exploration_final_eps": 0.01,
            "learning_rate": 1e-4,
            "target_update_interval": 1000,
            "learning_starts": 100_000,
        },
        "a2c": {"n_envs": 16, "ent_coef": 0.01, "vf_coef": 0.25, "activation": "relu"},
        "ppo": {
            "n_envs": 8,
            "n_steps": 128,
            "n_minibatches": 4,
            "n_epochs": 4,
            "learning_rate": 2.5e-4,
            "learning_rate_schedule": "linear",
            "clip_range": 0.1,
            "ent_coef": 0.01,
            "activation": "relu",
        },
    },
}

UNTUNED: dict[str, dict[str, Values]] = {
    # The one variant that the paper found to learn; 50 and 100 steps go by --n-steps.
    "lunarlander-sparse": {"a2c": {"n_steps": 20}},
    # A swimmer's stroke is long: the largest discount of the paper's grid.
    "swimmer": {"ddpg": {"gamma": 0.999, "hidden_sizes": (256, 256), "batch_size": 128, "actor_learning_rate": 1e-4}},
    "inverted-double-pendulum": {"ddpg": {"hidden_sizes": (256, 256), "batch_size": 128, "actor_learning_rate": 1e-4}},
}

_SPARSE_OF = {
    "lunarlander-sparse": "lunarlander",
    "swimmer-sparse": "swimmer",
    "inverted-double-pendulum-sparse": "inverted-double-pendulum",
    "takecover-small": "takecover",
}
"""Which task's values are used again (the paper's choice for sparse tasks)."""


def defaults(algorithm: str, task: str | None = None) -> Baseline:
    """The values of an algorithm on a task, or Stable-Baselines3's own where there is no task."""
    kind = BASELINES[algorithm]
    if task is None:
        return kind()
    config = find_task(task).config
    values: Values = {
        name: getattr(config, name)
        for name in (
            "env_id", "sparse", "max_episode_steps", "frame_stack", "evaluation_interval",
            "n_evaluation_episodes", "evaluation_actions", "evaluation_seeds",
        )
    }  # fmt: skip
    if config.frame_stack > 1:  # images: the network that the paper gives this task
        values |= {"conv_channels": config.conv_channels, "hidden_sizes": config.hidden_sizes}
    for name in (_SPARSE_OF.get(task, task), task):
        values |= ZOO.get(name, {}).get(algorithm, {}) | UNTUNED.get(name, {}).get(algorithm, {})
    return kind(**values)
