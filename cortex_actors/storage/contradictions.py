"""Contradictions: pairs of insights that cannot both hold, from their discovery to a decision.

What was found stays as long as it holds: a pair whose text is no longer said, or no longer
disagrees, leaves the list by itself. What a person decided stays decided.

Pairs of insights that somebody has decided about: what thresholds can be calibrated by.

People decide about contradictions. What was merged, and never taken apart, counts as one claim.

Clusters: insights that say nearly the same, with the one in their middle.

They are made of the vectors of one model, and made again from these whenever somebody asks. Every
function takes the connection of a transaction it is part of.

Reconciled: by which rules the insights were compared last, and up to which vector.

Two small facts of the ledger. Other rules, other thresholds or another model's vectors mean that
everything is compared anew; vectors behind the last one came late, and their texts are compared
when somebody looks.

Verdicts: what models have said to questions, so that none is asked for twice.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection, Row, delete, func, or_, select, update

from cortex_actors.domain.insight import Claim, Conflict, Granularity
from cortex_actors.errors import BadInput, NotFound
from cortex_actors.rules.calibration import Decided, Label
from cortex_actors.storage import embeddings
from cortex_actors.storage.embeddings import stored_vectors
from cortex_actors.storage.insight_records import of_project, settle
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.tables.columns import chunks, count_rows, entity, put_rows, rows_in
from cortex_actors.storage.tables.schema import (
    cluster_insights,
    clusters,
    contradictions,
    insights,
    meta,
    verdicts,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from cortex_actors.rules import clustering
    from cortex_actors.storage.embeddings import Matrix


#: How a contradiction is that nobody has decided, and how a person leaves it.
OPEN = "unresolved"
DECISIONS = ("resolved", "dismissed")

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
    query = select(contradictions).where(contradictions.c.id == contradiction_id)
    row = connection.execute(query).one_or_none()
    return None if row is None else entity(Contradiction, row)


def listed(
    connection: Connection,
    *,
    status: str | None = None,
    project_id: str | None = None,
    limit: int | None = None,
) -> list[Contradiction]:
    """Return contradictions, direct ones first, then the newest."""
    order = contradictions.c.type.in_(("contextual",)), contradictions.c.detected_at.desc()
    query = select(contradictions).order_by(*order, contradictions.c.id).limit(limit)
    if status is not None:
        query = query.where(contradictions.c.status == status)
    if project_id is not None:
        said = of_project(project_id)
        query = query.where(
            or_(contradictions.c.insight_a.in_(said), contradictions.c.insight_b.in_(said))
        )
    return [entity(Contradiction, row) for row in connection.execute(query)]


def count(connection: Connection, status: str = OPEN) -> int:
    """Return how many contradictions are in that state."""
    return count_rows(connection, contradictions, contradictions.c.status == status)


def of(connection: Connection, ids: Iterable[str]) -> dict[str, list[Contradiction]]:
    """Return the contradictions of those insights, decided ones too, by insight and id."""
    wanted = list(dict.fromkeys(ids))
    found: dict[str, Contradiction] = {}
    for some in chunks(wanted):
        sides = contradictions.c.insight_a.in_(some), contradictions.c.insight_b.in_(some)
        for row in connection.execute(select(contradictions).where(or_(*sides))):
            found[row.id] = entity(Contradiction, row)
    asked = set(wanted)
    of_each: dict[str, list[Contradiction]] = {}
    for _, each in sorted(found.items()):
        for side in asked.intersection(each.pair):
            of_each.setdefault(side, []).append(each)
    return of_each


#: How many open differences there are with a text that another followed project says.
_DIFFERENCES = (
    "SELECT a.value, count(DISTINCT c.id) FROM json_each(?) AS a"
    " JOIN insights AS m ON m.id = a.value OR m.superseded_by = a.value"
    " JOIN contradictions AS c ON m.id IN (c.insight_a, c.insight_b)"
    " JOIN insights AS t ON t.id IN (c.insight_a, c.insight_b) AND t.id <> m.id"
    " JOIN insight_sources AS s ON s.insight_id = coalesce(t.superseded_by, t.id)"
    " JOIN projects AS p ON p.id = s.project_id"
    " WHERE c.status = 'unresolved' AND c.type = 'contextual' AND s.withdrawn_at IS NULL"
    " AND s.insight_id <> a.value AND p.active = 1 AND NOT EXISTS (SELECT 1 FROM insight_sources"
    " AS o WHERE o.insight_id = a.value AND o.project_id = s.project_id"
    " AND o.withdrawn_at IS NULL) GROUP BY a.value"
)


def differing(connection: Connection, ids: Iterable[str]) -> dict[str, int]:
    """Return insights from which the choice of another project differs, with how many do."""
    asked = json.dumps(sorted(set(ids)))
    return dict(driver_of(connection).execute(_DIFFERENCES, (asked,)).fetchall())


def kept(connection: Connection) -> set[str]:
    """Return the insights that a person decided for."""
    query = select(contradictions.c.kept_id).where(contradictions.c.kept_id.is_not(None))
    return set(connection.execute(query).scalars())


def everything(connection: Connection) -> list[Contradiction]:
    """Return all contradictions, by id."""
    query = select(contradictions).order_by(contradictions.c.id)
    return [entity(Contradiction, row) for row in connection.execute(query)]


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


#: What each decision about a contradiction says of the pair.
_LABELS = {"resolved": Label.CONTRADICTION, "dismissed": Label.HARMLESS}

#: Pairs of each sort that are taken, the newest: more do not change the figures, and cost seconds.
MOST = 1_000


def pairs(connection: Connection, model: str) -> list[Decided]:
    """Return the decided pairs of statements that have vectors of the model."""
    found = [*_conflicts(connection), *_merges(connection)]
    sides = {side for left, right, _ in found for side in (left, right)}
    query = select(insights).where(insights.c.granularity == Granularity.STATEMENT)
    rows_ = rows_in(connection, query, insights.c.id, sorted(sides))
    texts: dict[str, Row[Any]] = {row.id: row for row in rows_}
    rows = stored_vectors(connection, model, list({row.text_hash for row in texts.values()}))
    made = (
        _decided(texts.get(left), texts.get(right), label, rows) for left, right, label in found
    )
    return [each for each in made if each is not None]


def _conflicts(connection: Connection) -> list[tuple[str, str, Label]]:
    """Return the contradictions that people decided."""
    query = (
        select(contradictions.c.insight_a, contradictions.c.insight_b, contradictions.c.status)
        .where(contradictions.c.status.in_(tuple(_LABELS)))
        .order_by(contradictions.c.resolved_at.desc(), contradictions.c.id)
        .limit(MOST)
    )
    return [(left, right, _LABELS[status]) for left, right, status in connection.execute(query)]


def _merges(connection: Connection) -> list[tuple[str, str, Label]]:
    """Return the texts that count for another one, with that."""
    query = (
        select(insights.c.id, insights.c.superseded_by)
        .where(insights.c.superseded_by.is_not(None))
        .order_by(insights.c.last_seen_at.desc(), insights.c.id)
        .limit(MOST)
    )
    return [(left, right, Label.DUPLICATE) for left, right in connection.execute(query)]


def _decided(
    left: Row[Any] | None, right: Row[Any] | None, label: Label, rows: Mapping[bytes, Matrix]
) -> Decided | None:
    """Return a pair with its cosine; None where a text or a vector is not there."""
    if left is None or right is None:
        return None
    one, other = rows.get(left.text_hash), rows.get(right.text_hash)
    if one is None or other is None:
        return None
    return Decided(
        left=Claim(left.content, left.heading),
        right=Claim(right.content, right.heading),
        cosine=float(np.dot(one, other)),
        label=label,
        domain=left.domain if left.domain == right.domain else None,
    )


_TOUCHED = (
    "SELECT DISTINCT cluster_id FROM cluster_insights"
    " WHERE insight_id IN (SELECT value FROM json_each(?))"
)
_LEAVE = "DELETE FROM cluster_insights WHERE cluster_id IN (SELECT value FROM json_each(?))"
_DELETE_CLUSTERS = "DELETE FROM clusters WHERE id IN (SELECT value FROM json_each(?))"
_INSERT_CLUSTER = (
    "INSERT INTO clusters (id, medoid_id, model, centroid, coherence, made_at)"
    " VALUES (?, ?, ?, ?, ?, ?)"
)
_JOIN = "INSERT INTO cluster_insights (insight_id, cluster_id) VALUES (?, ?)"
_MADE_AT = "SELECT id, made_at FROM clusters WHERE id IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class Cluster:
    """Insights that say nearly the same.

    Attributes:
        medoid_id: the one nearest to the centre.
        model: whose vectors that is said of.
        coherence: the mean cosine of two members.
        made_at: since when it has these members, UTC microseconds.
        members: ids, in order.

    """

    id: str
    medoid_id: str
    model: str
    coherence: float
    made_at: int
    members: tuple[str, ...]


def cluster_id(members: Sequence[str]) -> str:
    """Return the id of a cluster: the same for the same members."""
    return f"clu_{hashlib.sha256('|'.join(sorted(members)).encode()).hexdigest()[:20]}"


def get_cluster(connection: Connection, cluster_id: str) -> Cluster | None:
    """Return a cluster by its id."""
    found = _found(connection, select(clusters).where(clusters.c.id == cluster_id))
    return found[0] if found else None


def some(connection: Connection, cluster_ids: Iterable[str]) -> list[Cluster]:
    """Return clusters by their ids; those that are not there any more are left out."""
    parts = chunks(sorted(cluster_ids))
    queries = (select(clusters).where(clusters.c.id.in_(names)) for names in parts)
    return [each for query in queries for each in _found(connection, query)]


def list_clusters(
    connection: Connection, *, project_id: str | None = None, limit: int | None = None
) -> list[Cluster]:
    """Return clusters, the largest first, then the most coherent."""
    size = func.count(cluster_insights.c.insight_id)
    query = (
        select(clusters)
        .join(cluster_insights, cluster_insights.c.cluster_id == clusters.c.id)
        .group_by(clusters.c.id)
        .order_by(size.desc(), clusters.c.coherence.desc(), clusters.c.id)
        .limit(limit)
    )
    if project_id is not None:
        inside = select(cluster_insights.c.cluster_id).where(
            cluster_insights.c.insight_id.in_(of_project(project_id))
        )
        query = query.where(clusters.c.id.in_(inside))
    return _found(connection, query)


def load_clusters(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return the cluster of each of those insights that is in one."""
    rows = rows_in(connection, select(cluster_insights), cluster_insights.c.insight_id, ids)
    return {row.insight_id: row.cluster_id for row in rows}


def members(connection: Connection, cluster_ids: Collection[str]) -> dict[str, list[str]]:
    """Return the insights of each cluster, in order."""
    query = select(cluster_insights).order_by(cluster_insights.c.insight_id)
    found: dict[str, list[str]] = {}
    for row in rows_in(connection, query, cluster_insights.c.cluster_id, cluster_ids):
        found.setdefault(row.cluster_id, []).append(row.insight_id)
    return found


def together(connection: Connection, ids: Iterable[str]) -> set[str]:
    """Return those insights, and whoever is in a cluster with one of them."""
    wanted = set(ids)
    inside = members(connection, sorted(set(load_clusters(connection, wanted).values())))
    return wanted.union(*inside.values())


def everybody(connection: Connection) -> set[str]:
    """Return the ids of all insights that are in a cluster."""
    return set(connection.execute(select(cluster_insights.c.insight_id)).scalars())


def replace_clusters(
    connection: Connection,
    touched: Collection[str],
    made: Collection[clustering.Cluster],
    *,
    model: str,
    at: int,
) -> None:
    """Put clusters in place of those that the touched insights, or their members, are in.

    One that is made again of the same members keeps the time at which it was made.
    """
    driver = driver_of(connection)
    everybody_ = sorted({*touched, *(each for one_ in made for each in one_.members)})
    old = json.dumps([row[0] for row in driver.execute(_TOUCHED, (json.dumps(everybody_),))])
    since = dict(driver.execute(_MADE_AT, (old,)).fetchall())
    driver.execute(_LEAVE, (old,))
    driver.execute(_DELETE_CLUSTERS, (old,))
    named = [(cluster_id(each.members), each) for each in made]
    rows = [
        (
            name,
            each.medoid,
            model,
            embeddings.stored(each.centroid),
            each.coherence,
            since.get(name, at),
        )
        for name, each in named
    ]
    driver.executemany(_INSERT_CLUSTER, rows)
    driver.executemany(_JOIN, [(item, name) for name, each in named for item in each.members])


def _found(connection: Connection, query: Any) -> list[Cluster]:
    """Return the clusters of a query, in its order."""
    rows: Sequence[Row[Any]] = connection.execute(query).all()
    inside = members(connection, [row.id for row in rows])
    return [entity(Cluster, row, members=tuple(inside.get(row.id, ()))) for row in rows]


#: Names of the two facts.
_BY, _UP_TO = "reconciled_by", "reconciled_vectors"


@dataclass(frozen=True, slots=True)
class Mark:
    """How far comparing has come.

    Attributes:
        by: what names rules, thresholds and model; empty before the first time.
        up_to: the number of the newest vector there was.

    """

    by: bytes = b""
    up_to: int = 0


def mark(connection: Connection) -> Mark:
    """Return how far comparing has come."""
    query = select(meta.c.name, meta.c.value).where(meta.c.name.in_((_BY, _UP_TO)))
    found = dict(connection.execute(query).all())
    return Mark(found.get(_BY, b""), int(found.get(_UP_TO, 0)))


def note(connection: Connection, found: Mark) -> None:
    """Write down how far comparing has come."""
    facts = {_BY: found.by, _UP_TO: str(found.up_to).encode()}
    put_rows(connection, meta, ({"name": name, "value": value} for name, value in facts.items()))


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
    query = select(verdicts.c.key, verdicts.c.answer)
    return {row.key: row.answer for row in rows_in(connection, query, verdicts.c.key, keys)}


def keep(connection: Connection, rows: Sequence[Verdict]) -> None:
    """Keep answers; one that is there already stays, because it is the one that was acted on."""
    put_rows(connection, verdicts, map(asdict, rows), change=())


def prune(connection: Connection, most: int, limit: int) -> int:
    """Delete the oldest answers beyond the `most` newest, `limit` at a time; return how many."""
    over = count_rows(connection, verdicts) - most
    if over <= 0:
        return 0
    old = select(verdicts.c.key).order_by(verdicts.c.at).limit(min(over, limit))
    return connection.execute(delete(verdicts).where(verdicts.c.key.in_(old))).rowcount
