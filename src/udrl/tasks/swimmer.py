"""Swimmer, dense and sparse; values of column Swimmer-v2 of the paper's Table "Tuned".

The paper reused the dense version's values for the sparse one.
"""

import dataclasses

from udrl.config import Config
from udrl.tasks.task import Task

SWIMMER = Task(
    name="swimmer",
    summary="swim forward with three links in a viscous fluid",
    config=Config(
        env_id="Swimmer-v4",
        max_episode_steps=1000,
        hidden_sizes=(128,),
        batch_size=512,
        fast_net_option="gated",
        horizon_scale=0.01,
        last_few=1,
        learning_rate=0.0002,
        n_episodes_per_iter=20,
        n_updates_per_iter=750,
        n_warm_up_episodes=30,
        replay_size=50,
        return_scale=0.01,
        warm_up_std=0.3,
        n_evaluation_episodes=50,
    ),
    solved_return=360.0,
    env_steps=5_000_000,
)

SWIMMER_SPARSE = dataclasses.replace(
    SWIMMER,
    name="swimmer-sparse",
    summary="the same, with the whole reward at the last step",
    config=dataclasses.replace(SWIMMER.config, sparse=True),
)
