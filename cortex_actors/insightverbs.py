"""The verbs about what was learned: insights, where they stand, and why they are what they are."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cortex_actors import learned, topics, wants, whys
from cortex_actors.clock import ulid
from cortex_actors.domain.event import AccumulationComplete
from cortex_actors.domain.insight import SHOWN, Category, InsightSort
from cortex_actors.domain.project import StatementKind
from cortex_actors.errors import BadInput, CortexError, Refused
from cortex_actors.rules import classification
from cortex_actors.rules.classification import ClassifiedBy
from cortex_actors.rules.promotion import Need
from cortex_actors.storage import insight_evidence, insight_lists, insight_records
from cortex_actors.storage.insight_lists import InsightFilter, Named, find
from cortex_actors.verbs import SOURCE, Verbs

if TYPE_CHECKING:
    from cortex_actors.storage.ledger.actor import Connection

#: Insights that an overview of promotions looks at: some hundred milliseconds.
CONSIDERED = 5_000


class InsightVerbs(Verbs):
    """Part of the front desk."""

    async def insights(
        self,
        project: str | None = None,
        limit: int = 20,
        *,
        status: str = SHOWN,
        category: str | None = None,
        domain: str | None = None,
        kind: str | None = None,
        tag: str | None = None,
        least: float | None = None,
        search: str = "",
        path: str | None = None,
        sort: str = "sure",
        skip: int = 0,
    ) -> dict[str, Any]:
        """Return what was learned, most believed first, with every place that says it.

        `least` is the least confidence, `search` words that all occur, `path` a file or folder that
        says it, `domain` may be `none`. Raises `UnknownProject`, `BadInput`.
        """
        wants.page(limit, skip, of="insights")
        wanted = InsightFilter(
            statuses=wants.statuses(status),
            project_id=await self._project_id(project),
            category=wants.chosen(Category, category, what="category"),
            domain=domain,
            kind=wants.chosen(StatementKind, kind, what="kind"),
            tag=tag,
            least=wants.share(least, what="the least confidence"),
            words=tuple(search.split()),
            path=path,
            sort=wants.chosen(InsightSort, sort, what="order") or InsightSort.SURE,
            limit=limit,
            skip=skip,
        )
        return await self._parts.records.read(lambda c: learned.insights(c, wanted))

    async def insight(self, insight: str) -> dict[str, Any]:
        """Return one insight, by its id or the beginning of it, and why it is what it is.

        Raises `NotFound`, and `BadInput` for what means several.
        """
        now, thresholds = self._parts.clock.now(), self._parts.ruling().promotion

        def look(connection: Connection) -> dict[str, Any]:
            name = find(connection, Named.INSIGHT, insight)
            return whys.insight(connection, name, now=now, thresholds=thresholds)

        found = await self._parts.records.read(look)
        category = found["why"]["category"]
        if category["decided_by"] != ClassifiedBy.KEYWORDS:
            category["nearest"] = await self._nearest(found["content"])
        return found

    async def approve_insight(self, insight: str) -> dict[str, Any]:
        """Let an insight be used that waited for a person; return how it stands then.

        What was learned is compared again with it. Raises `NotFound`, and `Refused` for what does
        not wait.
        """
        parts, now = self._parts, self._parts.clock.now()
        name = await parts.records.read(lambda c: find(c, Named.INSIGHT, insight))

        at = self._parts.clock.now()

        def work(connection: Connection) -> dict[str, Any]:
            if not insight_records.approve(connection, name, at=at):
                message = f"cannot approve {name}: it waits for nobody"
                raise Refused(message)
            return learned.whole(connection, insight_lists.by_ids(connection, [name])[name])

        done = AccumulationComplete(f"run_{ulid(now)}", None, (name,))
        said = parts.bus.event(topics.ACCUMULATION_COMPLETE, done, source=SOURCE)
        return await self._change(work, said)

    async def eligible(self, insight: str) -> dict[str, Any]:
        """Return what an insight has and lacks of what makes it a principle; raises as `insight`.

        Every check has `actual`, `required`, `gap` and how far it has come in per cent; `becomes`
        says what its promotion would do.
        """
        now, thresholds = self._parts.clock.now(), self._parts.ruling().promotion

        def look(connection: Connection) -> dict[str, Any]:
            name = find(connection, Named.INSIGHT, insight)
            found = insight_lists.by_ids(connection, [name])[name]
            known = insight_evidence.load_merits(connection, [name])[name]
            checks = whys.eligibility(connection, found, known, now=now, thresholds=thresholds)
            return {"id": name, "content": found.content, **checks}

        return await self._parts.records.read(look)

    async def promotions(
        self, project: str | None = None, limit: int = 20, *, reason: str | None = None
    ) -> dict[str, Any]:
        """Return the insights that are nearest to becoming principles, the nearest first.

        `reasons` counts what holds how many of them up; `reason` lists those alone that it holds up
        (`ready`: nothing does). What is a principle already is left out otherwise. Of the live
        insights the most believed `CONSIDERED` are looked at. Raises `UnknownProject`, `BadInput`.
        """
        wants.page(limit, 0, of="insights")
        if reason not in {None, whys.READY, *whys.BLOCKS}:
            known = ", ".join([whys.READY, *whys.BLOCKS])
            message = f"nothing is held up by {reason!r}; there are {known}"
            raise BadInput(message)
        now, thresholds = self._parts.clock.now(), self._parts.ruling().promotion
        wanted = InsightFilter(project_id=await self._project_id(project), limit=CONSIDERED)

        def look(connection: Connection) -> dict[str, Any]:
            some = insight_lists.listed(connection, wanted)
            rows = whys.overview(connection, some, now=now, thresholds=thresholds)
            counted = whys.reasons(rows)
            return {
                "looked_at": len(rows),
                "eligible": counted[whys.READY],
                "reasons": counted,
                "insights": [row for row in rows if _is_wanted(row, reason)][:limit],
            }

        return await self._parts.records.read(look)

    async def _nearest(self, text: str) -> list[dict[str, Any]]:
        """Return which examples of each category a text lies near; none while nobody embeds."""
        try:
            rows = await self._parts.embed([text, *classification.texts()])
        except CortexError:
            return []
        return [asdict(each) for each in classification.nearest(rows[0], rows[1:])]


def _is_wanted(row: dict[str, Any], reason: str | None) -> bool:
    """Tell whether an overview shows an insight: that of a reason, or what may still come."""
    if reason is None:
        return bool(row["because"] != Need.NOT_PROMOTED)
    return reason == (row["because"] or whys.READY)
