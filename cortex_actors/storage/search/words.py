"""The words of a question against the words of what may be found: SQLite's FTS5, ranked by BM25.

The question is cut into words by the very tokeniser that cut the texts, in a private database in
memory, so that nothing here has to know how a stem is made. Of a long question only the rarest
words are searched: the common ones cost nearly all of the time and decide nearly nothing.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import literal_column, select, text
from sqlalchemy.exc import DatabaseError

from cortex_actors.errors import WordsDamaged
from cortex_actors.rules import terms
from cortex_actors.storage import faults
from cortex_actors.storage.tables.passage import TOKENIZE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Label, Select

    from cortex_actors.rules.terms import Term
    from cortex_actors.storage.search.scope import Ids

#: Texts that the words of one question stand in together, each word's counted. At 100,000 passages
#: whose sentences of 20 words were pasted, 40,000 kept .98 of the ten best and 20,000 kept .85;
#: up to 2,500 passages no word is left out for it.
PLACES = 40_000

#: A term's words as the index has them.
Stems: TypeAlias = "tuple[str, ...]"


@dataclass(frozen=True, slots=True)
class Placed:
    """One item that a list of words holds: its collection, its id, and BM25's weight for it."""

    collection: str
    item_id: str
    score: float


def searched(connection: Connection, question: str, *, most: int) -> list[Term]:
    """Return the terms a question is searched by, in its order; none when it holds no word.

    Terms that the index does not tell apart are one. Where words could stand in more than `PLACES`
    texts together, or are more than `most`, the rarest are kept (`terms.rarest`). Where all of them
    stand in no text, the first are searched all the same: an agent whose question is answered in
    another way then would learn which words others keep to themselves. Raises `BadInput` for text
    that is not valid Unicode, and `WordsDamaged`.
    """
    found = distinct(terms.terms(question))
    words = sum(not term.phrase for term in found)
    if not words:
        return list(found)
    newest = connection.exec_driver_sql("SELECT max(id) FROM passages").scalar() or 0
    if words <= most and words * newest <= PLACES:
        return list(found)
    with _sound():
        counts = _counts(connection, found)
    kept = terms.rarest(list(found), counts, most=most, places=PLACES)
    return kept or list(found)[: terms.FEWEST]


def near(
    connection: Connection, words: str, some: Sequence[Term], *, ids: Ids | None, depth: int
) -> list[Placed]:
    """Return what holds at least one of the terms, best first; equal weights go by id.

    `words` is the list that is asked, and `ids` what may be found in it (None: everything). Raises
    `WordsDamaged`.
    """
    asked = {"asked": terms.written(some)}
    with _sound():
        rows = connection.execute(best(words, ids, depth + 1), asked).all()
        if len(rows) > depth and rows[-1].weight == rows[-2].weight:
            # Several are equal where the list ends. Which of them it keeps is for their ids to
            # say, and not for the order in which they were written: all have to be looked at.
            rows = connection.execute(_by_id(words, ids, depth), asked).all()
    return [Placed(row.collection, row.item_id, -row.weight) for row in rows[:depth]]


def best(words: str, ids: Ids | None, most: int) -> Select[Any]:
    """Return the query for the passages with the best weights; without a filter a made one."""
    return _broad(words, most) if ids is None else _best(words, ids, most)


@lru_cache
def _broad(words: str, most: int) -> Select[Any]:
    """Return the query without a filter: making it anew takes longer than SQLite with it."""
    return _best(words, None, most)


def _best(words: str, ids: Ids | None, most: int) -> Select[Any]:
    """Return the query for the passages with the best weights.

    The words are the outer loop, and what may be found is a list that is looked into: `CROSS JOIN`
    keeps SQLite from turning the join round, and `+` from asking the words once for each row of
    the list, which took 80 times as long with 10,000 of 100,000 passages.
    """
    inner = _matching(words, ids).order_by(text(f"weight, {words}.rowid")).limit(most).cte("best")
    return (
        select(*_columns("p.collection", "p.item_id", "best.weight"))
        .select_from(text("best CROSS JOIN passages AS p ON p.id = best.found"))
        .order_by(text("best.weight, p.item_id"))
        .add_cte(inner)
    )


def _by_id(words: str, ids: Ids | None, most: int) -> Select[Any]:
    """Return the query that also orders by id what has the same weight."""
    return (
        _matching(words, ids, f"{words} CROSS JOIN passages AS p ON p.id = {words}.rowid")
        .add_columns(*_columns("p.collection", "p.item_id"))
        .order_by(text("weight, p.item_id"))
        .limit(most)
    )


def distinct(some: Sequence[Term]) -> dict[Term, Stems]:
    """Return the terms that the index tells apart, with their words there.

    A term that the tokeniser makes nothing of (a mark on its own) is left out, and of those that
    it makes the same of ("run", "running") the first one stands for all.
    """
    if not some:
        return {}
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as private:
        private.execute(f"CREATE VIRTUAL TABLE given USING fts5(term, tokenize='{TOKENIZE}')")
        private.execute("CREATE VIRTUAL TABLE made USING fts5vocab('given', 'instance')")
        rows = [(number, term.text) for number, term in enumerate(some)]
        private.executemany("INSERT INTO given (rowid, term) VALUES (?, ?)", rows)
        made: dict[int, Stems] = {}
        for number, stem in private.execute("SELECT doc, term FROM made ORDER BY doc, offset"):
            made[number] = (*made.get(number, ()), stem)
    first: dict[tuple[Stems, bool], Term] = {}
    for number, stems in made.items():
        first.setdefault((stems, some[number].prefix), some[number])
    return {term: stems for (stems, _), term in first.items()}


def counted(some: Mapping[Term, Stems], texts: Mapping[str, int]) -> dict[Term, int]:
    """Return in how many texts each term stands at most; 1 for a beginning, which is not counted.

    `texts` counts those of each word. Words in a row stand in no more texts than the rarest of
    them.
    """
    return {
        term: 1 if term.prefix else min(texts.get(stem, 0) for stem in stems)
        for term, stems in some.items()
    }


def _matching(words: str, ids: Ids | None, source: str = "") -> Select[Any]:
    """Return the query for the passages that hold a term of `:asked`, with their weights."""
    weight: Label[Any] = literal_column(f"bm25({words})").label("weight")
    query: Select[Any] = select(literal_column(f"{words}.rowid").label("found"), weight)
    query = query.select_from(text(source or words)).where(text(f"{words} MATCH :asked"))
    return query if ids is None else query.where(literal_column(f"+{words}.rowid").in_(ids))


def _columns(*names: str) -> list[Any]:
    """Return columns as they are written, called by their last part."""
    return [literal_column(name).label(name.rpartition(".")[2]) for name in names]


def _counts(connection: Connection, some: Mapping[Term, Stems]) -> dict[Term, int]:
    """Return in how many of the ledger's texts each term stands at most."""
    wanted = sorted({stem for stems in some.values() for stem in stems})
    query = text(
        "SELECT term, doc FROM words_alone_terms"
        " WHERE term IN (SELECT value FROM json_each(:wanted))"
    )
    rows = connection.execute(query, {"wanted": json.dumps(wanted)})
    return counted(some, {row.term: row.doc for row in rows})


@contextmanager
def _sound() -> Iterator[None]:
    """Raise `WordsDamaged` where SQLite finds the words damaged: the texts may well be whole."""
    try:
        yield
    except DatabaseError as error:
        if not faults.is_of_words(error):
            raise
        message = (
            "what shares words was not looked for: the ledger's list of words is damaged; it is "
            "made again now, so ask again in a moment"
        )
        raise WordsDamaged(message) from error
