"""Wording: texts and times in the form in which they travel."""

from __future__ import annotations

from cortex_actors.federation.fan import QUESTION_LIMIT

#: Microseconds of a second.
_SECOND = 1_000_000


def asked(query: str) -> str:
    """Return a question as it is looked for; empty when there is nothing to look for.

    The contracts know no longest question, so what is more than one may have is not looked for.
    """
    return query.strip()[:QUESTION_LIMIT].strip()


def clean(text: str) -> str:
    """Return a text in valid Unicode: a file's bytes that are none would not pass as JSON."""
    return text.encode("utf-8", "replace").decode()


def seconds(at: int) -> float:
    """Return a moment of ours (microseconds) in seconds since 1970."""
    return at / _SECOND
