"""The verbs about reviews: what waits for a person, and what a person says about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cortex_actors import topics, waiting, wants
from cortex_actors.clock import ulid
from cortex_actors.domain.payload import AccumulationComplete
from cortex_actors.domain.trust import Decision, Review
from cortex_actors.errors import BadInput, Refused
from cortex_actors.storage import alerts, reviews, standing
from cortex_actors.storage.naming import Named, find
from cortex_actors.verbs import SOURCE, Verbs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.domain.event import Event
    from cortex_actors.domain.payload import Payload
    from cortex_actors.storage.records import Connection

#: Characters of what a person has to say about a review.
NOTE_LIMIT = 2_000

#: What is listed where nothing else is asked for: what nobody has decided yet.
WAITING = "waiting"


class ReviewVerbs(Verbs):
    """Part of the front desk."""

    async def reviews(
        self,
        project: str | None = None,
        limit: int = 20,
        *,
        status: str = WAITING,
        skip: int = 0,
    ) -> dict[str, Any]:
        """Return what waits for a person, or what a person has decided.

        First texts that are not used before somebody has looked, then what could become a principle
        if somebody approves. `status` is waiting, approved or rejected. Raises `UnknownProject`,
        `BadInput`.
        """
        wants.page(limit, skip, of="reviews")
        project_id = await self._project_id(project)
        now, thresholds = self._parts.clock.now(), self._parts.ruling().promotion
        if status == WAITING:
            return await self._parts.records.read(
                lambda c: waiting.listed(
                    c, project_id, now=now, thresholds=thresholds, limit=limit, skip=skip
                )
            )
        decision = wants.chosen(Decision, status, what="state of a review") or Decision.APPROVED
        return await self._parts.records.read(
            lambda c: waiting.decided(c, decision, project_id, limit=limit, skip=skip)
        )

    async def review(self, insight: str) -> dict[str, Any]:
        """Return one text whole: what there is to decide, why, and what is said of its origin.

        Raises `NotFound`, and `BadInput` for what means several.
        """
        now, thresholds = self._parts.clock.now(), self._parts.ruling().promotion

        def look(connection: Connection) -> dict[str, Any]:
            name = find(connection, Named.INSIGHT, insight)
            return waiting.whole(connection, name, now=now, thresholds=thresholds)

        return await self._parts.records.read(look)

    async def approve(self, insight: str, note: str | None = None) -> dict[str, Any]:
        """Let a text be used that waited, and become a principle whoever else says it.

        That stands for confidence, observations, age, a second project and what looks suspicious;
        never for an open contradiction. It counts as long as some file says the text. Raises
        `NotFound`, `BadInput`, and `Refused` for what cannot become a principle.
        """
        return await self._decide_review(insight, Decision.APPROVED, note)

    async def reject(self, insight: str, note: str | None = None) -> dict[str, Any]:
        """Let a text never become a principle; it is used where it stands as before.

        One that waited to be used waits no more and is not used. Raises `NotFound`, `BadInput`, and
        `Refused` for what is a principle already.
        """
        return await self._decide_review(insight, Decision.REJECTED, note)

    async def _decide_review(
        self, name: str, decision: Decision, note: str | None
    ) -> dict[str, Any]:
        """Write a decision down, in place of an earlier one, and have it followed."""
        if note is not None and len(note) > NOTE_LIMIT:
            message = f"a note has at most {NOTE_LIMIT} characters, this one has {len(note)}"
            raise BadInput(message)
        now, thresholds = self._parts.clock.now(), self._parts.ruling().promotion

        def work(connection: Connection) -> tuple[dict[str, Any], Sequence[Event[Payload]]]:
            whole = find(connection, Named.INSIGHT, name)
            refusal = waiting.refusal(connection, whole, decision)
            if refusal is not None:
                raise Refused(refusal)
            reviews.decide(connection, Review(whole, decision, now, note or None))
            if decision is Decision.APPROVED:
                standing.approve(connection, whole, at=now)
            alerts.looked_at(connection, whole, now)
            done = AccumulationComplete(f"run_{ulid(now)}", None, (whole,))
            said = self._parts.bus.event(topics.ACCUMULATION_COMPLETE, done, source=SOURCE)
            found = waiting.whole(connection, whole, now=now, thresholds=thresholds)
            return found, [said]

        return await self._change_and_say(work)
