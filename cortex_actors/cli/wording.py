"""How commands word what they print: counts, moments, places, and texts that are cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cortex_actors.clock import iso

#: Characters of an id that a list shows: enough to tell thousands apart, and to ask for one.
BRIEF = 12

#: Characters of a text that a list shows.
LONGEST = 300

#: Places that a list names of one insight.
PLACES = 3

#: What stands between facts on one line.
_DOT = " · "


def shortened(text: str, limit: int = 100) -> str:
    """Return a text on one line, cut to a length."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def joined(*facts: str | None) -> str:
    """Return the facts there are, on one line."""
    return _DOT.join(fact for fact in facts if fact)


def brief(name: str) -> str:
    """Return the beginning of an id, by which it can be asked for."""
    return name[:BRIEF]


def counted(number: int, noun: str, several: str | None = None) -> str:
    """Return how many there are, with the noun in its number."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def standing(sources: Sequence[dict[str, Any]], *, most: int = PLACES) -> list[str]:
    """Return where a text stands, a line each, and how many places are left out."""
    lines = [f"{each['path']}:{each['line_start']}" for each in sources]
    if len(lines) <= most:
        return lines
    return [*lines[:most], f"and {counted(len(lines) - most, 'more place')}"]


#: What a source is called that is no file of a project.
TRUSTS = {"agent": "an agent said it", "import": "imported", "remote": "of another store"}


def said_in(place: Mapping[str, Any]) -> str:
    """Return where a text stands or stood, since when, and whose word that is."""
    return joined(
        f"{place['path']}:{place['line_start']}",
        place["project"],
        f"since {when(place['first_at'])}",
        TRUSTS.get(place["trust"]),
        f"until {when(place['withdrawn_at'])}" if place["withdrawn_at"] else None,
    )


def when(at: int | None) -> str:
    """Return a moment as people read it; nothing for none."""
    return "" if at is None else iso(at)


def cut(text: str, limit: int = LONGEST) -> str:
    """Return the beginning of a long text; where it goes on, it says so."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
