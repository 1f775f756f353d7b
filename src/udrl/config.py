"""Hyper-parameters under the paper's own names (Appendix "UDRL Hyperparameters"), and how a run is carried out."""

import dataclasses
import math
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from typeguard import TypeCheckError, check_type

from udrl.errors import UserError, nearest


@dataclasses.dataclass(frozen=True)
class Conditions:
    """What a run of any algorithm is given: a task, a seed, and how it is evaluated."""

    env_id: str = "LunarLander-v3"
    """Gymnasium's name of the environment, or a factory `module:function` that takes no arguments."""
    seed: int = 1
    """All randomness of a run follows from it."""
    sparse: bool = False
    """Give the sum of all rewards at the last step of an episode, and zero before it."""
    max_episode_steps: int | None = None
    """End episodes after so many steps, besides the environment's own limit."""
    frame_stack: int = 1
    """How many of the newest observations the network sees at a time."""

    # The paper's evaluation.
    evaluation_interval: int = 50_000
    """Evaluate after the first iteration past each multiple of so many env_steps; 0: only at the end."""
    n_evaluation_episodes: int = 100
    """Episodes per evaluation."""
    evaluation_actions: Literal["auto", "sample", "mode"] = "auto"
    """In evaluation sample actions or take their mode; auto samples discrete ones, takes the mode of continuous."""
    evaluation_seeds: Literal["final", "tuning"] = "final"
    """The paper's range of evaluation seeds: [1, 0.5 M) final, or [0.5 M, 1 M) while tuning."""

    def __post_init__(self) -> None:
        _check_types(self)
        self._check_at_least_one("frame_stack", "n_evaluation_episodes")
        if self.seed < 0 or self.evaluation_interval < 0:
            raise UserError("seed and evaluation_interval must not be negative.")
        if self.max_episode_steps is not None and self.max_episode_steps < 1:
            raise UserError(f"max_episode_steps must be at least 1, not {self.max_episode_steps}.")

    def _check_at_least_one(self, *names: str) -> None:
        for name in names:
            if getattr(self, name) < 1:
                raise UserError(f"{name} must be at least 1, not {getattr(self, name)}.")

    def _check_positive(self, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise UserError(f"{name} must be a positive finite number, not {value}.")

    def _check_layers(self, *names: str) -> None:
        for name in names:
            if not getattr(self, name) or min(getattr(self, name)) < 1:
                raise UserError(f"{name} needs at least one layer, and every layer at least one unit.")


@dataclasses.dataclass(frozen=True)
class Config(Conditions):
    """Everything that changes what is learned: the identity of a run."""

    engine: Literal["auto", "gymnasium", "envpool"] = "auto"
    """What steps the environments; auto takes EnvPool where it is installed, has the same task and is faster."""

    # The paper's table of hyper-parameters.
    batch_size: int = 768
    """Number of (input, target) pairs per batch."""
    fast_net_option: Literal["bilinear", "gated", "concat"] = "bilinear"
    """How the command enters the network: two fast-weight architectures, or plain concatenation."""
    horizon_scale: float = 0.02
    """Factor on the desired horizon before it enters the network."""
    last_few: int = 75
    """Number of best episodes in the replay that exploratory commands are drawn from."""
    learning_rate: float = 1e-3
    """Learning rate of Adam."""
    n_episodes_per_iter: int = 20
    """Exploratory episodes per iteration."""
    n_updates_per_iter: int = 150
    """Gradient updates of the behavior function per iteration."""
    n_warm_up_episodes: int = 50
    """Episodes of random actions before the first iteration."""
    replay_size: int = 600
    """Number of best episodes that are kept (the paper's Z)."""
    return_scale: float = 0.02
    """Factor on the desired return before it enters the network."""

    # The rest of the paper's design.
    body: Literal["auto", "mlp", "conv"] = "auto"
    """Fully connected or convolutional; auto takes conv for image observations (bytes, two or three axes)."""
    hidden_sizes: tuple[int, ...] = (64, 128, 128)
    """Units of each fully connected hidden layer."""
    conv_channels: tuple[int, ...] = (32, 48, 96, 128)
    """Channels of each 3x3, stride-2 convolution."""
    activation: Literal["relu", "tanh"] = "relu"
    """Nonlinearity of the hidden layers."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """What the network computes in; its weights are kept in float32."""
    segments: Literal["trailing", "any"] = "trailing"
    """Training segments: up to the end of the episode (the paper's experiments), or any 0 <= t1 < t2 <= T."""
    warm_up_std: float | None = None
    """Deviation of the Normal warm-up actions of a continuous task; without it they are uniform."""
    max_return: float | None = None
    """Upper bound on the desired return that enters the network."""
    horizon_is_return: bool = False
    """Make the desired return an integer and the desired horizon equal to it (one reward of 1 per step)."""

    # Where the paper's text and the authors' notebook differ; the defaults are the notebook's.
    bound_commands: Literal["always", "evaluation"] = "always"
    """Bound the network's command (return <= max_return, horizon >= 1) always, or (text) in evaluation only."""
    fast_init_gain: float = 1.0
    """Gain of the orthogonal initial weights of the layer that the command enters."""
    hidden_init_gain: float = math.sqrt(2.0)
    """Gain of the orthogonal initial weights of the hidden layers (text: 1)."""
    output_init: Literal["uniform", "orthogonal"] = "uniform"
    """Initial output layer: uniform within 1/sqrt(inputs), bias included, or (text) orthogonal with zero bias."""
    integer_horizon: bool = True
    """Cut the exploratory horizon, a mean of lengths, to an integer (text: keep the mean)."""
    text_segments: bool = False
    """The text's trailing segments, t2 = T - 1: horizons one shorter, an episode's last step no example."""
    count_warm_up: bool = True
    """Count warm-up steps among env_steps."""
    ties: Literal["newest", "oldest"] = "newest"
    """Which of two episodes of equal return stays in a full replay."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_at_least_one(*_AT_LEAST_ONE)
        self._check_positive(*_POSITIVE)
        if self.max_return is not None and not math.isfinite(self.max_return):
            raise UserError(f"max_return must be finite, not {self.max_return}; leave it out for no bound.")
        if self.warm_up_std is not None and not 0 <= self.warm_up_std < math.inf:
            raise UserError(f"warm_up_std must be finite and not negative, not {self.warm_up_std}.")
        self._check_layers("hidden_sizes", "conv_channels")
        if self.text_segments and self.segments == "any":
            raise UserError("text_segments is about trailing segments: leave it out with segments=any.")


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """How far and where a run goes: no part of its identity."""

    env_steps: int = 10_000_000
    """Stop after so many environment steps; raising it extends a finished run."""
    stop_when_solved: bool = False
    """Stop as soon as an evaluation's mean return reaches solved_return."""
    solved_return: float | None = None
    """The mean return at which the task counts as solved."""
    out: Path | None = None
    """Run folder; a run that is already there is continued."""
    checkpoint_seconds: float = 10.0
    """Least time between two checkpoints; a slow disk makes it longer, to stay under 2 % of the time.
    0: after every iteration, whatever it costs. A baseline keeps none."""
    threads: int = 1
    """Cores that the run may use; weights are bit-identical for the same number only."""
    workers: int | Literal["auto"] = "auto"
    """Processes that share the episodes of a batch, exploration and evaluation alike; auto: as many as threads.
    A baseline has one."""
    device: Literal["auto", "cpu", "gpu"] = "auto"
    """What the network is trained on; auto takes a GPU for images where one is found."""
    tensorboard: bool = False
    """Write the metrics for TensorBoard too, into the run folder (extra: udrl[tensorboard])."""
    wandb: bool = False
    """Send the metrics to Weights & Biases too; WANDB_MODE=offline keeps them here (extra: udrl[wandb])."""

    def __post_init__(self) -> None:
        _check_types(self)
        if self.env_steps < 1 or self.threads < 1 or self.n_workers < 1:
            raise UserError("env_steps, threads and workers must be at least 1.")
        if not self.checkpoint_seconds >= 0:
            raise UserError("checkpoint_seconds must not be negative.")
        if self.stop_when_solved and self.solved_return is None:
            raise UserError("stop_when_solved needs a threshold: give solved_return too.")

    @property
    def n_workers(self) -> int:
        return self.threads if self.workers == "auto" else self.workers


Settings = TypeVar("Settings", bound="Conditions | RunOptions")

_AT_LEAST_ONE = (
    "batch_size",
    "last_few",
    "n_episodes_per_iter",
    "n_updates_per_iter",
    "n_warm_up_episodes",
    "replay_size",
)
_POSITIVE = ("horizon_scale", "learning_rate", "return_scale", "fast_init_gain", "hidden_init_gain")


def _check_types(settings: "Conditions | RunOptions") -> None:
    """Refuse values of another type than the field's, and choices that there are not."""
    for name, kind in get_type_hints(type(settings)).items():
        value: Any = getattr(settings, name)
        choices = get_args(kind) if get_origin(kind) is Literal else ()
        if isinstance(value, list):  # as a file or a hurried person has it
            value = tuple(cast("list[Any]", value))
            object.__setattr__(settings, name, value)
        if choices and value not in choices:
            raise UserError(f"{name} must be one of {', '.join(choices)}, not '{value}'.{nearest(str(value), choices)}")
        if isinstance(value, bool) and kind is not bool:
            raise UserError(f"{name} must be a number, not {value}.")
        try:
            check_type(value, kind)
        except TypeCheckError:
            expected = kind.__name__ if isinstance(kind, type) else str(kind)
            raise UserError(f"{name} must be of type {expected}, not {value!r}.") from None


PAPER_TEXT: dict[str, Any] = {
    "bound_commands": "evaluation",
    "hidden_init_gain": 1.0,
    "output_init": "orthogonal",
    "integer_horizon": False,
    "text_segments": True,
}
"""The paper's text to the letter, where the authors' notebook differs from it."""


def replace(settings: Settings, changes: dict[str, Any]) -> Settings:
    """`settings` with `changes`; an unknown name is answered with the nearest right one."""
    known = [field.name for field in dataclasses.fields(settings)]
    for name in changes:
        if name not in known:
            raise UserError(f"There is no setting '{name}'.{nearest(name, known)}")
    return dataclasses.replace(settings, **changes)
