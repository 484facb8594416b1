"""Contradictions: pairs of insights that cannot both hold, from their discovery to a decision.

What was found stays as long as it holds: a pair whose text is no longer said, or no longer
disagrees, leaves the list by itself. What a person decided stays decided.

Clusters: insights that say nearly the same, with the one in their middle.

They are made of the vectors of one model, and made again from these at each request. Every
function takes the connection of a transaction it is part of.

Reconciled: by which rules the insights were compared last, and up to which vector.

Two small facts of the ledger. Other rules, other thresholds or another model's vectors mean that
everything is compared again; vectors behind the last one came late, and their texts are compared
at the next request.
"""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, and_, delete, or_, select

from cortex_actors.domain.agent import OWNER
from cortex_actors.domain.insight import Conflict, Decider, Relation
from cortex_actors.errors import NotFound
from cortex_actors.rules.proposals import ProposalKind
from cortex_actors.storage import embeddings
from cortex_actors.storage.insight_records import select_of_project, settle
from cortex_actors.storage.pipeline import verdicts
from cortex_actors.storage.tables import columns
from cortex_actors.storage.tables.dialect import execute_for, execute_many
from cortex_actors.storage.tables.schema import (
    cluster_insights,
    clusters,
    contradictions,
    insight_sources,
    meta,
    projects,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from cortex_actors.rules import clustering


#: The status of a contradiction that is not decided, and those after a person's decision.
OPEN = "unresolved"
DECISIONS = ("resolved", "dismissed")

_DELETE = "DELETE FROM contradictions WHERE +status = 'unresolved' AND id IN :ids"


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two insights that cannot both hold, `insight_a` being the lesser id.

    Attributes:
        type: direct or partial; contextual where two projects choose differently, which keeps
            neither from being believed.
        similarity: the cosine of the two; None where one of them has no vector.
        confidence: how sure the layer is that says so, 0 to 1.
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
    confidence: float = 1.0

    @property
    def pair(self) -> tuple[str, str]:
        """The two."""
        return self.insight_a, self.insight_b

    @property
    def is_open(self) -> bool:
        """Whether it is not decided yet."""
        return self.status == OPEN

    @property
    def is_direct(self) -> bool:
        """Whether it keeps both from being believed: in different places both may hold."""
        return self.type != Conflict.CONTEXTUAL

    def is_against(self, insight_id: str) -> bool:
        """Whether it speaks against one of the two.

        Both of a contextual pair may hold, until a person decides for one.
        """
        lost = self.kept_id is not None and self.kept_id != insight_id
        return lost or (self.is_direct and self.is_open)


_FIELDS = [each.name for each in fields(Contradiction)]
_AGAIN = ("type", "similarity", "decided_by", "reason", "confidence")
_INSERT = (
    f"INSERT INTO contradictions ({', '.join(_FIELDS)})"  # noqa: S608 - names of the schema
    f" VALUES ({', '.join('?' * len(_FIELDS))}) ON CONFLICT (insight_a, insight_b) DO UPDATE SET"
    f" {', '.join(f'{name} = excluded.{name}' for name in _AGAIN)}"
    " WHERE contradictions.status = 'unresolved'"
)


def make_id(insight_a: str, insight_b: str) -> str:
    """Return the id of a pair: the same whenever it is found."""
    return verdicts.make_id(ProposalKind.CONTRADICTION, (insight_a, insight_b))


def load_contradiction(connection: Connection, contradiction_id: str) -> Contradiction | None:
    """Return a contradiction by its id."""
    query = select(contradictions).where(contradictions.c.id == contradiction_id)
    row = connection.execute(query).one_or_none()
    return None if row is None else columns.make_entity(Contradiction, row)


def list_contradictions(
    connection: Connection,
    *,
    status: str | None = None,
    project_id: str | None = None,
    both: bool = False,
    limit: int | None = None,
) -> list[Contradiction]:
    """Return contradictions, those within one project first, then the newest.

    Of a project those of which it says one side; with `both` those of which it says both.
    """
    order = contradictions.c.type == Conflict.CONTEXTUAL, contradictions.c.detected_at.desc()
    query = select(contradictions).order_by(*order, contradictions.c.id).limit(limit)
    query = query.where(*columns.match_columns(contradictions, status=status))
    if project_id is not None:
        said = select_of_project(project_id)
        sides = contradictions.c.insight_a.in_(said), contradictions.c.insight_b.in_(said)
        query = query.where(and_(*sides) if both else or_(*sides))
    return [columns.make_entity(Contradiction, row) for row in connection.execute(query)]


def count(connection: Connection, status: str = OPEN) -> int:
    """Return how many contradictions are in that state, differences of two projects left out."""
    where = contradictions.c.status == status, contradictions.c.type != Conflict.CONTEXTUAL
    return columns.count_rows(connection, contradictions, *where)


def measure_distances(connection: Connection, some: Iterable[Contradiction]) -> dict[str, int]:
    """Return the distance of each pair: 0 in one file, 1 in one project, 2 in none together.

    By the id of the contradiction; only files of projects that are followed count.
    """
    pairs = {each.id: each.pair for each in some}
    place = insight_sources.c
    query = (
        select(place.insight_id, place.project_id, place.path)
        .join(projects, projects.c.id == place.project_id)
        .where(place.withdrawn_at.is_(None), projects.c.active == 1)
    )
    sides = {side for pair in pairs.values() for side in pair}
    rows = list(columns.select_in(connection, query, place.insight_id, sorted(sides)))
    files = columns.group_pairs((row.insight_id, row.path) for row in rows)
    ours = columns.group_pairs((row.insight_id, row.project_id) for row in rows)

    def shares(places: Mapping[str, list[str]], pair: tuple[str, str]) -> bool:
        return not set(places.get(pair[0], ())).isdisjoint(places.get(pair[1], ()))

    return {
        name: 0 if shares(files, pair) else 1 if shares(ours, pair) else 2
        for name, pair in pairs.items()
    }


def load_contradictions(
    connection: Connection, ids: Iterable[str]
) -> dict[str, list[Contradiction]]:
    """Return the contradictions of those insights, decided ones too, by insight and id."""
    wanted = list(dict.fromkeys(ids))
    found: dict[str, Contradiction] = {}
    for some in columns.split_chunks(wanted):
        sides = contradictions.c.insight_a.in_(some), contradictions.c.insight_b.in_(some)
        for row in connection.execute(select(contradictions).where(or_(*sides))):
            found[row.id] = columns.make_entity(Contradiction, row)
    asked = set(wanted)
    return columns.group_pairs(
        (side, each) for _, each in sorted(found.items()) for side in asked.intersection(each.pair)
    )


#: How many open differences there are with a text that another followed project says.
_DIFFERENCES = (
    "SELECT a.value, count(DISTINCT c.id) FROM :each(?1) AS a"
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


def count_differing(connection: Connection, ids: Iterable[str]) -> dict[str, int]:
    """Return insights from which the choice of another project differs, with how many do."""
    return dict(execute_for(connection, _DIFFERENCES, ids))


def load_kept(connection: Connection) -> set[str]:
    """Return the insights that a person decided for."""
    query = select(contradictions.c.kept_id).where(contradictions.c.kept_id.is_not(None))
    return set(connection.execute(query).scalars())


def replace(
    connection: Connection, found: Collection[Contradiction], ended: Collection[Contradiction]
) -> None:
    """Write what was found and delete what no longer holds; what is decided stays as it is.

    Status is not settled: the caller settles it, with what else has changed.
    """
    execute_for(connection, _DELETE, (each.id for each in ended))
    execute_many(connection, _INSERT, map(attrgetter(*_FIELDS), found))


def decide(
    connection: Connection,
    contradiction_id: str,
    *,
    status: str,
    at: int,
    kept_id: str | None = None,
    note: str | None = None,
    by: str = OWNER.by,
) -> Contradiction:
    """Write what a person decided, also instead of an earlier decision; return it.

    It holds for whatever texts say the same as the two now, too. What was only possible becomes a
    contradiction by it. `resolved` with `kept_id` says which of the two holds (the other one stays
    contradicted as long as both are said), without it that both may; `dismissed` that there is no
    contradiction. Raises `NotFound` for an unknown id.
    """
    found = load_contradiction(connection, contradiction_id) or _possible(
        connection, contradiction_id, at=at
    )
    if found is None:
        raise NotFound(
            f"no contradiction has the id {contradiction_id}; list them with: cortex contradictions"
        )
    values: dict[str, Any] = {"status": status, "resolved_at": at}
    values |= {"kept_id": kept_id, "resolution": note}
    columns.change_in(connection, contradictions.c.id, [contradiction_id], values)
    relation = Relation.CONTRADICTION if status == "resolved" else Relation.RELATED
    verdicts.say(
        connection,
        found.pair,
        relation=relation,
        said=status,
        at=at,
        keep=kept_id,
        by=by,
        note=note,
    )
    settle(connection, found.pair)
    return dataclasses.replace(found, **values)


def _possible(connection: Connection, name: str, *, at: int) -> Contradiction | None:
    """Return a possible contradiction as one from now on, written down; None for another id."""
    asked = verdicts.find_proposal(connection, name)
    if asked is None or asked.id != make_id(*asked.pair):
        return None
    found = Contradiction(
        *(asked.id, asked.insight_a, asked.insight_b, str(Conflict.DIRECT), asked.similarity),
        *(OWNER.by, str(Decider.PERSON), asked.reason, at),
    )
    replace(connection, [found], [])
    return found


def reopen(connection: Connection, name: str, *, at: int, by: str = OWNER.by) -> tuple[str, str]:
    """Take back what people and agents said of two insights, by the id of their pair.

    Returns the two. The next run finds them as the rules and the models have them. Raises
    `NotFound`.
    """
    held = [each for each in verdicts.list_given(connection) if each.undone_at is None]
    unsure = next((each.pair for each in held if each.item == name), None)
    found = (
        load_contradiction(connection, name)
        or verdicts.find_decided_pair(connection, name)
        or unsure
    )
    if found is None:
        raise NotFound(f"nothing was decided about {name}; see: cortex contradictions --status all")
    if isinstance(found, Contradiction):
        gone = contradictions.c.id == found.id, contradictions.c.status != OPEN
        connection.execute(delete(contradictions).where(*gone))
        found = found.pair
    verdicts.retract(connection, found)
    theirs = [each for each in held if each.item == name or each.pair == found]
    verdicts.take_back(connection, theirs, by=by, at=at)
    settle(connection, found)
    return found


@dataclass(frozen=True, slots=True)
class StoredCluster:
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


def get_clusters(connection: Connection, cluster_ids: Iterable[str]) -> list[StoredCluster]:
    """Return clusters by their ids; those that are not there any more are left out."""
    wanted = sorted(cluster_ids)
    inside = load_members(connection, wanted)
    return [
        columns.make_entity(StoredCluster, row, members=tuple(inside.get(row.id, ())))
        for row in columns.select_in(connection, select(clusters), clusters.c.id, wanted)
    ]


def load_clusters(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return the cluster of each of those insights that is in one."""
    rows = columns.select_in(
        connection, select(cluster_insights), cluster_insights.c.insight_id, ids
    )
    return {row.insight_id: row.cluster_id for row in rows}


def load_members(connection: Connection, cluster_ids: Collection[str]) -> dict[str, list[str]]:
    """Return the insights of each cluster, in order."""
    query = select(cluster_insights).order_by(cluster_insights.c.insight_id)
    rows = columns.select_in(connection, query, cluster_insights.c.cluster_id, cluster_ids)
    return columns.group_pairs((row.cluster_id, row.insight_id) for row in rows)


def load_together(connection: Connection, ids: Iterable[str]) -> set[str]:
    """Return those insights, and those that share a cluster with one of them."""
    wanted = set(ids)
    inside = load_members(connection, sorted(set(load_clusters(connection, wanted).values())))
    return wanted.union(*inside.values())


def load_clustered(connection: Connection) -> set[str]:
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
    inside = {*touched, *(each for one_ in made for each in one_.members)}
    old = set(load_clusters(connection, inside).values())
    kept = columns.select_in(connection, select(clusters), clusters.c.id, old)
    since = {row.id: row.made_at for row in kept}
    columns.drop_in(connection, cluster_insights.c.cluster_id, old)
    columns.drop_in(connection, clusters.c.id, old)
    named = [(cluster_id(each.members), each) for each in made]

    def row(name: str, it: clustering.Cluster) -> dict[str, Any]:
        made = {"medoid_id": it.medoid, "made_at": since.get(name, at)}
        centroid = embeddings.to_bytes(it.centroid)
        return columns.as_row(clusters, it, id=name, model=model, centroid=centroid, **made)

    columns.put_rows(connection, clusters, (row(*each) for each in named))
    inside_of = [(item, name) for name, each in named for item in each.members]
    rows = ({"insight_id": item, "cluster_id": name} for item, name in inside_of)
    columns.put_rows(connection, cluster_insights, rows)


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


def load_mark(connection: Connection) -> Mark:
    """Return how far comparing has come."""
    query = select(meta.c.name, meta.c.value).where(meta.c.name.in_((_BY, _UP_TO)))
    found = dict(connection.execute(query).all())
    return Mark(found.get(_BY, b""), int(found.get(_UP_TO, 0)))


def write_mark(connection: Connection, found: Mark) -> None:
    """Write down how far comparing has come."""
    facts = {_BY: found.by, _UP_TO: str(found.up_to).encode()}
    columns.put_rows(
        connection, meta, ({"name": name, "value": value} for name, value in facts.items())
    )
