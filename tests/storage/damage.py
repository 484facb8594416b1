"""What happens to ledgers, and what the next start does."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from cortex_actors.storage.ledger import faults, recovery
from tests.storage.ledgers import PAGE, Filed

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.storage.ledger.recovery import RecoveryReport

#: Events in the backup, and said after it.
BEFORE, AFTER = 150, 90

#: What repeats a random case.
SEED = 7


def _truncated(filed: Filed) -> None:
    content = filed.path.read_bytes()
    filed.path.write_bytes(content[: len(content) // 2])


def _random_page(filed: Filed) -> None:
    chance = random.Random(SEED)
    page = chance.randrange(2, filed.path.stat().st_size // PAGE)
    filed.overwrite(page, chance.randbytes(PAGE))


def flipped(filed: Filed, name: str) -> None:
    leaf = filed.leaf_of(name)
    content = filed.path.read_bytes()[(leaf - 1) * PAGE :][:40]
    filed.overwrite(leaf, bytes(each ^ 0xFF for each in content))


def _list_of_tables(filed: Filed) -> None:
    leaf = filed.leaf_of("sqlite_schema")
    filed.overwrite(leaf, bytes(PAGE))


def _folder(filed: Filed) -> None:
    filed.path.unlink()
    filed.path.mkdir()


def _another(filed: Filed) -> None:
    filed.path.unlink()
    filed.run("CREATE TABLE notes (text TEXT)")


#: What happens to the file; a check finds each when the ledger is under suspicion.
DAMAGE: dict[str, Callable[[Filed], object]] = {
    "empty": lambda filed: filed.path.write_bytes(b""),
    "truncated": _truncated,
    "first page": lambda filed: filed.overwrite(1, bytes(PAGE)),
    "list of tables": _list_of_tables,
    "random page": _random_page,
    "table leaf": lambda filed: flipped(filed, "events"),
    "index leaf": lambda filed: flipped(filed, "sqlite_autoindex_events_1"),
    "folder": _folder,
    "no database": lambda filed: filed.path.write_bytes(b"# notes\n" * 9_999),
    "another's": _another,
}

#: Those of which the rows can still be read, all or all but those of one page or so.
READABLE = {
    "first page": BEFORE + AFTER,
    "list of tables": BEFORE + AFTER,
    "index leaf": BEFORE + AFTER,
    "table leaf": BEFORE + 40,
}


def damaged(filed: Filed, how: str) -> bytes | None:
    """Damage a ledger and let somebody notice; return what the file holds then."""
    DAMAGE[how](filed)
    faults.suspect(filed.path, "a test")
    return filed.path.read_bytes() if filed.path.is_file() else None


def recovered(filed: Filed) -> RecoveryReport:
    """Do what the next start does."""
    report = recovery.make_ready(filed.home, filed.clock)
    assert report is not None
    return report
