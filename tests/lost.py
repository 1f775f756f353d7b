"""Environments that take their process with them, or fail: what happens to runs on large machines."""

import os
import signal
import time
from pathlib import Path
from typing import Any

from probes import CountedReward, Step

MARKERS = "UDRL_TEST_MARKERS"
"""Names a folder where what has happened once is kept."""


class Undisturbed(CountedReward):
    """What the others are but for what happens to them."""

    steps_of_process = 0

    def step(self, action: Any) -> Step:
        type(self).steps_of_process += 1
        return super().step(action)


class KilledOnce(Undisturbed):
    """Its process dies without a word, in the middle of training, once."""

    def step(self, action: Any) -> Step:
        marker = Path(os.environ[MARKERS]) / "killed"
        if self.steps_of_process == 1500 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)


class AlwaysKilled(Undisturbed):
    """Its process never gets further."""

    def step(self, action: Any) -> Step:
        os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)


class Waits(Undisturbed):
    """Slow until a marker says hurry: what is to be stopped cannot end before."""

    def step(self, action: Any) -> Step:
        if not (Path(os.environ[MARKERS]) / "hurry").exists():
            time.sleep(0.02)
        return super().step(action)


class Fails(Undisturbed):
    """An environment with a mistake in it."""

    def step(self, action: Any) -> Step:
        if self.steps_of_process == 1000:
            raise RuntimeError("the sky is falling")
        return super().step(action)
