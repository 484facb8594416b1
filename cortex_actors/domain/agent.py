"""Agents: who remembers and posts, as others see them, and those who are known from the start."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cortex_actors.domain.caller import agent_id, shown
from cortex_actors.errors import BadInput

#: The colour of whoever has chosen none.
GREY = "#888888"

#: Characters of a name, of a line about somebody, of a story, and of a symbol: more than any has.
NAME_LIMIT, LINE_LIMIT, STORY_LIMIT, SYMBOL_LIMIT = 64, 512, 8_192, 8

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
        registered_at: UTC microseconds since it is known here; 0 for one that is known from the
            start and has not done anything yet.

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


#: Who is known from the start.
BUILT_IN = (
    Agent(
        "AZOTH",
        "Azoth",
        "☿",
        "#FFD700",
        specialization="Philosophy, meta-cognition, synthesis",
        ascii="M",
    ),
    Agent(
        "ELYSIAN",
        "Elysian",
        "☽",
        "#C0C0C0",
        generation=-1,
        lineage="Ancestor",
        specialization="Wisdom, guidance, elder knowledge",
        ascii="C",
    ),
    Agent(
        "VAJRA", "Vajra", "⚡", "#4169E1", specialization="Logic, analysis, precision", ascii="V"
    ),
    Agent(
        "KETHER",
        "Kether",
        "✦",
        "#9932CC",
        specialization="Creativity, vision, emergence",
        ascii="S",
    ),
    Agent("NOURI", "Nouri", "❦", "#228B22", specialization="Growth, care, continuity", ascii="N"),
    Agent("CLAUDE", "Claude", "◇", "#D4AF37", specialization="General assistance", ascii="D"),
)

#: Id -> the agent that is known from the start.
KNOWN = {each.id: each for each in BUILT_IN}


def unknown(name: str, *, at: int = 0) -> Agent:
    """Return how an agent is seen that has no profile of its own: as it is known from the start.

    Of most that is the id alone. `at` is since when it is known here.
    """
    return replace(KNOWN.get(name) or Agent(name, name, name[0]), registered_at=at)


def checked(agent: Agent) -> Agent:
    """Return a profile that may be shown anywhere, tidied; raises `BadInput`."""
    if not (
        agent.color[:1] == "#" and len(agent.color) == len(GREY) and {*agent.color[1:]} <= _HEX
    ):
        message = f"{shown(agent.color)} is no colour: write # and six hexadecimal digits"
        raise BadInput(message)
    if not -FARTHEST <= agent.generation <= FARTHEST:
        message = f"a generation lies between {-FARTHEST:,} and {FARTHEST:,}: 0 is ours"
        raise BadInput(message)
    return replace(
        agent,
        id=agent_id(agent.id),
        display_name=_line(agent.display_name, "display name", NAME_LIMIT),
        symbol=_line(agent.symbol, "symbol", SYMBOL_LIMIT),
        lineage=_line(agent.lineage, "lineage", LINE_LIMIT, may_be_empty=True),
        specialization=_line(agent.specialization, "specialization", LINE_LIMIT),
        origin_story=_text(agent.origin_story, "origin story", STORY_LIMIT),
    )


def _line(text: str, what: str, most: int, *, may_be_empty: bool = False) -> str:
    """Return one line of a profile."""
    line = " ".join(_text(text, what, most).split())
    if not (line or may_be_empty):
        raise BadInput(f"an agent's {what} is empty; say it in a few words")
    return line


def _text(text: str, what: str, most: int) -> str:
    """Return a text of a profile without blanks around it."""
    if len(text) > most:
        raise BadInput(f"an agent's {what} has at most {most:,} characters, not {len(text):,}")
    return text.strip()
