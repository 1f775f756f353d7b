"""The command line: finds the command, and turns what goes wrong into a sentence and an exit code."""

import importlib
import sys
from collections.abc import Sequence

from udrl import __version__
from udrl.commands import COMMANDS
from udrl.errors import Interrupted, TrainingError, UserError, nearest


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    if "" not in sys.path:
        sys.path.insert(0, "")  # a factory `module:function` may lie in the current folder
    name, *rest = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        if name in ("-h", "--help", "help"):
            print(_help())
        elif name == "--version":
            print(__version__)
        elif name in COMMANDS:
            importlib.import_module(f"udrl.commands.{name}").main(rest)
        else:
            raise UserError(
                f"There is no command '{name}'.{nearest(name, list(COMMANDS))} Commands are {', '.join(COMMANDS)}."
            )
    except UserError as error:
        return _fail(error, 2)
    except TrainingError as error:
        return _fail(error, 1)
    except KeyboardInterrupt:
        return _fail("Stopped at once; what was saved before is kept.", 130)
    except BrokenPipeError:  # the reader of our output has gone: `udrl runs | head`
        sys.stderr.close()
        return 1
    except Interrupted as error:
        return _fail(error, error.exit_code)
    return 0


def _help() -> str:
    commands = "\n".join(f"  udrl {name:<12} {what}" for name, what in COMMANDS.items())
    return (
        f"udrl {__version__}: agents that follow commands, by Upside-Down Reinforcement Learning\n\n{commands}\n\n"
        "Every command explains itself with --help. To begin: udrl train cartpole"
    )


def _fail(error: Exception | str, code: int) -> int:
    print(f"udrl: {error}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
