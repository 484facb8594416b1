"""Agents: who remembers and posts, as the ledger knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy.dialects.sqlite import insert

from cortex_actors.storage.schema import agents

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection


def know(connection: Connection, ids: Iterable[str], *, at: int) -> None:
    """Let agents be known; one that has a profile keeps it, a new one is called by its id."""
    rows = [
        {"id": each, "display_name": each, "symbol": each[0], "registered_at": at}
        for each in dict.fromkeys(ids)
    ]
    if rows:
        connection.execute(insert(agents).on_conflict_do_nothing(), rows)
