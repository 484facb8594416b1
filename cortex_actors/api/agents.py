"""The verbs about agents: who is known, their profiles, how they introduce themselves, tokens.

Whoever reads an agent's list or profile sees what it may know of. A profile is written by its agent
or by the owner; tokens are the owner's.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cortex_actors.api import registry
from cortex_actors.api.registry import Verbs
from cortex_actors.clock import iso
from cortex_actors.domain.agent import BUILT_IN, OWNER, Agent, Caller, agent_id, checked, unknown
from cortex_actors.domain.memory import MemoryType, Realm
from cortex_actors.errors import NotFound
from cortex_actors.memory.village import Village
from cortex_actors.process.tokens import Tokens
from cortex_actors.storage import agent_records as known
from cortex_actors.text import summary

if TYPE_CHECKING:
    from cortex_actors.storage.ledger.actor import Connection

#: Characters of a moment, as `iso` writes it, that are its day.
_DAY = 10

#: Who is known from the start, by name.
_BUILT_IN = frozenset(each.id for each in BUILT_IN)


class AgentVerbs(Verbs):
    """Part of the front desk."""

    async def agents(
        self,
        limit: int = 100,
        skip: int = 0,
        *,
        as_agent: str | None = None,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Return the agents that are known, by id, with their profiles.

        Whether one has a token, only the owner is told. Raises `BadInput`, `NotYours`.
        """
        reader = caller.reader(as_agent)
        registry.page(limit, skip, of="agents")
        found, total = await self._parts.records.read(
            lambda c: known.listed(c, reader, limit=limit, skip=skip)
        )
        held = await self._token_holders(reader)
        return {"total": total, "agents": [_shown(each, held) for each in found]}

    async def agent(
        self, agent: str, *, as_agent: str | None = None, caller: Caller = OWNER
    ) -> dict[str, Any]:
        """Return one agent with its profile. Raises `NotFound`, `BadInput`, `NotYours`."""
        name, reader = agent_id(agent), caller.reader(as_agent)
        found = await self._known(name, reader)
        return _shown(found, await self._token_holders(reader))

    async def summon(
        self,
        agent_id: str,
        display_name: str | None = None,
        *,
        generation: int | None = None,
        lineage: str | None = None,
        specialization: str | None = None,
        origin_story: str | None = None,
        color: str | None = None,
        symbol: str | None = None,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Give an agent its profile, and post the record of it in the village; return both.

        What is not said stays as it was; a new agent needs a specialization. The profile outlasts
        every restart. A crash in between leaves the profile without its record: say it again.
        Raises `BadInput`, and `NotYours` for an agent that describes another one.
        """
        name, now = caller.acting(agent_id, agent_id), self._parts.clock.now()
        given: dict[str, Any] = {"display_name": display_name, "generation": generation}
        given |= {"lineage": lineage, "specialization": specialization}
        given |= {"origin_story": origin_story, "color": color, "symbol": symbol}
        said = {key: value for key, value in given.items() if value is not None}
        agent, is_new = await self._parts.records.write(
            lambda c: _described(c, name, said, now=now)
        )
        posted = await self._actors.village.ask(
            Village.post,
            summary.profile(agent),
            realm=Realm.VILLAGE,
            agent=agent.id,
            type=MemoryType.AGENT_PROFILE,
            tags=list(summary.PROFILE_TAGS),
            caller=caller,
        )
        return {**_shown(agent), "new": is_new, "record": posted["id"]}

    async def introduce(self, agent: str, *, caller: Caller = OWNER) -> dict[str, Any]:
        """Let an agent that is known greet the village; return its words and where they stand.

        Raises `NotFound` for one that is not known, `BadInput`, and `NotYours` for an agent that
        speaks for another one.
        """
        found = await self._known(caller.acting(agent, agent), caller.reader())
        words = summary.greeting(found)
        thread = summary.thread(found, iso(self._parts.clock.now())[:_DAY])
        posted = await self._actors.village.ask(
            Village.post,
            words,
            realm=Realm.VILLAGE,
            agent=found.id,
            type=MemoryType.CULTURAL,
            thread=thread,
            tags=list(summary.GREETING_TAGS),
            caller=caller,
        )
        return {"id": posted["id"], "agent": found.id, "thread": thread, "content": words}

    async def agent_token(self, agent: str) -> dict[str, Any]:
        """Make an agent's token, by which it is known from then on; an earlier one counts no more.

        This answer and the file are the only places that hold it. Raises `BadInput`,
        `HomeUnwritable`.
        """
        name, now = agent_id(agent), self._parts.clock.now()
        await self._parts.records.write(lambda c: known.know(c, [name], at=now))
        tokens = Tokens(self._parts.home.tokens)

        def make() -> tuple[bool, str]:
            return name in tokens.agents(), tokens.make(name)

        replaced, token = await asyncio.to_thread(make)
        path = str(tokens.folder / name)
        return {"agent": name, "token": token, "path": path, "replaced": replaced}

    async def revoke_token(self, agent: str) -> dict[str, Any]:
        """Let an agent's token count no more, from its next request on.

        Raises `NotFound` for an agent without one, `BadInput`, `HomeUnwritable`.
        """
        name = agent_id(agent)
        if not await asyncio.to_thread(Tokens(self._parts.home.tokens).revoke, name):
            message = f"{name} has no token; who has one is listed by: cortex agents"
            raise NotFound(message)
        return {"agent": name, "revoked": True}

    async def _known(self, name: str, reader: str | None) -> Agent:
        """Return an agent that somebody may know of. Raises `NotFound`."""
        found = await self._parts.records.read(lambda c: known.by_id(c, name, reader))
        if found is None:
            message = f"no agent is called {name}; those there are: cortex agents"
            raise NotFound(message)
        return found

    async def _token_holders(self, reader: str | None) -> frozenset[str] | None:
        """Return who has a token; None for an agent that asks."""
        if reader is not None:
            return None
        return await asyncio.to_thread(Tokens(self._parts.home.tokens).agents)


def _described(
    connection: Connection, name: str, said: dict[str, Any], *, now: int
) -> tuple[Agent, bool]:
    """Give an agent the profile that it had with what is said anew; tell whether it is new."""
    before = known.by_id(connection, name)
    start = before or unknown(name)
    whole = checked(replace(start, registered_at=start.registered_at or now, **said))
    summary.require_shown(whole)
    known.require_own_name(connection, whole)
    known.describe(connection, whole)
    return whole, before is None


def _shown(agent: Agent, held: frozenset[str] | None = None) -> dict[str, Any]:
    """Return an agent as a client sees it; who has a token is given for the owner alone."""
    found = {
        "id": agent.id,
        "display_name": agent.display_name,
        "symbol": agent.symbol,
        "ascii_symbol": agent.plain_symbol,
        "color": agent.color,
        "generation": agent.generation,
        "lineage": agent.lineage,
        "specialization": agent.specialization,
        "origin_story": agent.origin_story,
        "registered_at": agent.registered_at or None,
        "built_in": agent.id in _BUILT_IN,
    }
    return found if held is None else {**found, "has_token": agent.id in held}
