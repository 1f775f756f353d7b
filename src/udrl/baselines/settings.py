"""Hyper-parameters of the baselines under the names of the paper's grids (Appendix "Grids for Random Search")."""

import dataclasses
import math
from typing import Any, ClassVar, Literal, get_type_hints

from udrl.config import Conditions
from udrl.errors import UserError

Schedule = Literal["constant", "linear"]


@dataclasses.dataclass(frozen=True)
class Baseline(Conditions):
    """What all baselines share. With the budget it is the identity of a run: schedules run over the whole of it."""

    algorithm: ClassVar[str] = ""

    hidden_sizes: tuple[int, ...] = (64, 64)
    """Units of each fully connected hidden layer."""
    conv_channels: tuple[int, ...] = (32, 48, 96, 128)
    """Channels of each 3x3, stride-2 convolution that images go through first."""
    activation: Literal["relu", "tanh"] = "tanh"
    """Nonlinearity of the hidden layers."""
    gamma: float = 0.99
    """Discount factor."""
    normalize_observations: bool = False
    """Shift and scale observations by their running mean and deviation."""
    normalize_returns: bool = False
    """Scale rewards by the running deviation of discounted returns."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_layers("hidden_sizes", "conv_channels")
        for name, kind in get_type_hints(type(self)).items():
            value: Any = getattr(self, name)
            if kind is float and not (math.isfinite(value) and value >= 0):
                raise UserError(f"{name} must be finite and not negative, not {value}.")
            if kind is int and value < _LEAST.get(name, 1):
                raise UserError(f"{name} must be at least {_LEAST.get(name, 1)}, not {value}.")
            if name in _AT_MOST_ONE and value > 1:
                raise UserError(f"{name} must be at most 1, not {value}.")


@dataclasses.dataclass(frozen=True)
class Dqn(Baseline):
    """Double DQN; discrete actions."""

    algorithm = "dqn"

    activation: Literal["relu", "tanh"] = "relu"
    """Nonlinearity of the hidden layers."""
    batch_size: int = 32
    """Transitions per update."""
    buffer_size: int = 1_000_000
    """Transitions that the replay holds."""
    exploration_fraction: float = 0.1
    """The part of the budget over which the probability of a random action falls."""
    exploration_final_eps: float = 0.05
    """What it falls to."""
    learning_rate: float = 1e-4
    """Learning rate of Adam."""
    train_freq: int = 4
    """Environment steps between trainings."""
    gradient_steps: int = 1
    """Updates per training; -1: as many as steps were taken since the last."""
    target_update_interval: int = 10_000
    """Environment steps between updates of the target network."""
    learning_starts: int = 100
    """Steps of random actions before the first update."""


@dataclasses.dataclass(frozen=True)
class A2c(Baseline):
    """Advantage Actor-Critic, synchronous; any actions."""

    algorithm = "a2c"

    ent_coef: float = 0.0
    """Weight of the entropy in the loss."""
    learning_rate: float = 7e-4
    """Learning rate of RMSProp."""
    learning_rate_schedule: Schedule = "constant"
    """Keep the learning rate, or let it fall to zero over the budget."""
    vf_coef: float = 0.5
    """Weight of the value function's loss."""
    rms_prop_decay: float = 0.99
    """Decay of RMSProp's mean of squared gradients."""
    n_steps: int = 5
    """Steps of each environment per update: the returns' length."""
    n_envs: int = 8
    """Copies of the environment, stepped together."""
    normalize_advantage: bool = False
    """Shift and scale advantages within a batch."""
    gae_lambda: float = 1.0
    """Factor of generalized advantage estimation; 1: plain n-step returns."""


@dataclasses.dataclass(frozen=True)
class Ppo(Baseline):
    """Proximal Policy Optimization; any actions."""

    algorithm = "ppo"

    learning_rate: float = 3e-4
    """Learning rate of Adam."""
    learning_rate_schedule: Schedule = "constant"
    """Keep the learning rate, or let it fall to zero over the budget."""
    n_steps: int = 2048
    """Steps of each environment per update."""
    ent_coef: float = 0.0
    """Weight of the entropy in the loss."""
    vf_coef: float = 0.5
    """Weight of the value function's loss."""
    gae_lambda: float = 0.95
    """Factor of generalized advantage estimation."""
    n_minibatches: int = 32
    """Minibatches that an update's steps are cut into."""
    n_epochs: int = 10
    """Passes over an update's steps."""
    clip_range: float = 0.2
    """How far the probability ratio may go from 1."""
    n_envs: int = 1
    """Copies of the environment, stepped together."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_steps * self.n_envs < 2 * self.n_minibatches:
            raise UserError(
                f"n_minibatches must leave minibatches of at least two steps: {self.n_steps * self.n_envs} steps are "
                f"collected per update, so at most {max(self.n_steps * self.n_envs // 2, 1)} of them."
            )


@dataclasses.dataclass(frozen=True)
class Trpo(Baseline):
    """Trust Region Policy Optimization; any actions. (The library's has no entropy term: the paper's grid had one.)"""

    algorithm = "trpo"

    n_steps: int = 2048
    """Steps of each environment per update."""
    target_kl: float = 0.01
    """Most that the policy may move in an update, as a KL divergence."""
    cg_max_steps: int = 15
    """Iterations of the conjugate gradient."""
    gae_lambda: float = 0.95
    """Factor of generalized advantage estimation."""
    n_critic_updates: int = 10
    """Passes of the value function over an update's steps."""
    n_envs: int = 1
    """Copies of the environment, stepped together."""
    learning_rate: float = 1e-3
    """Learning rate of the value function's Adam."""
    batch_size: int = 128
    """Steps per minibatch of the value function."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_steps * self.n_envs < 2:
            raise UserError("n_steps times n_envs must be at least 2: an update needs more than one step.")


@dataclasses.dataclass(frozen=True)
class Ddpg(Baseline):
    """Deep Deterministic Policy Gradient; continuous actions."""

    algorithm = "ddpg"

    hidden_sizes: tuple[int, ...] = (400, 300)
    """Units of each fully connected hidden layer."""
    activation: Literal["relu", "tanh"] = "relu"
    """Nonlinearity of the hidden layers."""
    ou_sigma: float = 0.1
    """Deviation of the Ornstein-Uhlenbeck noise on the actions."""
    tau: float = 0.005
    """How far the target networks go towards the learned ones in each update."""
    batch_size: int = 256
    """Transitions per update."""
    actor_learning_rate: float = 1e-3
    """Learning rate of the actor's Adam."""
    critic_learning_rate: float = 1e-3
    """Learning rate of the critic's Adam."""
    reward_scale: float = 1.0
    """Factor on rewards; without effect beside normalize_returns."""
    buffer_size: int = 100_000
    """Transitions that the replay holds."""
    random_exploration: float = 0.0
    """Probability of a uniformly random action."""
    learning_starts: int = 10_000
    """Steps of random actions before the first update."""


BASELINES: dict[str, type[Baseline]] = {kind.algorithm: kind for kind in (Dqn, A2c, Ppo, Trpo, Ddpg)}

_LEAST = {"seed": 0, "evaluation_interval": 0, "learning_starts": 0, "gradient_steps": -1}
_AT_MOST_ONE = (
    "gamma",
    "gae_lambda",
    "exploration_fraction",
    "exploration_final_eps",
    "rms_prop_decay",
    "tau",
    "random_exploration",
)
