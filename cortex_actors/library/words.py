"""Words: what a program may call a parameter, and what the verb behind it calls it.

The left column is the Neo-Cortex document's, so that what was written for it runs; the right one is
ours. One table for all operations: a word means the same wherever it is taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cortex_actors.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The document's word -> ours.
SYNONYMS: Final[Mapping[str, str]] = {
    "visibility": "realm",
    "agent_id": "agent",
    "agent_filter": "agent",
    "message_type": "type",
    "conversation_thread": "thread",
    "n_results": "limit",
    "crumb_type": "type",
    "session_id": "session",
    "references": "links",
    "session_summary": "summary",
    "key_discoveries": "discoveries",
    "unfinished_business": "unfinished",
    "lookback_hours": "hours",
    "priority_filter": "priority",
    "similarity_threshold": "threshold",
    "days_unused": "days",
    "id1": "first",
    "id2": "second",
}

#: Verb -> our word -> what the verb calls it, where it has kept the document's.
SPOKEN: Final[Mapping[str, Mapping[str, str]]] = {
    "leave_crumb": {
        "summary": "session_summary",
        "discoveries": "key_discoveries",
        "unfinished": "unfinished_business",
        "links": "references",
        "type": "crumb_type",
        "session": "session_id",
    },
    "crumbs": {"hours": "lookback_hours"},
    "unfinished": {"hours": "lookback_hours"},
}

#: What the document calls any realm at all.
ALL = "all"


def plain(verb: str, said: Mapping[str, object]) -> dict[str, Any]:
    """Return the parameters of a verb that were given; None and `()` were not.

    Raises `BadInput` for what was given under both of its words.
    """
    found: dict[str, Any] = {}
    called: dict[str, str] = {}
    for word, value in said.items():
        if value is None or value == ():
            continue
        ours = SYNONYMS.get(word, word)
        if ours in found:
            raise BadInput(f"cannot call {verb}: {called[ours]} and {word} mean the same; give one")
        found[ours], called[ours] = _sent(value), word
    if found.get("realm") == ALL:
        del found["realm"]
    spoken = SPOKEN.get(verb, {})
    return {spoken.get(word, word): value for word, value in found.items()}


def _sent(value: object) -> object:
    """Return a value as JSON can hold it: a set in order, so that it is sent alike each time."""
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    return list(value) if isinstance(value, tuple) else value
