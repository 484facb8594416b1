"""Passages: the texts by which something is found, and which lists of a search they take part in.

A piece of a thread or of a document says little without what came before it, so it is searched
twice: alone, and with its predecessor in front.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

#: What the name of an index collection ends in that holds passages with their predecessor.
PAIRED = "_paired"


class Place(StrEnum):
    """Which lists of a search a passage takes part in."""

    #: The item's own text.
    ALONE = "alone"
    #: Its predecessor's text and its own.
    PAIRED = "paired"
    #: It has no predecessor: its own text, in either list.
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Passage:
    """One text of an item that may be found; `text_hash` is the SHA-256 of the text's UTF-8."""

    collection: str
    item_id: str
    place: Place
    text: str
    text_hash: bytes

    @property
    def index(self) -> str:
        """The collection of the vector index that it lies in."""
        return index_of(self.collection, self.place)


def index_of(collection: str, place: Place) -> str:
    """Return the collection of the vector index that passages of that place lie in."""
    return collection + PAIRED if place is Place.PAIRED else collection
