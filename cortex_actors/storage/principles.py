"""Principles: the rows, what is written of them, and which of them are given out.

Every function takes the connection of a transaction it is part of. What principles come of is in
`derivations`, how they stand to one another in `links`, how they fade in `fading`.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection, Row, func, select
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.domain.insight import Granularity
from cortex_actors.domain.principle import (
    BECOMES,
    Derivation,
    Origin,
    Principle,
    PrincipleCategory,
    PrincipleStatus,
    principle_id,
)
from cortex_actors.rules.promotion import rank
from cortex_actors.storage import approvals, derivations, links
from cortex_actors.storage.derivations import derived
from cortex_actors.storage.embedded import embedded_text, stored_vectors
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.schema import principles
from cortex_actors.storage.standing import STANDS
from cortex_actors.storage.tables.columns import chunks, given_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cortex_actors.domain.insight import Insight
    from cortex_actors.storage.blobs import Matrix

__all__ = [
    "COLLECTION",
    "WHOLE",
    "add",
    "by_ids",
    "count",
    "derive",
    "derived",
    "forget",
    "given",
    "ids",
    "known",
    "name_of_given",
    "of",
    "still_given",
    "unapproved",
    "unembedded",
    "without_source",
]

#: The name under which principles are asked; they are found without passages.
COLLECTION = "cortex_principles"

#: Share that a principle owes to the one insight it was made of.
WHOLE = 1.0

#: How good sources are of which nothing is known (Cerno).
QUALITY = 0.5

#: What is written anew of a principle that is there; rank, status and strikes are fading's.
_AGAIN = (
    *("content", "elaboration", "category", "tags", "domains"),
    *("confidence", "quality", "origin", "text_hash"),
)

#: Whether a person decided against an insight (`i`), or what says the same, for another that is
#: said. What is only disputed is given: one file must not silence what ten say.
_LOST = (
    "EXISTS (SELECT 1 FROM insights AS m JOIN contradictions AS c ON m.id IN (c.insight_a,"  # noqa: S608 - ours
    " c.insight_b) AND c.kept_id <> m.id JOIN insights AS k ON k.id = c.kept_id"
    " JOIN insights AS o ON o.id = coalesce(k.superseded_by, k.id)"
    f" WHERE (m.id = i.id OR m.superseded_by = i.id) AND o.id <> i.id AND {STANDS.format(i='o')})"
)

#: Principles that are given to projects: active, taken back or rejected by nobody, and some file
#: that more than one person may read says one of the insights they come of, which no person has
#: turned down. What was only imported, or came from another store, is given when a person has
#: approved of it.
_GIVEN = (
    "SELECT p.id FROM principles AS p WHERE p.status = 'active'"  # noqa: S608 - ours
    " AND NOT EXISTS (SELECT 1 FROM revocations AS r WHERE r.kind = 'principle' AND r.key = p.id"
    " AND r.ended_at IS NULL)"
    " AND NOT EXISTS (SELECT 1 FROM approvals AS a WHERE a.principle_id = p.id"
    " AND a.decision = 'rejected')"
    " AND EXISTS (SELECT 1 FROM derivations AS d JOIN insights AS said ON said.id = d.insight_id"
    " JOIN insights AS i ON i.id = coalesce(said.superseded_by, said.id)"
    " JOIN insight_sources AS s ON s.insight_id = i.id"
    " WHERE d.principle_id = p.id AND i.status IN ('active', 'contradicted')"
    " AND s.withdrawn_at IS NULL AND s.path NOT LIKE '%.local.md'"
    " AND (s.trust IN ('file', 'agent') OR EXISTS (SELECT 1 FROM reviews AS w"
    " WHERE w.insight_id IN (i.id, said.id) AND w.decision = 'approved'))"
    " AND NOT EXISTS (SELECT 1 FROM reviews AS v"
    " WHERE v.insight_id IN (i.id, said.id) AND v.decision = 'rejected')"
    f" AND (i.status = 'active' OR NOT {_LOST}))"
    " ORDER BY p.rank DESC, p.id"
)

#: All of them that is chosen by or written; a vector's text and model say which one it is, and what
#: nobody has approved is written into no other project.
_NAMED = _GIVEN.replace(
    "p.id FROM principles AS p",
    "p.id, p.content, p.domains, p.rank, p.confidence, p.text_hash, EXISTS (SELECT 1 FROM vectors"
    " AS x WHERE x.model = ?1 AND x.text_hash = p.text_hash), EXISTS (SELECT 1 FROM approvals AS a"
    " WHERE a.principle_id = p.id AND a.decision = 'approved' AND a.ended_at IS NULL)"
    " FROM principles AS p",
    1,
)

_STILL = _GIVEN.replace(" ORDER BY", " AND p.id IN (SELECT value FROM json_each(?1)) ORDER BY", 1)

_WITHOUT_SOURCE = (
    "SELECT p.id FROM principles AS p"
    " WHERE NOT EXISTS (SELECT 1 FROM derivations AS d WHERE d.principle_id = p.id)"
    " AND NOT EXISTS (SELECT 1 FROM revocations AS r WHERE r.kind = 'principle' AND r.key = p.id"
    " AND r.ended_at IS NULL)"
)

_UNEMBEDDED = (
    "SELECT p.text_hash, p.content FROM principles AS p WHERE p.origin = 'synthesis'"
    " AND NOT EXISTS (SELECT 1 FROM vectors AS v WHERE v.model = ?1 AND v.text_hash = p.text_hash)"
    " ORDER BY p.id LIMIT ?2"
)

#: What goes with a principle.
_FORGET = (
    "DELETE FROM derivations WHERE principle_id IN (SELECT value FROM json_each(?1))",
    "DELETE FROM principles WHERE id IN (SELECT value FROM json_each(?1))",
)


def of(insight: Insight, now: int) -> Principle:
    """Return the principle that an insight becomes by itself."""
    return Principle(
        id=principle_id(insight.content_hash),
        content=insight.content,
        content_hash=insight.content_hash,
        elaboration=None,
        category=BECOMES[insight.category],
        tags=insight.tags,
        domains=(insight.domain,) if insight.domain else (),
        confidence=insight.confidence,
        quality=QUALITY,
        rank=rank(insight.confidence, insight.observation_count, quality=QUALITY),
        status=PrincipleStatus.ACTIVE,
        origin=Origin.SINGLE,
        text_hash=_text_hash(insight),
        created_at=now,
    )


def add(connection: Connection, made: Sequence[Principle]) -> None:
    """Write principles; one that is there gets what it is made of anew, but not its standing."""
    rows = [_row(each) for each in made]
    statement = insert(principles)
    again = {name: statement.excluded[name] for name in _AGAIN}
    if rows:
        connection.execute(statement.on_conflict_do_update(index_elements=["id"], set_=again), rows)


def derive(connection: Connection, made: Sequence[Derivation]) -> None:
    """Let the principles that are named come of these insights and of no other."""
    derivations.replace(connection, {each.principle_id for each in made}, made)


def forget(connection: Connection, principle_ids: Iterable[str]) -> None:
    """Delete principles with their derivations and links: nobody shall ever be given them again."""
    gone = sorted(principle_ids)
    links.cut(connection, gone)
    asked = json.dumps(gone)
    for statement in _FORGET:
        driver_of(connection).execute(statement, (asked,))


def by_ids(connection: Connection, principle_ids: Iterable[str]) -> dict[str, Principle]:
    """Return principles by id; ids that are not known are left out."""
    return {
        row.id: _principle(row)
        for some in chunks(dict.fromkeys(principle_ids))
        for row in connection.execute(select(principles).where(principles.c.id.in_(some)))
    }


def given(connection: Connection, model: str) -> tuple[list[Principle], Matrix]:
    """Return the principles that projects may be given, best ranked first, with their vectors.

    A row of zeros is one that has no vector of the model. Two of them may contradict each other.
    """
    names = [each for (each,) in driver_of(connection).execute(_GIVEN)]
    known = by_ids(connection, names)
    found = [known[each] for each in names]
    rows = stored_vectors(connection, model, list({each.text_hash for each in found}))
    width = len(next(iter(rows.values()))) if rows else 0
    nothing = np.zeros(width, np.float32)
    made = [rows.get(each.text_hash, nothing) for each in found]
    return found, np.stack(made) if made else np.zeros((0, width), np.float32)


def unapproved(connection: Connection) -> list[str]:
    """Return the ids of principles that projects are given once a person approves, best first."""
    names = [each for (each,) in driver_of(connection).execute(_GIVEN)]
    allowed = approvals.approved(connection)
    return [each for each in names if each not in allowed]


def name_of_given(connection: Connection, model: str) -> str:
    """Return the name of all that `given` returns, for a fraction of what reading that costs."""
    found = sha256()
    for row in driver_of(connection).execute(_NAMED, (model,)):
        found.update(repr(row).encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def still_given(connection: Connection, principle_ids: Iterable[str]) -> set[str]:
    """Return those of some principles that projects may be given now."""
    asked = (json.dumps(list(principle_ids)),)
    return {each for (each,) in driver_of(connection).execute(_STILL, asked)}


def unembedded(connection: Connection, model: str, limit: int) -> dict[bytes, str]:
    """Return texts that have no vector of a model, by hash: a model wrote them, and no file.

    Whatever a file says is embedded because it has a passage; these have none.
    """
    rows = driver_of(connection).execute(_UNEMBEDDED, (model, limit))
    return {digest: given_text(text) or "" for digest, text in rows}


def without_source(connection: Connection) -> set[str]:
    """Return the principles that come of nothing any more and that nobody has taken back."""
    return {each for (each,) in driver_of(connection).execute(_WITHOUT_SOURCE)}


def known(connection: Connection, principle: str) -> bool:
    """Tell whether there is a principle of that id."""
    query = select(principles.c.id).where(principles.c.id == principle)
    return connection.execute(query).first() is not None


def ids(connection: Connection) -> list[str]:
    """Return the ids of all principles, in order."""
    return list(connection.execute(select(principles.c.id).order_by(principles.c.id)).scalars())


def count(connection: Connection) -> int:
    """Return how many principles there are."""
    return int(connection.execute(select(func.count()).select_from(principles)).scalar_one())


def _text_hash(insight: Insight) -> bytes:
    """Return the hash of what is embedded of an insight."""
    if insight.granularity is Granularity.STATEMENT:
        return bytes.fromhex(insight.content_hash)
    text = embedded_text(insight.heading, insight.content)
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def _row(principle: Principle) -> dict[str, Any]:
    """Return a principle as its row."""
    return {
        "id": principle.id,
        "content": principle.content,
        "content_hash": principle.content_hash,
        "elaboration": principle.elaboration,
        "category": str(principle.category),
        "tags": list(principle.tags),
        "domains": list(principle.domains),
        "confidence": principle.confidence,
        "quality": principle.quality,
        "rank": principle.rank,
        "status": str(principle.status),
        "origin": str(principle.origin),
        "text_hash": principle.text_hash,
        "created_at": principle.created_at,
    }


def _principle(row: Row[Any]) -> Principle:
    """Return a row as a principle."""
    return Principle(
        id=row.id,
        content=row.content,
        content_hash=row.content_hash,
        elaboration=row.elaboration,
        category=PrincipleCategory(row.category),
        tags=tuple(row.tags),
        domains=tuple(row.domains),
        confidence=row.confidence,
        quality=row.quality,
        rank=row.rank,
        status=PrincipleStatus(row.status),
        origin=Origin(row.origin),
        text_hash=row.text_hash,
        created_at=row.created_at,
    )
