"""Recalled: an answer as text, as an agent reads it.

    [1] #mem_01... (score=0.99) "The tests run on port 5433."
        The tests run on port 5433. The port is set in conftest.py.

A line for each hit with its place, id, score and abstract, and its summary below, indented by four.
An abstract that says all there is to say is not repeated below. What another program said is named
as such: it is somebody else's word, and may be meant to mislead. Stores without an answer are named
in the last line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.domain.hit import REMOTE
from cortex_actors.rules.abstracts import abstract
from cortex_actors.rules.quarantine import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cortex_actors.domain.hit import Hit

#: What is said where nothing was found.
NOTHING = "No memories found."

#: What stands before what was found beside an answer.
BESIDE = "Beside these:"

#: What stands before the stores that gave no answer.
ABSENT = "no answer from: "

#: Stores without an answer that are named, the others being counted, and characters of a reason.
_NAMED, _REASON = 8, 120

#: What an id has none of in this form: another program's could else go on as the rest of a line.
_NO_ID = str.maketrans(dict.fromkeys(' ()"', "_"))

#: Blanks before each line of a summary.
_INDENT = " " * 4


def told(
    hits: Iterable[Hit],
    beside: Iterable[Hit] = (),
    *,
    absent: Iterable[tuple[str, str]] = (),
) -> str:
    """Return an answer as text, and what stands beside it; a sentence where nothing was found.

    `absent` are (store, reason) of those that failed or were not asked: the answer lacks theirs.
    """
    entries = [_entry(place, hit) for place, hit in enumerate(hits, start=1)] or [NOTHING]
    more = [_entry(place, hit) for place, hit in enumerate(beside, start=len(entries) + 1)]
    return "\n".join([*entries, *([BESIDE, *more] if more else []), *_absent(absent)])


def _entry(place: int, hit: Hit) -> str:
    """Return the lines of one hit; what has no abstract has its heading or its first sentence."""
    short = str(hit.extra.get("abstract") or "") or hit.heading or abstract(hit.text)
    summary = str(hit.extra.get("summary") or "") or hit.text
    if " ".join(summary.split()) == " ".join(str(hit.extra.get("abstract") or "").split()):
        summary = ""
    name, said = hit.id.translate(_NO_ID), " ".join(short.split())
    head = f'[{place}] #{name} (score={hit.score:.2f}{_origin(hit)}) "{said}"'
    return "\n".join([head, *(f"{_INDENT}{line}" for line in summary.splitlines())])


def _absent(stores: Iterable[tuple[str, str]]) -> list[str]:
    """Return the line of the stores that gave no answer, if there are; in it nothing is hidden."""
    said = [f"{_line(name)} ({_line(why)})" for name, why in dict(stores).items()]
    more = [f"and {len(said) - _NAMED} more"] if len(said) > _NAMED else []
    return [ABSENT + ", ".join([*said[:_NAMED], *more])] if said else []


def _line(text: str) -> str:
    """Return a text as a piece of one line."""
    return visible(" ".join(text.split())[:_REASON])


def _origin(hit: Hit) -> str:
    """Return which other program said it, and what about it is suspicious."""
    if hit.trust != REMOTE:
        return ""
    reasons = hit.extra.get("suspicious")
    warned = [str(each) for each in reasons] if isinstance(reasons, list) else []
    return "".join([f", from {hit.store}", *(f", suspicious: {each}" for each in warned)])
