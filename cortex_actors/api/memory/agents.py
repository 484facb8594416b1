"""The verbs about agents: who is known, their profiles, how they introduce themselves, tokens.

A caller sees the agents that it may know. A profile is written by its agent
or by the owner; tokens are the owner's.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cortex_actors.api import parameters
from cortex_actors.api.registry import Call, operation
from cortex_actors.api.shapes import shape_dataclass
from cortex_actors.clock import iso
from cortex_actors.domain.agent import (
    BUILT_IN,
    Agent,
    describe_unknown,
    read_agent_id,
    validate_profile,
)
from cortex_actors.domain.memory import MemoryType
from cortex_actors.errors import NotFound
from cortex_actors.memory.request import Message
from cortex_actors.memory.village import Village
from cortex_actors.process.tokens import Tokens
from cortex_actors.storage import agent_records as known
from cortex_actors.text import summary

if TYPE_CHECKING:
    from cortex_actors.storage.ledger.actor import Connection

#: Characters of a moment, as `iso` writes it, that are its day.
_DAY = 10

#: The six of the original, by name.
_BUILT_IN = frozenset(each.id for each in BUILT_IN)


@operation("agents.list", http="GET /agents", agents=True)
async def agents(
    call: Call, limit: int = 100, skip: int = 0, *, as_agent: str | None = None
) -> dict[str, Any]:
    """List who remembers and posts here.

    Agents come by id, with their profiles. Only the owner sees whether one has a token. Raises
    `BadInput`, `NotYours`.
    """
    reader = call.caller.choose_reader(as_agent)
    parameters.check_page(limit, skip, of="agents")
    found, total = await call.records.read(
        lambda c: known.list_agents(c, reader, limit=limit, skip=skip)
    )
    held = await _token_holders(call, reader)
    return {"total": total, "agents": [_shown(each, held) for each in found]}


@operation("agents.show", http="GET /agents/{agent}", agents=True)
async def agent(call: Call, agent: str, *, as_agent: str | None = None) -> dict[str, Any]:
    """Show one agent with its profile. Raises `NotFound`, `BadInput`, `NotYours`."""
    name, reader = read_agent_id(agent), call.caller.choose_reader(as_agent)
    return _shown(await _known(call, name, reader), await _token_holders(call, reader))


@operation("agents.summon", http="POST /agents/summon", agents=True)
async def summon(
    call: Call,
    agent_id: str,
    display_name: str | None = None,
    *,
    generation: int | None = None,
    lineage: str | None = None,
    specialization: str | None = None,
    origin_story: str | None = None,
    color: str | None = None,
    symbol: str | None = None,
) -> dict[str, Any]:
    """Give an agent its profile, or change it, and tell the village; what is left out stays.

    Returns the profile, and the record that was posted. A new agent needs a specialization. The
    profile outlasts every restart. A crash in between leaves the profile without its record: say it
    again. Raises `BadInput`, and `NotYours` for an agent that describes another one.
    """
    name, now = call.caller.choose_agent(agent_id, agent_id), call.clock.now()
    given: dict[str, Any] = {"display_name": display_name, "generation": generation}
    given |= {"lineage": lineage, "specialization": specialization}
    given |= {"origin_story": origin_story, "color": color, "symbol": symbol}
    said = {key: value for key, value in given.items() if value is not None}

    def describe(connection: Connection) -> tuple[Agent, bool]:
        before = known.load_agent(connection, name)
        start = before or describe_unknown(name)
        whole = validate_profile(replace(start, registered_at=start.registered_at or now, **said))
        summary.require_shown(whole)
        known.require_own_name(connection, whole)
        known.describe(connection, whole)
        return whole, before is None

    agent, is_new = await call.records.write(describe)
    kind, tags = MemoryType.AGENT_PROFILE, list(summary.PROFILE_TAGS)
    record = await _post(
        call, Message(summary.format_profile(agent), type=kind, tags=tags), agent=agent.id
    )
    return {**_shown(agent), "new": is_new, "record": record}


@operation("agents.seed", http="POST /agents/seed")
async def seed_agents(call: Call) -> dict[str, Any]:
    """Give the six agents of the original their profiles; one that has its own keeps it.

    Returns those that were given one now, and those that had it. Doing it again changes nothing.
    """
    at = call.clock.now()
    new = await call.records.write(lambda c: known.seed(c, at=at))
    return {"seeded": new, "kept": sorted(_BUILT_IN.difference(new))}


@operation("agents.introduce", http="POST /agents/{agent}/introduce", agents=True)
async def introduce(call: Call, agent: str) -> dict[str, Any]:
    """Let an agent greet the village, in a thread of its own for the day.

    Returns its words and the post that holds them. Raises `NotFound` for one that is not known,
    `BadInput`, and `NotYours` for an agent that speaks for another one.
    """
    found = await _known(call, call.caller.choose_agent(agent, agent), call.caller.choose_reader())
    words = summary.format_greeting(found)
    thread = summary.name_thread(found, iso(call.clock.now())[:_DAY])
    kind, tags = MemoryType.CULTURAL, list(summary.GREETING_TAGS)
    post = await _post(call, Message(words, type=kind, thread=thread, tags=tags), agent=found.id)
    return {"id": post, "agent": found.id, "thread": thread, "content": words}


@operation("agents.token", http="POST /agents/{agent}/token")
async def agent_token(call: Call, agent: str) -> dict[str, Any]:
    """Make an agent's token, shown only this once; an earlier one is no longer valid.

    This answer and the file are the only places that hold it. Raises `BadInput`,
    `HomeUnwritable`.
    """
    name, now = read_agent_id(agent), call.clock.now()
    await call.records.write(lambda c: known.add_agents(c, [name], at=now))
    tokens = Tokens(call.home.tokens)

    def make() -> tuple[bool, str]:
        return name in tokens.list_agents(), tokens.make(name)

    replaced, token = await asyncio.to_thread(make)
    path = str(tokens.folder / name)
    return {"agent": name, "token": token, "path": path, "replaced": replaced}


@operation("agents.revoke-token", http="POST /agents/{agent}/revoke-token")
async def revoke_token(call: Call, agent: str) -> dict[str, Any]:
    """Make an agent's token invalid, from its next request on.

    Raises `NotFound` for an agent without one, `BadInput`, `HomeUnwritable`.
    """
    name = read_agent_id(agent)
    if not await asyncio.to_thread(Tokens(call.home.tokens).revoke, name):
        raise NotFound(f"{name} has no token; who has one is listed by: cortex agents")
    return {"agent": name, "revoked": True}


async def _post(call: Call, message: Message, *, agent: str) -> str:
    """Say something in the village; return the id of the post."""
    posted = await call.actors.village.ask(Village.post, message, agent=agent, caller=call.caller)
    return str(posted["id"])


async def _known(call: Call, name: str, reader: str | None) -> Agent:
    """Return an agent that the reader may know. Raises `NotFound`."""
    found = await call.records.read(lambda c: known.load_agent(c, name, reader))
    if found is None:
        raise NotFound(f"no agent is called {name}; those there are: cortex agents")
    return found


async def _token_holders(call: Call, reader: str | None) -> frozenset[str] | None:
    """Return who has a token; None for an agent that asks."""
    if reader is not None:
        return None
    return await asyncio.to_thread(Tokens(call.home.tokens).list_agents)


def _shown(agent: Agent, held: frozenset[str] | None = None) -> dict[str, Any]:
    """Return an agent as a client sees it; who has a token is given for the owner alone."""
    found = {
        **shape_dataclass(agent, "ascii"),
        "ascii_symbol": agent.plain_symbol,
        "registered_at": agent.registered_at or None,
        "built_in": agent.id in _BUILT_IN,
    }
    return found if held is None else {**found, "has_token": agent.id in held}
