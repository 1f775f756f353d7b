"""Speed of a Stable-Baselines3 algorithm with training, one core, nothing evaluated; prints one JSON line.

    python benchmarks/baseline_speed.py ppo --env-steps 200000

PPO runs as its users run it on LunarLander: 16 environments, RL Zoo's values. Needs udrl[baselines].
"""

# The rest of the project is checked without udrl[baselines].
# pyright: reportMissingImports=false

import dataclasses
import json
import time
from typing import Literal

import gymnasium as gym
import torch
import tyro
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.env_util import make_vec_env


@dataclasses.dataclass(frozen=True)
class Arguments:
    algorithm: tyro.conf.Positional[Literal["ppo", "a2c"]] = "ppo"
    env_id: str = "LunarLander-v3"
    env_steps: int = 200_000


def measure(arguments: Arguments) -> dict[str, str | int | float]:
    torch.set_num_threads(1)
    gym.logger.min_level = gym.logger.ERROR
    if arguments.algorithm == "ppo":
        environments = make_vec_env(arguments.env_id, n_envs=16)
        model = PPO(
            "MlpPolicy", environments, n_steps=1024, batch_size=64, gae_lambda=0.98, gamma=0.999, n_epochs=4,
            ent_coef=0.01, device="cpu",
        )  # fmt: skip
    else:
        model = A2C("MlpPolicy", make_vec_env(arguments.env_id, n_envs=8), device="cpu")
    began = time.perf_counter()
    model.learn(arguments.env_steps)
    seconds = time.perf_counter() - began
    return {
        "algorithm": arguments.algorithm,
        "env_id": arguments.env_id,
        "env_steps": model.num_timesteps,
        "env_steps_per_second": round(model.num_timesteps / seconds),
    }


if __name__ == "__main__":
    print(json.dumps(measure(tyro.cli(Arguments))))
