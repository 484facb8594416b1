"""The ledger's file itself: its version, its pages, and whether rows belong to rows there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.domain.hit import Diagnosis, Severity
from cortex_actors.storage.ledger.files import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from cortex_actors.storage.health.scope import Scope

#: Rows without their counterpart that are told apart; of more only the number is.
_NAMED = 3


def version(opened: Connection, _scope: Scope) -> Iterator[Diagnosis]:
    """Look whether this program knows the ledger's tables; if not, nothing else can be checked."""
    found = int(opened.exec_driver_sql("PRAGMA user_version").scalar_one())
    if found == SCHEMA_VERSION:
        yield Diagnosis("ledger", f"schema version {found}")
    elif found > SCHEMA_VERSION:
        yield Diagnosis(
            "ledger",
            f"schema version {found}, this program knows {SCHEMA_VERSION}",
            Severity.ERROR,
            "install the newer cortex-actors, or use another home",
        )
    else:
        yield Diagnosis(
            "ledger",
            f"schema version {found}, this program writes {SCHEMA_VERSION}; nothing else of it "
            "is checked",
            Severity.NOTE,
            "a start brings it up to date: cortex start",
        )


def pages(opened: Connection, scope: Scope) -> Iterator[Diagnosis]:
    """Read every page (`quick_check`); thoroughly, compare every index with its table, too."""
    how = "integrity_check" if scope.thorough else "quick_check"
    found = [row[0] for row in opened.exec_driver_sql(f"PRAGMA {how}(1)")]
    if found == ["ok"]:
        yield Diagnosis("pages", f"{how}: ok")
        return
    yield Diagnosis(
        "pages",
        " ".join(str(found[0]).split()),
        Severity.ERROR,
        "the next start recovers it (docs/recovery.md): cortex restart",
        damaged=True,
    )


def relations(opened: Connection, _scope: Scope) -> Iterator[Diagnosis]:
    """Look for rows that belong to a row which is not there: somebody wrote by hand."""
    found = opened.exec_driver_sql("PRAGMA foreign_key_check").all()
    if not found:
        yield Diagnosis("relations", "every row belongs to one that is there")
        return
    shown = ", ".join(f"{row[0]} row {row[1]} (no {row[2]})" for row in found[:_NAMED])
    yield Diagnosis(
        "relations",
        f"{len(found)} rows belong to rows that are not there: {shown}",
        Severity.WARNING,
        "a backup from before has them: cortex restore",
    )
