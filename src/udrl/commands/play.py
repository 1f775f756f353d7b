"""`udrl play`."""

import dataclasses
from pathlib import Path

import tyro

from udrl.commands.parsing import parse
from udrl.errors import UserError


@dataclasses.dataclass(frozen=True)
class Serving:
    """Where the page is served."""

    host: str = "127.0.0.1"
    """Address to listen at; 0.0.0.0 lets everybody on the network in, without a password."""
    port: int = 0
    """Port to listen at; 0: any that is free."""
    browser: bool = True
    """Open the page in the browser."""


@dataclasses.dataclass(frozen=True)
class PlayArguments(Serving):
    """Command agents on a page in the browser, and watch them obey. Install it with pip install 'udrl[play]'."""

    run: tyro.conf.Positional[Path] = Path("runs")
    """A run folder, a folder of runs, or an agent file."""
    best: bool = False
    """Begin with the run's best-evaluated agent instead of the newest; the page has both."""
    env_id: str | None = None
    """The environment, for agents of a factory module:function: a file alone never decides what is imported."""


def main(arguments: list[str]) -> None:
    parsed = parse(PlayArguments, arguments, "udrl play")
    play(parsed.run, parsed, parsed.best, parsed.env_id)


def play(run: Path, serving: Serving, best: bool = False, env_id: str | None = None) -> None:
    """Serve the page for the agents of `run`."""
    from udrl.cores import limit_cores

    limit_cores(1)
    from udrl.page.agents import Agents, find_agents, has_extra
    from udrl.render import work_without_screen

    if not has_extra():
        raise UserError("The page needs an extra: pip install 'udrl[play]'.")
    work_without_screen()  # before an environment is imported
    from udrl.engines import find_environment
    from udrl.page.server import serve

    factory = None if env_id is None else find_environment(env_id, "rgb_array")
    serve(Agents(find_agents(run, best), factory), serving.host, serving.port, env_id, serving.browser)
