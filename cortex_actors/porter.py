"""The porter of the control socket: finds out who asks, and notes what is done for somebody else.

The notes are records of the log whose actor is `audit`: who, which verb, for which agent, and never
a text or a token. What an agent does in its own name needs none: it is in the rows it leaves.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cortex_actors.domain.agent import OWNER, Caller, agent_id
from cortex_actors.errors import BadInput, BadToken, NotYours

if TYPE_CHECKING:
    from cortex_actors.process.logs import LogStream
    from cortex_actors.process.tokens import Tokens
    from cortex_actors.rpc import Request

#: What the notes are by.
AUDIT = "audit"

#: Parameter with the agent through whose eyes somebody reads, or with whose rights changes
#: something, in whichever verb.
EYES = "as_agent"

#: Verb that does something in an agent's name -> its parameter with that agent. In every other verb
#: an agent that is named is only looked for.
ACTING = {
    "remember": "agent",
    "post": "agent",
    "leave_crumb": "agent",
    "import_crumb": "agent",
    "summon": "agent_id",
    "introduce": "agent",
    "agent_token": "agent",
    "revoke_token": "agent",
}


class Porter:
    """Knows the agents by their tokens, and the owner by having come without one."""

    def __init__(self, tokens: Tokens, logs: LogStream) -> None:
        """Remember where tokens are looked up, and where is written what is noted."""
        self._tokens = tokens
        self._logs = logs

    async def caller(self, request: Request) -> Caller:
        """Return who asks. Raises `BadToken`, which is noted."""
        if request.token is None:
            return OWNER
        try:
            return await asyncio.to_thread(self._tokens.caller, request.token)
        except BadToken:
            self._logs.write("warning", "a token that is nobody's was shown", actor=AUDIT)
            raise

    def refused(self, request: Request, caller: Caller, error: Exception) -> None:
        """Note that an agent asked for what is not its own."""
        if isinstance(error, NotYours):
            text = f"{caller.by} was refused {request.method}"
            self._logs.write("warning", text, actor=AUDIT, verb=request.method, by=caller.by)

    def done(self, request: Request, caller: Caller) -> None:
        """Note what the owner has done for an agent, or read and changed as one."""
        if not caller.is_owner:
            return
        acted, seen = request.params.get(ACTING.get(request.method, "")), request.params.get(EYES)
        if (agent := _named(acted)) is not None:
            self._note(request.method, "for", agent)
        elif (agent := _named(seen)) is not None:
            self._note(request.method, "as", agent)

    def _note(self, verb: str, how: str, agent: str) -> None:
        """Write one note."""
        text = f"the owner did {verb} {how} {agent}"
        self._logs.write("info", text, actor=AUDIT, verb=verb, agent=agent, by=OWNER.by)


def _named(given: object) -> str | None:
    """Return the agent that a parameter names; None for none, and for what is no agent."""
    try:
        return None if given is None else agent_id(given)
    except BadInput:
        return None
