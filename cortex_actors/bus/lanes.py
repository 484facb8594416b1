"""Lanes: what is in hand of one project commits in the order of its events.

Handlers of one lane run beside one another; only their outcomes wait for each other. A delivery
waits for those of its lane alone that are in hand and have a smaller number, so no two can wait for
one another, and none waits for an event that has still to be handed out.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from cortex_actors.bus.journal import Delivery
    from cortex_actors.domain.event import Payload

#: A project; or a topic and a key, of an event that is of no project.
Lane: TypeAlias = "str | tuple[str, str | None]"


@dataclass(eq=False, slots=True)
class Place:
    """A delivery in hand: of several events that are handled as one, the first counts."""

    lane: Lane
    seq: int
    #: What handles it.
    task: asyncio.Task[Any] | None = None
    #: Set once it is in hand no more.
    left: asyncio.Event = field(default_factory=asyncio.Event)
    #: It ends without its commit, or has to, because an earlier one did.
    given_back: bool = False
    #: Its handler has ended, and it waits for earlier ones: that is no fault of its own.
    waits: bool = False


class Lanes:
    """Who is in hand, and behind whom."""

    def __init__(self) -> None:
        """Hold nothing."""
        self._places: list[Place] = []
        #: How often something was given back: what was looked up before may go past it.
        self.breaks = 0

    @property
    def halted(self) -> bool:
        """Whether something in hand ends without its commit: nothing may go past it."""
        return any(place.given_back for place in self._places)

    def enter(self, delivery: Delivery) -> Place:
        """Take a delivery in hand."""
        place = Place(_lane(delivery), delivery.seqs[0])
        self._places.append(place)
        return place

    def leave(self, place: Place) -> None:
        """Have a delivery in hand no more; the next of its lane goes on."""
        self._places.remove(place)
        place.left.set()

    async def turn(self, place: Place) -> None:
        """Return once every earlier delivery of the lane has left."""
        while earlier := self._lane(place, later=False):
            place.waits = True
            await earlier[0].left.wait()
        place.waits = False

    def give_back(self, place: Place) -> None:
        """End a delivery and all later ones of its lane without their commits.

        The later ones are cancelled: they are handed out again behind the one that failed.
        """
        self.breaks += 1
        place.given_back = True
        for each in self._lane(place, later=True):
            each.given_back = True
            if each.task is not None:
                each.task.cancel()

    def _lane(self, place: Place, *, later: bool) -> list[Place]:
        """Return those in hand that are ahead of a delivery, or behind it."""
        alike = [each for each in self._places if each.lane == place.lane]
        return [each for each in alike if each.seq != place.seq and (each.seq > place.seq) == later]


def project_of(payload: Payload) -> str | None:
    """Return the project an event is of; None for one that is of none, or of several."""
    return getattr(payload, "project_id", None)


def _lane(delivery: Delivery) -> Lane:
    """Return the lane of a delivery."""
    return project_of(delivery.event.payload) or (delivery.event.topic, delivery.key)
