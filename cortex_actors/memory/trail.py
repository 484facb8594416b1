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

from cortex_actors.clock import SECOND, Clock, iso, ulid
from cortex_actors.domain.agent import agent_id
from cortex_actors.domain.event import Event, Ids, Payload
from cortex_actors.errors import BadInput
from cortex_actors.rules import admission
from cortex_actors.runtime.actor import AsyncioActor, deferred
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.storage import agent_records
from cortex_actors.storage.events import Publisher
from cortex_actors.text.summary import name_session, parse
from cortex_actors.topics import CRUMB_LEFT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cortex_actors.bus.bus import Bus
    from cortex_actors.domain.memory import CrumbRecord
    from cortex_actors.rules.admission import AdmissionRequest
    from cortex_actors.storage.ledger.actor import Connection, Records

#: Microseconds by which another machine's clock may be ahead of ours.
AHEAD = 24 * 3_600 * SECOND

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
            name=f"crm_{ulid(now)}",
            at=now,
            saved_by=by,
            session=name_session(agent, now),
            project_id=project_id,
        )
        return (await self._taken(make, once=False))[0]

    @deferred
    async def take(
        self, text: str, *, agent: str | None, by: str, redact: bool = False, project_id: str = ""
    ) -> tuple[CrumbRecord, bool]:
        """Keep a crumb that was left elsewhere, as its text shows it; return it, and if it is new.

        Of one that is known the one kept is returned, of whatever project.

        It was left when the text says, and is of the agent that it names unless one is given.
        Raises as `leave` does, and `BadInput` for one of the days to come, which would be the last
        that was left until then.
        """
        shown = parse(text)
        if shown.left_at > self._clock.now() + AHEAD:
            raise BadInput(f"cannot take the crumb: it was left at {iso(shown.left_at)}, not yet")
        make = partial(
            admission.make_crumb,
            admission.to_request(shown, redact=redact),
            agent=agent_id(shown.agent_id) if agent is None else agent,
            name=f"crm_{ulid(shown.left_at)}",
            at=shown.left_at,
            saved_by=by,
            session=shown.session_id,
            project_id=project_id,
        )
        return await self._taken(make, once=True)

    async def _taken(
        self, make: Callable[[], CrumbRecord], *, once: bool
    ) -> tuple[CrumbRecord, bool]:
        """Write a crumb and say so; its texts are looked through for secrets on a thread.

        `once` returns the same one that is there already: its name tells the two apart.
        """
        crumb = await asyncio.to_thread(make)

        def work(connection: Connection) -> tuple[CrumbRecord, Sequence[Event[Payload]]]:
            known = agent_records.find_same(connection, crumb) if once else None
            if known is not None:
                return known, ()
            agent_records.leave(connection, crumb)
            return crumb, [self._publisher.event(CRUMB_LEFT, Ids((crumb.id,)))]

        kept = await self._publisher.write(work)
        return kept, kept.id == crumb.id
