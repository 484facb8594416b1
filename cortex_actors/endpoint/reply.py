"""What an OpenAI-compatible endpoint answers, before anybody looks at what it holds. Pure.

`verdict` says whether an answer is one, `document_of` takes the JSON object out of it. Which
failure becomes which error is listed in docs/embedding.md.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cortex_actors.errors import BadInput, CortexError, EndpointDown, EndpointUnusable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.endpoint.address import Endpoint, Use

#: Letters of a server's own words that an error shows.
SHOWN = 200

_OK = 200

#: The server says that what was sent cannot be used: too long, mostly.
_BLAMES_TEXT = frozenset({400, 413, 422})

#: The server may say something else in a moment: too slow, too early, too often, overloaded. So may
#: every answer from 500 on.
_PASSING = frozenset({408, 425, 429})
_SERVERS_FAULT = 500


class Passing(EndpointDown):
    """A failure that may be over in a moment; `rest` is what the server asked for, seconds."""

    def __init__(self, text: str, rest: float | None = None) -> None:
        super().__init__(text)
        self.rest = rest


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of a server, its body read to the end."""

    status: int
    #: Its `Content-Type`.
    kind: str
    body: bytes
    #: Its `Retry-After`, in seconds from now; None without one.
    rest: float | None = None
    #: Its `Location`: where it would have one go instead.
    location: str = ""


def verdict(answer: Answer, endpoint: Endpoint) -> CortexError | None:
    """Return what kind of failure an answer is; None when it may hold what was asked for.

    The server's own words are shown, short and without the key, should it repeat it.
    """
    if answer.status == _OK:
        return None
    where = f"{endpoint.named} answered {answer.status}"
    words = said(answer.body, endpoint.key)
    if answer.status in _PASSING or answer.status >= _SERVERS_FAULT:
        return Passing(where + words, answer.rest)
    if answer.status in _BLAMES_TEXT:
        return BadInput(where + words)
    if (mend := _mends(endpoint.use).get(answer.status)) is not None:
        return EndpointUnusable(f"{where}{words}; {mend}")
    base_url = f"{endpoint.use.section}.base_url"
    if answer.status // 100 == 3:  # noqa: PLR2004 - 3xx
        return EndpointUnusable(
            f"{where}, a redirection, which is not followed, because texts and key are meant for "
            f"this address only; set {base_url} to where it leads"
        )
    return EndpointUnusable(f"{where}{words}; see that {base_url} is {endpoint.use.api}")


def document_of(answer: Answer, endpoint: Endpoint, *, where: str) -> dict[str, Any]:
    """Return the object an answer consists of; raises `EndpointDown` for anything else.

    `where` is how an error begins: who answered what.
    """
    try:
        document = json.loads(answer.body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise EndpointDown(
            f"{where} with something else than a JSON object ({answer.kind[:60] or 'no type'}, "
            f"{len(answer.body)} bytes); see that {endpoint.use.section}.base_url is "
            f"{endpoint.use.api}, mostly ending in /v1, and that no login page or proxy answers in "
            "its place"
        )
    return document


def said(body: bytes, key: str) -> str:
    """Return what a server says of its error, to be put behind a sentence; empty when nothing.

    Only a string that it calls its message is taken: whole bodies may repeat the texts.
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    words = _message(document)
    words = " ".join("".join(c if c.isprintable() else " " for c in words).split())
    words = words.replace(key, "[key]") if key else words
    return f" ({words[:SHOWN]})" if words else ""


def tokens_of(document: Mapping[str, Any], kind: str = "prompt_tokens") -> int:
    """Return the tokens the server has counted; 0 when it does not say."""
    usage = document.get("usage")
    count = usage.get(kind) if isinstance(usage, dict) else 0
    return count if type(count) is int and count > 0 else 0


def _mends(use: Use) -> Mapping[int, str]:
    """Return what a person has to do, by status; any other one below 500 is no such protocol."""
    section = use.section
    variable = f"CORTEX_{section.upper()}__API_KEY"
    return {
        401: f"set {variable} to a valid key",
        402: "see to the account there",
        403: f"have the key allowed to use this model, or set {variable} to another one",
        404: f"see that {section}.model names a model it has (Ollama: `ollama pull`) and that "
        f"{section}.base_url ends where its API begins, mostly in /v1",
        405: f"set {section}.base_url to where its API begins, mostly in /v1",
        410: f"set {section}.model to a model that it still has",
    }


def _message(document: object) -> str:
    """Return the message of an error object in the spellings of the servers there are."""
    if not isinstance(document, dict):
        return ""
    for name in ("error", "message", "detail"):
        found = document.get(name)
        if isinstance(found, dict):
            found = found.get("message")
        if isinstance(found, str):
            return found
    return ""
