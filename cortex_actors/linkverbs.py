"""The verb about links: how principles stand to one another, as a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cortex_actors import wants
from cortex_actors.domain.insight import SHOWN
from cortex_actors.domain.principle import LinkType, PrincipleStatus
from cortex_actors.storage import principle_lists, principles
from cortex_actors.storage.insight_lists import Named, find
from cortex_actors.storage.principle_lists import GIVEN
from cortex_actors.verbs import Verbs

if TYPE_CHECKING:
    from cortex_actors.domain.principle import Link, Principle
    from cortex_actors.storage.ledger.actor import Connection


class LinkVerbs(Verbs):
    """Part of the front desk."""

    async def links(
        self,
        principle: str | None = None,
        limit: int = 40,
        *,
        kind: str | None = None,
        least: float | None = None,
        status: str = SHOWN,
    ) -> dict[str, Any]:
        """Return principles that are linked and the links between them, the highest ranked first.

        With a principle, by its id or the beginning of it: that one and whoever it is linked with.
        `kind` is the type of a link, `least` its least strength, `status` that of both ends,
        `limit` how many principles. Raises `NotFound`, `BadInput`.
        """
        wants.page(limit, 0, of="principles")
        chosen = wants.chosen(LinkType, kind, what="link")
        wanted = principle_lists.LinkFilter(
            kinds=frozenset(LinkType) if chosen is None else _both(chosen),
            least=wants.share(least, what="the least strength") or 0.0,
            statuses=wants.among(PrincipleStatus, status, shown=GIVEN),
            limit=limit,
        )

        def look(connection: Connection) -> dict[str, Any]:
            if principle is None:
                return _shaped(connection, principle_lists.overview(connection, wanted))
            name = find(connection, Named.PRINCIPLE, principle)
            found = principle_lists.around(connection, name, wanted)
            return _shaped(connection, found, asked=name)

        return await self._parts.records.read(look)


def _both(kind: LinkType) -> frozenset[LinkType]:
    """Return a type, and what it is when it is told from the other end."""
    ways = frozenset({LinkType.GENERALIZES, LinkType.SPECIALIZES})
    return ways if kind in ways else frozenset({kind})


def _shaped(
    connection: Connection, found: principle_lists.Graph, *, asked: str | None = None
) -> dict[str, Any]:
    """Return a graph as clients get it."""
    known = principles.by_ids(connection, found.ids)
    return {
        "principle": asked,
        "total": found.total,
        "principles": [_principle(known[each]) for each in found.ids],
        "links": [_link(each if asked is None else _seen(each, asked)) for each in found.links],
    }


def _seen(link: Link, asked: str) -> Link:
    """Return a link told from the principle that was asked for, if it is one of its ends."""
    return link.seen_from(asked) if asked in link.pair else link


def _principle(found: Principle) -> dict[str, Any]:
    """Return what a picture says of a principle."""
    return {
        "id": found.id,
        "content": found.content,
        "category": str(found.category),
        "status": str(found.status),
        "domains": list(found.domains),
        "rank": found.rank,
    }


def _link(link: Link) -> dict[str, Any]:
    """Return a link."""
    return {
        "source_id": link.source_id,
        "target_id": link.target_id,
        "type": str(link.type),
        "strength": link.strength,
        "decided_by": str(link.decided_by),
        "reason": link.reason,
    }
