"""Consumer: an actor that handles durable events, each exactly once in effect.

It keeps no events: its mailbox holds at most one wake-up, and the journal says what is next. So a
crash, a kill and a full mailbox all cost nothing.

Lanes: deliveries of one project commit in the order of its events.

Handlers of one lane run beside one another; only their outcomes wait for each other. A delivery
waits only for those of its lane that are handled now and have a smaller number. So no two wait for
one another, and none waits for an event that has still to be handed out.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from cortex_actors.bus.commits import AWAY, Delivery, Failure, Journal, Outcome, Rest
from cortex_actors.errors import MailboxFull, Stuck
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.inbox import Overflow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.bus.bus import Bus
    from cortex_actors.clock import Clock
    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.sections import EventsSettings


#: A project; or a topic and a key, of an event that is of no project.
Lane: TypeAlias = "str | tuple[str, str | None]"


@dataclass(eq=False, slots=True)
class DeliveryPlace:
    """A delivery that is handled now; of several events in one, the first counts."""

    lane: Lane
    seq: int
    #: What handles it.
    task: asyncio.Task[Any] | None = None
    #: Set once it is no longer handled.
    left: asyncio.Event = field(default_factory=asyncio.Event)
    #: It ends without its commit, or has to, because an earlier one did.
    given_back: bool = False
    #: Its handler has ended, and it waits for earlier ones: that is no fault of its own.
    waits: bool = False


class DeliveryLanes:
    """Which deliveries are handled now, and which wait for which."""

    def __init__(self) -> None:
        """Hold nothing."""
        self._places: list[DeliveryPlace] = []
        #: How often something was given back: what was looked up before may go past it.
        self.breaks = 0

    @property
    def halted(self) -> bool:
        """Whether a delivery ends without its commit: no later one may pass it."""
        return any(place.given_back for place in self._places)

    def enter(self, delivery: Delivery) -> DeliveryPlace:
        """Add a delivery that is handled now."""
        place = DeliveryPlace(_lane(delivery), delivery.seqs[0])
        self._places.append(place)
        return place

    def leave(self, place: DeliveryPlace) -> None:
        """Remove a delivery; the next of its lane goes on."""
        self._places.remove(place)
        place.left.set()

    async def turn(self, place: DeliveryPlace) -> None:
        """Return once every earlier delivery of the lane has left."""
        while earlier := self._lane(place, later=False):
            place.waits = True
            await earlier[0].left.wait()
        place.waits = False

    def give_back(self, place: DeliveryPlace) -> None:
        """End a delivery and all later ones of its lane without their commits.

        The later ones are cancelled: they are handed out again behind the one that failed.
        """
        self.breaks += 1
        place.given_back = True
        for each in self._lane(place, later=True):
            each.given_back = True
            if each.task is not None:
                each.task.cancel()

    def _lane(self, place: DeliveryPlace, *, later: bool) -> list[DeliveryPlace]:
        """Return those that are ahead of a delivery, or behind it."""
        alike = [each for each in self._places if each.lane == place.lane]
        return [each for each in alike if each.seq != place.seq and (each.seq > place.seq) == later]


def find_project_id(payload: Payload) -> str | None:
    """Return the project an event is of; None for one that is of none, or of several."""
    return getattr(payload, "project_id", None)


def _lane(delivery: Delivery) -> Lane:
    """Return the lane of a delivery."""
    return find_project_id(delivery.event.payload) or (delivery.event.topic, delivery.key)


log = logging.getLogger("cortex.bus")

#: Seconds before a consumer looks again when the ledger could not be read or written.
LEDGER_PAUSE = 1.0

#: Seconds for which a consumer that is to do little rests at most, so that no event waits for long.
LONGEST_GATHER = 1.0

#: Seconds between two looks when nothing wakes it: a commit whose answer was lost wakes none.
IDLE = 30.0


@dataclass(frozen=True, slots=True)
class Wake:
    """Look into the journal."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What every consumer is handed: its name, the bus, the journal, the time."""

    name: str
    bus: Bus
    journal: Journal
    clock: Clock
    settings: EventsSettings


class Consumer(AsyncioActor):
    """Hears durable topics; subclasses name their handlers in `hears`.

    A handler is `async def on_x(self, event) -> Outcome`. It may be run again for the same event
    (after a crash before the commit), so it changes nothing by itself: all effects are in the
    outcome. A handler that raises crashes the actor, and so does one that takes longer than
    `message_limit`; the event is handed out again after a pause and set aside as a dead letter
    after the last attempt. Failures that are to be expected are outcomes, not exceptions.
    """

    #: Wake-ups, of which one waits at most: the journal keeps the events.
    mailbox_limit: ClassVar[int] = 16
    overflow: ClassVar[Overflow] = Overflow.BACK_PRESSURE

    #: Topic -> name of the method that handles it.
    hears: ClassVar[Mapping[str, str]] = {}

    #: Deliveries that may be handled at once, never two of one key. Those of one project commit in
    #: the order of their events, however many there are.
    concurrency: ClassVar[int] = 1

    #: The share of the time that it may be at work while more comes: below 1 it rests after each
    #: delivery, for `LONGEST_GATHER` seconds at most, and what comes meanwhile is one delivery.
    share: ClassVar[float] = 1.0

    def __init__(self, desk: Desk) -> None:
        """Be ready to hear; nothing is read before the actor starts."""
        super().__init__()
        self.desk = desk
        self._woken = False
        self._in_hand: dict[asyncio.Task[None], tuple[Delivery, DeliveryPlace]] = {}
        self._lanes = DeliveryLanes()
        self._timer: asyncio.Task[None] | None = None
        self._rests_until = 0.0

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Hear the topics, then look for what waited until now."""
        for topic in self.hears:
            subscription = self.desk.bus.subscribe(topic, lambda _event: self.wake())
            self.actor_ref.on_end(subscription.cancel)
        self.wake()

    async def on_stop(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Finish what is handled now; what waits is for the next life."""
        if self._in_hand:
            await asyncio.wait(self._in_hand)

    async def on_failure(  # type: ignore[override]  # Pykka has it plain
        self, _type: object, error: BaseException | None, _trace: object
    ) -> None:
        """Count a delivery over which the watchdog crashed us as one that failed.

        Otherwise it would hang the next life, too, and never become a dead letter. What is in
        hand beside it is not to blame.
        """
        if not isinstance(error, Stuck):
            return
        for task, (delivery, place) in list(self._in_hand.items()):
            if task.get_name() == error.task and not place.waits:
                self._lanes.give_back(place)
                task.cancel()
                trace = "\n".join((*error.stack, f"Stuck: {error}"))
                await self.desk.journal.fail(delivery, self._failure(delivery, trace))

    async def on_receive(self, message: object) -> None:
        """Handle what is next in the journal."""
        if isinstance(message, Wake):
            await self._turn()

    def wake(self) -> None:
        """Ask for a turn; many wake-ups before it are one. Behind a full mailbox, ask later."""
        if self._woken or not self.actor_ref.is_alive():
            return
        try:
            self.actor_ref.tell(Wake())
            self._woken = True
        except MailboxFull:
            self._later(LEDGER_PAUSE)

    def say(self, topic: str, payload: Payload) -> Event[Payload]:
        """Return an event to put into an outcome: it is said when the outcome commits."""
        return self.desk.bus.make_event(topic, payload, source=self.desk.name)

    async def _turn(self) -> None:
        """Begin one delivery; ask for another turn, so that asks and stops get theirs."""
        self._woken = False
        if (rest := self._rests_until - self.desk.clock.monotonic()) > 0:
            self._later(rest)
            return
        if len(self._in_hand) >= self.concurrency or self._lanes.halted:
            return
        breaks = self._lanes.breaks
        try:
            in_hand = [delivery for delivery, _ in self._in_hand.values()]
            found = await self.desk.journal.find_next(self.desk.name, in_hand)
        except AWAY:
            self._later(LEDGER_PAUSE)
            return
        if breaks != self._lanes.breaks:
            self.wake()
        elif isinstance(found, Delivery):
            # Begin to handle a delivery.
            # Named by its number: `on_failure` has to tell it from others.
            name = f"{found.event.topic} {found.event.seq}"
            place = self._lanes.enter(found)
            work = self._handle(found, place)
            place.task = self.spawn(work, name=name, limit=self.message_limit)
            self._in_hand[place.task] = found, place
            place.task.add_done_callback(self._on_handled)
            self.wake()
        else:
            self._later(found.seconds if isinstance(found, Rest) else IDLE)

    def _on_handled(self, task: asyncio.Task[None]) -> None:
        """Look for more; a handler that crashed has ended this actor, and none passes it."""
        _, place = self._in_hand.pop(task)
        crashed = not task.cancelled() and task.exception() is not None
        if not crashed and (place.given_back or not task.cancelled()):
            self._lanes.leave(place)
            self.wake()

    async def _handle(self, delivery: Delivery, place: DeliveryPlace) -> None:
        """Handle one delivery; while the ledger is away, rest instead."""
        began = self.desk.clock.monotonic()
        try:
            # Run the handler and commit its outcome; on a crash record it and let it crash us. A
            # crash that cannot be recorded is none: the next life would run into it without a
            # rest.
            try:
                handler = getattr(self, self.hears[delivery.event.topic])
                outcome: Outcome = await handler(delivery.event)
                await self._lanes.turn(place)
                if not place.given_back and not await self.desk.bus.settle(delivery, outcome):
                    self._lanes.give_back(place)  # the rest of it comes again, ahead of later ones
            except AWAY:
                raise
            except Exception:
                failure = self._failure(delivery, traceback.format_exc())
                await self.desk.journal.fail(delivery, failure)
                raise
            # Rest after a delivery that took so long, if others do more than this one is to.
            now = self.desk.clock.monotonic()
            self._rests_until = now + min((now - began) * (1 / self.share - 1), LONGEST_GATHER)
        except AWAY as error:
            self._lanes.give_back(place)
            log.warning("%s will be tried again: %s", delivery.event.topic, error)
            await self.desk.clock.sleep(LEDGER_PAUSE)

    def _failure(self, delivery: Delivery, trace: str) -> Failure:
        """Return how to go on after a crash."""
        settings = self.desk.settings
        pause = settings.pauses_s[min(delivery.attempts, len(settings.pauses_s) - 1)]
        final = delivery.attempts + 1 >= settings.max_deliveries
        # Half a surrogate pair, or a megabyte of text, must not keep it from being stored.
        text = trace.encode("utf-8", "backslashreplace").decode()
        # Characters of a traceback that are kept: its end, which says what happened.
        return Failure(text[-16_000:], pause, final)

    def _later(self, seconds: float) -> None:
        """Wake again after a pause; there is one such timer at most."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.spawn(self._rest(seconds), name="rest")

    async def _rest(self, seconds: float) -> None:
        """Wake again later."""
        await self.desk.clock.sleep(seconds)
        self.wake()
