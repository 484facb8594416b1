"""Cataloguing: what is kept of a document's bytes, before anything of it is.

As with instruction files: secrets are taken out first, characters that nobody sees are written out,
and each is told. A document is only ever found and read, never written anywhere, so what reads as
if it were meant to take an agent over is kept and told, too.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from cortex_actors.domain.project import Chunk, Document, Trust, chunk_id
from cortex_actors.errors import BadInput
from cortex_actors.text import hazards, terms
from cortex_actors.text.credentials import mask_secrets
from cortex_actors.text.documents import READ_AS, document, pieces
from cortex_actors.text.hazards import suspicion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_actors.text.documents import Piece

#: Bytes that are no UTF-8 must come out as they went in.
_AS_IT_IS = "surrogateescape"

#: What is told of one document, at most.
TOLD = 20


@dataclass(frozen=True, slots=True)
class Given:
    """A document as it came: its bytes, and who handed it in under which name.

    `title` is what it is called where it has no heading; its source's name otherwise.
    """

    source: str
    data: bytes
    topic: str
    saved_by: str = "owner"
    trust: Trust = Trust.FILE
    title: str = ""

    @property
    def content_hash(self) -> bytes:
        """What tells whether it has changed."""
        return sha256(self.data).digest()


@dataclass(frozen=True, slots=True)
class Catalogued:
    """A document as it may be kept; `told` is what was met in it, for people."""

    document: Document
    chunks: tuple[Chunk, ...]
    told: tuple[str, ...] = ()


def catalogued(given: Given, *, at: int) -> Catalogued:
    """Return what is kept of a document. Raises `FileTooLarge` and `NotText`; linear."""
    whole = mask_secrets(given.data.decode("utf-8", _AS_IT_IS))
    read = document(whole.text.encode("utf-8", _AS_IT_IS), path=given.title or given.source)
    title = hazards.visible(read.title)
    tags = tuple(_tags(read.tags))
    made = [
        _chunk(given, number, piece, title=title, tags=tags, at=at)
        for number, piece in enumerate(pieces(read.passages))
    ]
    kept = Document(
        source=given.source,
        content_hash=given.content_hash,
        read_as=READ_AS,
        topic=given.topic,
        title=title,
        size=len(given.data),
        read_at=at,
        tags=tags,
        redacted=len(whole.secrets),
        saved_by=given.saved_by,
        trust=given.trust,
    )
    secrets = [f"a secret ({each.kind}) was taken out" for each in whole.secrets]
    told = dict.fromkeys([*secrets, *_strange(whole.text)])
    return Catalogued(kept, tuple(made), tuple(told)[:TOLD])


def _chunk(
    given: Given, number: int, piece: Piece, *, title: str, tags: tuple[str, ...], at: int
) -> Chunk:
    """Return a piece as it is kept: everything in it to be seen."""
    text = hazards.visible(piece.text)
    return Chunk(
        id=chunk_id(given.source, number, text=text),
        source=given.source,
        ordinal=number,
        topic=given.topic,
        title=title,
        text=text,
        read_at=at,
        headings=tuple(hazards.visible(each) for each in piece.headings),
        is_code=piece.is_code,
        language=piece.language,
        tags=tags,
        cross_refs=tuple(hazards.visible(each) for each in piece.refs),
    )


def _tags(said: tuple[str, ...]) -> Iterator[str]:
    """Yield the tags of a document in their one form; what can be none is passed over."""
    for each in said[: terms.MOST]:
        with suppress(BadInput):
            yield from terms.tags([each])


def _strange(text: str) -> Iterator[str]:
    """Yield what in a text a person should know of."""
    if hidden := hazards.hidden(text):
        yield hazards.told(hidden)
    if reason := suspicion(text):
        yield reason
