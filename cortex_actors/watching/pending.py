"""What a watcher has said and the ledger does not show yet, so that it is not said at every look.

The ledger's word counts, never this: an entry is dropped once the ledger knows what is there, and
what stays unknown is said again, ever more rarely. Forgetting it all costs a repeat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.watching.sweep import differences

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cortex_actors.storage.projects import FileState

#: Share of the time between two sweeps for which looks must miss a file before it counts as gone:
#: editors delete and write anew, and hints bring several looks in that moment.
MISSING = 0.5

#: Sweeps after which something is said again that the ledger still does not know; doubled each
#: time, because it may be that nobody can handle it.
AGAIN = 12


@dataclass(frozen=True, slots=True)
class _Note:
    """What a path looked like when it was said (None: gone), and when to say it again."""

    state: FileState | None
    at: float
    pause: float

    def stands(self, state: FileState | None) -> bool:
        """Tell whether the path still looks as it did."""
        if self.state is None or state is None:
            return self.state is state
        return self.state.same_stat(state)


class Pending:
    """Chooses which differences to speak of now."""

    def __init__(self, sweep_s: float) -> None:
        """Begin with nothing said; `sweep_s` are the seconds between two sweeps."""
        self._sweep_s = sweep_s
        self._notes: dict[str, _Note] = {}
        self._missed: dict[str, float] = {}

    def choose(
        self, known: Mapping[str, FileState], there: Mapping[str, FileState], now: float
    ) -> list[str]:
        """Return the paths to speak of: what the ledger does not know and nobody has said."""
        different = differences(known, there)
        self._missed = {p: self._missed.get(p, now) for p in different if p not in there}
        self._notes = {
            path: note
            for path in different
            if (note := self._notes.get(path)) is not None and note.stands(there.get(path))
        }
        return [path for path in different if self._is_due(path, now)]

    def repeated(self, paths: Iterable[str]) -> frozenset[str]:
        """Return those of some paths that were spoken of before, as they look now."""
        return frozenset(path for path in paths if path in self._notes)

    def note(self, paths: Iterable[str], there: Mapping[str, FileState], now: float) -> None:
        """Remember what was said, or need not be said because it waits to be heard."""
        for path in paths:
            last = self._notes.get(path)
            pause = AGAIN * self._sweep_s if last is None else 2 * last.pause
            self._notes[path] = _Note(there.get(path), now + pause, pause)

    def clear(self) -> None:
        """Forget everything."""
        self._notes.clear()
        self._missed.clear()

    def _is_due(self, path: str, now: float) -> bool:
        """Tell whether to speak of a path that differs."""
        missed, note = self._missed.get(path), self._notes.get(path)
        if missed is not None and now - missed < MISSING * self._sweep_s:
            return False
        return note is None or now >= note.at
