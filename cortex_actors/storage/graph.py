"""The graph of principles as people look at it: those that are linked, and their links.

Principles that a person has taken back are not shown. Every function takes the connection of a read
transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import exists, func, or_, select

from cortex_actors.domain.principle import Link, LinkType, PrincipleStatus
from cortex_actors.storage import links, revocations
from cortex_actors.storage.schema import principle_links, principles

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sqlalchemy import ColumnElement, Connection


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which links somebody wants to see.

    Attributes:
        kinds: their types.
        least: their least strength.
        statuses: how both ends stand.
        limit: principles at most; of more, those that rank highest.

    """

    kinds: frozenset[LinkType] = frozenset(LinkType)
    least: float = 0.0
    statuses: frozenset[PrincipleStatus] = frozenset(PrincipleStatus)
    limit: int = 40

    def takes(self, link: Link) -> bool:
        """Tell whether a link is of those that are wanted."""
        return link.type in self.kinds and link.strength >= self.least


@dataclass(frozen=True, slots=True)
class Graph:
    """Principles by rank, and the links between them; `total` counts those that are linked."""

    ids: tuple[str, ...]
    links: tuple[Link, ...]
    total: int


def around(connection: Connection, principle_id: str, wanted: Wanted) -> Graph:
    """Return a principle with those it is linked with, and the links among them.

    Of more than fit, those it is linked with most strongly.
    """
    gone = revocations.principles(connection)
    near = links.of(connection, [principle_id]).get(principle_id, [])
    others = list(dict.fromkeys(e.other(principle_id) for e in near if wanted.takes(e)))
    standing = _standing(connection, others, wanted.statuses)
    known = [each for each in others if each in standing and each not in gone]
    shown = {principle_id, *known[: wanted.limit - 1]}
    found = [each for each in links.touching(connection, shown) if shown.issuperset(each.pair)]
    order = [principle_id, *(each for each in known if each in shown)]
    return Graph(tuple(order), tuple(each for each in found if wanted.takes(each)), len(known) + 1)


def overview(connection: Connection, wanted: Wanted) -> Graph:
    """Return the principles that rank highest of those that are linked, and their links.

    A link to one that does not fit is left out, and so is whoever has no other.
    """
    query = select(principles.c.id).where(_is_linked(wanted))
    query = query.where(principles.c.status.in_(map(str, wanted.statuses)))
    gone = revocations.principles(connection)
    query = query.where(principles.c.id.not_in(sorted(gone)))
    total = connection.execute(select(func.count()).select_from(query.subquery())).scalar_one()
    order = query.order_by(principles.c.rank.desc(), principles.c.id).limit(wanted.limit)
    ids = list(connection.execute(order).scalars())
    known = set(ids)
    found = [each for each in links.touching(connection, known) if known.issuperset(each.pair)]
    some = tuple(each for each in found if wanted.takes(each))
    ends = {end for each in some for end in each.pair}
    return Graph(tuple(each for each in ids if each in ends), some, int(total))


def _is_linked(wanted: Wanted) -> ColumnElement[bool]:
    """Return the condition that a principle has a link that is wanted."""
    rows = principle_links
    some = (
        select(rows.c.source_id)
        .where(rows.c.type.in_(map(str, wanted.kinds)))
        .where(rows.c.strength >= wanted.least)
    )
    return or_(
        *(
            exists(some.where(end == principles.c.id))
            for end in (rows.c.source_id, rows.c.target_id)
        )
    )


def _standing(
    connection: Connection, ids: Iterable[str], statuses: Collection[PrincipleStatus]
) -> set[str]:
    """Return those of the principles that stand so."""
    query = select(principles.c.id).where(principles.c.id.in_(list(ids)))
    return set(
        connection.execute(query.where(principles.c.status.in_(map(str, statuses)))).scalars()
    )
