"""LunarLander with dense rewards; the values are the column LunarLander-v2 of the paper's Table "Tuned"."""

from udrl.config import Config
from udrl.tasks.task import Task

LUNARLANDER = Task(
    name="lunarlander",
    summary="land softly between two flags; a reward at every step",
    config=Config(
        env_id="LunarLander-v3",
        max_episode_steps=1000,
        hidden_sizes=(64, 128, 128),
        batch_size=768,
        fast_net_option="bilinear",
        horizon_scale=0.03,
        last_few=100,
        learning_rate=0.0008709635899560805,
        n_episodes_per_iter=20,
        n_updates_per_iter=150,
        n_warm_up_episodes=50,
        replay_size=600,
        return_scale=0.015,
        max_return=300.0,
    ),
    solved_return=200.0,
    env_steps=10_000_000,
)
