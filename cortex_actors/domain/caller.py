"""Who asks: the owner of the daemon, or one agent; and whose id that is.

The door a request comes through makes the `Caller` of the credentials it carries, never of what the
request says about itself: an agent can name whom it likes, it stays who it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cortex_actors.domain.probe import PROBE
from cortex_actors.errors import BadInput, NotYours

#: Characters of an agent's id.
ID_LIMIT = 64

#: What stands in an audit for the owner: no agent's id has a small letter.
OWNER_NAME = "owner"

#: An id as people may write it. Looked at before it is made large: some letters of other alphabets
#: have an ASCII capital (a long s becomes S), and would be taken for somebody else.
_ID = re.compile(rf"[A-Za-z0-9_-]{{1,{ID_LIMIT}}}")

#: Ids that nobody has, with what they would be mistaken for.
_RESERVED = {
    OWNER_NAME.upper(): "it would be mistaken for the person who owns the daemon",
    PROBE: "it is reserved for cortex doctor --round-trip",
}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks for something.

    Attributes:
        agent: the agent whose token was shown, or as which the owner speaks; None for the owner,
            who may act for any agent, reads everything and may change it.
        is_lent: whether it is the owner who speaks as that agent: then there is and may be changed
            what there is for the agent, and the audit names the owner.

    """

    agent: str | None
    is_lent: bool = False

    @property
    def is_owner(self) -> bool:
        """Whether it is the person who owns the daemon."""
        return self.agent is None

    @property
    def by(self) -> str:
        """Who is responsible, for an audit: `owner`, or the agent."""
        return OWNER_NAME if self.agent is None or self.is_lent else self.agent

    def acting(self, agent: str | None, default: str) -> str:
        """Return the agent as which it acts: the one it names, else itself, else the default.

        Raises `BadInput` for what is no id, and `NotYours` when an agent names another one.
        """
        if self.agent is None:
            return agent_id(default if agent is None else agent)
        return self._itself(agent, f"{self.agent} cannot act for")

    def reader(self, as_agent: str | None = None) -> str | None:
        """Return through whose eyes it reads; None for the owner's, who reads everything.

        Raises as `acting` does.
        """
        if self.agent is None:
            return None if as_agent is None else agent_id(as_agent)
        return self._itself(as_agent, f"{self.agent} cannot read as")

    def speaking(self, as_agent: str | None = None) -> Caller:
        """Return with whose rights it changes something: an agent's, where the owner names one.

        Raises as `acting` does.
        """
        if self.agent is None:
            return self if as_agent is None else Caller(agent_id(as_agent), is_lent=True)
        self._itself(as_agent, f"{self.agent} cannot act for")
        return self

    def require_owner(self, doing: str) -> None:
        """Raise `NotYours` unless it is the owner; `doing` is what was asked for."""
        if self.agent is not None:
            message = (
                f"cannot {doing} for {self.agent}: only the owner of the daemon may; "
                "ask without a token"
            )
            raise NotYours(message)

    def _itself(self, named: object, refusal: str) -> str:
        """Return the agent, if it names nobody or itself."""
        mine = self.agent or ""
        if named is None or (isinstance(named, str) and named.isascii() and named.upper() == mine):
            return mine
        message = f"{refusal} {agent_id(named)}: its token is its own; leave the agent out"
        raise NotYours(message)


#: The person who owns the daemon: whoever asks without a token, as the same user.
OWNER = Caller(None)


def agent_id(text: object) -> str:
    """Return an agent's id in its one form, in capitals; raises `BadInput` for what is none."""
    if not isinstance(text, str) or not _ID.fullmatch(text):
        message = (
            f"{shown(text)} is no agent's id: it has 1 to {ID_LIMIT} of the letters A to Z, "
            "digits, _ and -"
        )
        raise BadInput(message)
    found = text.upper()
    if found in _RESERVED:
        raise BadInput(f"no agent is called {found}: {_RESERVED[found]}; choose another id")
    return found


def shown(text: object) -> str:
    """Return what was given for an id as an error shows it: short, every character visible."""
    return ascii(text if len(str(text)) <= ID_LIMIT else f"{str(text)[:ID_LIMIT]}...")
