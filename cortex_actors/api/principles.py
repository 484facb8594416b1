"""The verbs about principles: which there are, why they rank so, and where they came from.

The verb about links: how principles stand to one another, as a graph.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from cortex_actors.api import history, insights, registry, shapes, status
from cortex_actors.api.registry import Verbs
from cortex_actors.domain.insight import SHOWN, PrincipleSort
from cortex_actors.domain.principle import LinkType, PrincipleCategory, PrincipleStatus
from cortex_actors.pipeline.organiser import Organiser
from cortex_actors.storage import principle_lists, principles
from cortex_actors.storage.insight_lists import Named, find
from cortex_actors.storage.principle_decay import Scales
from cortex_actors.storage.principle_lists import GIVEN, PrincipleFilter

if TYPE_CHECKING:
    from cortex_actors.domain.principle import Link, Principle
    from cortex_actors.storage.ledger.actor import Connection


#: A line of a file: its absolute path, and a number that a file may have lines of.
_LINE = re.compile(r"(/.*):([0-9]{1,9})", re.DOTALL)


#: Seconds for which an operation waits for the organiser, which may be at work.
SUPPOSE_TIMEOUT = 60.0


class PrincipleVerbs(Verbs):
    """Part of the front desk."""

    async def principles(
        self,
        project: str | None = None,
        limit: int = 20,
        *,
        status: str = SHOWN,
        category: str | None = None,
        domain: str | None = None,
        tag: str | None = None,
        least: float | None = None,
        search: str = "",
        sort: str = "rank",
        skip: int = 0,
    ) -> dict[str, Any]:
        """Return what was distilled, the highest ranked first, with what speaks for each.

        `least` is the least rank, `search` words that all occur, `domain` may be `none`, `project`
        says what it was made of. Raises `UnknownProject`, `BadInput`.
        """
        registry.page(limit, skip, of="principles")
        wanted = PrincipleFilter(
            statuses=registry.among(PrincipleStatus, status, shown=GIVEN),
            project_id=await self._project_id(project),
            category=registry.chosen(PrincipleCategory, category, what="category"),
            domain=domain,
            tag=tag,
            least=registry.share(least, what="the least rank"),
            words=tuple(search.split()),
            sort=registry.chosen(PrincipleSort, sort, what="order") or PrincipleSort.RANK,
        )
        found = await self._parts.records.read(
            lambda c: shapes.page(c, wanted, limit=limit, skip=skip)
        )
        written = await history.in_files(found.pop("written"))
        stands = Counter(each["principle_id"] for each in written)
        for each in found["principles"]:
            each["resolved"] = stands[each["id"]]
        return found

    async def principle(self, principle: str) -> dict[str, Any]:
        """Return one principle, by its id or the beginning of it, and what its rank is made of.

        Raises `NotFound`, and `BadInput` for what means several.
        """
        now, scales = self._parts.clock.now(), self._scales()

        def look(connection: Connection) -> dict[str, Any]:
            name = find(connection, Named.PRINCIPLE, principle)
            return shapes.whole_principle(connection, name, now=now, scales=scales)

        found = await self._parts.records.read(look)
        return {**found, "files": await history.in_files(found["files"])}

    async def what_if(self, insight: str) -> dict[str, Any]:
        """Return what an insight lacks for a principle, and what its promotion would do now.

        `would` is `would_promote`, `would_dedup_exact`, `would_dedup_semantic`, `already_promoted`
        or `would_do_nothing`; `preview` is the principle as it would be, `links` what it would be
        linked with. Nothing is written. Raises `NotFound`, `BadInput`.
        """
        parts = self._parts
        name = await parts.records.read(lambda c: find(c, Named.INSIGHT, insight))
        supposed = await self._actors.organiser.within(SUPPOSE_TIMEOUT).ask(Organiser.suppose, name)
        now, thresholds = parts.clock.now(), self._ruling().promotion
        scales = self._scales()
        return await parts.records.read(
            lambda c: insights.shaped(c, supposed, now=now, thresholds=thresholds, scales=scales)
        )

    async def history(self, thing: str) -> dict[str, Any]:
        """Return how something came to be known and what became of it, whichever link it is.

        `thing` is the id of an insight, a cluster or a principle, or the beginning of one, or
        `/path/of/a/FILE:LINE`. Raises `NotFound`, and `BadInput` for what means several.
        """
        place = _LINE.fullmatch(thing)
        path = await asyncio.to_thread(status.place, place[1]) if place else ""

        def look(connection: Connection) -> dict[str, Any]:
            if place:
                return history.history(
                    connection, history.standing_at(connection, path, int(place[2]))
                )
            return history.history(connection, history.named(connection, thing))

        return await history.as_it_is(await self._parts.records.read(look))

    def _scales(self) -> Scales:
        """Return how principles are ranked and faded now."""
        chosen = self._parts.settings().organisation
        return Scales(chosen.weights, chosen.fading)


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
        registry.page(limit, 0, of="principles")
        chosen = registry.chosen(LinkType, kind, what="link")
        wanted = principle_lists.LinkFilter(
            kinds=frozenset(LinkType) if chosen is None else _both(chosen),
            least=registry.share(least, what="the least strength") or 0.0,
            statuses=registry.among(PrincipleStatus, status, shown=GIVEN),
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
