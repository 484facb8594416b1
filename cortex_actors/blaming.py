"""Blame: which principle a bullet is, what that was made of, and where else it stands.

A line is looked up as it stands in the file now. Within our section it is a bullet; a human may
have changed it, so the nearest one is told. Any other line is a human's: then it is the other way
round, and what became of it is told.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cortex_actors import trails
from cortex_actors.errors import BadInput, CortexError, NotFound
from cortex_actors.pipeline import reading
from cortex_actors.render import fence
from cortex_actors.storage import insight_lists, principle_lists, principles, resolutions
from cortex_actors.storage.insight_lists import InsightFilter
from cortex_actors.text.markdown import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from cortex_actors.domain.principle import Given
    from cortex_actors.domain.project import Project
    from cortex_actors.storage.ledger.actor import Connection

#: Matches of a text that are told, each with all that it came of.
MOST = 10

#: How alike a line and a bullet are, at least, of which one was made of the other (difflib's
#: ratio): a human who corrects a word stays above it.
ALIKE = 0.6

#: What may stand before a bullet's text.
_MARKS = ("- ", "* ", "[CONFLICT] ")


@dataclass(frozen=True, slots=True)
class Seen:
    """A line of a file as it stands there now."""

    path: str
    line: int
    text: str
    is_ours: bool


async def look(path: str, line: int, *, project: Project) -> Seen:
    """Return a line of a project's file. Raises `NotFound`, `BadInput`."""
    try:
        found = await reading.look(path, project, limit=MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"there is no file {path}; give a file as it is called now") from None
    if found.data is None:
        raise BadInput(found.state.error or f"cannot read {path}")
    lines = found.data.splitlines(keepends=True)
    if not 1 <= line <= len(lines):
        raise BadInput(f"there is no line {line} in {path}: it has {len(lines)}")
    at = sum(len(each) for each in lines[: line - 1])
    text = lines[line - 1].decode("utf-8", "replace").strip()
    return Seen(path, line, text, _is_ours(found.data, at))


def of_line(connection: Connection, seen: Seen) -> dict[str, Any]:
    """Return where a line comes from, if it is ours, or what became of it. Raises `NotFound`."""
    asked = {"path": seen.path, "line": seen.line, "text": seen.text, "ours": seen.is_ours}
    if not seen.is_ours:
        start = trails.standing_at(connection, seen.path, seen.line)
        return {"asked": asked, "matches": [{**trails.history(connection, start), "bullet": None}]}
    here = [row for row in resolutions.standing(connection) if row[0] == seen.path]
    found = _nearest(seen.text, here)
    if found is None:
        message = (
            f"line {seen.line} of {seen.path} stands in our section and is none of its bullets; "
            "give a line that begins with a dash"
        )
        raise NotFound(message)
    return {"asked": asked, "matches": [_match(connection, *found)]}


def of_text(connection: Connection, text: str, sections: Container[str]) -> dict[str, Any]:
    """Return where a text comes from: what stands in files first, then principles, then insights.

    `sections` are the files that have a section of ours now. Raises `NotFound`.
    """
    wanted = _plain(text)
    if not wanted:
        raise BadInput("say a text to look for, or FILE:LINE")
    standing = [row for row in resolutions.standing(connection) if row[0] in sections]
    matches = [
        _match(connection, path, agent, given)
        for path, agent, given in _first_of_each(standing, wanted)[:MOST]
    ]
    matches = matches or _of_principles(connection, text) or _of_insights(connection, text)
    if not matches:
        message = f"nothing that is known says {text.strip()!r}; look around with: cortex recall"
        raise NotFound(message)
    return {"asked": {"text": text.strip()}, "matches": matches}


def _first_of_each(
    standing: Iterable[tuple[str, str, Given]], wanted: str
) -> list[tuple[str, str, Given]]:
    """Return the bullets that hold a text, one of each principle."""
    found: dict[str, tuple[str, str, Given]] = {}
    for row in standing:
        if wanted in _plain(row[2].text):
            found.setdefault(row[2].principle_id, row)
    return list(found.values())


def _of_principles(connection: Connection, text: str) -> list[dict[str, Any]]:
    """Return the principles that say a text and stand in no file."""
    wanted = principle_lists.PrincipleFilter(words=tuple(text.split()))
    return [
        _chain(connection, each) for each in principle_lists.listed(connection, wanted, limit=MOST)
    ]


def _of_insights(connection: Connection, text: str) -> list[dict[str, Any]]:
    """Return the insights that say a text and became no principle."""
    found = insight_lists.listed(connection, InsightFilter(words=tuple(text.split()), limit=MOST))
    return [
        {**trails.history(connection, trails.named(connection, each.id)), "bullet": None}
        for each in found
    ]


def _match(connection: Connection, path: str, agent: str, given: Given) -> dict[str, Any]:
    """Return a bullet with everything that it came of."""
    bullet = {
        "path": path,
        "agent": agent,
        "text": given.text,
        "principle": given.principle_id,
        "conflict": given.conflict,
    }
    if given.principle_id not in principles.by_ids(connection, [given.principle_id]):
        return {"bullet": bullet, "principles": [], "insights": [], "files": []}
    return {**_chain(connection, given.principle_id), "bullet": bullet}


def _chain(connection: Connection, principle_id: str) -> dict[str, Any]:
    """Return a principle with everything that it came of."""
    found = trails.history(connection, trails.named(connection, principle_id))
    return {**found, "bullet": None}


def _nearest(text: str, rows: Iterable[tuple[str, str, Given]]) -> tuple[str, str, Given] | None:
    """Return the bullet that a line is, or was made of; None where it is like none."""
    wanted = _plain(text)
    scored = [(_likeness(wanted, _plain(row[2].text)), row) for row in rows]
    best = max(scored, key=lambda each: each[0], default=None)
    return best[1] if best is not None and best[0] >= ALIKE else None


def _likeness(line: str, bullet: str) -> float:
    """Return how alike a line and a bullet are, 1 where one holds the other."""
    if not line or not bullet:
        return 0.0
    if line in bullet or bullet in line:
        return 1.0 if line == bullet else 0.99
    return difflib.SequenceMatcher(None, line, bullet, autojunk=False).ratio()


def _plain(text: str) -> str:
    """Return a text without what a bullet has beside its words; code is what it says."""
    line = " ".join(text.replace("`", "").split())
    for mark in _MARKS:
        line = line.removeprefix(mark)
    return " ".join(line.split()).casefold()


def _is_ours(data: bytes, at: int) -> bool:
    """Tell whether an offset lies between the marks of our section."""
    try:
        found = fence.find(data)
    except CortexError:
        return False
    return found is not None and found.start <= at < found.end
