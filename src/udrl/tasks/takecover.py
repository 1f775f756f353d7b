"""TakeCover, as the paper has it and small; values of column TakeCover of the paper's Table "Tuned"."""

import dataclasses

from udrl.config import Config
from udrl.tasks.task import Task

TAKECOVER = Task(
    name="takecover",
    summary="dodge fireballs, seen as images; a GPU is advised",
    config=Config(
        env_id="udrl/TakeCover-v0",
        max_episode_steps=2100,
        frame_stack=8,
        conv_channels=(48, 96, 192, 384),
        hidden_sizes=(256, 256),
        batch_size=768,
        fast_net_option="bilinear",
        horizon_scale=0.1,
        last_few=75,
        learning_rate=0.0007244359600749898,
        n_episodes_per_iter=20,
        n_updates_per_iter=500,
        n_warm_up_episodes=50,
        replay_size=300,
        return_scale=0.1,
        max_return=2100.0,
        horizon_is_return=True,
    ),
    solved_return=750.0,
    env_steps=10_000_000,
)

TAKECOVER_SMALL = dataclasses.replace(
    TAKECOVER,
    name="takecover-small",
    summary="the same with a network and updates that two cores can train",
    config=dataclasses.replace(
        TAKECOVER.config,
        conv_channels=(32, 48, 96, 128),
        hidden_sizes=(128, 128),
        # More and smaller updates, and smaller commands, whose products do not shake the outputs: with 60 updates of
        # 256 examples and the paper's factors it only learned the actions of its replay by heart.
        batch_size=64,
        n_updates_per_iter=150,
        return_scale=0.01,
        horizon_scale=0.01,
    ),
)
