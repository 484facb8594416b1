"""Records out of a file that is too large to be held: one at a time, each with its place.

It is one JSON object whose `collections` hold lists of records, as MemoryCore writes it. No more is
held than what is between two records and the largest of them.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cortex_actors.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: Characters of one record: a text of 64 KiB, written as `\\uXXXX` throughout, and then some.
LONGEST: Final = 1_048_576

_SPACE: Final = re.compile(r"[ \t\r\n]*")

_DECODER: Final = json.JSONDecoder()


class PlacedRecord(NamedTuple):
    """A record and its place, in words."""

    place: str
    #: The collection it is in; empty for another key of the object.
    collection: str
    found: Any


def read_collections(chunks: Iterable[str]) -> Iterator[PlacedRecord]:
    """Yield the records of a JSON object's collections, and every other key as `("key", "")`.

    Raises `BadInput` for what is no such object, or breaks off.
    """
    text = _Text(chunks)
    text.expect("{")
    for key in text.names():
        if key == "collections":
            text.expect("{")
            for name in text.names():
                yield from _records(text, name)
        else:
            yield PlacedRecord(key, "", text.value(key))
    if text.peek():
        raise BadInput("there is more behind the end of the object")


def _records(text: _Text, name: str) -> Iterator[PlacedRecord]:
    """Yield the records of one collection's list."""
    text.expect("[")
    number = 0
    while text.peek() != "]":
        if number:
            text.expect(",")
        place = f"collections.{name}[{number}]"
        yield PlacedRecord(place, name, text.value(place))
        number += 1
    text.expect("]")


class _Text:
    """JSON text that comes in pieces, read from its front."""

    def __init__(self, chunks: Iterable[str]) -> None:
        self._chunks = iter(chunks)
        self._held = ""
        self._at = 0

    def peek(self) -> str:
        """Return the next character that is no blank; empty at the end."""
        while True:
            # The match may be empty.
            found = _SPACE.match(self._held, self._at)
            self._at = self._at if found is None else found.end()
            if self._at < len(self._held):
                return self._held[self._at]
            if not self._more():
                return ""

    def expect(self, character: str) -> None:
        """Pass over a character. Raises `BadInput` for another one."""
        found = self.peek()
        if found != character:
            there = f"{found!r} is there" if found else "the file ends there"
            raise BadInput(f"{character!r} was expected, and {there}: is the file complete?")
        self._at += 1

    def names(self) -> Iterator[str]:
        """Yield the keys of the object that was begun, each when its value comes next."""
        first = True
        while self.peek() != "}":
            if not first:
                self.expect(",")
            first = False
            if self.peek() != '"':
                raise BadInput("a key was expected: is the file complete?")
            key = str(self.value("a key"))
            self.expect(":")
            yield key
        self.expect("}")

    def value(self, place: str) -> Any:  # noqa: ANN401 - any JSON value
        """Return the next value, whole. Raises `BadInput`."""
        self.peek()
        while True:
            try:
                found, end = _DECODER.raw_decode(self._held, self._at)
            except (ValueError, RecursionError) as error:
                if len(self._held) - self._at > LONGEST:
                    raise BadInput(f"{place} has more than {LONGEST:,} characters") from error
                if not self._more():
                    raise BadInput(f"{place} is no JSON: {error}") from error
                continue
            # A number at the very end may go on in the next piece.
            if end < len(self._held) or not self._more():
                self._at = end
                return found

    def _more(self) -> bool:
        """Take the next piece and drop what was read; False at the end."""
        chunk = next(self._chunks, "")
        self._held, self._at = self._held[self._at :] + chunk, 0
        return bool(chunk)


def _value(line: str, place: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value on a line."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{place} is no JSON: {error}") from error
