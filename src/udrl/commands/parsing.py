"""What all commands share: arguments by the definition in a dataclass, and tables."""

import contextlib
import io
import itertools
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

import tyro

from udrl.errors import UserError, nearest


def parse(kind: type[Any], arguments: list[str], program: str, description: str | None = None, **more: Any) -> Any:
    """The dataclass `kind` filled from arguments; a mistake becomes one sentence."""
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return tyro.cli(kind, args=arguments, prog=program, description=description, **more)
    except SystemExit as stop:
        if not stop.code:
            raise
    # The first paragraph of the box that tyro draws says what is wrong; the rest repeats the help.
    lines = [line.strip("│ ") for line in complaint.getvalue().splitlines()[1:]]
    paragraph = itertools.takewhile(lambda line: not line.startswith(("─", "╰")), lines)
    flags = sorted(set(_flags(kind)))
    unknown = next((word for word in arguments if word.startswith("--") and word.split("=")[0] not in flags), "")
    raise UserError(f"{' '.join(paragraph)}.{nearest(unknown, flags)} See {program} --help.")


def _flags(kind: type[Any]) -> Iterator[str]:
    """The flags of a dataclass, and of the dataclasses in it."""
    for name, part in get_type_hints(kind).items():
        yield f"--{name.replace('_', '-')}"
        if is_dataclass(part) and isinstance(part, type):
            yield from (f"--{field.name.replace('_', '-')}" for field in fields(part))


def print_table(header: list[str], rows: list[list[str]]) -> None:
    """A table as wide as the terminal allows."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*header, box=box.SIMPLE_HEAD)
    for row in rows:
        table.add_row(*row)
    Console().print(table)
