"""What the vector index has been told, as the ledger says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.domain.hit import Diagnosis, Repair, Severity
from cortex_actors.storage.index import pending as indexing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from cortex_actors.storage.health.scope import Scope


def ordered(opened: Connection, scope: Scope) -> Iterator[Diagnosis]:
    """Look which generation is in use, whose vectors it holds, and what it has still to be told."""
    state, pending = indexing.state(opened), indexing.pending(opened)
    if state is None:
        yield Diagnosis(
            "index",
            "there is no generation of it yet",
            Severity.WARNING if scope.online else Severity.NOTE,
            "the daemon begins one: cortex start",
        )
        return
    if scope.model and state.model != scope.model:
        yield Diagnosis(
            "index",
            f"generation {state.generation} holds vectors of {state.model}, and {scope.model} "
            "answers",
            Severity.ERROR,
            "cortex doctor --repair begins another from the stored vectors",
            Repair.INDEX,
        )
        return
    waits = f", {pending:,} changes wait to be told to it" if pending else ""
    yield Diagnosis(
        "index",
        f"generation {state.generation} of {state.model}{waits}",
        Severity.NOTE if pending else Severity.OK,
    )
