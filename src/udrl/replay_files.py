"""The replay on disk: each episode is written once, and a manifest names those that are in the replay."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from udrl import checkpoint
from udrl.episode import Episode, pack_episodes, unpack_episodes
from udrl.errors import UserError
from udrl.replay import Replay

FILE_BYTES = 4 << 20
"""Small episodes share a file of about this size, images have one of their own: few files, and little is kept too long
(a file stays until all of its episodes have left the replay)."""

Manifest = dict[str, list[int]]
"""The births of the episodes that count, by the file they are in."""


class ReplayFiles:
    """A folder of episodes. A checkpoint that holds the manifest makes what was written count."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file_of: dict[int, str] = {}
        """Of each episode, by its birth."""

    def write(self, replay: Replay) -> Manifest:
        """Write the episodes that no file holds yet. Files that count already are not touched."""
        self._folder.mkdir(exist_ok=True)
        births = replay.births.tolist()
        new = sorted((birth, rank) for rank, birth in enumerate(births) if birth not in self._file_of)
        for group in _groups((birth, replay[rank]) for birth, rank in new):
            name = f"episodes-{min(group):09}.safetensors"
            arrays = pack_episodes(list(group.values())) | {"births": np.array(list(group), np.int64)}
            checkpoint.save(self._folder / name, "replay", arrays, {})
            self._file_of |= dict.fromkeys(group, name)
        self._file_of = {birth: self._file_of[birth] for birth in births}
        manifest: Manifest = {}
        for birth, name in self._file_of.items():
            manifest.setdefault(name, []).append(birth)
        return manifest

    def clean(self) -> None:
        """Delete files of which nothing counts any more, once the checkpoint that says so is on disk."""
        keep = set(self._file_of.values())
        for file in self._folder.iterdir():
            if file.name not in keep:
                with contextlib.suppress(OSError):
                    file.unlink()

    def read(self, manifest: Mapping[str, list[int]]) -> dict[int, Episode]:
        """The episodes that a manifest names, by their births."""
        episodes: dict[int, Episode] = {}
        for name, births in manifest.items():
            if Path(name).name != name:
                raise UserError(f"'{name}' is no file in {self._folder}.")
            arrays, _ = checkpoint.load(self._folder / name, "replay")
            there = dict(zip(arrays["births"].tolist(), unpack_episodes(arrays), strict=True))
            episodes |= {birth: there[birth] for birth in births}
            self._file_of |= dict.fromkeys(births, name)
        return episodes


def _groups(episodes: Iterator[tuple[int, Episode]]) -> Iterator[dict[int, Episode]]:
    """Episodes by their births, as many as fill a file."""
    group: dict[int, Episode] = {}
    for birth, episode in episodes:
        group[birth] = episode
        if sum(one.observations.nbytes for one in group.values()) >= FILE_BYTES:
            yield group
            group = {}
    if group:
        yield group
