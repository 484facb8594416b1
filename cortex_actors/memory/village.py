"""Village: agents speak to one another, and it is noticed when they agree.

hears   memory:remembered, memory:merged (there may be something to compare)
says    memory:remembered, village:posted, convergence:detected
asks    ledger (writes posts, compares them), cache (the vector of a question)
keeps   whether an event has come since it last looked (what waits is in the ledger)

Agreeing: posts that are near a question, or near a new post, and which of them say alike.

The ledger is read in one transaction; comparing takes a thread, because reading two texts for what
they are against takes a millisecond.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from cortex_actors.bus.consumer import Wake
from cortex_actors.clock import Clock, make_ulid
from cortex_actors.domain.agent import OWNER, Caller
from cortex_actors.domain.event import Event, Ids, Payload
from cortex_actors.errors import CortexError, MailboxFull
from cortex_actors.memory.request import SAVED, Message, Posted, check_message, save_post
from cortex_actors.rules import convergence
from cortex_actors.rules.convergence import AgreeingGroup, ConvergenceResult, Voice
from cortex_actors.runtime.actor import AsyncioActor, deferred
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.runtime.threads import Threads, wait_within
from cortex_actors.storage.events import Publisher
from cortex_actors.storage.memory import village
from cortex_actors.storage.search.matrix import VectorMatrix, cosine
from cortex_actors.topics import CONVERGENCE_DETECTED, MEMORY_REMEMBERED, VILLAGE_POSTED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cortex_actors.bus.bus import Bus
    from cortex_actors.sections import MemorySettings
    from cortex_actors.storage.embeddings import EmbedInTime
    from cortex_actors.storage.ledger.actor import Connection, Records


#: Posts that are compared with one another, as the document has it.
MOST = 20


@dataclass(frozen=True, slots=True)
class VillageFinding:
    """What a question found: the posts that are near it, by id, and what of them agrees."""

    posts: Mapping[str, village.Post]
    found: ConvergenceResult


def _voices(posts: Sequence[village.Post]) -> list[Voice]:
    """Return posts as they are compared."""
    return [Voice(each.memory.id, each.memory.agent_id, each.memory.text) for each in posts]


def _likeness(posts: Sequence[village.Post]) -> Callable[[int, int], float]:
    """Return the cosines of posts, each made once."""
    rows = [each.row for each in posts]
    made = [[cosine(one, other) for other in rows] for one in rows]
    return lambda one, other: made[one][other]


log = logging.getLogger("cortex.memory")

#: What it is called, in the tree and as the source of what it says.
NAME = "village"

#: Seconds for which a question waits for a model that is still loading.
PATIENCE = 20.0

#: Seconds between two looks for vectors that posts still lack: soon after a post, seldom when the
#: embedder is away for long.
PAUSES = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)

#: Posts that are looked at in one go.
BATCH = 50


class Village(AsyncioActor):
    """Takes posts, and compares each with what other agents say as soon as it has a vector.

    A post is in the ledger, and announced, before its author gets an answer; that it waits to be
    compared is written with it. A crash loses the posts not yet written, and the next life compares
    what waits: a group is announced once.
    """

    #: Agents that speak at once: two hundred are a flood, and wait.
    mailbox_limit = 200
    overflow = Overflow.BACK_PRESSURE

    def __init__(
        self,
        bus: Bus,
        records: Records,
        *,
        clock: Clock,
        settings: MemorySettings,
        matrix: VectorMatrix,
        embed: EmbedInTime,
    ) -> None:
        """Compare in that matrix, whose model `embed` is asked for."""
        super().__init__()
        self._bus = bus
        self._publisher = Publisher(bus, records, NAME)
        self._records = records
        self._clock = clock
        self._settings = settings
        self._embed = embed
        self._model = matrix.model
        self._threads = Threads(NAME, 1)
        self._near = village.NearPosts(matrix)
        self._is_due = asyncio.Event()
        self._is_woken = False

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Compare what an earlier life left, and whatever is said from now on."""
        self.actor_ref.on_end(self._threads.close)
        self.actor_ref.on_end(self._bus.subscribe("memory:remembered", self._on_event).cancel)
        self.actor_ref.on_end(self._bus.subscribe("memory:merged", self._on_event).cancel)
        self.spawn(self._compare_all(), name="compare")

    async def on_receive(self, message: object) -> None:
        """Compare what waits now."""
        if isinstance(message, Wake):
            self._is_woken = False
            self._is_due.set()

    @deferred
    async def post(
        self, given: Message, *, agent: str | None = None, caller: Caller = OWNER
    ) -> dict[str, Any]:
        """Keep a post; return what became of it. The mailbox goes on meanwhile.

        Raises `BadInput`, `NotFound` for what it answers, `Refused` for a secret, `NotYours`, and
        what writing the ledger raises.
        """
        acting = caller.choose_agent(agent, self._settings.agent)
        # Its text is looked at on a thread.
        wish = await asyncio.to_thread(check_message, given, agent=acting, caller=caller)
        now = self._clock.now()
        memory_id = f"mem_{make_ulid(now)}"

        def work(connection: Connection) -> tuple[Posted, list[Event[Payload]]]:
            posted = save_post(connection, wish, memory_id=memory_id, at=now)
            if posted.state != SAVED:
                return posted, []
            topics = (MEMORY_REMEMBERED, VILLAGE_POSTED)[: 1 + (wish.realm in village.SPOKEN)]
            return posted, [
                self._publisher.make_event(topic, Ids((memory_id,))) for topic in topics
            ]

        return (await self._publisher.write(work)).as_dict()

    @deferred
    async def converge(
        self, query: str, *, reader: str | None, min_agents: int, threshold: float
    ) -> VillageFinding:
        """Return what the posts near a question have in common; the mailbox goes on meanwhile.

        What it finds is announced, unless it is known or the question is looser than the settings.
        Raises `EmbedderDown`, `ModelChanged`, and what reading the ledger raises.
        """
        rows = await self._embed([query], urgent=True, patience=PATIENCE, model=self._model)
        floor = self._settings.relevance  # from which a post is about the question at all
        posts = await self._records.read(
            lambda c: self._near.find_nearest(c, rows[0], reader=reader, most=MOST, floor=floor)
        )
        find = partial(convergence.find_groups, threshold=threshold, min_agents=min_agents)
        found = await self._threads.run(lambda: find(_voices(posts), _likeness(posts)))
        answer = VillageFinding({each.memory.id: each for each in posts}, found)
        if threshold >= self._settings.convergence and answer.found.groups:
            await self._tell(answer.found.groups)
        return answer

    def _on_event(self, _event: object) -> None:
        """Be woken by the bus; a mailbox that is full wakes us when its posts are announced."""
        if not self._is_woken and self.actor_ref.is_alive():
            with suppress(MailboxFull):
                self.actor_ref.tell(Wake())
                self._is_woken = True

    async def _compare_all(self) -> None:
        """Compare what waits, whenever there may be something, for as long as this life lasts."""
        tries = 0
        while True:
            self._is_due.clear()
            pause = self._settings.merge_again_s  # a post may have been kept without its event
            if await self._left():  # wait for vectors, longer each time
                pause = PAUSES[min(tries, len(PAUSES) - 1)]
            tries = 0 if await wait_within(self._clock, pause, self._is_due.wait()) else tries + 1

    async def _left(self) -> bool:
        """Compare what has a vector by now; return whether something waits."""
        try:
            while True:
                some, is_left = await self._records.read(self._ready)
                if not some:
                    return is_left
                for each in some:
                    await self._compare_one(each)
        except CortexError as error:
            log.warning("posts are compared later: %s", error)
            return True

    def _ready(self, connection: Connection) -> tuple[list[str], bool]:
        """Return some of the posts that can be compared, and whether any wait at all."""
        if not village.count_waiting(connection):
            return [], False
        return village.list_ready(connection, self._model, limit=BATCH), True

    async def _compare_one(self, memory_id: str) -> None:
        """Compare a post with what other agents say; one that is found no more has no group.

        One over which that fails is left as it is: it would fail again in every life.
        """
        found = None
        try:
            posts = await self._records.read(partial(self._beside, memory_id))
            if len(posts) >= convergence.HARMONY:
                find = partial(convergence.find_group, threshold=self._settings.convergence)
                found = await self._threads.run(lambda: find(_voices(posts), _likeness(posts)))
        except CortexError:
            raise
        except Exception:
            log.exception("the post %s is compared with no other", memory_id)
        await self._tell([found] if found else [], compared=[memory_id])

    def _beside(self, memory_id: str, connection: Connection) -> list[village.Post]:
        """Return a post with the nearest of other agents; nothing for one without a vector."""
        least = self._settings.convergence
        for first in self._near.load_posts(connection, [memory_id]):
            mine = first.memory.agent_id
            others = self._near.find_nearest(
                connection, first.row, reader=None, most=MOST, floor=least, but=mine
            )
            return [first, *others]
        return []

    async def _tell(self, groups: Sequence[AgreeingGroup], *, compared: Sequence[str] = ()) -> None:
        """Write down which groups are new and that posts were compared, and tell of the groups."""
        now = self._clock.now()

        def work(connection: Connection) -> tuple[None, list[Event[Payload]]]:
            village.mark_compared(connection, compared)
            said = []
            for group in groups:
                ids, kind = tuple(voice.id for voice in group.voices), group.kind
                if village.note_group(connection, ids, kind=kind, likeness=group.likeness, at=now):
                    said.append(self._publisher.make_event(CONVERGENCE_DETECTED, Ids(ids)))
            return None, said

        await self._publisher.write(work)
