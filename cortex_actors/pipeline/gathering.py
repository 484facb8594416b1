"""Gathering: everything that what becomes of some insights depends on.

It grows from the insights that a run begins with to whoever shares a cluster or a principle with
one of them, or is a principle already and says nearly the same, and so on until nothing more is
connected. What is outside has no say in what is inside, so that a run over a part ends as a run
over everything would. Its cost is that of the part, but for one product of matrices and the reading
of the vectors of what is a principle already.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from cortex_actors.pipeline import earning
from cortex_actors.storage import contradictions, insight_evidence, insights, principles, reviews
from cortex_actors.storage.search.matrix import Rows, Texts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from cortex_actors.domain.principle import Derivation, Principle
    from cortex_actors.domain.project import Decision
    from cortex_actors.runtime.threads import Threads
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.insight_evidence import Spoken
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.search.matrix import Neighbours

#: Insights that are read in one transaction: whoever else reads waits for it.
AT_ONCE = 1_000

#: Two insights, the lesser id first, and their cosine.
Edges: TypeAlias = dict[tuple[str, str], float]


@dataclass(slots=True)
class Gathered:
    """What was found; it belongs to one run.

    Attributes:
        said: insight -> the texts that count for it, itself the first.
        grouped: medoid and members of each cluster that one of them is in.
        principles: the principles that come of one of them.
        owed: principle -> what it comes of, each insight as whoever stands for it now.
        near: pairs that are near enough to be one principle, at least one of them one already.
        decisions: what persons said, by text.
        kept: texts that a person decided for, where two contradicted each other.
        revoked: principles that are given to nobody any more.

    """

    said: dict[str, list[Spoken]] = field(default_factory=dict)
    grouped: dict[str, tuple[str, Sequence[str]]] = field(default_factory=dict)
    principles: dict[str, Principle] = field(default_factory=dict)
    owed: dict[str, list[Derivation]] = field(default_factory=dict)
    leads: dict[str, str] = field(default_factory=dict)
    rows: dict[str, Matrix] = field(default_factory=dict)
    near: Edges = field(default_factory=dict)
    decisions: Mapping[str, Decision] = field(default_factory=dict)
    kept: Collection[str] = ()
    revoked: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Tools:
    """Whom a run asks."""

    records: Records
    neighbours: Neighbours
    threads: Threads


@dataclass(frozen=True, slots=True)
class _Look:
    """What one transaction found about some insights, and who is connected with them."""

    said: dict[str, list[Spoken]]
    grouped: dict[str, tuple[str, Sequence[str]]]
    owed: dict[str, list[Derivation]]
    principles: dict[str, Principle]
    rows: dict[str, Matrix]
    leads: dict[str, str]

    @property
    def next(self) -> set[str]:
        """The insights that stand next to them."""
        members = {each for _, some in self.grouped.values() for each in some}
        made_of = {each.insight_id for some in self.owed.values() for each in some}
        return {self.leads.get(each, each) for each in members | made_of}


async def everything(records: Records, *, confidence: float) -> set[str]:
    """Return every insight that may have earned something, or that a principle comes of."""
    return await records.read(lambda c: _everything(c, confidence))


async def gather(tools: Tools, seeds: Collection[str], *, dedup: float) -> Gathered:
    """Return what was gathered from some insights on; `dedup` is the cosine of what is near."""
    found = Gathered()
    if not seeds:
        return found
    read = tools.records.read
    others, found.decisions, found.kept, found.revoked = await read(
        lambda c: _known(c, tools.neighbours)
    )
    waiting = set((await read(partial(_leads, ids=seeds))).values())
    while waiting:
        some = sorted(waiting)[:AT_ONCE]
        look = await read(partial(_look, neighbours=tools.neighbours, ids=some))
        found.said |= look.said
        found.grouped |= look.grouped
        found.owed |= look.owed
        found.principles |= look.principles
        found.rows |= look.rows
        found.leads |= look.leads
        near = await tools.threads.run(_near, look, others, found, dedup=dedup)
        found.near |= near
        waiting |= look.next | {each for edge in near for each in edge}
        waiting -= found.said.keys() | set(some)
    return found


def _everything(connection: Connection, confidence: float) -> set[str]:
    """Return the insights that are worth a look: sure enough, approved, clustered, or derived."""
    sure = insight_evidence.sure(connection, confidence)
    approved = reviews.decisions(connection)
    return {
        *sure,
        *approved,
        *contradictions.everybody(connection),
        *principles.derived(connection),
    }


def _known(
    connection: Connection, neighbours: Neighbours
) -> tuple[Rows, Mapping[str, Decision], set[str], set[str]]:
    """Return the vectors of what is a principle already, and what persons have said."""
    made = principles.derived(connection)
    leads = set(_leads(connection, ids=made).values())
    rows = neighbours.rows(connection, insight_evidence.said_among(connection, leads))
    items = sorted(rows)
    matrix = np.stack([rows[each] for each in items]) if items else np.zeros((0, 1), np.float32)
    return (
        Rows(items, matrix, np.arange(len(items))),
        reviews.decisions(connection),
        contradictions.kept(connection),
        reviews.principles(connection),
    )


def _leads(connection: Connection, *, ids: Collection[str]) -> dict[str, str]:
    """Return who stands for each of those texts now."""
    return {**{each: each for each in ids}, **insights.representatives(connection, ids)}


def _look(connection: Connection, *, neighbours: Neighbours, ids: Sequence[str]) -> _Look:
    """Return what is known about some insights that stand for themselves."""
    names = set(contradictions.load_clusters(connection, ids).values())
    grouped: dict[str, tuple[str, Sequence[str]]] = {
        each.id: (each.medoid_id, each.members) for each in contradictions.some(connection, names)
    }
    made = principles.coming_of(connection, ids)
    owed = principles.load_derivations(connection, made)
    concerned = {each.insight_id for some in owed.values() for each in some}
    return _Look(
        said=earning.said(connection, ids),
        grouped=grouped,
        owed=owed,
        principles=principles.by_ids(connection, made),
        rows=neighbours.rows(connection, insight_evidence.said_among(connection, ids)),
        leads=_leads(connection, ids=concerned),
    )


def _near(look: _Look, others: Rows, found: Gathered, *, dedup: float) -> Edges:
    """Return the pairs that are near enough, of those insights and all others (on a thread)."""
    names = sorted(look.rows)
    if not names:
        return {}
    asked = np.stack([look.rows[each] for each in names])
    inside = sorted(found.rows)
    own = Rows(inside, np.stack([found.rows[each] for each in inside]), np.arange(len(inside)))
    edges: Edges = {}
    parts = tuple(each for each in (own, others) if len(each.items))
    for name, near in zip(names, Texts(parts).near(asked, dedup), strict=True):
        for other, cosine in near:
            if other != name:
                edges[min(name, other), max(name, other)] = cosine
    return edges
