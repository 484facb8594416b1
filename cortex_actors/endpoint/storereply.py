"""What a remote store answers, before an adapter looks at what it means. Pure.

Whatever it is, it was written by somebody else: it is measured before it is read, and its own words
never become part of an error's text, because agents read those (`said` keeps them for its owner).
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cortex_actors.endpoint.reply import said
from cortex_actors.errors import StoreDown, StoreUnusable

if TYPE_CHECKING:
    from cortex_actors.endpoint.reply import Answer

#: Letters that an error about a store may have: it stands in answers, beside others.
SHOWN = 200

#: Objects and lists that one answer may have. Each takes some 60 bytes when it is read, and `[],`
#: three to send: without a limit four megabytes become a hundred.
MOST_VALUES = 200_000

#: Digits that a whole number may have: what takes more is no count, no time and no id.
_DIGITS = 20

#: Half of a character, as JSON can write one: nothing that stores or prints text takes it.
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")

#: The store cannot use what was asked; it works otherwise.
_BLAMES_QUESTION = frozenset({400, 413, 415, 422})

#: The same address will not do, however often it is asked.
_MENDS = {
    401: "wants a token, or another one",
    403: "does not allow this token to ask",
    404: "has nothing at the address it was asked at",
    405: "is asked in a way it does not know",
    410: "has nothing any more at the address it was asked at",
}

_SERVERS_FAULT = 500


class BadStatus(StoreDown):
    """A store answered with an error of its own.

    Attributes:
        status: the number of its answer.
        said: what it says of it: another program's words, for the owner's eyes only.
        rest: seconds for which it asks to be left alone.

    """

    def __init__(self, text: str, *, status: int, said: str = "", rest: float = 0.0) -> None:
        """Say what was answered."""
        super().__init__(text)
        self.status = status
        self.said = said
        self.rest = rest


class QuestionRefused(BadStatus):
    """A store works, and will not have this question."""


class Unwelcome(BadStatus, StoreUnusable):
    """A store will not be asked like this: a token or an address has to be changed."""


def verdict(answer: Answer, token: str) -> BadStatus | None:
    """Return what kind of failure an answer is; None when it may hold what was asked for."""
    status = answer.status
    if status // 100 == 2:  # noqa: PLR2004 - 2xx
        return None
    words = said(answer.body, token).strip(" ()")
    if status // 100 == 3:  # noqa: PLR2004 - 3xx
        return Unwelcome(
            f"answered {status}, a redirection{_whither(answer)}, which is never followed; set its "
            "address to where it is"[:SHOWN],
            status=status,
        )
    if status in _BLAMES_QUESTION:
        return QuestionRefused(
            f"answered {status}: it cannot use this question", status=status, said=words
        )
    if mend := _MENDS.get(status):
        return Unwelcome(f"answered {status}: it {mend}", status=status, said=words)
    return BadStatus(f"answered {status}", status=status, said=words, rest=answer.rest or 0.0)


def parsed(body: bytes) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return the JSON document an answer consists of; raises `StoreDown` for anything else.

    Every number in it is finite and every text can be written as UTF-8. Takes time in proportion
    to the size: a large one belongs on a thread.
    """
    if body.count(b"[") + body.count(b"{") > MOST_VALUES:
        raise StoreDown(f"answered with more than {MOST_VALUES} objects and lists; none is used")
    try:
        found = _loads(body)
        if _HALF.search(body):  # a whole character may be written so too, hence no refusal
            found = _loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise StoreDown(
            f"answered with something else than JSON ({len(body)} bytes); see that it is its "
            "address and that no login page answers in its place"
        ) from None
    return found


def _loads(body: bytes) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Read strict JSON: no NaN, no infinity, no number of a million digits."""
    return json.loads(body, parse_constant=_refused, parse_float=_finite, parse_int=_counted)


def _refused(text: str) -> object:
    """Refuse what is no JSON, though many writers write it."""
    message = f"{text} is no number"
    raise ValueError(message)


def _finite(text: str) -> float:
    """Return a number; refuse one that is too large for any distance."""
    number = float(text)
    return number if math.isfinite(number) else float(_refused("infinity"))  # type: ignore[arg-type]


def _counted(text: str) -> int:
    """Return a whole number of some digits."""
    if len(text) > _DIGITS:
        _refused("a number of so many digits")
    return int(text)


def _whither(answer: Answer) -> str:
    """Return to whom a redirection leads, when that can be said in plain letters."""
    try:
        host = urlsplit(answer.location).netloc.rpartition("@")[2]
    except ValueError:
        return ""
    plain = host.isascii() and host.isprintable() and " " not in host
    return f" to {host[:60]}" if host and plain else ""
