"""`udrl render`."""

import dataclasses
from pathlib import Path

from udrl.commands.order import Order, print_if_unseen
from udrl.commands.parsing import parse
from udrl.errors import UserError


@dataclasses.dataclass(frozen=True)
class RenderArguments(Order):
    """Command an agent and watch it: a video of the episode, with what is still desired and what has been obtained.

    It is the first episode of `udrl evaluate` with the same command and seed, where Gymnasium steps that. No screen is
    needed. Install it with pip install 'udrl[render]'.
    """

    out: Path | None = None
    """The file, .mp4 or .gif; without it episode.mp4 in the run's folder."""
    episodes: int = 1
    """Number of episodes, one after the other."""
    fps: float | None = None
    """Pictures a second; without it as many as the environment says. A GIF shows at most 50 of them."""
    scale: int | None = None
    """Whole number by which pictures are magnified; without it small ones are, so that the strip can be read."""


def main(arguments: list[str]) -> None:
    parsed = parse(RenderArguments, arguments, "udrl render")
    if parsed.episodes < 1 or parsed.seed < 0:
        raise UserError("episodes must be at least 1, and seed not negative.")
    if not (parsed.fps is None or 1 <= parsed.fps <= 240) or not (parsed.scale is None or parsed.scale >= 1):
        raise UserError("fps must be from 1 to 240, and scale at least 1.")
    out = parsed.out or (parsed.run if parsed.run.is_dir() else parsed.run.parent) / "episode.mp4"
    agent = parsed.agent()
    from udrl.render import record_video, work_without_screen

    work_without_screen()  # before an environment is imported
    command, environment = parsed.command(agent), parsed.environment("rgb_array")
    recording = record_video(
        agent,
        out,
        command,
        seed=parsed.seed,
        episodes=parsed.episodes,
        environment=environment,
        fps=parsed.fps,
        scale=parsed.scale,
        quiet=False,
    )
    result = recording.evaluation
    obtained = [f"{total:.1f} in {n} steps" for total, n in zip(result.returns, result.lengths, strict=True)]
    print(
        f"{out}, {recording.seconds:.1f} seconds: desired {float(command.desired_return):.1f} in "
        f"{float(command.desired_horizon):.0f} steps, obtained {', '.join(obtained)}"
    )
    print_if_unseen(agent, command)
