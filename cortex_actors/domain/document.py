"""A document that was given to read, and what became of reading it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from cortex_actors.domain.trust import Trust


class Became(StrEnum):
    """What came of reading a document."""

    ADDED = "added"
    CHANGED = "changed"
    #: It says what it said, so nothing was written.
    UNCHANGED = "unchanged"
    #: It is there no more, or was taken out.
    WITHDRAWN = "withdrawn"
    #: It cannot be read; what it said before still stands.
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it was last read.

    Attributes:
        source: its path, or the name it was given under.
        content_hash: SHA-256 of its bytes.
        read_as: the version of the reader: another one reads it anew.
        size: bytes.
        redacted: secrets that were taken out of it.
        saved_by: `owner`, or the agent whose token it was.
        read_at: UTC microseconds.
        withdrawn_at: UTC microseconds since it is found no more; None while it is.

    """

    source: str
    content_hash: bytes
    read_as: int
    topic: str
    title: str
    size: int
    read_at: int
    tags: tuple[str, ...] = ()
    redacted: int = 0
    saved_by: str = "owner"
    trust: Trust = Trust.FILE
    withdrawn_at: int | None = None
