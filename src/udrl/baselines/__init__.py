"""What users would train instead, under the same protocol: Double DQN, A2C, PPO, TRPO and DDPG."""

from udrl.baselines.settings import BASELINES, A2c, Baseline, Ddpg, Dqn, Ppo, Trpo
from udrl.baselines.tuned import defaults

__all__ = ["BASELINES", "A2c", "Baseline", "Ddpg", "Dqn", "Ppo", "Trpo", "defaults"]
