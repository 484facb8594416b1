"""Passages: the texts by which things are found, their words, and the changes for the index.

Only this module writes `passages`. Every function takes the connection of a transaction it is part
of, and in that transaction the rows, their words (`words_alone`, `words_paired`) and the changes
that wait for the vector index change together: a search sees all of it or nothing.

The words repeat what the rows say. Where SQLite finds them damaged, a change raises `WordsDamaged`
and is not kept (SQLite may have undone the whole transaction); the ledger's writer then has them
rebuilt, and the next try succeeds. They are never trusted or copied.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

from cortex_actors.domain.memory import Passage, SearchPlace, name_index
from cortex_actors.errors import WordsDamaged
from cortex_actors.storage.index import pending
from cortex_actors.storage.ledger import faults
from cortex_actors.storage.tables import dialect
from cortex_actors.storage.tables.columns import count_rows, encode_text
from cortex_actors.storage.tables.schema import WORDS, passages

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sqlalchemy import Connection

#: The lists of words, each of which is checked and rebuilt on its own.
LISTS = tuple(WORDS)

#: Statements that every change runs go to the driver itself: building them would cost more.
_THERE = (
    "SELECT id, item_id, place, text_hash FROM passages WHERE collection = ?2 AND item_id IN :ids"
)
_CHANGED = "SELECT total_changes()"
_NEW = "INSERT INTO passages (collection, item_id, place, text, text_hash) VALUES (?, ?, ?, ?, ?)"

#: An item and the collection of the index that a text of it lies in.
_Spot = tuple[str, str]


def make_passages(
    text: str, *, collection: str, item_id: str, before: str | None = None
) -> list[Passage]:
    """Return the passages of an item; `before` is its predecessor's text, None without one."""
    if before is None:
        return [_passage(collection, item_id, SearchPlace.BOTH, text)]
    return [
        _passage(collection, item_id, SearchPlace.ALONE, text),
        _passage(collection, item_id, SearchPlace.PAIRED, f"{before}\n{text}"),
    ]


def replace(
    connection: Connection, collection: str, items: Sequence[str], wanted: Sequence[Passage]
) -> None:
    """Let some items of a collection have those passages and no other.

    An item with none of them cannot be found any more. A passage that is there already, with its
    place and text, stays as it is, and causes no change of the index.
    """
    there = dialect.execute_for(connection, _THERE, items, collection).fetchall()
    said = {(each.item_id, each.place, each.text_hash) for each in wanted}
    known = {tuple(row[1:]) for row in there}
    gone = [row for row in there if tuple(row[1:]) not in said]
    new = [each for each in wanted if (each.item_id, each.place, each.text_hash) not in known]
    if not (gone or new):
        return
    if ids := [row[0] for row in gone]:
        for words in WORDS:
            _change(connection, "forget", words=words, values=(json.dumps(ids),))
        dialect.execute_for(connection, "DELETE FROM passages WHERE id IN :numbers", ids)
    if new:
        above = dialect.find_newest(connection, passages)
        rows = [(e.collection, e.item_id, e.place, encode_text(e.text), e.text_hash) for e in new]
        dialect.execute_many(connection, _NEW, rows)
        for words in WORDS:
            _change(connection, "learn", words=words, values=(above,))
    # Has the words written now: where they are damaged, the commit itself would fail otherwise.
    _change(connection, "flush")
    _change(connection, "flushed")
    left = [(name_index(collection, SearchPlace(place)), item) for _, item, place, _ in gone]
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
        for one in make_passages(text, collection=collection, item_id=name, before=before.get(name))
    ]
    replace(connection, collection, items, made)
    return len(texts)


def drop(connection: Connection, collection: str, item_ids: Iterable[str]) -> None:
    """Let items not be found any more; those that cannot be found are passed over."""
    replace(connection, collection, list(item_ids), [])


def rebuild(connection: Connection, lists: Iterable[str] = LISTS) -> None:
    """Rebuild the words of every passage: half a second for each list at 50,000."""
    for words in lists:
        dialect.change_words(connection, "rebuild", words=words, view=WORDS[words])


def wipe(connection: Connection, words: str, *, steps: int) -> int:
    """Write pages of a list again, without deleted rows; return how many rows of it changed.

    A negative number of steps begins, the same as a positive one goes on.
    """
    before = dialect.execute(connection, _CHANGED).fetchone()[0]
    _change(connection, "merge", words=words, values=(steps,))
    return int(dialect.execute(connection, _CHANGED).fetchone()[0] - before)


def count(connection: Connection) -> int:
    """Return how many passages there are: 2 ms at 50,000."""
    return count_rows(connection, passages)


def mend(connection: Connection, words: str) -> bool:
    """Rebuild the words of one list if they are not those of the passages; True if they were not.

    Comparing takes a third of a second at 50,000, making them half a second.
    """
    if words not in list_disagreeing(connection, [words]):
        return False
    rebuild(connection, [words])
    return True


def list_disagreeing(connection: Connection, lists: Iterable[str] = LISTS) -> list[str]:
    """Return the lists whose words are not those of the passages, or are damaged.

    Takes the transaction of a writer (SQLite says so), and as long as reading all passages does.
    """
    found = []
    for words in lists:
        try:
            _change(connection, "check", words=words)
        except WordsDamaged:
            found.append(words)
    return found


def _passage(collection: str, item_id: str, place: SearchPlace, text: str) -> Passage:
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


def _change(
    connection: Connection, how: str, *, words: str = LISTS[0], values: Sequence[object] = ()
) -> None:
    """Change or check a list of words; raises `WordsDamaged` where the engine finds it damaged."""
    try:
        dialect.change_words(connection, how, words=words, view=WORDS[words], values=values)
    except Exception as error:
        if faults.is_of_changed_words(error):
            message = f"the words by which texts are found are damaged: {error}; try again"
            raise WordsDamaged(message) from error
        raise
