"""Approvals: what a person said about writing principles into files of other projects.

A principle has one at most, the newest. Its id is made of its text's hash, so that a decision is
about a text: other words are another principle. Every function takes the connection of a
transaction it is part of.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.domain.project import Approval, Decision, Way
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.schema import approvals
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Row

#: The one project in which principles are said, for those that no other one has ever said.
_HOMES = (
    "SELECT d.principle_id, min(s.project_id) FROM derivations AS d"
    " JOIN insights AS i ON i.id = d.insight_id"
    " JOIN insight_sources AS s ON s.insight_id = coalesce(i.superseded_by, i.id)"
    " WHERE d.principle_id IN (SELECT value FROM json_each(?1)) GROUP BY d.principle_id"
    " HAVING count(DISTINCT s.project_id) = 1 AND min(s.trust = 'file')"
)


def decide(connection: Connection, made: Approval) -> None:
    """Write a decision down, in place of an earlier one."""
    row = {
        "principle_id": made.principle_id,
        "decision": str(made.decision),
        "decided_by": made.decided_by,
        "way": str(made.way),
        "at": made.at,
        "note": made.note,
        "ended_at": None,
    }
    statement = insert(approvals).values(row)
    connection.execute(statement.on_conflict_do_update(index_elements=["principle_id"], set_=row))


def of(connection: Connection, ids: Iterable[str]) -> dict[str, Approval]:
    """Return the decisions about those principles, by id, also those that have ended."""
    return {
        row.principle_id: _approval(row)
        for some in chunks(dict.fromkeys(ids))
        for row in connection.execute(select(approvals).where(approvals.c.principle_id.in_(some)))
    }


def approved(connection: Connection) -> set[str]:
    """Return the ids of all principles that a person approved."""
    return {each.principle_id for each in listed(connection, Decision.APPROVED)}


def listed(connection: Connection, decision: Decision) -> list[Approval]:
    """Return the decisions that said so and count now, newest first."""
    query = select(approvals).where(approvals.c.decision == str(decision))
    query = query.where(approvals.c.ended_at.is_(None))
    order = (approvals.c.at.desc(), approvals.c.principle_id)
    return [_approval(row) for row in connection.execute(query.order_by(*order))]


def homes(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return, of those principles, the project of each that no other one has ever said."""
    return dict(driver_of(connection).execute(_HOMES, (json.dumps(sorted(ids)),)))


def end(connection: Connection, ids: Iterable[str], *, at: int) -> None:
    """Let approvals count no more, because a person took back what they are about."""
    ours = approvals.c.decision == str(Decision.APPROVED), approvals.c.ended_at.is_(None)
    for some in chunks(dict.fromkeys(ids)):
        chosen = update(approvals).where(approvals.c.principle_id.in_(some), *ours)
        connection.execute(chosen.values({"ended_at": at}))


def restore(connection: Connection, *, ended_at: int) -> None:
    """Let those count again that ended at that moment: its revocation was lifted."""
    chosen = update(approvals).where(approvals.c.ended_at == ended_at)
    connection.execute(chosen.values({"ended_at": None}))


def _approval(row: Row[Any]) -> Approval:
    """Return a row as a decision."""
    return Approval(
        row.principle_id,
        Decision(row.decision),
        row.at,
        row.decided_by,
        Way(row.way),
        row.note,
        row.ended_at,
    )
