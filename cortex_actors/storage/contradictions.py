"""Contradictions: pairs of insights that cannot both hold, from their discovery to a decision.

What was found stays as long as it holds: a pair whose text is no longer said, or no longer
disagrees, leaves the list by itself. What a person decided stays decided.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, Row, func, or_, select, update

from cortex_actors.domain.insight import Conflict
from cortex_actors.errors import BadInput, NotFound
from cortex_actors.storage.insightrows import of_project
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.schema import contradictions
from cortex_actors.storage.standing import settle
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

#: How a contradiction is that nobody has decided, and how a person leaves it.
OPEN = "unresolved"
DECISIONS = ("resolved", "dismissed")

#: Columns in the order of `Contradiction`.
_COLUMNS = tuple(contradictions.c)

_INSERT = (
    "INSERT INTO contradictions (id, insight_a, insight_b, type, similarity, detected_by,"
    " decided_by, reason, detected_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (insight_a, insight_b) DO UPDATE SET type = excluded.type,"
    " similarity = excluded.similarity, decided_by = excluded.decided_by,"
    " reason = excluded.reason WHERE status = 'unresolved'"
)
_DELETE = (
    "DELETE FROM contradictions WHERE +status = 'unresolved'"
    " AND id IN (SELECT value FROM json_each(?))"
)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two insights that cannot both hold, `insight_a` being the lesser id.

    Attributes:
        type: direct, partial or contextual (see `domain.judgement.Conflict`).
        similarity: the cosine of the two; None where one of them has no vector.
        detected_by: the actor that came upon it.
        decided_by: the layer that says so.
        status: unresolved, resolved or dismissed.
        kept_id: which of the two holds, where a person said that one does.
        resolution: what that person had to say.

    """

    id: str
    insight_a: str
    insight_b: str
    type: str
    similarity: float | None
    detected_by: str
    decided_by: str
    reason: str
    detected_at: int
    status: str = OPEN
    resolved_at: int | None = None
    kept_id: str | None = None
    resolution: str | None = None

    @property
    def pair(self) -> tuple[str, str]:
        """The two."""
        return self.insight_a, self.insight_b

    @property
    def is_open(self) -> bool:
        """Whether nobody has decided it."""
        return self.status == OPEN

    @property
    def is_direct(self) -> bool:
        """Whether it keeps both from being believed: in different places both may hold."""
        return self.type != Conflict.CONTEXTUAL

    def against(self, insight_id: str) -> bool:
        """Whether it speaks against one of the two.

        Both of a contextual pair may hold, until a person decides for one.
        """
        lost = self.kept_id is not None and self.kept_id != insight_id
        return lost or (self.is_direct and self.is_open)


def id_of(insight_a: str, insight_b: str) -> str:
    """Return the id of a pair: the same whenever it is found."""
    both = "|".join(sorted((insight_a, insight_b)))
    return f"con_{hashlib.sha256(both.encode()).hexdigest()[:20]}"


def one(connection: Connection, contradiction_id: str) -> Contradiction | None:
    """Return a contradiction by its id."""
    query = select(*_COLUMNS).where(contradictions.c.id == contradiction_id)
    row = connection.execute(query).one_or_none()
    return None if row is None else _contradiction(row)


def listed(
    connection: Connection,
    *,
    status: str | None = None,
    project_id: str | None = None,
    limit: int | None = None,
) -> list[Contradiction]:
    """Return contradictions, direct ones first, then the newest."""
    order = contradictions.c.type.in_(("contextual",)), contradictions.c.detected_at.desc()
    query = select(*_COLUMNS).order_by(*order, contradictions.c.id).limit(limit)
    if status is not None:
        query = query.where(contradictions.c.status == status)
    if project_id is not None:
        said = of_project(project_id)
        query = query.where(
            or_(contradictions.c.insight_a.in_(said), contradictions.c.insight_b.in_(said))
        )
    return [_contradiction(row) for row in connection.execute(query)]


def count(connection: Connection, status: str = OPEN) -> int:
    """Return how many contradictions are in that state."""
    query = select(func.count()).where(contradictions.c.status == status)
    return int(connection.execute(query).scalar_one())


def of(connection: Connection, ids: Iterable[str]) -> dict[str, list[Contradiction]]:
    """Return the contradictions of those insights, decided ones too, by insight and id."""
    wanted = list(dict.fromkeys(ids))
    found: dict[str, Contradiction] = {}
    for some in chunks(wanted):
        for row in connection.execute(select(*_COLUMNS).where(_with(some))):
            found[row.id] = _contradiction(row)
    asked = set(wanted)
    of_each: dict[str, list[Contradiction]] = {}
    for _, each in sorted(found.items()):
        for side in asked.intersection(each.pair):
            of_each.setdefault(side, []).append(each)
    return of_each


def kept(connection: Connection) -> set[str]:
    """Return the insights that a person decided for."""
    query = select(contradictions.c.kept_id).where(contradictions.c.kept_id.is_not(None))
    return set(connection.execute(query).scalars())


def everything(connection: Connection) -> list[Contradiction]:
    """Return all contradictions, by id."""
    query = select(*_COLUMNS).order_by(contradictions.c.id)
    return [_contradiction(row) for row in connection.execute(query)]


def replace(
    connection: Connection, found: Collection[Contradiction], ended: Collection[Contradiction]
) -> None:
    """Write what was found and delete what no longer holds; what is decided stays as it is.

    Status is not settled: whoever calls this settles what else has changed, too.
    """
    driver = driver_of(connection)
    driver.execute(_DELETE, (json.dumps([each.id for each in ended]),))
    rows = [
        (
            *(each.id, each.insight_a, each.insight_b, each.type, each.similarity),
            *(each.detected_by, each.decided_by, each.reason, each.detected_at),
        )
        for each in found
    ]
    driver.executemany(_INSERT, rows)


def decide(
    connection: Connection,
    contradiction_id: str,
    *,
    status: str,
    at: int,
    kept_id: str | None = None,
    note: str | None = None,
) -> Contradiction:
    """Write what a person decided, also instead of an earlier decision; return it.

    `resolved` with `kept_id` says which of the two holds (the other one stays contradicted as long
    as both are said), without it that both may; `dismissed` that there is no contradiction. Raises
    `NotFound` for an unknown id, `BadInput` for what cannot be decided so.
    """
    found = one(connection, contradiction_id)
    if found is None:
        raise NotFound(
            f"no contradiction has the id {contradiction_id}; list them with: cortex contradictions"
        )
    _check(found, status, kept_id)
    values = {"status": status, "resolved_at": at, "kept_id": kept_id, "resolution": note}
    connection.execute(
        update(contradictions).where(contradictions.c.id == contradiction_id).values(values)
    )
    settle(connection, found.pair)
    decided = one(connection, contradiction_id)
    assert decided is not None  # noqa: S101 - it was there in this transaction
    return decided


def _check(found: Contradiction, status: str, kept_id: str | None) -> None:
    """Raise `BadInput` for a decision that cannot be."""
    if status not in DECISIONS:
        raise BadInput(
            f"cannot make contradiction {found.id} {status!r}: it can be {' or '.join(DECISIONS)}"
        )
    if kept_id is not None and (status != "resolved" or kept_id not in found.pair):
        raise BadInput(
            f"cannot keep {kept_id} of contradiction {found.id}: only a resolved one keeps one of "
            f"its two, {found.insight_a} or {found.insight_b}"
        )


def _with(ids: Collection[str]) -> ColumnElement[bool]:
    """Return the condition that one of the two is among those insights."""
    return or_(contradictions.c.insight_a.in_(ids), contradictions.c.insight_b.in_(ids))


def _contradiction(row: Row[Any]) -> Contradiction:
    """Return a row as a contradiction."""
    values: list[Any] = list(row)
    return Contradiction(*values)
