"""Knowledge: a document that was given to read, in pieces."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

#: Hex digits of the hash that a piece's id keeps, as an insight's does.
ID_DIGITS = 20


@dataclass(frozen=True, slots=True)
class Chunk:
    """One piece of a document.

    Attributes:
        source: the document's path or address.
        ordinal: its place in the document, from 0.
        headings: those it stands under, outermost first.
        language: of a piece of code, where it is known.
        cross_refs: what it points at: ids, paths, addresses.
        read_at: UTC microseconds when the document was read.

    """

    id: str
    source: str
    ordinal: int
    topic: str
    title: str
    text: str
    read_at: int
    headings: tuple[str, ...] = ()
    is_code: bool = False
    language: str | None = None
    tags: tuple[str, ...] = ()
    cross_refs: tuple[str, ...] = ()

    @property
    def searched(self) -> str:
        """The text by which it is found: what it stands under is part of what it says."""
        return "\n".join(
            part for part in (self.title, " > ".join(self.headings), self.text) if part
        )


def chunk_id(source: str, ordinal: int, *, text: str) -> str:
    """Return `kb_` and 20 hex digits: the same place saying the same has the same id for ever."""
    whole = "\0".join((source, str(ordinal), text)).encode("utf-8", "surrogatepass")
    return f"kb_{hashlib.sha256(whole).hexdigest()[:ID_DIGITS]}"
