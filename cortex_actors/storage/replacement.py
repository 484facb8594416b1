"""Another ledger takes the place of the present one, and a crash at any step is made good.

The new file is made whole first, under a name that nobody opens. Its renaming to
`cortex.db.next-<kind>-<time>` decides: from then on whoever starts next finishes the exchange. The
present ledger, its WAL and its shared memory are renamed aside before the new one gets their name,
because SQLite would play a WAL that it finds beside a ledger into it. Nothing is ever overwritten.
"""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from cortex_actors.errors import LedgerDown
from cortex_actors.storage.copying import PART
from cortex_actors.storage.files import (
    BESIDE,
    beside,
    failure,
    reader,
    settle,
    size,
    stamp,
    stamped,
)

if TYPE_CHECKING:
    from pathlib import Path

#: What an old owner's epoch may be above the last one that can be read.
_LEAP = 1_000

#: What the name of a ledger says that somebody has put another one in place of.
REPLACED = "replaced"

#: The moment in such a name; whatever lay beside the ledger, or found its name taken, has more.
_RESTORED = re.compile(rf"\.{REPLACED}-(\d{{8}}T\d{{6}}Z)")


def part(path: Path) -> Path:
    """Return where the new ledger is made; what a crash has left half made is removed."""
    for each in path.parent.glob(f"{path.name}.*{PART}*"):
        each.unlink(missing_ok=True)
    return path.with_name(f"{path.name}.next{PART}")


def renew(made: Path, old: Path) -> None:
    """Make a copied ledger one of its own.

    Old owners are fenced off, the index is made anew, and so are the words: SQLite's check of a
    copy does not read what they say.
    """
    epoch = _epoch(old)
    with closing(sqlite3.connect(made, isolation_level=None)) as opened:
        (own,) = opened.execute("SELECT coalesce(max(epoch), 0) FROM owner").fetchone()
        above = own + _LEAP if epoch is None else max(own, epoch) + 1
        opened.execute("BEGIN IMMEDIATE")
        opened.execute("DELETE FROM index_state")
        opened.execute("DELETE FROM owner")
        opened.execute(
            "INSERT INTO owner (one, epoch, pid, started_at) VALUES (1, ?, 0, 0)", (above,)
        )
        _learn_words(opened)
        opened.execute("COMMIT")


def _learn_words(opened: sqlite3.Connection) -> None:
    """Make the words of the passages anew, where the ledger's version has any."""
    names = "SELECT name FROM sqlite_schema WHERE name IN ('words_alone', 'words_paired')"
    for (words,) in opened.execute(names).fetchall():
        opened.execute(f"INSERT INTO {words} ({words}) VALUES ('rebuild')")  # noqa: S608 - ours


def commit(path: Path, made: Path, *, kind: str, at: int) -> Path:
    """Exchange the ledger for the one that was made; return where the old one is from now on.

    `kind` says why, in the name: corrupt or replaced. After a crash in here `finish` ends it.
    """
    if any(size(each) for each in beside(made)):
        message = f"cannot exchange the ledger {path}: {made} was not closed; look at the disk"
        raise LedgerDown(message)
    try:
        settle(made)
        made.rename(path.with_name(f"{path.name}.next-{kind}-{stamp(at)}"))
        settle(path.parent)
    except OSError as error:
        raise failure(f"exchange the ledger {path}", error) from error
    finish(path)
    return aside(path, kind=kind, at=at)


def aside(path: Path, *, kind: str, at: int) -> Path:
    """Return where a ledger that is exchanged then lies afterwards."""
    return path.with_name(f"{path.name}.{kind}-{stamp(at)}")


def first_aside(path: Path, *, kind: str, at: int) -> Path | None:
    """Return where the first file of a ledger will lie once it is exchanged then.

    That is the ledger itself or, where it is gone, what SQLite kept beside it; None for nothing.
    """
    old = aside(path, kind=kind, at=at)
    for end in ("", *BESIDE):
        if os.path.lexists(path.with_name(path.name + end)):
            return _free(old.with_name(old.name + end))
    return None


def restored_at(path: Path) -> int | None:
    """Return when a user put a backup in the ledger's place last, UTC microseconds, to the second.

    None where no replaced ledger is kept, or the folder cannot be read.
    """
    try:
        names = [each.name.removeprefix(path.name) for each in path.parent.iterdir()]
    except OSError:
        return None
    times = [stamped(found[1]) for name in names if (found := _RESTORED.match(name))]
    return max((each for each in times if each is not None), default=None)


def finish(path: Path) -> None:
    """End an exchange that a crash has cut short; does nothing without one.

    Called before anybody opens the ledger. Raises `LedgerDown`.
    """
    try:
        for waiting in sorted(path.parent.glob(f"{path.name}.next-*-*Z")):
            old = path.with_name(waiting.name.replace(".next-", ".", 1))
            if old.name.startswith(f"{path.name}.{REPLACED}-"):
                _drop_empty(path)
            for end in ("", *BESIDE):
                _put_aside(path.with_name(path.name + end), old.with_name(old.name + end))
            settle(path.parent)
            waiting.rename(path)
            settle(path.parent)
    except OSError as error:
        raise failure(f"exchange the ledger {path}", error) from error


def _drop_empty(path: Path) -> None:
    """Remove an empty WAL and the shared memory beside a ledger: they say nothing.

    Opening a ledger to count what it holds leaves them behind. A journal is never removed.
    """
    wal = path.with_name(f"{path.name}-wal")
    if wal.exists() and not size(wal):
        wal.unlink()
        path.with_name(f"{path.name}-shm").unlink(missing_ok=True)


def _put_aside(path: Path, target: Path) -> None:
    """Rename a file that is there; a name that is taken is never taken away."""
    if not os.path.lexists(path):
        return
    path.rename(_free(target))


def _free(target: Path) -> Path:
    """Return a name that is not taken."""
    while os.path.lexists(target):
        target = target.with_name(f"{target.name}.again")
    return target


def _epoch(old: Path) -> int | None:
    """Return the epoch of a ledger's last owner, as far as it can be read."""
    try:
        with closing(reader(old)) as opened:
            return int(opened.execute("SELECT max(epoch) FROM owner").fetchone()[0] or 0)
    except (sqlite3.Error, TypeError, ValueError):
        return None
