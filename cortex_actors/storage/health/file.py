"""The ledger's file itself: its version, its pages, its relations and its words.

A way into the ledger for checks: read-only, on connections of its own, ended at any moment.

The daemon's two reading connections stay free for those who wait for an answer, and its writer is
never asked.

What a check may want to know beside the ledger it looks at.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from cortex_actors.domain.hit import Diagnosis, Repair, error, note, warning
from cortex_actors.storage.ledger import connection, faults
from cortex_actors.storage.ledger.files import OLDEST_SCHEMA, SCHEMA_VERSION, UPGRADE, is_too_old
from cortex_actors.storage.tables.schema import WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from sqlalchemy import Connection

    from cortex_actors.clock import Clock
    from cortex_actors.storage.ledger.files import Halt


_REPAIR = "cortex doctor --repair"

#: Rows without their counterpart that are listed; of more only the number is given.
_NAMED = 3


def check_version(opened: Connection, _scope: CheckupScope) -> Iterator[Diagnosis]:
    """Look whether this program knows the ledger's tables; if not, nothing else can be checked."""
    found = connection.read_version(opened)
    if found == SCHEMA_VERSION:
        yield Diagnosis("ledger", f"schema version {found}")
    elif found > SCHEMA_VERSION:
        text = f"schema version {found}, this program knows {SCHEMA_VERSION}"
        yield error("ledger", text, mend="install the newer cortex-actors, or use another home")
    elif is_too_old(found):
        text = f"schema version {found}, this program reads {OLDEST_SCHEMA} and newer"
        yield error("ledger", text, mend=UPGRADE)
    else:
        text = (
            f"schema version {found}, this program writes {SCHEMA_VERSION}; nothing else of it "
            "is checked"
        )
        yield note("ledger", text, mend="a start brings it up to date: cortex start")


def check_pages(opened: Connection, scope: CheckupScope) -> Iterator[Diagnosis]:
    """Read every page (`quick_check`); thoroughly, compare every index with its table, too."""
    how = "integrity_check" if scope.thorough else "quick_check"
    if not (found := connection.find_damage(opened, how)):
        yield Diagnosis("pages", f"{how}: ok")
        return
    remedy = "the next start recovers it (docs/recovery.md): cortex daemon restart"
    yield error("pages", found, mend=remedy, damaged=True)


def check_relations(opened: Connection, _scope: CheckupScope) -> Iterator[Diagnosis]:
    """Look for rows whose parent row is missing: they were written by hand."""
    if not (found := connection.list_strays(opened)):
        yield Diagnosis("relations", "every row belongs to one that is there")
        return
    text = f"{len(found)} rows belong to rows that are not there: {', '.join(found[:_NAMED])}"
    yield warning("relations", text, mend="a backup from before has them: cortex daemon restore")


def check_words(opened: Connection, scope: CheckupScope) -> Iterator[Diagnosis]:
    """Compare both lists with the passages: first whose words there are, then which."""
    for name in WORDS:
        counted, uneven = connection.count_words(opened, name)
        wrong = f"{uneven} passages lack their words, or are gone and still have some"
        if not uneven:
            is_other = connection.has_other_words(opened, name, scope.path)
            wrong = "they are not the words of the passages" if is_other else ""
        if wrong:
            yield error("words", f"{name}: {wrong}", mend=_REPAIR, repair=Repair.WORDS)
        else:
            yield Diagnosis("words", f"{name}: those of {counted:,} passages")


T = TypeVar("T")

#: Seconds one check may take: a hundred thousand passages take less than five.
LIMIT = 30.0

#: The same when the user wants everything looked at: a day.
NO_LIMIT = 86_400.0


class LedgerReader:
    """Runs queries on a ledger's file; each sees one moment of it. Blocks: for a thread."""

    def __init__(self, path: Path, clock: Clock, halt: Halt) -> None:
        """Open nothing yet; `halt` breaks off what runs."""
        self._path = path
        self._clock = clock
        self._halt = halt
        self._engine = connection.open_reading(path, self._is_over)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._engine.dispose()

    def ask(self, query: Callable[[Connection], T], *, within: float = LIMIT) -> T:
        """Return what a query finds.

        Raises `DeadlineExceeded` after so many seconds, `DiskFault` for a damaged file, else
        `LedgerDown`.
        """
        self._halt.check()
        try:
            with self._engine.begin() as opened:
                opened.info["until"] = self._clock.monotonic() + within
                opened.info["over"] = partial(self._is_over, opened.info)
                return query(opened)
        except faults.ERRORS as error:
            self._halt.check()
            raise faults.explain_query(error, self._path, within) from error

    def _is_over(self, info: dict[str, Any]) -> bool:
        """Tell whether the query that runs must end."""
        return self._halt.asked or self._clock.monotonic() > info.get("until", 0.0)


@dataclass(frozen=True, slots=True)
class CheckupScope:
    """The circumstances of one checkup."""

    #: The ledger's file.
    path: Path
    #: UTC microseconds.
    now: int
    #: The vector space that answers; empty while the ledger names none.
    model: str
    #: Whether a daemon runs, so that what waits is being worked on.
    online: bool
    #: Whether a check may take as long as it needs.
    thorough: bool = False


#: One check of the ledger: yields what there is to say, in one read transaction.
Check: TypeAlias = "Callable[[Connection, CheckupScope], Iterable[Diagnosis]]"
