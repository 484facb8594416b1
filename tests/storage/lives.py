"""What becomes of memories, told a second time in plain Python: what the ledger must agree with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cortex_actors.domain.insight import Decider
from cortex_actors.domain.memory import ChangeKind, MemoryStatus, MemoryType
from cortex_actors.errors import Refused
from cortex_actors.storage import memory_history, memory_records
from cortex_actors.storage.memory import memory_states, memory_undo
from cortex_actors.storage.memory_history import MemoryChange
from cortex_actors.testing import EPOCH
from tests.storage.things import mem, memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.domain.memory import Memory
    from tests.storage.things import Tables

ACTIVE, MERGED = MemoryStatus.ACTIVE, MemoryStatus.MERGED
SUPERSEDED, ARCHIVED = MemoryStatus.SUPERSEDED, MemoryStatus.ARCHIVED


@dataclass
class Life:
    """One memory as the model knows it."""

    text: str
    status: MemoryStatus = ACTIVE
    whole: str | None = None
    successor: str | None = None
    #: When it came into its state.
    since: int = 0
    pinned: bool = False


@dataclass
class Deed:
    """One change as the model knows it."""

    kind: ChangeKind
    name: str
    at: int
    others: tuple[str, ...] = ()
    successor: str | None = None
    undone: bool = False


@dataclass
class Lives:
    """A ledger, and what should be in it."""

    tables: Tables
    now: int = EPOCH
    known: dict[str, Life] = field(default_factory=dict)
    deeds: dict[int, Deed] = field(default_factory=dict)
    #: Moment -> what was believed since then.
    past: dict[int, frozenset[str]] = field(default_factory=dict)

    @property
    def active(self) -> frozenset[str]:
        """What is active."""
        return frozenset(each for each, life in self.known.items() if life.status is ACTIVE)

    def remember(self, text: str) -> None:
        """Remember a text, if nobody does."""
        if any(self.known[each].text == text for each in self.active):
            return
        new = self._new(text)
        self.tables.write(lambda c: memory_records.save(c, [new]))
        self.known[new.id] = Life(text, since=self.now)

    def merge(self, one: str, other: str) -> None:
        """Make one of two active memories, in the words of the first."""
        parts = [e for e in dict.fromkeys((one, other)) if self._is(e, ACTIVE)]
        if len(parts) < 2 or any(self.known[each].pinned for each in parts):
            return
        whole = self._new(self.known[one].text)
        at = self.now
        done = self.tables.write(
            lambda c: memory_states.write_whole(c, whole, parts, at=at, by=Decider.RULES)
        )
        assert parts == done
        self.known[whole.id] = Life(whole.text, since=at)
        for each in parts:
            self._move(each, MERGED, whole=whole.id)
        self._note(ChangeKind.MERGE, whole.id, tuple(parts))

    def supersede(self, old: str, new: str) -> None:
        """Let a memory be replaced by another."""
        fits = old != new and self._is(old, ACTIVE) and self._is(new, ACTIVE)
        at = self.now
        done = self.tables.write(lambda c: memory_states.supersede(c, old, new, at))
        assert [old] * fits == done
        if fits:
            self._move(old, SUPERSEDED, successor=new)
            self._note(ChangeKind.SUPERSEDE, old, (new,))

    def archive(self, name: str) -> None:
        """Archive a memory."""
        fits, at = self._is(name, ACTIVE), self.now
        assert [name] * fits == self.tables.write(lambda c: memory_states.archive(c, [name], at))
        if fits:
            self._move(name, ARCHIVED)
            self._note(ChangeKind.ARCHIVE, name)

    def restore(self, name: str) -> None:
        """Restore a memory."""
        if not (self._is(name, ARCHIVED) or self._is(name, SUPERSEDED)):
            return
        life, at = self.known[name], self.now
        before = self.tables.read(lambda c: memory_undo.describe_state(c, name))
        if self._tried(
            lambda: self.tables.write(lambda c: memory_states.restore(c, [name], at)),
            self._free([name]),
        ):
            successor = life.successor
            self._move(name, ACTIVE)
            self._note(ChangeKind.RESTORE, name, before=before, successor=successor)

    def pin(self, name: str) -> None:
        """Pin a memory."""
        fits, at = self._is(name, ACTIVE) and not self.known[name].pinned, self.now
        pinned = self.tables.write(
            lambda c: memory_history.pin(c, [name], pins=True, at=at, by="owner")
        )
        assert [name] * fits == pinned
        self.known[name].pinned |= fits

    def split(self, name: str) -> None:
        """Take the newest merge of a memory apart."""
        newest = [n for n, deed in self.deeds.items() if self._merge_of(deed, name)]
        at = self.now
        fits = bool(newest) and self._is(name, ACTIVE)
        parts = list(self.deeds[newest[-1]].others) if newest else []
        fits = fits and self._free(parts, leaving=name)
        if self._tried(
            lambda: self.tables.write(lambda c: memory_undo.split(c, name, by="owner", at=at)), fits
        ):
            self._apart(newest[-1])

    def undo(self, number: int) -> None:
        """Undo a change."""
        deed, at = self.deeds[number], self.now
        if self._tried(
            lambda: self.tables.write(lambda c: memory_undo.undo(c, number, by="owner", at=at)),
            not deed.undone and self._undoable(deed),
        ):
            if deed.kind is ChangeKind.MERGE:
                self._apart(number)
            elif deed.kind is ChangeKind.RESTORE and deed.successor is not None:
                self._move(deed.name, SUPERSEDED, successor=deed.successor)
            else:
                gone = deed.kind is ChangeKind.RESTORE
                self._move(deed.name, ARCHIVED if gone else ACTIVE)
            deed.undone = True

    def remark(self) -> None:
        """Note what is believed from now on, and let time pass."""
        self.past[self.now] = self.active
        self.now += 10

    def _undoable(self, deed: Deed) -> bool:
        """Tell whether what a change did is still so, and can be otherwise."""
        life = self.known[deed.name]
        if deed.kind is ChangeKind.MERGE:
            return life.status is ACTIVE and self._free(deed.others, leaving=deed.name)
        if deed.kind is ChangeKind.RESTORE:
            can = deed.successor is None or self._is(deed.successor, ACTIVE)
            return life.status is ACTIVE and can
        state = ARCHIVED if deed.kind is ChangeKind.ARCHIVE else SUPERSEDED
        return life.status is state and life.since == deed.at and self._free([deed.name])

    def _free(self, names: list[str] | tuple[str, ...], leaving: str = "") -> bool:
        """Tell whether nobody says what some memories say, and no two of them say the same."""
        said = [self.known[each].text for each in names]
        taken = {self.known[each].text for each in self.active if each != leaving}
        return len(set(said)) == len(said) and not taken & set(said)

    def _apart(self, number: int) -> None:
        """Take a merge apart."""
        deed = self.deeds[number]
        self._move(deed.name, ARCHIVED)
        for each in deed.others:
            self._move(each, ACTIVE)
        deed.undone = True

    def _merge_of(self, deed: Deed, name: str) -> bool:
        """Tell whether a change is a merge into a memory, and stands."""
        return deed.kind is ChangeKind.MERGE and deed.name == name and not deed.undone

    def _tried(self, act: Callable[[], object], fits: bool) -> bool:
        """Do something that is refused unless it fits; tell whether it was done."""
        try:
            act()
        except Refused:
            assert not fits
            return False
        assert fits
        return True

    def _is(self, name: str, status: MemoryStatus) -> bool:
        """Tell whether a memory is in a state."""
        return self.known[name].status is status

    def _move(
        self,
        name: str,
        status: MemoryStatus,
        *,
        whole: str | None = None,
        successor: str | None = None,
    ) -> None:
        """Bring a memory into another state."""
        life = self.known[name]
        life.status, life.whole, life.successor = status, whole, successor
        life.since = self.now

    def _note(
        self,
        kind: ChangeKind,
        name: str,
        others: tuple[str, ...] = (),
        *,
        before: dict[str, object] | None = None,
        successor: str | None = None,
    ) -> None:
        """Note a change in both."""
        change = MemoryChange(
            kind, name, by="owner", at=self.now, others=others, before=before or {}
        )
        (number,) = self.tables.write(lambda c: memory_history.note(c, change))
        self.deeds[number] = Deed(kind, name, self.now, others, successor)

    def _new(self, text: str) -> Memory:
        """Return a new memory."""
        name = f"M{len(self.known):05d}"
        return memory(text, self.now - EPOCH, id=mem(name)[4:], type=MemoryType.FACT)
