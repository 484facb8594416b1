"""The verbs about forward crumbs: what a session leaves for the next one of its agent.

An agent reads and leaves its own; the owner leaves them for any agent, and reads them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from cortex_actors import wants
from cortex_actors.clock import SECOND
from cortex_actors.domain.agent import OWNER, Caller, agent_id
from cortex_actors.errors import BadInput
from cortex_actors.rules import admission
from cortex_actors.rules.admission import Given
from cortex_actors.storage import agent_records as kept
from cortex_actors.storage.agent_records import Tally, Wanted
from cortex_actors.text.summary import render
from cortex_actors.verbs import Verbs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from cortex_actors.domain.memory import Crumb
    from cortex_actors.storage.ledger.actor import Connection

#: Hours that are looked back for, unless asked otherwise: a week; and at most: a hundred years.
LOOKBACK, FARTHEST = 168, 876_000

#: Microseconds of an hour.
_HOUR = 3_600 * SECOND

#: Kinds of references that an answer always has.
_KINDS = ("message_ids", "thread_ids")


class TrailPort(Protocol):
    """What the front desk needs of the trail."""

    def leave(self, given: Given, *, agent: str, by: str) -> Awaitable[Crumb]:
        """Keep a crumb and return it."""

    def take(
        self, text: str, *, agent: str | None, by: str, redact: bool = False
    ) -> Awaitable[tuple[Crumb, bool]]:
        """Keep a crumb that was left elsewhere, once; return it, and whether it is new."""


class CrumbVerbs(Verbs):
    """Part of the front desk."""

    async def leave_crumb(
        self,
        session_summary: str,
        key_discoveries: list[str] | None = None,
        *,
        emotional_state: dict[str, Any] | None = None,
        unfinished_business: list[str] | None = None,
        references: dict[str, Any] | None = None,
        if_disoriented: list[str] | None = None,
        priority: str = "MEDIUM",
        crumb_type: str | None = None,
        session_id: str | None = None,
        agent: str | None = None,
        redact: bool = False,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Leave a crumb for an agent's next session; return it, with its text.

        Without a type it is a task where something is unfinished, else for orientation. Raises
        `BadInput`, `Refused` for a secret (`redact` takes them out), `NotYours`.
        """
        given = Given(
            summary=session_summary,
            discoveries=key_discoveries,
            emotional_state=emotional_state,
            unfinished=unfinished_business,
            references=references,
            if_disoriented=if_disoriented,
            priority=priority,
            type=crumb_type,
            session_id=session_id,
            redact=redact,
        )
        acting = caller.acting(agent, self._default_agent())
        left = await self._parts.trail.leave(given, agent=acting, by=caller.by)
        return _told(left)

    async def import_crumb(
        self,
        text: str,
        agent: str | None = None,
        *,
        redact: bool = False,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Take in a crumb as another system rendered it, once; return it.

        `state` says whether it is new (`saved`) or known (`existing`). It is of the agent that its
        text names, unless one is given. Raises as `leave_crumb` does.
        """
        given = agent if caller.is_owner else caller.acting(agent, "")
        name = None if given is None else agent_id(given)
        left, is_new = await self._parts.trail.take(text, agent=name, by=caller.by, redact=redact)
        known = {} if is_new else {"message": f"Forward crumb known already: {left.id}"}
        return {**_told(left), "state": "saved" if is_new else "existing", **known}

    async def crumbs(
        self,
        agent: str | None = None,
        lookback_hours: float = LOOKBACK,
        priority: str | None = None,
        type: str | None = None,  # noqa: A002 - named by every client
        limit: int = 10,
        *,
        as_agent: str | None = None,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Return the crumbs of the last hours, newest first, and what they add up to.

        `agent` is whose: without one, everybody's whose crumbs one may read. `summary` counts all
        there are in that time, `crumbs` shows `limit` of them. Raises `BadInput`, `NotYours`.
        """
        wanted = self._wanted(caller, agent, as_agent, hours=lookback_hours)
        wanted = _narrowed(wanted, priority, type)
        wants.page(limit, 0, of="crumbs")

        def read(connection: Connection) -> tuple[list[Crumb], Tally]:
            return kept.list_crumbs(connection, wanted, limit=limit), kept.tally(connection, wanted)

        found, tally = await self._parts.records.read(read)
        tasks = (task for each in found for task in each.unfinished)
        return {
            "crumbs": [_shown(each) for each in found],
            "most_recent": _shown(found[0]) if found else None,
            "unfinished_tasks": list(dict.fromkeys(tasks)),
            "key_references": _references(found),
            "summary": {
                "total_found": tally.total,
                "by_priority": tally.by_priority,
                "by_type": tally.by_type,
            },
        }

    async def latest_crumb(
        self, agent: str | None = None, *, as_agent: str | None = None, caller: Caller = OWNER
    ) -> dict[str, Any]:
        """Return the crumb that an agent left last, however long ago; None when there is none.

        Without one it is that of whom is spoken for, as in `leave_crumb`: no session follows what
        another agent left for its own. Raises `BadInput`, `NotYours`.
        """
        whose = as_agent if agent is None else agent
        whose = caller.acting(None, self._default_agent()) if whose is None else whose
        wanted = self._wanted(caller, whose, as_agent)
        found = await self._parts.records.read(lambda c: kept.list_crumbs(c, wanted, limit=1))
        return {"crumb": _shown(found[0]) if found else None}

    async def unfinished(
        self,
        agent: str | None = None,
        lookback_hours: float = LOOKBACK,
        limit: int = 50,
        *,
        as_agent: str | None = None,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Return what sessions left to do, the newest first, each once; `limit` crumbs are read.

        Raises `BadInput`, `NotYours`.
        """
        wanted = self._wanted(caller, agent, as_agent, hours=lookback_hours, unfinished=True)
        wants.page(limit, 0, of="crumbs")
        found = await self._parts.records.read(lambda c: kept.list_crumbs(c, wanted, limit=limit))
        tasks: dict[tuple[str, str], dict[str, Any]] = {}
        for crumb in found:
            for task in crumb.unfinished:
                tasks.setdefault((crumb.agent_id, task), _task(crumb, task))
        return {"tasks": list(tasks.values()), "total": len(tasks)}

    def _default_agent(self) -> str:
        """Return who acts where nobody is named."""
        return self._parts.memory().agent

    def _wanted(
        self,
        caller: Caller,
        agent: str | None,
        as_agent: str | None,
        *,
        hours: float | None = None,
        unfinished: bool = False,
    ) -> Wanted:
        """Return which crumbs are meant; raises `BadInput`, `NotYours`."""
        return Wanted(
            reader=caller.reader(as_agent),
            agent=None if agent is None else agent_id(agent),
            since=None if hours is None else self._parts.clock.now() - int(_span(hours) * _HOUR),
            unfinished=unfinished,
        )


def _span(hours: object) -> float:
    """Return the hours that are looked back for; raises `BadInput`."""
    if isinstance(hours, int | float) and not isinstance(hours, bool) and 0 < hours <= FARTHEST:
        return float(hours)
    message = f"cannot look back {hours!r} hours: give a number above 0, {FARTHEST:,} at most"
    raise BadInput(message)


def _narrowed(wanted: Wanted, priority: str | None, kind: str | None) -> Wanted:
    """Return what is meant, of that priority and type."""
    return Wanted(
        reader=wanted.reader,
        agent=wanted.agent,
        since=wanted.since,
        priority=admission.priority_of(priority),
        type=admission.type_of(kind),
    )


def _told(crumb: Crumb) -> dict[str, Any]:
    """Return a crumb that was just left."""
    return {**_shown(crumb), "message": f"Forward crumb left: {crumb.session_id}"}


def _shown(crumb: Crumb) -> dict[str, Any]:
    """Return a crumb in JSON's words."""
    return {
        "id": crumb.id,
        "agent": crumb.agent_id,
        "session_id": crumb.session_id,
        "type": str(crumb.type),
        "priority": str(crumb.priority),
        "session_summary": crumb.summary,
        "key_discoveries": list(crumb.discoveries),
        "emotional_state": dict(crumb.emotional_state),
        "unfinished_business": list(crumb.unfinished),
        "has_unfinished": crumb.has_unfinished,
        "references": {kind: list(some) for kind, some in crumb.references.items()},
        "if_disoriented": list(crumb.if_disoriented),
        "left_at": crumb.left_at,
        "saved_by": crumb.saved_by,
        "text": render(crumb),
    }


def _task(crumb: Crumb, task: str) -> dict[str, Any]:
    """Return something left to do, and by which crumb."""
    return {
        "task": task,
        "agent": crumb.agent_id,
        "crumb": crumb.id,
        "session_id": crumb.session_id,
        "priority": str(crumb.priority),
        "left_at": crumb.left_at,
    }


def _references(found: Sequence[Crumb]) -> dict[str, list[str]]:
    """Return what all crumbs refer to, by kind and each once."""
    named: dict[str, dict[str, None]] = {kind: {} for kind in _KINDS}
    for crumb in found:
        for kind, some in crumb.references.items():
            named.setdefault(kind, {}).update(dict.fromkeys(some))
    return {kind: list(some) for kind, some in named.items()}
