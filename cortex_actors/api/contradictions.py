"""The verbs about contradictions: which there are, and what a person decides about one."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cortex_actors import topics
from cortex_actors.api import registry, shapes
from cortex_actors.api.registry import SOURCE, Verbs
from cortex_actors.domain.event import Ids, ReconciliationRequested
from cortex_actors.domain.insight import ALL, NO_DOMAIN, Conflict, ContradictionSort
from cortex_actors.errors import BadInput
from cortex_actors.rules.admission import noted
from cortex_actors.storage import contradictions
from cortex_actors.storage.insight_lists import Named, find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cortex_actors.storage.contradictions import Contradiction
    from cortex_actors.storage.ledger.actor import Connection

#: How a contradiction may be asked for.
STATES = (contradictions.OPEN, *contradictions.DECISIONS, ALL)

#: What keeps neither of the two: both may hold.
BOTH = "both"

#: What comes first in each order; a pair that was found without vectors is least alike.
_ORDERS: dict[ContradictionSort, Callable[[Contradiction], float]] = {
    ContradictionSort.NEWEST: lambda each: -each.detected_at,
    ContradictionSort.OLDEST: lambda each: each.detected_at,
    ContradictionSort.ALIKE: lambda each: -(each.similarity or 0.0),
}


class ContradictionVerbs(Verbs):
    """Part of the front desk."""

    async def contradictions(
        self,
        project: str | None = None,
        limit: int = 20,
        *,
        status: str = contradictions.OPEN,
        kind: str | None = None,
        domain: str | None = None,
        sort: str = "newest",
        skip: int = 0,
    ) -> dict[str, Any]:
        """Return pairs that cannot both hold, with what both say and where.

        `status` may be `all`. `kind` is direct, partial, contextual or `all`; without it those that
        hold in different places, the contextual ones, are only counted. `domain` is that of one of
        the two. Raises `UnknownProject`, `BadInput`.
        """
        registry.page(limit, skip, of="contradictions")
        if status not in STATES:
            message = f"no contradiction is {status!r}; ask for {', '.join(STATES)}"
            raise BadInput(message)
        wanted = _kinds(kind)
        order = _ORDERS[registry.chosen(ContradictionSort, sort, what="order") or _NEWEST]
        project_id = await self._project_id(project)

        def look(connection: Connection) -> dict[str, Any]:
            every = contradictions.listed(
                connection, status=None if status == ALL else status, project_id=project_id
            )
            if domain is not None:
                every = _within(connection, every, domain)
            some = [each for each in every if each.type in wanted]
            found = sorted(some, key=lambda each: (order(each), each.id))[skip : skip + limit]
            return {
                "total": len(some),
                "open": contradictions.count(connection),
                "contextual": sum(each.type == Conflict.CONTEXTUAL for each in every),
                "contradictions": _shaped(connection, found),
            }

        return await self._parts.records.read(look)

    async def contradiction(self, contradiction: str) -> dict[str, Any]:
        """Return one pair, by its id or the beginning of it. Raises `NotFound`, `BadInput`."""

        def look(connection: Connection) -> dict[str, Any]:
            found = contradictions.one(
                connection, find(connection, Named.CONTRADICTION, contradiction)
            )
            return _shaped(connection, [found] if found else [])[0]

        return await self._parts.records.read(look)

    async def resolve_contradiction(
        self, contradiction: str, keep: str, note: str | None = None
    ) -> dict[str, Any]:
        """Decide which of the two holds: `a`, `b`, the id of one, or `both`; return the pair.

        The other one stays contradicted, and is given to nobody, as long as both are said. An
        earlier decision is replaced. Raises `NotFound`, `BadInput`.
        """
        return await self._decide(contradiction, "resolved", keep=keep, note=note)

    async def dismiss_contradiction(
        self, contradiction: str, note: str | None = None
    ) -> dict[str, Any]:
        """Decide that the two do not contradict each other; raises as the verb above."""
        return await self._decide(contradiction, "dismissed", keep=BOTH, note=note)

    async def _decide(
        self, name: str, status: str, *, keep: str, note: str | None
    ) -> dict[str, Any]:
        """Write a decision down, say so, and have what follows of it weighed anew."""
        note = noted(note)
        bus, now = self._parts.bus, self._parts.clock.now()
        whole = await self._parts.records.read(lambda c: find(c, Named.CONTRADICTION, name))

        def work(connection: Connection) -> dict[str, Any]:
            found = contradictions.one(connection, whole)
            kept = None if found is None else _kept(found, keep)
            decided = contradictions.decide(
                connection, whole, status=status, at=now, kept_id=kept, note=note
            )
            return _shaped(connection, [decided])[0]

        said = bus.event(topics.CONTRADICTION_RESOLVED, Ids((whole,)), source=SOURCE)
        anew = bus.event(topics.RECONCILIATION_REQUESTED, ReconciliationRequested(), source=SOURCE)
        return await self._change(work, said, anew)


_NEWEST = ContradictionSort.NEWEST


def _kinds(kind: str | None) -> frozenset[Conflict]:
    """Return the kinds that a word means, None for those that keep both from being followed."""
    if kind == ALL:
        return frozenset(Conflict)
    found = registry.chosen(Conflict, kind, what="kind of contradiction")
    return frozenset(Conflict) - {Conflict.CONTEXTUAL} if found is None else frozenset({found})


def _kept(found: Contradiction, keep: str) -> str | None:
    """Return the id that `a`, `b`, or the beginning of an id means; None for both."""
    word = keep.strip().lower()
    if word == BOTH:
        return None
    sides = dict(zip("ab", found.pair, strict=True))
    meant = (
        [sides[word]]
        if word in sides
        else [
            each
            for each in found.pair
            if word and each.removeprefix("ins_").startswith(word.removeprefix("ins_"))
        ]
    )
    if len(meant) == 1:
        return meant[0]
    message = (
        f"cannot keep {keep!r} of contradiction {found.id}: say a ({found.insight_a}), "
        f"b ({found.insight_b}) or {BOTH}"
    )
    raise BadInput(message)


def _within(
    connection: Connection, some: Iterable[Contradiction], domain: str
) -> list[Contradiction]:
    """Return the pairs of which one is of a domain."""
    every, wanted = list(some), None if domain == NO_DOMAIN else domain
    said = shapes.brief_insights(connection, [side for each in every for side in each.pair])

    def fits(name: str) -> bool:
        return name in said and said[name]["domain"] == wanted

    return [each for each in every if any(fits(side) for side in each.pair)]


def _shaped(connection: Connection, some: Iterable[Contradiction]) -> list[dict[str, Any]]:
    """Return contradictions as clients get them, with both sides."""
    every = list(some)
    said = shapes.brief_insights(connection, [side for each in every for side in each.pair])
    return [
        {**asdict(each), "a": said.get(each.insight_a), "b": said.get(each.insight_b)}
        for each in every
    ]
