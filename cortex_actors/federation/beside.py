"""Beside: what an answer is shown with, and what is no part of it.

What stands around a hit in its own store, what is filed under the topics of the hits, and what lies
one step behind them. It is over and above what was asked for, and moves nothing of it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from cortex_actors.federation import edges, hops
from cortex_actors.federation.asking import asked
from cortex_actors.federation.merging import fused
from cortex_actors.federation.satellites import satellites
from cortex_actors.federation.store import LOCAL

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from cortex_actors.clock import Clock
    from cortex_actors.domain.hit import Hit
    from cortex_actors.federation.party import Party
    from cortex_actors.federation.spec import Knobs, Member
    from cortex_actors.federation.store import Question
    from cortex_actors.federation.wording import Wording
    from cortex_actors.rules.fusion import Placed

log = logging.getLogger("cortex.federation")


class Beside:
    """Finds what stands beside an answer, in those stores that have answered."""

    def __init__(self, wording: Wording, clock: Clock) -> None:
        """Word questions that way."""
        self._wording = wording
        self._clock = clock

    async def found(
        self, whom: Party, packet: list[Placed], knobs: Knobs, *, until: float
    ) -> list[Hit]:
        """Return what stands beside an answer: around a hit, under its topics, one step behind.

        It ends by the monotonic time `until`, with what there is by then. Whatever fails is left
        out in silence: the answer is whole without.
        """
        if not packet or whom.question.past is not None:
            return []
        around = satellites([one.hit for one in packet], knobs.satellite_budget)
        filed, behind = await asyncio.gather(
            _or_nothing(self._filed(whom, packet, knobs, until=until)),
            _or_nothing(self._behind(whom, packet, knobs, until=until)),
        )
        known = {(one.hit.store, one.hit.id) for one in packet}
        found: dict[tuple[str, str], Hit] = {}
        for hit in (*around, *filed, *behind):
            if (hit.store, hit.id) not in known:
                found.setdefault((hit.store, hit.id), hit)
        return list(found.values())

    async def _filed(
        self, whom: Party, packet: list[Placed], knobs: Knobs, *, until: float
    ) -> list[Hit]:
        """Return what shares a topic with the answer.

        What is known here is one list, and tells what is near by itself while nobody else is asked.
        """
        left = until - self._clock.monotonic()
        if whom.is_alone or not knobs.edges_enabled or not knobs.edge_budget or left <= 0:
            return []
        return await edges.edges(
            whom.members,
            whom.question,
            edges.topics_of(packet),
            budget=knobs.edge_budget,
            seconds=left,
            clock=self._clock,
        )

    async def _behind(
        self, whom: Party, packet: list[Placed], knobs: Knobs, *, until: float
    ) -> list[Hit]:
        """Return what is found by asking again with what was found, as often as is wanted."""
        known = {(one.store, one.hit.id) for one in packet}
        found: list[Hit] = []
        last = packet
        for hop in range(2, (whom.question.hops or knobs.hops) + 1):
            room, left = knobs.hop_budget - len(found), until - self._clock.monotonic()
            if room < 1 or left <= 0 or not last:
                break
            by = hops.bridge([one.hit for one in last], knobs.hop_terms)
            try:
                async with asyncio.timeout(left):
                    question = await self._wording.onward(whom.question, by)
            except TimeoutError:  # a model that loads has more patience than there is time
                break
            left = max(until - self._clock.monotonic(), 0.0)
            members = _onward(whom, question)
            told = await asked(
                members, question, limit=len(known) + room, seconds=left, clock=self._clock
            )
            last = hops.fresh(fused(told.lists, knobs), known, budget=room)
            found += [hops.marked(one, hop=hop, by=by) for one in last]
        return found


def _onward(whom: Party, question: Question) -> list[Member]:
    """Return who is asked again: other programs only where they may hear of something new."""
    may = question.outward is not None
    return [each for each in whom.members if may or each.store.kind == LOCAL]


async def _or_nothing(more: Awaitable[list[Hit]]) -> list[Hit]:
    """Return what comes of a look for more, or nothing of it."""
    try:
        return await more
    except Exception as error:
        log.warning("what stands beside an answer was left out", exc_info=error)
        return []
