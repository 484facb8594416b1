"""Principles as people look through them: filtered, sorted, a page at a time.

Only ids are listed here: what a principle is has one reader, `storage/principles.py`, and what
speaks for it one, `storage/fading.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, exists, func, select

from cortex_actors.domain.insight import NO_DOMAIN, PrincipleSort
from cortex_actors.domain.principle import PrincipleStatus
from cortex_actors.storage import schema as tables
from cortex_actors.storage.catalogue import holds
from cortex_actors.storage.insightrows import of_project
from cortex_actors.storage.schema import derivations, insight_sources, insights, principles
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

    from cortex_actors.domain.principle import PrincipleCategory

#: Statuses of what is given out, and so of what people see when they ask for nothing else.
GIVEN = frozenset({PrincipleStatus.ACTIVE, PrincipleStatus.DECAYING})


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which principles are listed; None asks for nothing of the kind.

    Attributes:
        project_id: a project that says now what it was derived from.
        least: the least rank.
        words: every one of them occurs in the text, as part of a word, too; letters of ASCII are
            the same in both cases.

    """

    statuses: Collection[PrincipleStatus] = GIVEN
    project_id: str | None = None
    category: PrincipleCategory | None = None
    domain: str | None = None
    tag: str | None = None
    least: float | None = None
    words: tuple[str, ...] = ()
    sort: PrincipleSort = PrincipleSort.RANK


def listed(
    connection: Connection, wanted: Wanted, *, limit: int | None = None, skip: int = 0
) -> list[str]:
    """Return the ids of principles, in the order that is wanted.

    Those of `SEEN` and `LINKED` come by rank: what these count is counted by whoever asks.
    """
    order = _ORDER.get(wanted.sort, _ORDER[PrincipleSort.RANK])
    query = select(principles.c.id).where(*_filters(wanted)).order_by(*order, principles.c.id)
    return list(connection.execute(query.limit(limit).offset(skip)).scalars())


def count(connection: Connection, wanted: Wanted) -> int:
    """Return how many principles there are of those, on all pages."""
    query = select(func.count()).select_from(principles).where(*_filters(wanted))
    return int(connection.execute(query).scalar_one())


def by_status(connection: Connection) -> dict[str, int]:
    """Return how many principles stand how, each status once."""
    query = select(principles.c.status, func.count().label("number")).group_by(principles.c.status)
    found = {row.status: row.number for row in connection.execute(query)}
    return {status.value: found.get(status.value, 0) for status in PrincipleStatus}


def projects(connection: Connection, ids: Collection[str]) -> dict[str, list[str]]:
    """Return the names of the projects that say now what principles were derived from."""
    found: dict[str, list[str]] = {}
    for some in chunks(ids):
        for row in connection.execute(_named(some)):
            found.setdefault(row.principle_id, []).append(row.name)
    return found


_ORDER: dict[PrincipleSort, tuple[Any, ...]] = {
    PrincipleSort.RANK: (principles.c.rank.desc(),),
    PrincipleSort.SURE: (principles.c.confidence.desc(), principles.c.rank.desc()),
    PrincipleSort.NEWEST: (principles.c.created_at.desc(),),
    PrincipleSort.OLDEST: (principles.c.created_at,),
}


def _filters(wanted: Wanted) -> list[ColumnElement[bool]]:
    """Return what a principle has to be."""
    found: list[ColumnElement[bool]] = [principles.c.status.in_(sorted(wanted.statuses))]
    if wanted.project_id is not None:
        found.append(principles.c.id.in_(_said_by(wanted.project_id)))
    if wanted.category is not None:
        found.append(principles.c.category == wanted.category.value)
    if wanted.domain == NO_DOMAIN:
        found.append(func.json_array_length(principles.c.domains) == 0)
    elif wanted.domain is not None:
        found.append(_among(principles.c.domains, wanted.domain))
    if wanted.tag is not None:
        found.append(_among(principles.c.tags, wanted.tag))
    if wanted.least is not None:
        found.append(principles.c.rank >= wanted.least)
    return [*found, *(holds(principles.c.content, word) for word in wanted.words)]


def _said_by(project_id: str) -> Any:
    """Return the query for ids of principles that come of what a project says now."""
    return (
        select(derivations.c.principle_id)
        .join(insights, insights.c.id == derivations.c.insight_id)
        .where(func.coalesce(insights.c.superseded_by, insights.c.id).in_(of_project(project_id)))
    )


def _named(ids: Collection[str]) -> Any:
    """Return the query for (principle, project that says it), by name."""
    said = func.coalesce(insights.c.superseded_by, insights.c.id)
    return (
        select(derivations.c.principle_id, tables.projects.c.name)
        .join(insights, insights.c.id == derivations.c.insight_id)
        .join(insight_sources, insight_sources.c.insight_id == said)
        .join(tables.projects, tables.projects.c.id == insight_sources.c.project_id)
        .where(derivations.c.principle_id.in_(ids), insight_sources.c.withdrawn_at.is_(None))
        .group_by(derivations.c.principle_id, tables.projects.c.id)
        .order_by(tables.projects.c.name)
    )


def _among(column: ColumnElement[Any], word: str) -> ColumnElement[bool]:
    """Return the condition that a list holds a word."""
    some = func.json_each(column).table_valued("value")
    return exists(select(some.c.value).where(some.c.value == word))
