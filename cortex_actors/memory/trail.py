"""Trail: the crumbs that a session leaves for the next.

hears   -
says    crumb:left
asks    ledger (writes crumbs)
keeps   -
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from cortex_actors.clock import Clock, make_ulid
from cortex_actors.domain.event import Event, Ids, Payload
from cortex_actors.rules import admission
from cortex_actors.runtime.actor import AsyncioActor, deferred
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.storage import agent_records
from cortex_actors.storage.events import Publisher
from cortex_actors.text.summary import name_session
from cortex_actors.topics import CRUMB_LEFT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.bus.bus import Bus
    from cortex_actors.domain.memory import CrumbRecord
    from cortex_actors.rules.admission import AdmissionRequest
    from cortex_actors.storage.ledger.actor import Connection, Records

#: What it is called, in the tree and as the source of what it says.
NAME = "trail"


class Trail(AsyncioActor):
    """Keeps crumbs; each is in the ledger, and announced, before its author gets an answer.

    A crash loses the crumbs not yet written: their author gets an error, the outcome is unknown.
    """

    #: Sessions that end at once: two hundred are a flood, and wait.
    mailbox_limit = 200
    overflow = Overflow.BACK_PRESSURE

    def __init__(self, bus: Bus, records: Records, *, clock: Clock) -> None:
        """Begin without any work."""
        super().__init__()
        self._publisher = Publisher(bus, records, NAME)
        self._clock = clock

    @deferred
    async def leave(
        self, given: AdmissionRequest, *, agent: str, by: str, project_id: str = ""
    ) -> CrumbRecord:
        """Keep a crumb of a project, or of none, and return it; the mailbox goes on meanwhile.

        Two that an agent leaves in one moment are two. Raises `BadInput`, `Refused` for a secret,
        and what writing the ledger raises.
        """
        now = self._clock.now()
        make = partial(
            admission.make_crumb,
            given,
            agent=agent,
            name=f"crm_{make_ulid(now)}",
            at=now,
            saved_by=by,
            session=name_session(agent, now),
            project_id=project_id,
        )
        # Its texts are looked through for secrets on a thread.
        crumb = await asyncio.to_thread(make)

        def work(connection: Connection) -> tuple[CrumbRecord, Sequence[Event[Payload]]]:
            agent_records.leave(connection, crumb)
            return crumb, [self._publisher.make_event(CRUMB_LEFT, Ids((crumb.id,)))]

        return await self._publisher.write(work)
