"""CartPole: the task that learns in a minute; not one of the paper's, the values are this project's."""

from udrl.config import Config
from udrl.tasks.task import Task

CARTPOLE = Task(
    name="cartpole",
    summary="balance a pole on a cart; learned within two minutes",
    config=Config(
        env_id="CartPole-v1",
        max_episode_steps=500,
        hidden_sizes=(64, 64),
        batch_size=256,
        fast_net_option="bilinear",
        horizon_scale=0.01,
        last_few=10,
        learning_rate=1e-3,
        n_episodes_per_iter=10,
        n_updates_per_iter=50,
        n_warm_up_episodes=50,
        # Far more than are aimed at: episodes of every length stay, so that orders of every size are obeyed.
        replay_size=1000,
        return_scale=0.01,
        max_return=500.0,
        horizon_is_return=True,
    ),
    solved_return=475.0,
    env_steps=2_000_000,
)
