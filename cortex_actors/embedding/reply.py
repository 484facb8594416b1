"""What an OpenAI-compatible endpoint answers, read with suspicion. Pure.

`verdict` says what an answer means before its vectors are looked at, `rows_of` takes the vectors
out of it. Which failure becomes which error is listed in docs/embedding.md.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cortex_actors.errors import BadInput, CortexError, EmbedderDown, ModelMissing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.embedding.provider import Vectors

#: Letters of a server's own words that an error shows.
SHOWN = 200

_OK = 200

#: The server says that the texts cannot be embedded: too long, mostly.
_BLAMES_TEXT = frozenset({400, 413, 422})

#: The server may say something else in a moment: too slow, too early, too often, overloaded. So may
#: every answer from 500 on.
_PASSING = frozenset({408, 425, 429})
_SERVERS_FAULT = 500

#: Status -> what a person has to do. Any other one below 500 is no answer of this protocol.
_MENDS: Mapping[int, str] = {
    401: "set CORTEX_EMBEDDING__API_KEY to a valid key",
    402: "see to the account there",
    403: "have the key allowed to use this model, or set CORTEX_EMBEDDING__API_KEY to another one",
    404: "see that embedding.model names a model it has (Ollama: `ollama pull`) and that "
    "embedding.base_url ends where its API begins, mostly in /v1",
    405: "set embedding.base_url to where its API begins, mostly in /v1",
    410: "set embedding.model to a model that it still has",
}


class Passing(EmbedderDown):
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


@dataclass(frozen=True, slots=True)
class Embedded:
    """What a request brought: one row a text, not yet judged, and the tokens the server counted."""

    rows: Vectors
    tokens: int


def verdict(answer: Answer, *, host: str, key: str) -> CortexError | None:
    """Return what kind of failure an answer is; None when it holds vectors.

    The server's own words are shown, short and without the key, should it repeat it.
    """
    if answer.status == _OK:
        return None
    where = f"the embedding endpoint {host} answered {answer.status}"
    words = _words(answer.body, key)
    if answer.status in _PASSING or answer.status >= _SERVERS_FAULT:
        return Passing(where + words, answer.rest)
    if answer.status in _BLAMES_TEXT:
        return BadInput(where + words)
    if answer.status in _MENDS:
        return ModelMissing(f"{where}{words}; {_MENDS[answer.status]}")
    if answer.status // 100 == 3:  # noqa: PLR2004 - 3xx
        return ModelMissing(
            f"{where}, a redirection, which is not followed, because texts and key are meant for "
            "this address only; set embedding.base_url to where it leads"
        )
    return ModelMissing(f"{where}{words}; see that embedding.base_url is an embeddings API")


def rows_of(answer: Answer, texts: int, *, host: str, key: str) -> Embedded:
    """Return the vectors of a good answer in the order of the texts.

    Raises `EmbedderDown` for what is no list of vectors with the numbers 0 to `texts` - 1, each of
    them once: then no row can be believed. Numbers that are not finite are left for the port's own
    check, because they are one text's and not the answer's.
    """
    where = f"the embedding endpoint {host} answered {texts} texts"
    document = _json(answer, where)
    if "data" not in document and "error" in document:
        raise EmbedderDown(f"{where} with an error{_words(answer.body, key)}")
    found = document.get("data")
    if not isinstance(found, list) or len(found) != texts:
        count = f"{len(found)} vectors" if isinstance(found, list) else "no list of vectors"
        raise EmbedderDown(f"{where} with {count}; nothing of it is used")
    by_number = {_number(each): each["embedding"] for each in found if _is_item(each)}
    if set(by_number) != set(range(texts)):
        raise EmbedderDown(
            f"{where} without saying which vector is whose: it must number them from 0 to "
            f"{texts - 1}, each once; nothing of it is used"
        )
    rows = _matrix([by_number[number] for number in range(texts)], where)
    return Embedded(rows, _tokens(document))


def _json(answer: Answer, where: str) -> dict[str, Any]:
    """Return the object an answer consists of."""
    try:
        document = json.loads(answer.body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise EmbedderDown(
            f"{where} with something else than a JSON object ({answer.kind[:60] or 'no type'}, "
            f"{len(answer.body)} bytes); see that embedding.base_url is an embeddings API, mostly "
            "ending in /v1, and that no login page or proxy answers in its place"
        )
    return document


def _is_item(item: object) -> bool:
    """Return whether an item is numbered and has a list of numbers."""
    return isinstance(item, dict) and isinstance(item.get("embedding"), list)


def _number(item: Mapping[str, Any]) -> object:
    """Return an item's number; None for what is none (True is an int in Python)."""
    number = item.get("index")
    return number if type(number) is int else None


def _matrix(rows: list[list[Any]], where: str) -> Vectors:
    """Return the rows as float32; what is too large for that becomes infinity."""
    try:
        with np.errstate(over="ignore"):
            matrix = np.array(rows, dtype=np.float64).astype(np.float32)
    except (ValueError, TypeError, OverflowError):
        matrix = np.empty(0, dtype=np.float32)
    if matrix.ndim != 2 or not matrix.size:  # noqa: PLR2004 - a matrix
        raise EmbedderDown(
            f"{where} with rows that are not lists of equally many numbers; nothing of it is used"
        )
    return matrix


def _tokens(document: Mapping[str, Any]) -> int:
    """Return the tokens the server has counted; 0 when it does not say."""
    usage = document.get("usage")
    count = usage.get("prompt_tokens") if isinstance(usage, dict) else 0
    return count if type(count) is int and count > 0 else 0


def _words(body: bytes, key: str) -> str:
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
