"""How many steps are due, and how many pictures a browser may be sent before it has shown some."""

import time

PICTURES_A_SECOND = 60.0
"""More than a screen shows would only cost time."""
MOST_UNSEEN = 4
"""Pictures on their way to a browser that is not known to have shown them; a slow one gets fewer pictures."""
PATIENCE = 5.0
"""Seconds after which the episode of a browser that shows nothing stands still."""
MOST_STEPS = 2000
"""Steps at a time, so that a person is answered soon."""


class Pace:
    """The rhythm of one browser's episodes."""

    def __init__(self) -> None:
        self.times: float | None = 1.0
        """Times real time; None: as fast as possible."""
        self._due = 0.0
        self._step_seconds = 1e-3
        self._sent = self._seen = 0
        self._last_seen = time.monotonic()

    def begin(self) -> None:
        """What went by before now counts for nothing."""
        self._due = time.monotonic()

    def wait(self) -> float:
        """Seconds until the next steps are due."""
        return max(0.0, self._due - time.monotonic())

    def steps(self, fps: float) -> int:
        """How many steps come next; the following ones are due when these have been shown."""
        if self.times is None:
            n = max(1, min(MOST_STEPS, int(1 / PICTURES_A_SECOND / self._step_seconds)))
            self._due = time.monotonic()
            return n
        rate = fps * self.times
        n = max(1, min(MOST_STEPS, round(rate / PICTURES_A_SECOND)))
        # A machine that is too slow for the pace does not try to catch up.
        self._due = max(self._due, time.monotonic() - 1 / PICTURES_A_SECOND) + n / rate
        return n

    def took(self, n: int, seconds: float) -> None:
        """Learn how long n steps took."""
        self._step_seconds += 0.2 * (seconds / n - self._step_seconds)

    def may_send(self) -> bool:
        """Whether the browser keeps up."""
        return self._sent - self._seen < MOST_UNSEEN

    def is_stalled(self) -> bool:
        """Whether the browser has shown nothing for long."""
        return not self.may_send() and time.monotonic() - self._last_seen > PATIENCE

    def sent(self) -> int:
        """One more picture is on its way; its number."""
        if self._sent == self._seen:  # nothing was owed until now
            self._last_seen = time.monotonic()
        self._sent += 1
        return self._sent

    def seen(self, picture: int) -> None:
        """The browser has shown this one."""
        if self._seen < picture <= self._sent:
            self._seen, self._last_seen = picture, time.monotonic()
