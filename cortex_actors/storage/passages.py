"""Passages: the texts by which things are found, the words in them, and what the index is told.

Only this module writes `passages`. Every function takes the connection of a transaction it is part
of, and in that transaction the rows, their words (`words_alone`, `words_paired`) and what the
vector index has to be told change together: a search sees all of it or nothing.

The words repeat what the rows say. Where SQLite finds them damaged, a change raises `WordsDamaged`
and is not kept (SQLite may have undone the whole transaction); the ledger's writer has them made
anew then, and the next try succeeds. They are never trusted or copied.
"""

from __future__ import annotations

import json
import sqlite3
from hashlib import sha256
from typing import TYPE_CHECKING

from cortex_actors.domain.memory import Passage, Place, index_of
from cortex_actors.errors import WordsDamaged
from cortex_actors.storage.index import pending
from cortex_actors.storage.ledger import faults
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.tables.columns import count_rows, stored_text
from cortex_actors.storage.tables.schema import WORDS, passages

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sqlalchemy import Connection

#: The lists of words, each of which is checked and made anew on its own.
LISTS = tuple(WORDS)

#: Statements that every change runs go to the driver itself: building them would cost more.
_THERE = (
    "SELECT id, item_id, place, text_hash FROM passages"
    " WHERE collection = ? AND item_id IN (SELECT value FROM json_each(?))"
)
_NEW = "INSERT INTO passages (collection, item_id, place, text, text_hash) VALUES (?, ?, ?, ?, ?)"

#: An item and the collection of the index that a text of it lies in.
_Spot = tuple[str, str]


def of_item(
    text: str, *, collection: str, item_id: str, before: str | None = None
) -> list[Passage]:
    """Return the passages of an item; `before` is its predecessor's text, None without one."""
    if before is None:
        return [_passage(collection, item_id, Place.BOTH, text)]
    return [
        _passage(collection, item_id, Place.ALONE, text),
        _passage(collection, item_id, Place.PAIRED, f"{before}\n{text}"),
    ]


def replace(
    connection: Connection, collection: str, items: Sequence[str], wanted: Sequence[Passage]
) -> None:
    """Let some items of a collection have those passages and no other.

    An item with none of them cannot be found any more. A passage that is there already, with its
    place and text, stays as it is, and the index is told nothing of it.
    """
    driver = driver_of(connection)
    there = driver.execute(_THERE, (collection, json.dumps(list(items)))).fetchall()
    said = {(each.item_id, each.place, each.text_hash) for each in wanted}
    known = {tuple(row[1:]) for row in there}
    gone = [row for row in there if tuple(row[1:]) not in said]
    new = [each for each in wanted if (each.item_id, each.place, each.text_hash) not in known]
    if not (gone or new):
        return
    _delete(driver, [row[0] for row in gone])
    _insert(driver, new)
    # Has the words written now: where they are damaged, the commit itself would fail otherwise.
    _run(driver, "SAVEPOINT words")
    driver.execute("RELEASE words")
    left = [(index_of(collection, Place(place)), item) for _, item, place, _ in gone]
    _tell(connection, put_=[(each.index, each.item_id) for each in new], left=left)


def put(
    connection: Connection,
    collection: str,
    *,
    items: Sequence[str],
    texts: Mapping[str, str],
    before: Mapping[str, str],
) -> int:
    """Let some items of a collection be found by their texts, and those without one by nothing.

    `before` are the texts of predecessors. Returns how many are found.
    """
    made = [
        one
        for name, text in texts.items()
        for one in of_item(text, collection=collection, item_id=name, before=before.get(name))
    ]
    replace(connection, collection, items, made)
    return len(texts)


def drop(connection: Connection, collection: str, item_ids: Iterable[str]) -> None:
    """Let items not be found any more; those that cannot be found are passed over."""
    replace(connection, collection, list(item_ids), [])


def rebuild(connection: Connection, lists: Iterable[str] = LISTS) -> None:
    """Make the words of every passage anew: half a second for each list at 50,000."""
    for words in lists:
        make = f"INSERT INTO {words} ({words}) VALUES ('rebuild')"  # noqa: S608 - names of the schema
        connection.exec_driver_sql(make)


def count(connection: Connection) -> int:
    """Return how many passages there are: 2 ms at 50,000."""
    return count_rows(connection, passages)


def mend(connection: Connection, words: str) -> bool:
    """Make the words of one list anew if they are not those of the passages; True if they were not.

    Comparing takes a third of a second at 50,000, making them half a second.
    """
    if words not in disagreeing(connection, [words]):
        return False
    rebuild(connection, [words])
    return True


def disagreeing(connection: Connection, lists: Iterable[str] = LISTS) -> list[str]:
    """Return the lists whose words are not those of the passages, or are damaged.

    Takes the transaction of a writer (SQLite says so), and as long as reading all passages does.
    """
    found = []
    for words in lists:
        check = f"INSERT INTO {words} ({words}, rank) VALUES ('integrity-check', 1)"  # noqa: S608 - names of the schema
        try:
            _run(driver_of(connection), check)
        except WordsDamaged:
            found.append(words)
    return found


def _passage(collection: str, item_id: str, place: Place, text: str) -> Passage:
    """Return a passage with the hash of its text."""
    return Passage(
        collection, item_id, place, text, sha256(text.encode("utf-8", "surrogatepass")).digest()
    )


def _tell(connection: Connection, *, put_: Sequence[_Spot], left: Collection[_Spot]) -> None:
    """Note what came to the index and what left it; what another text replaces did not leave."""
    staying = set(put_)
    leaving = [each for each in dict.fromkeys(left) if each not in staying]
    for name in dict.fromkeys(name for name, _ in [*put_, *leaving]):
        pending.note(
            connection,
            name,
            put=[item for owner, item in put_ if owner == name],
            drop=[item for owner, item in leaving if owner == name],
        )


def _delete(driver: sqlite3.Connection, ids: Sequence[int]) -> None:
    """Delete rows and their words."""
    if not ids:
        return
    wanted = json.dumps(ids)
    for words, view in WORDS.items():
        forget = (
            f"INSERT INTO {words} ({words}, rowid, text) SELECT 'delete', id, text FROM {view}"  # noqa: S608 - names of the schema
            " WHERE id IN (SELECT value FROM json_each(?))"
        )
        _run(driver, forget, wanted)
    driver.execute("DELETE FROM passages WHERE id IN (SELECT value FROM json_each(?))", (wanted,))


def _insert(driver: sqlite3.Connection, new: Sequence[Passage]) -> None:
    """Insert rows and their words."""
    if not new:
        return
    last = driver.execute("SELECT seq FROM sqlite_sequence WHERE name = 'passages'").fetchone()
    above = last[0] if last else 0
    rows = [(e.collection, e.item_id, e.place, stored_text(e.text), e.text_hash) for e in new]
    driver.executemany(_NEW, rows)
    for words, view in WORDS.items():
        learn = f"INSERT INTO {words} (rowid, text) SELECT id, text FROM {view} WHERE id > ?"  # noqa: S608 - names of the schema
        _run(driver, learn, above)


def _run(driver: sqlite3.Connection, statement: str, *values: str | int) -> None:
    """Run a statement on the words; raises `WordsDamaged`.

    They have no constraints but the keys of their own tables: a key that is there twice means that
    the list of what is there is damaged.
    """
    try:
        driver.execute(statement, values)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.IntegrityError) or faults.is_of_words(error):
            message = f"the words by which texts are found are damaged: {error}; try again"
            raise WordsDamaged(message) from error
        raise
