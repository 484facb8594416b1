"""What remembering something will do to the ledger, as it was thought out beforehand."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.domain.insight import Decider
    from cortex_actors.domain.memory import Memory
    from cortex_actors.storage.embeddings import Matrix


@dataclass(frozen=True, slots=True)
class Step:
    """One merge: what was said so far, and a memory that was known, become `whole`."""

    whole: Memory
    part: Memory
    by: Decider
    why: str


@dataclass(frozen=True, slots=True)
class Clash:
    """A memory that cannot hold beside the one that is remembered."""

    memory_id: str
    by: Decider
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written, all of it or nothing.

    Attributes:
        first: the memory that it begins with.
        is_new: whether `first` has still to be written: one that was saved without a vector and is
            compared now has been.
        steps: the merges, in order; each whole is a part of the next.
        clashes: what contradicts it, of what stays active.
        vectors: by the hash of the text; of what has none, the indexer makes one.
        known: the memory that says it already: then nothing is written.

    """

    first: Memory
    is_new: bool = True
    steps: tuple[Step, ...] = ()
    clashes: tuple[Clash, ...] = ()
    vectors: Mapping[bytes, Matrix] = field(default_factory=dict)
    known: str | None = None

    @property
    def last(self) -> Memory:
        """The memory that is active in the end."""
        return self.steps[-1].whole if self.steps else self.first

    @property
    def absorbed(self) -> tuple[str, ...]:
        """The memories that were known before and become parts."""
        return tuple(each.part.id for each in self.steps)

    def unmerged(self) -> Plan:
        """Return the plan that only saves what it begins with, to be compared later."""
        first = replace(self.first, merge_due=True)
        return replace(self, first=first, steps=(), clashes=())
