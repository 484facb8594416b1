"""Whether what a language model wrote stands on the texts it was given. Pure.

A model that is wrong is wrong in a plausible way, and what it writes is remembered. So it may not
name an address, a number or a quoted piece of code that no source has; what replaces its sources
may not lose one either; and it may hold no secret, nothing that cannot be seen, and nothing that
reads as if it were meant to take an agent over.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cortex_actors.judging.question import Kind
from cortex_actors.text.credentials import mask_secrets
from cortex_actors.text.hazards import hidden, suspicion, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.judging.layer import Answer
    from cortex_actors.judging.question import Question

#: What must not be made up, and how errors name it.
_NAMED = (
    ("the address", re.compile(r"https?://[^\s<>\"')\]]+", re.IGNORECASE)),
    ("the number", re.compile(r"\d+(?:[.,:]\d+)*")),
    ("the code", re.compile(r"`([^`\n]+)`")),
)

#: Something by itself: the number 3 is not named by 3.11.
_WHOLE = r"(?<!\w)(?<!\d[.,:]){}(?!\w|[.,:]\d)"

#: Ends of sentences, behind which a summary may be cut.
_ENDS = re.compile(r"[.!?\u3002](?=\s|$)")


def objection(question: Question, answer: Answer) -> str | None:
    """Return why an answer must not be used; None when nothing speaks against it."""
    sources = _sources(question)
    for text in _texts(answer):
        if why := _unfit(text) or _made_up(text, sources):
            return why
    if question.kind is Kind.MERGE:
        return _lost(str(answer["text"]), sources)
    return None


def cut(text: str, most: int) -> str | None:
    """Return as many whole sentences of a text as fit; None when not even the first does."""
    if len(text) <= most:
        return text
    ends = [match.end() for match in _ENDS.finditer(text) if match.end() <= most]
    return text[: ends[-1]] if ends else None


def _sources(question: Question) -> str:
    """Return all that the model was shown, as it was shown it."""
    found: list[str] = []
    for value in question.quoted.values():
        found += [value] if isinstance(value, str) else []
        found += value.values() if isinstance(value, dict) else []
        found += value if isinstance(value, list) else []
    return "\n".join(visible(mask_secrets(text).text) for text in found)


def _texts(answer: Answer) -> Sequence[str]:
    """Return what of an answer would be remembered."""
    if "text" in answer:
        return [str(answer["text"])]
    if "learnings" in answer:
        return [
            str(text)
            for each in answer["learnings"]
            for text in (
                each["content"],
                *each["tags"],
                each["domain"] or "",
                *each["source_sections"],
            )
        ]
    return []


def _unfit(text: str) -> str | None:
    """Return why nobody should remember a text, whatever it stands on."""
    if hidden(text):
        return "it holds letters that cannot be seen"
    if mask_secrets(text).secrets:
        return "it holds what looks like a secret"
    return suspicion(text)


def _made_up(text: str, sources: str) -> str | None:
    """Return what a text names that no source has."""
    missing = _missing(text, sources)
    return f"it names {missing}, which no source has" if missing else None


def _lost(text: str, sources: str) -> str | None:
    """Return what a text leaves out that a source names."""
    missing = _missing(sources, text)
    return f"it leaves out {missing}" if missing else None


def _missing(text: str, there: str) -> str | None:
    """Return the first thing that a text names and another one does not."""
    for what, pattern in _NAMED:
        for each in dict.fromkeys(pattern.findall(text)):
            plain = re.escape(each.rstrip(".,;:"))
            if not re.search(_WHOLE.format(plain), there, re.IGNORECASE):
                return f"{what} {each!r}"
    return None
