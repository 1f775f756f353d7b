"""Pictures to a video file that is written whole or not at all: H.264 in MP4, or an animated GIF."""

import contextlib
import importlib.util
import itertools
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from udrl.checkpoint import whole_file
from udrl.errors import UserError

ENCODERS: dict[str, list[str]] = {
    # What every player and browser shows: 4:2:0 colors, and the index at the beginning.
    ".mp4": ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "18", "-movflags", "+faststart", "-f", "mp4"],
    # One palette for all pictures, or they flicker, taken from the first ones, or all have to be kept in memory.
    # Browsers slow down what is faster than 50 pictures a second, so some are left out instead.
    ".gif": [
        "-filter_complex",
        "fps=fps='min(50,source_fps)',split[all][some];[some]trim=end_frame=100,palettegen[palette];"
        "[all][palette]paletteuse=dither=none:diff_mode=rectangle",
        "-f",
        "gif",
    ],
}
"""How ffmpeg writes each kind of file, by suffix."""


def check_video(path: Path) -> None:
    """Refuse what cannot become a video before anything is computed for it."""
    if path.suffix.lower() not in ENCODERS:
        raise UserError(f"'{path}' is no name of a video: it has to end in {' or '.join(ENCODERS)}.")
    if any(importlib.util.find_spec(package) is None for package in ("imageio_ffmpeg", "PIL")):
        raise UserError("Videos need an extra: pip install 'udrl[render]'.")


def write_video(path: Path, pictures: Iterable[np.ndarray], fps: float) -> None:
    """Write pictures [H, W, 3] uint8 of one size, H and W even, as they come."""
    check_video(path)
    pictures = iter(pictures)
    first = next(pictures)
    height, width, _ = first.shape
    with whole_file(path) as temporary:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _encoder(temporary, path.suffix.lower(), width, height, fps) as encoder:
            for picture in itertools.chain([first], pictures):
                encoder.write(np.ascontiguousarray(picture, np.uint8).data)


@contextlib.contextmanager
def _encoder(path: Path, suffix: str, width: int, height: int, fps: float) -> Iterator[IO[bytes]]:
    """What takes raw pictures and encodes them into `path`."""
    source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(fps), "-i", "-"]
    # `file:`, since a name with a colon would be taken for an address, and one with a hyphen for an option.
    command = [_ffmpeg(), "-loglevel", "error", "-y", *source, *ENCODERS[suffix], f"file:{path}"]
    # A session of its own: Ctrl-C is ours to answer.
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    assert process.stdin is not None
    try:
        try:
            yield process.stdin
        except BrokenPipeError:
            process.wait()
            if process.returncode == 0:  # the pipe was another one
                raise
        _, complaint = process.communicate()
    except BaseException:
        process.kill()
        process.communicate()
        raise
    if process.returncode != 0:
        lines = complaint.decode(errors="replace").strip().splitlines()
        raise OSError(lines[-1] if lines else f"ffmpeg ended with {process.returncode}")


def _ffmpeg() -> str:
    """The program that encodes: the one that the extra brings, or the one that $IMAGEIO_FFMPEG_EXE names."""
    import imageio_ffmpeg

    try:
        return imageio_ffmpeg.get_ffmpeg_exe()
    except RuntimeError as error:
        raise UserError(str(error)) from None
