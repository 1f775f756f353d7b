"""The replay buffer: the best Z episodes seen so far, sorted by return (Section "Replay Buffer")."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from udrl.episode import Episode

PAGE_BITS = 6
PAGE = 1 << PAGE_BITS
"""Rows per page; an episode wastes less than one page."""

MOST_GROWTH = 32 << 20
"""Bytes by which an array that is full grows at the most, unless one episode needs more."""


class Replay:
    """Keeps at most `size` episodes; which one leaves is decided by return, and by age among equals.

    The steps of all episodes lie in one array per field, in pages: an episode that leaves makes room for any
    other, nothing is ever moved, and a batch is one gather whatever the number of episodes.
    """

    def __init__(self, size: int, ties: Literal["newest", "oldest"] = "newest") -> None:
        self.size = size
        self._age_sign = 1 if ties == "newest" else -1
        self._n = 0
        self._n_added = 0
        # One entry per slot; an episode keeps its slot until it leaves.
        self._slot_returns = np.empty(size, np.float64)
        self._slot_births = np.empty(size, np.int64)
        self._slot_lengths = np.zeros(size, np.int64)
        self._slot_terminated = np.zeros(size, bool)
        self._pages = np.zeros((size, 1), np.int64)  # [size, most pages of an episode]
        self._free_pages: list[int] = []
        self._rows: dict[str, np.ndarray] = {}  # each [pages * PAGE, ...]
        self._order = np.empty(0, np.int64)  # slots from the worst episode to the best

    def __len__(self) -> int:
        return self._n

    @property
    def returns(self) -> np.ndarray:  # [n] float64, ascending
        return self._slot_returns[self._order]

    @property
    def lengths(self) -> np.ndarray:  # [n], in the order of returns
        return self._slot_lengths[self._order]

    @property
    def births(self) -> np.ndarray:  # [n], in the order of returns
        """When each episode came, counted in episodes."""
        return self._slot_births[self._order]

    def __getitem__(self, rank: int) -> Episode:
        """A copy of the episode of that rank: 0 is the worst, -1 the best."""
        slot = self._order[rank]
        rows = self._row(slot, np.arange(int(self._slot_lengths[slot])))
        observations, actions, rewards = (self._rows[name][rows] for name in ("observations", "actions", "rewards"))
        return Episode(observations, actions, rewards, bool(self._slot_terminated[slot]))

    def add(self, episodes: Sequence[Episode]) -> None:
        """Take in `episodes`, the first being the oldest, and let the worst of all go."""
        for episode in episodes:
            self._add_one(episode)
        self._order = self._sorted_slots()

    def restore(self, episodes: Mapping[int, Episode], n_added: int) -> None:
        """Fill an empty replay with what another one held: episodes by their births."""
        for self._n_added, episode in episodes.items():
            self._add_one(episode)
        self._n_added = n_added
        self._order = self._sorted_slots()

    @property
    def observation_bytes(self) -> int:
        """Of one observation as it is stored."""
        return self._rows["observations"][:1].nbytes

    @property
    def n_added(self) -> int:
        """Episodes ever offered."""
        return self._n_added

    def gather(self, ranks: np.ndarray, steps: np.ndarray, *fields: str) -> list[np.ndarray]:
        """Of each field the rows at the given steps of the episodes of the given ranks, which broadcast to them."""
        rows = self._row(self._order[ranks], steps)
        return [np.take(self._rows[field], rows, axis=0) for field in fields]  # quicker than an index

    def _row(self, slots: np.ndarray | np.integer, steps: np.ndarray) -> np.ndarray:
        pages = np.take(self._pages, slots * self._pages.shape[1] + (steps >> PAGE_BITS))
        return (pages << PAGE_BITS) + (steps & (PAGE - 1))

    def _sorted_slots(self) -> np.ndarray:
        births = self._slot_births[: self._n] * self._age_sign
        return np.lexsort((births, self._slot_returns[: self._n]))

    def _add_one(self, episode: Episode) -> None:
        birth = self._n_added
        self._n_added += 1
        if self._n < self.size:
            slot = self._n
            self._n += 1
        else:
            slot = int(self._sorted_slots()[0])
            worst = (self._slot_returns[slot], self._slot_births[slot] * self._age_sign)
            if (episode.total_return, birth * self._age_sign) < worst:
                return
            n_pages = -(-int(self._slot_lengths[slot]) // PAGE)
            self._free_pages.extend(self._pages[slot, :n_pages].tolist())
        self._slot_returns[slot], self._slot_births[slot] = episode.total_return, birth
        self._slot_lengths[slot], self._slot_terminated[slot] = len(episode), episode.terminated
        self._write(slot, episode)

    def _write(self, slot: int, episode: Episode) -> None:
        fields = {
            "observations": episode.observations,
            "actions": episode.actions,
            "rewards": episode.rewards,
            "returns_to_go": episode.returns_to_go,
        }
        n_pages = -(-len(episode) // PAGE)
        self._reserve(n_pages, fields)
        self._pages[slot, :n_pages] = [self._free_pages.pop() for _ in range(n_pages)]
        rows = self._row(np.int64(slot), np.arange(len(episode)))
        for name, values in fields.items():
            self._rows[name][rows] = values

    def _reserve(self, n_pages: int, fields: dict[str, np.ndarray]) -> None:
        """Make sure that `n_pages` pages are free, enlarging the arrays when they are not."""
        if n_pages > self._pages.shape[1]:
            wider = np.zeros((self.size, max(n_pages, 2 * self._pages.shape[1])), np.int64)
            wider[:, : self._pages.shape[1]] = self._pages
            self._pages = wider
        if n_pages <= len(self._free_pages):
            return
        old = len(self._rows["rewards"]) // PAGE if self._rows else 0
        page_bytes = PAGE * max(values[:1].nbytes for values in fields.values())
        new = old + max(n_pages, 64, min(old, MOST_GROWTH // page_bytes))
        for name, values in fields.items():
            rows = self._rows.pop(name, np.empty((0, *values.shape[1:]), values.dtype))
            # In place, where the system can: images would not fit into the memory twice. Nobody else has a view.
            rows.resize((new * PAGE, *values.shape[1:]), refcheck=False)
            self._rows[name] = rows
        self._free_pages.extend(range(old, new))
