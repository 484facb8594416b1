"""Readings: which memories were in answers, gathered until they are written.

What is to be written is sealed: it keeps its name until it was written, so that a second try of a
write whose answer was lost does not count anything twice. What comes meanwhile is the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.storage.memory_attention import Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cortex_actors.domain.memory import Access

#: Memories that are kept in hand while they cannot be written; accesses of others are lost, and
#: counted.
MOST = 5_000


@dataclass(frozen=True, slots=True)
class Sealed:
    """What is written together: the name it is known by, and how often each memory was read."""

    name: str
    readings: Mapping[str, Reading]


class Readings:
    """Gathers what was read, within bounds."""

    def __init__(self, *, relevance: float) -> None:
        """Begin with nothing; what is no nearer to its question than `relevance` does not count."""
        self._relevance = relevance
        self._gathered: dict[str, Reading] = {}
        self._sealed: Sealed | None = None
        #: Accesses that found no room, and those that were no answer to what was asked.
        self.lost = self.irrelevant = 0

    def __len__(self) -> int:
        """Return how many memories have still to be written."""
        return len(self._gathered) + (len(self._sealed.readings) if self._sealed else 0)

    def take(self, some: Sequence[Access], at: int) -> None:
        """Take down what was in one answer, given at a time (UTC microseconds)."""
        for each in some:
            if not each.is_relevant(self._relevance):
                self.irrelevant += 1
            elif each.memory_id not in self._gathered and len(self) >= MOST:
                self.lost += 1
            else:
                known = self._gathered.get(each.memory_id, Reading(0, at))
                self._gathered[each.memory_id] = known.with_another(1, at)

    def seal(self, name: Callable[[], str]) -> Sealed | None:
        """Return what is to be written now: what was sealed before, or all that was gathered."""
        if self._sealed is None and self._gathered:
            self._sealed = Sealed(name(), self._gathered)
            self._gathered = {}
        return self._sealed

    def written(self) -> None:
        """Forget what was sealed: it is written."""
        self._sealed = None
