"""The verbs about reviews: what waits for a person, and what a person says about it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from cortex_actors import topics, waiting, wants
from cortex_actors.clock import ulid
from cortex_actors.domain.agent import OWNER
from cortex_actors.domain.event import (
    AccumulationComplete,
    OrganisationComplete,
    ResolutionRequested,
)
from cortex_actors.domain.principle import of_insight
from cortex_actors.domain.project import Approval, Decision, Review, Way
from cortex_actors.errors import Refused
from cortex_actors.rules.admission import noted
from cortex_actors.storage import insight_records, resolutions, reviews
from cortex_actors.storage.insight_lists import Named, find
from cortex_actors.verbs import SOURCE, Verbs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.storage.ledger.actor import Connection

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
        if somebody approves, then principles that are not written into files before. `status` is
        waiting, approved or rejected. Raises `UnknownProject`, `BadInput`.
        """
        wants.page(limit, skip, of="reviews")
        project_id = await self._project_id(project)
        now, thresholds = self._parts.clock.now(), self._parts.ruling().promotion
        if status == WAITING:
            return await self._parts.records.read(
                lambda c: waiting.listed(
                    c,
                    project_id,
                    now=now,
                    thresholds=thresholds,
                    is_free=self._parts.resolution().unapproved,
                    limit=limit,
                    skip=skip,
                )
            )
        decision = wants.chosen(Decision, status, what="state of a review") or Decision.APPROVED
        return await self._parts.records.read(
            lambda c: waiting.decided(c, decision, project_id, limit=limit, skip=skip)
        )

    async def review(self, insight: str) -> dict[str, Any]:
        """Return one text whole: what there is to decide, why, and what is said of its origin.

        `insight` is its id; one that begins with `pri_` is a principle's.
        Raises `NotFound`, and `BadInput` for what means several.
        """
        now, thresholds = self._parts.clock.now(), self._parts.ruling().promotion

        def look(connection: Connection) -> dict[str, Any]:
            if _is_principle(insight):
                name = find(connection, Named.PRINCIPLE, insight)
                free = self._parts.resolution().unapproved
                return waiting.principle(connection, name, is_free=free)
            name = find(connection, Named.INSIGHT, insight)
            return waiting.whole(connection, name, now=now, thresholds=thresholds)

        return await self._parts.records.read(look)

    async def approve(self, insight: str, note: str | None = None) -> dict[str, Any]:
        """Say yes to what is asked about a text, and to nothing else.

        A text that waits to be used is used then, and no principle of it is made for that. Any
        other becomes a principle whoever else says it, and its words may be written into files of
        other projects. That stands for confidence, observations, age, a second project and what
        looks suspicious; never for an open contradiction. It counts as long as some file says the
        text. The id of a principle (`pri_`) lets it be written. Raises `NotFound`, `BadInput`, and
        `Refused` for what cannot become a principle.
        """
        return await self._decide_review(insight, Decision.APPROVED, note)

    async def reject(self, insight: str, note: str | None = None) -> dict[str, Any]:
        """Let a text never become a principle; it is used where it stands as before.

        One that waited to be used waits no more and is not used. A principle (`pri_`) is written
        into no file any more, and taken out of those in which it stands. Raises `NotFound`,
        `BadInput`, and `Refused` for the text of what is a principle already.
        """
        return await self._decide_review(insight, Decision.REJECTED, note)

    async def _decide_review(
        self, name: str, decision: Decision, note: str | None
    ) -> dict[str, Any]:
        """Write a decision down, in place of an earlier one, and have it followed."""
        note = noted(note)
        now, thresholds = self._parts.clock.now(), self._parts.ruling().promotion
        if _is_principle(name):
            return await self._decide_principle(name, decision, note, now=now)

        def work(connection: Connection) -> tuple[dict[str, Any], Sequence[Event[Payload]]]:
            whole = find(connection, Named.INSIGHT, name)
            refusal = waiting.refusal(connection, whole, decision)
            if refusal is not None:
                raise Refused(refusal)
            if decision is Decision.APPROVED and insight_records.approve(connection, whole, at=now):
                # It was asked whether it may be used, and not whether it may speak for all.
                reviews.withdraw(connection, whole)
            else:
                reviews.decide(connection, Review(whole, decision, now, note))
                said = _approval(of_insight(whole), decision, now, note)
                if decision is Decision.APPROVED:
                    reviews.decide_approval(connection, said)
                else:
                    reviews.end_approvals(connection, [said.principle_id], at=now)
            insight_records.looked_at(connection, whole, now)
            done = AccumulationComplete(f"run_{ulid(now)}", None, (whole,))
            event = self._parts.bus.event(topics.ACCUMULATION_COMPLETE, done, source=SOURCE)
            found = waiting.whole(connection, whole, now=now, thresholds=thresholds)
            return found, [event]

        return await self._change_and_say(work)

    async def _decide_principle(
        self, name: str, decision: Decision, note: str | None, *, now: int
    ) -> dict[str, Any]:
        """Let a principle be written into files, or not any more, and have these written."""
        event = partial(self._parts.bus.event, source=SOURCE)

        def work(connection: Connection) -> tuple[dict[str, Any], Sequence[Event[Payload]]]:
            whole = find(connection, Named.PRINCIPLE, name)
            if reviews.principles(connection, [whole]):
                message = f"{whole} was taken back; lift that with: cortex revoke --undo {whole}"
                raise Refused(message)
            reviews.decide_approval(connection, _approval(whole, decision, now, note))
            done = OrganisationComplete(f"run_{ulid(now)}", (whole,))
            said: list[Event[Payload]] = [event(topics.ORGANISATION_COMPLETE, done)]
            if decision is Decision.REJECTED:
                stands = resolutions.standing(connection, [whole])
                for path, agent in sorted({(path, agent) for path, agent, _ in stands}):
                    again = ResolutionRequested(path, agent, refresh=True)
                    said.append(event(topics.RESOLUTION_REQUESTED, again))
            free = self._parts.resolution().unapproved
            return waiting.principle(connection, whole, is_free=free), said

        return await self._change_and_say(work)


def _is_principle(name: str) -> bool:
    """Tell whether an id is a principle's."""
    return name.strip().lower().startswith(Named.PRINCIPLE)


def _approval(principle_id: str, decision: Decision, at: int, note: str | None) -> Approval:
    """Return what a person said about a principle in the review."""
    return Approval(principle_id, decision, at, OWNER.by, Way.REVIEW, note)
