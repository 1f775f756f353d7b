"""Commands: what is asked of an agent, and how it shrinks as rewards arrive (Algorithm 2, lines 8 to 10)."""

import dataclasses
from numbers import Real
from typing import Any

import numpy as np

from udrl.errors import UserError


@dataclasses.dataclass(frozen=True)
class Command:
    """Obtain `desired_return` in `desired_horizon` steps; numbers for one episode, arrays for a batch."""

    desired_return: float | np.ndarray  # [] or [B]
    desired_horizon: float | np.ndarray  # [] or [B]

    def after(self, reward: float | np.ndarray) -> "Command":
        """The command that remains one step and `reward` later. It is never clipped: bounds belong to the network."""
        return Command(self.desired_return - reward, self.desired_horizon - 1)

    def __getitem__(self, index: Any) -> "Command":
        """The commands of some episodes of a batch."""
        return Command(np.asarray(self.desired_return)[index], np.asarray(self.desired_horizon)[index])

    def checked(self) -> "Command":
        """This command, if the network can be given it."""
        for name in ("desired_return", "desired_horizon"):
            if not _fits_float32(getattr(self, name)):
                raise UserError(f"{name} must be a finite number that float32 can hold, not {getattr(self, name)}.")
        return self

    def as_array(self, n: int) -> np.ndarray:  # [n, 2] float64
        """For `n` episodes, each with its own command or all with the same; the network takes it as float32."""
        array = np.empty((n, 2), np.float64)
        array[:, 0] = self.desired_return
        array[:, 1] = self.desired_horizon
        return array


def shrink(commands: np.ndarray, rewards: np.ndarray) -> None:
    """`Command.after` for a batch as an array [n, 2], in place."""
    commands[:, 0] -= rewards
    commands[:, 1] -= 1.0


_LARGEST = float(np.finfo(np.float32).max)


def _fits_float32(value: float | np.ndarray) -> bool:
    is_number = value.dtype.kind in "fiu" if isinstance(value, np.ndarray) else isinstance(value, Real)
    return is_number and bool(np.all(abs(value) <= _LARGEST))  # false for NaN
