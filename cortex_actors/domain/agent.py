"""Agents: who remembers and posts, as others see them, and those who are known from the start.

Who asks: the owner of the daemon, or one agent; and whose id that is.

The door a request comes through makes the `Caller` of the credentials it carries, never of what the
request says about itself: an agent can name whom it likes, it stays who it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from cortex_actors.domain.memory import PROBE
from cortex_actors.errors import BadInput, NotYours

#: Characters of an agent's id.
ID_LIMIT = 64

#: The owner's name in an audit: no agent's id has a small letter.
OWNER_NAME = "owner"

#: What an agent's session does about what it may not do.
ASK_A_PERSON = "ask the person who owns it to do that with the cortex command"

#: An id as people may write it. Looked at before it is made large: some letters of other alphabets
#: have an ASCII capital (a long s becomes S), and would be taken for another agent.
_ID = re.compile(rf"[A-Za-z0-9_-]{{1,{ID_LIMIT}}}")

#: Ids that no agent may have, with what they would be mistaken for.
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
        is_session: whether it is a session of an AI agent that came over the owner's socket: it has
            the agent's rights on memories, and also reads what the pipeline made.

    """

    agent: str | None
    is_lent: bool = False
    is_session: bool = False

    @property
    def is_owner(self) -> bool:
        """Whether it is the person who owns the daemon."""
        return self.agent is None

    @property
    def by(self) -> str:
        """Who is responsible, for an audit: `owner`, or the agent."""
        return OWNER_NAME if self.agent is None or self.is_lent else self.agent

    def choose_agent(self, agent: str | None, default: str) -> str:
        """Return the agent as which it acts: the one it names, else itself, else the default.

        Raises `BadInput` for what is no id, and `NotYours` when an agent names another one.
        """
        if self.agent is None:
            return read_agent_id(default if agent is None else agent)
        return self._itself(agent, f"{self.agent} cannot act for")

    def choose_reader(self, as_agent: str | None = None) -> str | None:
        """Return through whose eyes it reads; None for the owner's, who reads everything.

        Raises as `choose_agent` does.
        """
        if self.agent is None:
            return None if as_agent is None else read_agent_id(as_agent)
        return self._itself(as_agent, f"{self.agent} cannot read as")

    def choose_rights(self, as_agent: str | None = None) -> Caller:
        """Return with whose rights it changes something: an agent's, where the owner names one.

        Raises as `choose_agent` does.
        """
        if self.agent is None:
            return self if as_agent is None else Caller(read_agent_id(as_agent), is_lent=True)
        self._itself(as_agent, f"{self.agent} cannot act for")
        return self

    def require_owner(self, doing: str) -> None:
        """Raise `NotYours` unless it is the owner; `doing` is what was asked for."""
        if self.agent is not None:
            how = ASK_A_PERSON if self.is_session else "ask without a token"
            raise NotYours(
                f"cannot {doing} for {self.agent}: only the owner of the daemon may; {how}"
            )

    def _itself(self, named: object, refusal: str) -> str:
        """Return the agent, if `named` is None or the agent itself."""
        mine = self.agent or ""
        if named is None or (isinstance(named, str) and named.isascii() and named.upper() == mine):
            return mine
        own = "session" if self.is_session else "token"
        raise NotYours(
            f"{refusal} {read_agent_id(named)}: its {own} is its own; leave the agent out"
        )


#: The person who owns the daemon: a caller without a token, as the same user.
OWNER = Caller(None)


def read_agent_id(text: object) -> str:
    """Return an agent's id in its one form, in capitals; raises `BadInput` for what is none."""
    if not isinstance(text, str) or not _ID.fullmatch(text):
        raise BadInput(
            f"{format_given(text)} is no agent's id: it has 1 to {ID_LIMIT} of the letters A to Z, "
            "digits, _ and -"
        )
    found = text.upper()
    if found in _RESERVED:
        raise BadInput(f"no agent is called {found}: {_RESERVED[found]}; choose another id")
    return found


def format_given(text: object) -> str:
    """Return what was given for an id as an error shows it: short, every character visible."""
    return ascii(text if len(str(text)) <= ID_LIMIT else f"{str(text)[:ID_LIMIT]}...")


#: The colour of an agent that has chosen none.
GREY = "#888888"

#: Characters of a profile line: more than any has.
LINE_LIMIT = 512

#: Texts of a profile -> characters that each may have, likewise.
_LIMITS = {
    "display_name": 64,
    "symbol": 8,
    "lineage": LINE_LIMIT,
    "specialization": LINE_LIMIT,
    "origin_story": 8_192,
}

#: Generations there may be before the first (their ancestors) and after it.
FARTHEST = 1_000_000

_HEX = frozenset("0123456789abcdefABCDEF")


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent with its profile.

    Attributes:
        symbol: one sign, for lists and pages.
        ascii: that for terminals which have ASCII alone; empty for the first letter of the id.
        color: as a page writes it, `#` and six hexadecimal digits.
        generation: 0 is ours, -1 an ancestor's.
        lineage: where it comes from; empty for nowhere in particular.
        registered_at: UTC microseconds since it is known here; 0 for one of the original's that
            has not done anything yet.

    """

    id: str
    display_name: str
    symbol: str
    color: str = GREY
    generation: int = 0
    lineage: str = ""
    specialization: str = ""
    origin_story: str = ""
    ascii: str = ""
    registered_at: int = 0

    @property
    def plain_symbol(self) -> str:
        """The sign in ASCII."""
        if self.ascii:
            return self.ascii
        return self.symbol if self.symbol.isascii() else self.id[0]


#: The six of the original. They have their profiles as soon as they do anything, or are seeded.
BUILT_IN = tuple(
    Agent(name.upper(), name, symbol, color, generation, lineage, known_for, ascii=mark)
    for name, symbol, color, mark, generation, lineage, known_for in (
        ("Azoth", "☿", "#FFD700", "M", 0, "", "Philosophy, meta-cognition, synthesis"),
        ("Elysian", "☽", "#C0C0C0", "C", -1, "Ancestor", "Wisdom, guidance, elder knowledge"),
        ("Vajra", "⚡", "#4169E1", "V", 0, "", "Logic, analysis, precision"),
        ("Kether", "✦", "#9932CC", "S", 0, "", "Creativity, vision, emergence"),
        ("Nouri", "❦", "#228B22", "N", 0, "", "Growth, care, continuity"),
        ("Claude", "◇", "#D4AF37", "D", 0, "", "General assistance"),
    )
)

#: Id -> the agent of the original.
KNOWN = {each.id: each for each in BUILT_IN}

#: The one agent that a fresh home knows: who remembers where no agent is named.
DEFAULT = KNOWN["CLAUDE"]


def describe_unknown(name: str, *, at: int = 0) -> Agent:
    """Return how an agent is seen that has no profile of its own: as the original described it.

    Of most that is the id alone. `at` is since when it is known here.
    """
    return replace(KNOWN.get(name) or Agent(name, name, name[0]), registered_at=at)


def validate_profile(agent: Agent) -> Agent:
    """Return a profile that may be shown anywhere, tidied; raises `BadInput`."""
    if not (
        agent.color[:1] == "#" and len(agent.color) == len(GREY) and {*agent.color[1:]} <= _HEX
    ):
        raise BadInput(
            f"{format_given(agent.color)} is no colour: write # and six hexadecimal digits"
        )
    if not -FARTHEST <= agent.generation <= FARTHEST:
        raise BadInput(f"a generation lies between {-FARTHEST:,} and {FARTHEST:,}: 0 is ours")
    tidied: dict[str, Any] = {"id": read_agent_id(agent.id)}
    for name, most in _LIMITS.items():
        text, what = getattr(agent, name), name.replace("_", " ")
        if len(text) > most:
            raise BadInput(f"an agent's {what} has at most {most:,} characters, not {len(text):,}")
        # A story may have paragraphs; everything else is one line.
        tidied[name] = text.strip() if name == "origin_story" else " ".join(text.split())
        if not tidied[name] and name not in {"lineage", "origin_story"}:
            raise BadInput(f"an agent's {what} is empty; say it in a few words")
    return replace(agent, **tidied)
