"""LunarLander with all reward at the last step; the column LunarLanderSparse-v2 of the paper's Table "Tuned"."""

from udrl.config import Config
from udrl.tasks.task import Task

LUNARLANDER_SPARSE = Task(
    name="lunarlander-sparse",
    summary="the same, with the whole reward at the last step",
    config=Config(
        env_id="LunarLander-v3",
        sparse=True,
        max_episode_steps=1000,
        hidden_sizes=(64, 128, 128, 128),
        batch_size=512,
        fast_net_option="gated",
        horizon_scale=0.015,
        last_few=25,
        learning_rate=0.000501187,
        n_episodes_per_iter=20,
        n_updates_per_iter=250,
        n_warm_up_episodes=30,
        replay_size=500,
        return_scale=0.015,
        # No max_return: with no reward before the last step, nothing drives the running command above what can be had.
    ),
    solved_return=200.0,
    env_steps=10_000_000,
)
