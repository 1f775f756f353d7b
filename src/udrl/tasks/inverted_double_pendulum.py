"""InvertedDoublePendulum, dense and sparse; values of column InvertedDoublePendulum-v2 of the paper's Table "Tuned".

The paper reused the dense version's values for the sparse one.
"""

import dataclasses

from udrl.config import Config
from udrl.tasks.task import Task

INVERTED_DOUBLE_PENDULUM = Task(
    name="inverted-double-pendulum",
    summary="balance two poles, one on the other, on a cart",
    config=Config(
        env_id="InvertedDoublePendulum-v4",
        max_episode_steps=1000,
        hidden_sizes=(128,),
        batch_size=256,
        fast_net_option="gated",
        horizon_scale=0.01,
        last_few=5,
        learning_rate=0.0006,
        n_episodes_per_iter=20,
        n_updates_per_iter=500,
        n_warm_up_episodes=50,
        replay_size=300,
        return_scale=0.01,
        warm_up_std=0.35,
        n_evaluation_episodes=50,
    ),
    solved_return=9100.0,
    env_steps=5_000_000,
)

INVERTED_DOUBLE_PENDULUM_SPARSE = dataclasses.replace(
    INVERTED_DOUBLE_PENDULUM,
    name="inverted-double-pendulum-sparse",
    summary="the same, with the whole reward at the last step",
    config=dataclasses.replace(INVERTED_DOUBLE_PENDULUM.config, sparse=True),
)
