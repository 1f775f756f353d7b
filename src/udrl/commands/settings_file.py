"""Settings from a TOML file, as `udrl search` writes it and `udrl train --config` takes it."""

import tomllib
from pathlib import Path
from typing import Any

from udrl.errors import UserError


def read_table(path: Path) -> dict[str, Any]:
    """The keys and values of a file."""
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError as error:  # not TOML, or not even text
        raise UserError(f"{path} is not valid TOML: {error}.") from None


def value_of_flag(arguments: list[str], flag: str) -> str | None:
    """What follows a flag that decides which others there are, before all are parsed."""
    for i, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name == flag and equals:
            return value
        if name == flag:
            return arguments[i + 1] if i + 1 < len(arguments) else ""
    return None
