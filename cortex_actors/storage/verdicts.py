"""Verdicts: what models have said to questions, so that none is asked for twice."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.storage.schema import verdicts
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class Verdict:
    """One answer: whose, to what kind of question, and when (UTC microseconds)."""

    key: bytes
    layer: str
    model: str
    question: str
    answer: Mapping[str, Any]
    at: int


def found(connection: Connection, keys: Iterable[bytes]) -> dict[bytes, Mapping[str, Any]]:
    """Return the answers that are kept under these keys."""
    answers: dict[bytes, Mapping[str, Any]] = {}
    for some in chunks(keys):
        query = select(verdicts.c.key, verdicts.c.answer).where(verdicts.c.key.in_(some))
        answers |= {row.key: row.answer for row in connection.execute(query)}
    return answers


def keep(connection: Connection, rows: Sequence[Verdict]) -> None:
    """Keep answers; one that is there already stays, because it is the one that was acted on."""
    if rows:
        values = [asdict(each) for each in rows]
        connection.execute(insert(verdicts).on_conflict_do_nothing(), values)


def prune(connection: Connection, most: int, limit: int) -> int:
    """Delete the oldest answers beyond the `most` newest, `limit` at a time; return how many."""
    over = connection.execute(select(func.count()).select_from(verdicts)).scalar_one() - most
    if over <= 0:
        return 0
    old = select(verdicts.c.key).order_by(verdicts.c.at).limit(min(over, limit))
    return connection.execute(delete(verdicts).where(verdicts.c.key.in_(old))).rowcount


def count(connection: Connection) -> int:
    """Return how many answers are kept."""
    return connection.execute(select(func.count()).select_from(verdicts)).scalar_one()
