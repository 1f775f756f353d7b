"""What can go wrong, each said in one sentence that tells the reader what to do."""

from collections.abc import Iterable


class UserError(Exception):
    """A mistake in what was asked for: the command line answers it with exit code 2."""


class TrainingError(Exception):
    """Training cannot go on: the last checkpoint is kept, and the command line answers with exit code 1."""


class Interrupted(Exception):
    """The run was asked to stop by a signal, and has saved where it was."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = 128 + number


def nearest(name: str, known: Iterable[str]) -> str:
    """`" Did you mean 'x'?"` for the known name nearest to `name`, or nothing."""
    import difflib  # not needed where nothing is wrong

    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" Did you mean '{close[0]}'?" if close else ""
