"""The verbs about principles: which there are, why they rank so, and where they came from."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from cortex_actors import distilled, lookup, trails, wants, whatif
from cortex_actors.domain.insight import SHOWN, PrincipleSort
from cortex_actors.domain.principle import PrincipleCategory, PrincipleStatus
from cortex_actors.storage.insight_lists import Named, find
from cortex_actors.storage.principle_decay import Scales
from cortex_actors.storage.principle_lists import GIVEN, PrincipleFilter
from cortex_actors.verbs import Verbs

if TYPE_CHECKING:
    from cortex_actors.storage.ledger.actor import Connection

#: A line of a file: its absolute path, and a number that a file may have lines of.
_LINE = re.compile(r"(/.*):([0-9]{1,9})", re.DOTALL)


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
        wants.page(limit, skip, of="principles")
        wanted = PrincipleFilter(
            statuses=wants.among(PrincipleStatus, status, shown=GIVEN),
            project_id=await self._project_id(project),
            category=wants.chosen(PrincipleCategory, category, what="category"),
            domain=domain,
            tag=tag,
            least=wants.share(least, what="the least rank"),
            words=tuple(search.split()),
            sort=wants.chosen(PrincipleSort, sort, what="order") or PrincipleSort.RANK,
        )
        found = await self._parts.records.read(
            lambda c: distilled.page(c, wanted, limit=limit, skip=skip)
        )
        written = await trails.in_files(found.pop("written"))
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
            return distilled.whole(connection, name, now=now, scales=scales)

        found = await self._parts.records.read(look)
        return {**found, "files": await trails.in_files(found["files"])}

    async def what_if(self, insight: str) -> dict[str, Any]:
        """Return what an insight lacks for a principle, and what its promotion would do now.

        `would` is `would_promote`, `would_dedup_exact`, `would_dedup_semantic`, `already_promoted`
        or `would_do_nothing`; `preview` is the principle as it would be, `links` what it would be
        linked with. Nothing is written. Raises `NotFound`, `BadInput`.
        """
        parts = self._parts
        name = await parts.records.read(lambda c: find(c, Named.INSIGHT, insight))
        supposed = await parts.suppose(name)
        now, thresholds = parts.clock.now(), parts.ruling().promotion
        scales = self._scales()
        return await parts.records.read(
            lambda c: whatif.shaped(c, supposed, now=now, thresholds=thresholds, scales=scales)
        )

    async def history(self, thing: str) -> dict[str, Any]:
        """Return how something came to be known and what became of it, whichever link it is.

        `thing` is the id of an insight, a cluster or a principle, or the beginning of one, or
        `/path/of/a/FILE:LINE`. Raises `NotFound`, and `BadInput` for what means several.
        """
        place = _LINE.fullmatch(thing)
        path = await asyncio.to_thread(lookup.place, place[1]) if place else ""

        def look(connection: Connection) -> dict[str, Any]:
            if place:
                return trails.history(
                    connection, trails.standing_at(connection, path, int(place[2]))
                )
            return trails.history(connection, trails.named(connection, thing))

        return await trails.as_it_is(await self._parts.records.read(look))

    def _scales(self) -> Scales:
        """Return how principles are ranked and faded now."""
        chosen = self._parts.organisation()
        return Scales(chosen.weights, chosen.fading)
