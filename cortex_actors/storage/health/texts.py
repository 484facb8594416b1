"""Whether stored texts are those that their hashes were made of.

SQLite keeps no checksums: a bit that flips inside a text leaves a ledger that its own check calls
sound. But each text by which something is found, or of which an id is made, has its SHA-256 beside
it. Which of the two has changed nobody can say.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

from cortex_actors.domain.hit import Diagnosis, Severity
from cortex_actors.domain.insight import Granularity, section_hash, statement_hash
from cortex_actors.domain.project import Chunk
from cortex_actors.storage.embeddings import embedded_text
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.tables.columns import given_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sqlalchemy import Connection

    from cortex_actors.storage.health.scope import Scope

#: Rows that are named; of more only the number is told.
_NAMED = 3

_MEND = "a backup from before may have it: cortex backup --list, cortex restore NAME"


def texts(opened: Connection, _scope: Scope) -> Iterator[Diagnosis]:
    """Compare every text that has a hash with it: 200,000 of 250 letters take 1 s of CPU."""
    looked, is_sound = 0, True
    for table, (query, is_as_stored) in _TEXTS.items():
        wrong = []
        for key, *values in driver_of(opened).execute(query):
            looked += 1
            if not is_as_stored(*values):
                wrong.append(str(key))
        if wrong:
            is_sound = False
            more = f" and {len(wrong) - _NAMED:,} more" if len(wrong) > _NAMED else ""
            said = f"{len(wrong):,} of {table} are not as they were stored, or their hashes are not"
            found = f"{said}: {', '.join(wrong[:_NAMED])}{more}"
            yield Diagnosis("texts", found, Severity.ERROR, _MEND)
    if is_sound:
        yield Diagnosis("texts", f"{looked:,} texts, each as it was stored")


def _plain(text: str | bytes, digest: bytes) -> bool:
    """Tell whether a text is the one of a hash."""
    whole = given_text(text) or ""
    return sha256(whole.encode("utf-8", "surrogatepass")).digest() == digest


def _insight(
    content: str | bytes, heading: str | bytes | None, granularity: str, own: str, embedded: bytes
) -> bool:
    """Tell whether an insight's content is that of its id, and of what is embedded of it."""
    text = given_text(content) or ""
    if granularity == Granularity.STATEMENT:
        return statement_hash(text) == own and _plain(text, embedded)
    return section_hash(text) == own and _plain(embedded_text(given_text(heading), text), embedded)


def _principle(content: str | bytes, own: str) -> bool:
    """Tell whether a principle's content is that of its id: a section's, or a statement's."""
    text = given_text(content) or ""
    return own in (section_hash(text), statement_hash(text))


def _chunk(title: str | bytes, headings: str, text: str | bytes, digest: bytes) -> bool:
    """Tell whether a piece of a document, with what it stands under, is the one of its hash."""
    try:
        under = tuple(json.loads(headings))
        said = given_text(text) or ""
        whole = Chunk("", "", 0, "", given_text(title) or "", said, 0, headings=under).searched
    except (ValueError, TypeError):
        return False
    return _plain(whole, digest)


#: Table -> what is read of each row, its name first, and what tells whether the rest is as it was.
_TEXTS: Mapping[str, tuple[str, Callable[..., bool]]] = {
    "insights": (
        "SELECT id, content, heading, granularity, content_hash, text_hash FROM insights",
        _insight,
    ),
    "principles": ("SELECT id, content, content_hash FROM principles", _principle),
    "memories": ("SELECT id, text, text_hash FROM memories", _plain),
    "knowledge_chunks": (
        "SELECT id, title, headings, text, text_hash FROM knowledge_chunks",
        _chunk,
    ),
    "passages": ("SELECT item_id, text, text_hash FROM passages", _plain),
}
