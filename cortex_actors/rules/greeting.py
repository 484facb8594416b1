"""What agents say of themselves in the village: their profile, and their introduction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.errors import BadInput
from cortex_actors.rules.credentials import redact
from cortex_actors.rules.quarantine import hidden, told

if TYPE_CHECKING:
    from cortex_actors.domain.agent import Agent

#: Tags of the record of a profile, and of an introduction.
PROFILE_TAGS = ("profile", "summoning")
GREETING_TAGS = ("introduction", "ritual", "greeting")


def profile(agent: Agent) -> str:
    """Return the record that is posted of an agent which was given a profile."""
    facts = [f"{agent.symbol} {agent.display_name} ({agent.id}) has a place in the village."]
    facts += [f"Generation {agent.generation}{_of(agent)}.", f"Known for: {agent.specialization}."]
    return _paragraphs(" ".join(facts), agent.origin_story)


def greeting(agent: Agent) -> str:
    """Return the words with which an agent introduces itself."""
    facts = [f"{agent.symbol} Good day to all of you. I am {agent.display_name}"]
    facts[0] += f", called {agent.id} here." if agent.display_name != agent.id else "."
    if agent.generation or agent.lineage:
        facts.append(f"I am of generation {agent.generation}{_of(agent)}.")
    if agent.specialization:
        facts.append(f"What I am asked about most: {agent.specialization}.")
    closing = "I read what is said here before I answer; greet me back in this thread."
    return _paragraphs(" ".join(facts), agent.origin_story, closing)


def thread(agent: Agent, day: str) -> str:
    """Return the thread of an agent's introduction on a day (YYYY-MM-DD, UTC)."""
    return f"introduction_{agent.id}_{day.replace('-', '')}"


def require_shown(agent: Agent) -> None:
    """Raise `BadInput` for a profile with what nobody sees, or a secret, in it.

    A profile is read by every agent, and by people in lists.
    """
    texts = {
        "display name": agent.display_name,
        "symbol": agent.symbol,
        "lineage": agent.lineage,
        "specialization": agent.specialization,
        "origin story": agent.origin_story,
    }
    for what, text in texts.items():
        if found := hidden(text):
            message = f"the {what} of {agent.id} holds {told(found)}; write it without"
            raise BadInput(message)
        if secrets := redact(text).secrets:
            kinds = ", ".join(sorted({each.kind for each in secrets}))
            message = f"the {what} of {agent.id} holds a secret ({kinds}); write it without"
            raise BadInput(message)


def _of(agent: Agent) -> str:
    """Return where an agent comes from, as the end of a sentence."""
    return f", lineage {agent.lineage}" if agent.lineage else ""


def _paragraphs(*some: str) -> str:
    """Return texts as paragraphs, without the empty ones."""
    return "\n\n".join(each for each in some if each)
