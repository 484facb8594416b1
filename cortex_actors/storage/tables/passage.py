"""Passages: what can be found, by vectors and by words."""

from __future__ import annotations

from sqlalchemy import (
    DDL,
    Column,
    Index,
    Integer,
    LargeBinary,
    Table,
    UniqueConstraint,
    event,
)

from cortex_actors.domain.memory import Place
from cortex_actors.storage.tables.columns import Text, digest, filled, metadata, one_of

#: One row for each text of an item that may be found; only such items have rows. A row is never
#: changed, and its number is never given again: a text that changes gets a new one.
passages = Table(
    "passages",
    metadata,
    Column("id", Integer, primary_key=True),
    # Of the item, as insights or memories of a realm; the index has `<collection>_paired` beside.
    Column("collection", Text, nullable=False),
    Column("item_id", Text, nullable=False),
    Column("place", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("text_hash", LargeBinary, nullable=False),
    UniqueConstraint("item_id", "collection", "place"),
    filled("collection"),
    filled("item_id"),
    one_of("place", Place),
    digest("text_hash"),
    sqlite_autoincrement=True,
)
Index("passages_by_text", passages.c.text_hash)

#: The full-text tables: the list of a search -> the view with the texts that its words come from.
WORDS = {"words_alone": "passages_alone", "words_paired": "passages_paired"}

#: How they cut a text into words: English endings and accents make no difference.
TOKENIZE = "porter unicode61 remove_diacritics 2"

_PLACES = {"passages_alone": Place.ALONE, "passages_paired": Place.PAIRED}


def _statements() -> list[str]:
    """Return what makes the views, the full-text tables and the lists of their words.

    The texts lie in `passages` alone. No trigger keeps the words: with `trusted_schema` off SQLite
    refuses a virtual table in one, so `storage/passages.py` writes both in one transaction.
    """
    made = []
    for words, view in WORDS.items():
        made.append(
            f"CREATE VIEW {view} AS SELECT id, text FROM passages"  # noqa: S608 - names above
            f" WHERE place IN ('{_PLACES[view]}', '{Place.BOTH}')"
        )
        made.append(
            f"CREATE VIRTUAL TABLE {words} USING fts5(text, content='{view}', content_rowid='id',"
            f" tokenize='{TOKENIZE}')"
        )
        made.append(f"CREATE VIRTUAL TABLE {words}_terms USING fts5vocab('{words}', 'row')")
    return made


for _each in _statements():
    event.listen(metadata, "after_create", DDL(_each))  # type: ignore[no-untyped-call]
