"""Who may write the ledger, as the ledger says it, and leases that nobody let go of."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from cortex_actors.clock import iso
from cortex_actors.domain.hit import Diagnosis, Severity
from cortex_actors.storage.schema import leases, owner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from cortex_actors.storage.health.scope import Scope


def owned(opened: Connection, scope: Scope) -> Iterator[Diagnosis]:
    """Look whether the owner that the ledger names is whoever has it open."""
    row = opened.execute(select(owner.c.epoch, owner.c.pid, owner.c.started_at)).one_or_none()
    if row is None:
        yield Diagnosis(
            "owner",
            "the ledger names no owner",
            Severity.WARNING if scope.online else Severity.NOTE,
            "a start writes one: cortex restart",
        )
    elif scope.online and row.pid != os.getpid():
        yield Diagnosis(
            "owner",
            f"the ledger names pid {row.pid}, and pid {os.getpid()} has it open",
            Severity.ERROR,
            "two daemons cannot share a ledger: cortex restart",
        )
    else:
        since = f"pid {row.pid} since {iso(row.started_at)}"
        yield Diagnosis("owner", f"epoch {row.epoch}, {'' if scope.online else 'last '}{since}")


def leased(opened: Connection, scope: Scope) -> Iterator[Diagnosis]:
    """Look for leases that ran out and were neither renewed nor let go of."""
    held = opened.execute(select(func.count()).select_from(leases)).scalar_one()
    over = opened.execute(
        select(leases.c.name, leases.c.holder, leases.c.until).where(leases.c.until < scope.now)
    ).all()
    if not over:
        yield Diagnosis("leases", f"{held} held" if held else "none")
        return
    shown = ", ".join(f"{row.name} of {row.holder}, until {iso(row.until)}" for row in over)
    yield Diagnosis(
        "leases",
        f"{len(over)} of {held} ran out: {shown}",
        Severity.NOTE,
        "whoever needs one takes it over",
    )
