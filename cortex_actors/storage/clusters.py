"""Clusters: insights that say nearly the same, with the one in their middle.

They are made of the vectors of one model, and made again from these whenever somebody asks. Every
function takes the connection of a transaction it is part of.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, func, select

from cortex_actors.storage import blobs
from cortex_actors.storage.insightrows import of_project
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.schema import cluster_insights, clusters
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from cortex_actors.rules import clustering

_TOUCHED = (
    "SELECT DISTINCT cluster_id FROM cluster_insights"
    " WHERE insight_id IN (SELECT value FROM json_each(?))"
)
_LEAVE = "DELETE FROM cluster_insights WHERE cluster_id IN (SELECT value FROM json_each(?))"
_DELETE = "DELETE FROM clusters WHERE id IN (SELECT value FROM json_each(?))"
_INSERT = (
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


def id_of(members: Sequence[str]) -> str:
    """Return the id of a cluster: the same for the same members."""
    return f"clu_{hashlib.sha256('|'.join(sorted(members)).encode()).hexdigest()[:20]}"


def one(connection: Connection, cluster_id: str) -> Cluster | None:
    """Return a cluster by its id."""
    found = _found(connection, select(clusters).where(clusters.c.id == cluster_id))
    return found[0] if found else None


def some(connection: Connection, cluster_ids: Iterable[str]) -> list[Cluster]:
    """Return clusters by their ids; those that are not there any more are left out."""
    return [
        each
        for names in chunks(sorted(cluster_ids))
        for each in _found(connection, select(clusters).where(clusters.c.id.in_(names)))
    ]


def listed(
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


def of(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return the cluster of each of those insights that is in one."""
    query = select(cluster_insights.c.insight_id, cluster_insights.c.cluster_id)
    found: dict[str, str] = {}
    for some in chunks(ids):
        rows = connection.execute(query.where(cluster_insights.c.insight_id.in_(some)))
        found.update((row.insight_id, row.cluster_id) for row in rows)
    return found


def members(connection: Connection, cluster_ids: Collection[str]) -> dict[str, list[str]]:
    """Return the insights of each cluster, in order."""
    query = select(cluster_insights).order_by(cluster_insights.c.insight_id)
    found: dict[str, list[str]] = {}
    for some in chunks(cluster_ids):
        for row in connection.execute(query.where(cluster_insights.c.cluster_id.in_(some))):
            found.setdefault(row.cluster_id, []).append(row.insight_id)
    return found


def together(connection: Connection, ids: Iterable[str]) -> set[str]:
    """Return those insights, and whoever is in a cluster with one of them."""
    wanted = set(ids)
    inside = members(connection, sorted(set(of(connection, wanted).values())))
    return wanted.union(*inside.values())


def count(connection: Connection) -> int:
    """Return how many clusters there are."""
    return int(connection.execute(select(func.count()).select_from(clusters)).scalar_one())


def everybody(connection: Connection) -> set[str]:
    """Return the ids of all insights that are in a cluster."""
    return set(connection.execute(select(cluster_insights.c.insight_id)).scalars())


def replace(
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
    driver.execute(_DELETE, (old,))
    named = [(id_of(each.members), each) for each in made]
    rows = [
        (name, each.medoid, model, blobs.stored(each.centroid), each.coherence, since.get(name, at))
        for name, each in named
    ]
    driver.executemany(_INSERT, rows)
    driver.executemany(_JOIN, [(item, name) for name, each in named for item in each.members])


def _found(connection: Connection, query: Any) -> list[Cluster]:
    """Return the clusters of a query, in its order."""
    rows: Sequence[Row[Any]] = connection.execute(query).all()
    inside = members(connection, [row.id for row in rows])
    return [
        Cluster(
            id=row.id,
            medoid_id=row.medoid_id,
            model=row.model,
            coherence=row.coherence,
            made_at=row.made_at,
            members=tuple(inside.get(row.id, ())),
        )
        for row in rows
    ]
