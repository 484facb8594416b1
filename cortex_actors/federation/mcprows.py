"""What an MCP tool has answered, as rows. Pure.

A tool answers with a structured document, with texts, or with texts that are JSON. Which field is
the text and which the id is said by a description, or guessed from the names that servers use.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from cortex_actors.federation.measured import measured
from cortex_actors.federation.reading import foreign, id_of, number, record, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.domain.hit import Hit

#: Where a list of hits mostly is, when the description does not say it; the SDK itself puts a
#: list under `result`.
_LISTS = ("hits", "results", "result", "memories", "items", "matches", "documents")

#: What a text, an id, a distance and a score are mostly called.
_TEXTS = ("text", "content", "memory", "document", "snippet", "value", "body")
_IDS = ("id", "uri", "url", "path", "key")
_DISTANCES = ("distance", "raw_distance")
_SCORES = ("score", "similarity", "relevance")

#: Base relevance of a hit that nothing was measured of: neither sure, which would lead every
#: answer, nor so far that a floor for noisy stores drops it.
UNMEASURED = 0.5

#: Digits of a text's hash that stand for an id where there is none.
_DIGITS = 20

SHAPE = "a list of hits from an MCP tool; see options.hits and options.text"


@dataclass(frozen=True, slots=True)
class Fields:
    """Which fields of a row mean what; an empty one is guessed.

    Attributes:
        hits: the way to the list, by names with dots between.
        relevance: a number from 0 to 1 that says how sure a hit is.
        metadata: fields that are kept beside; none keeps the row's own `metadata` and `topic`.

    """

    hits: str = ""
    text: str = ""
    id: str = ""
    distance: str = ""
    score: str = ""
    relevance: str = ""
    metadata: tuple[str, ...] = ()

    def hit(self, row: Mapping[str, Any], *, store: str) -> Hit | None:
        """Return a row as a hit; None for one without a text."""
        words = _words(row, self.text)
        if not words:
            return None
        distance = _number(row, self.distance, _DISTANCES)
        sure = number(row.get(self.relevance)) if self.relevance else None
        if sure is None and distance is None:
            sure = UNMEASURED
        return measured(
            store,
            _id(row, self.id) or f"sha256:{sha256(words.encode()).hexdigest()[:_DIGITS]}",
            text=words,
            distance=distance,
            score=_number(row, self.score, _SCORES),
            sure=sure,
            metadata=self._beside(row),
        )

    def rows(self, document: object, texts: Sequence[str]) -> list[Any]:
        """Return the rows of an answer: of its document, or else of its texts.

        Raises `StoreDown` where nothing of it is a list of hits.
        """
        if document is None:
            document = _spoken(texts, is_named=bool(self.hits))
        if self.hits:
            document = _under(document, self.hits)
        elif isinstance(document, dict):
            document = _guessed(document)
        if not isinstance(document, list):
            raise foreign(SHAPE)
        return [{"text": each} if isinstance(each, str) else each for each in document]

    def _beside(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is kept beside the text."""
        if self.metadata:
            return {name: row[name] for name in self.metadata if name in row}
        topic = text(row.get("topic"))
        return {**({"topic": topic} if topic else {}), **record(row.get("metadata"))}


def _spoken(texts: Sequence[str], *, is_named: bool) -> object:
    """Return what the texts of an answer say: JSON where they are JSON, else each is a hit."""
    found = [_json(each) for each in texts]
    if len(found) == 1 and (is_named or not isinstance(found[0], str)):
        return found[0]
    return found


def _json(written: str) -> object:
    """Return the object or list that a text is; the text itself where it is none."""
    try:
        found = json.loads(written)
    except (ValueError, RecursionError):
        return written
    return found if isinstance(found, dict | list) else written


def _under(document: object, way: str) -> object:
    """Return what lies under some names; raises `StoreDown` where one of them is missing."""
    for name in way.split("."):
        if not isinstance(document, dict) or name not in document:
            raise foreign(SHAPE)
        document = document[name]
    return [] if document is None else document


def _guessed(document: Mapping[str, Any]) -> object:
    """Return the list that an object holds; one that is a hit itself is the only one.

    The SDK puts a text that a tool returns under `result`, which may be JSON in its turn.
    """
    if isinstance(only := document.get("result"), str):
        said = _spoken([only], is_named=False)
        return _guessed(said) if isinstance(said, dict) else said
    for name in _LISTS:
        found = document.get(name)
        if isinstance(found, dict):  # {"result": {"hits": [...]}}
            found = next(
                (found[each] for each in _LISTS if isinstance(found.get(each), list)), None
            )
        if isinstance(found, list):
            return found
    return [document] if _words(document, "") else None


def _words(row: Mapping[str, Any], name: str) -> str:
    """Return the text of a row."""
    return next((words for each in _names(name, _TEXTS) if (words := text(row.get(each)))), "")


def _id(row: Mapping[str, Any], name: str) -> str:
    """Return the id of a row; empty where it has none."""
    return next((found for each in _names(name, _IDS) if (found := id_of(row.get(each)))), "")


def _number(row: Mapping[str, Any], name: str, names: tuple[str, ...]) -> float | None:
    """Return the first number under a name."""
    found = (number(row.get(each)) for each in _names(name, names))
    return next((each for each in found if each is not None), None)


def _names(given: str, guessed: tuple[str, ...]) -> tuple[str, ...]:
    """Return where to look: only where a description says, if it does."""
    return (given,) if given else guessed
