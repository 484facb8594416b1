"""The words of a question against the words of what may be found, ranked by BM25.

SQLite's FTS5 says which passages hold a term and how often. What a term is worth is worked out here
among the passages that may be found, and no others: FTS5's own `bm25` counts every row, so that an
agent could tell by the order of its hits which words others keep to themselves. Where everything
may be found the two weigh alike, and this takes an eighth of the time.

The question is cut into words by the very tokeniser that cut the texts, in a private database in
memory, so that nothing here has to know how a stem is made. Of a long question only the rarest
words are searched: the common ones cost nearly all of the time and decide nearly nothing.
"""

from __future__ import annotations

import json
import math
import sqlite3
import threading
from collections import OrderedDict
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
from sqlalchemy import Connection, func, select
from sqlalchemy.exc import DatabaseError

from cortex_actors.errors import WordsDamaged
from cortex_actors.rules.ranking.relevance import rarity
from cortex_actors.storage import memory_records
from cortex_actors.storage.ledger import faults
from cortex_actors.storage.ledger.connection import find_driver_of
from cortex_actors.storage.search.query import ListedItem
from cortex_actors.storage.search.scope import COLLECTIONS, Ids, SearchScope
from cortex_actors.storage.tables.schema import TOKENIZE, WORDS
from cortex_actors.text import terms
from cortex_actors.text.terms import Term

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray


#: Texts that hold the words of one question together, each word's counted. At 100,000 passages
#: whose sentences of 20 words were pasted, 40,000 kept .98 of the ten best and 20,000 kept .85;
#: up to 2,500 passages no word is left out for it.
PLACES = 40_000

#: Terms of a question that are weighed: with more a question is a page.
WEIGHED: Final = 24

#: Texts from which the places of a word are kept in memory, and how many places of all words are:
#: 60 MB. Fewer are read again sooner than they are worth the room.
_KEPT_FROM: Final = 500
_KEPT: Final = 10_000_000

#: Share of the texts from which a word is read at the start: to read it costs a question 5 ms or
#: more at 100,000 texts, in which 60 words of English are so common.
_COMMON: Final = 0.05

#: Lists of terms of which is known what the index tells apart, and what cuts one list at a time.
_ASKED: Final = 256
_CUTTING: Final = threading.Lock()

#: Texts that hold a word that weighs next to nothing up to which it is read how often each does,
#: 2 us each. At 100,000 a question of such words alone took 0.5 s.
_TIMED: Final = 20_000

#: New texts that hold a word up to which they are cut up for it alone: of more the places of the
#: word are read again, 0.05 us each.
_NEW: Final = 200

#: A full-text table of a few texts, which are not kept beside their words, and the best of them by
#: BM25; ties by number.
_SAID = f"CREATE VIRTUAL TABLE said USING fts5(text, content='', tokenize='{TOKENIZE}')"
_BEST = (
    "SELECT rowid, -bm25(said) AS weight FROM said WHERE said MATCH ?"
    " ORDER BY weight DESC, rowid LIMIT ?"
)

#: BM25 as FTS5 has it: how soon more of a word counts no more, how much a long text is held back,
#: and what a word is worth that half of the texts hold.
_SOON: Final = 1.2
_HELD_BACK: Final = 0.75
_WORTHLESS: Final = 1e-6

#: The newest passage, and whose the ledger is: its numbers mean something else to another owner.
_NEWEST = (
    "SELECT coalesce((SELECT max(id) FROM passages), 0),"
    " coalesce((SELECT max(epoch) FROM owner), 0)"
)

#: What passages are of.
_ITEMS = (
    "SELECT id, collection, item_id FROM passages"
    " WHERE id IN (SELECT value FROM json_each(?)) ORDER BY item_id LIMIT ?"
)

#: What some passages say, in their order.
_TEXTS = "SELECT text FROM passages WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"

#: A term's words as the index has them.
Stems: TypeAlias = "tuple[str, ...]"

#: Numbers of passages.
Numbers: TypeAlias = "NDArray[np.int64]"


@dataclass(frozen=True, slots=True)
class Among:
    """The texts of a list of words that may be found: words are weighed among them.

    Attributes:
        words: the list.
        lengths: words of each passage by its number, -1 for what is not in the list.
        seen: by the same number, whether it may be found.
        count: how many texts there are, and
        tokens: how many words they have together.
        postings: where the places of words are kept.
        counts: how many of the texts hold a word, of those that were counted (`_count`).
        held: the texts that hold a word, of those that were read.

    """

    words: str
    lengths: NDArray[np.int32]
    seen: NDArray[np.bool_]
    count: int
    tokens: int
    postings: Postings
    counts: dict[Stems, int] = field(default_factory=dict)
    held: dict[str, _Posting] = field(default_factory=dict)


class _Posting(NamedTuple):
    """The texts that hold a word, in order, up to a passage; some of them may have gone since.

    `times` says how often each holds it, None until that is needed: it is ten times as dear.
    """

    texts: NDArray[np.int32]
    times: NDArray[np.uint16] | None
    upto: int


class Postings:
    """How long texts are, and which of them hold the words asked for of late, in memory.

    A passage is never changed, so nothing is read twice; each search brings in what came since, and
    leaves out what has gone. All that is read is of the search's own transaction, so that two at a
    time may see different moments.
    """

    def __init__(self) -> None:
        """Know nothing yet."""
        self._lock = threading.Lock()
        self._owners: NDArray[np.int64]
        self._reset(0)

    def forget(self) -> None:
        """Read everything again: the words were found damaged."""
        with self._lock:
            self._reset(self._epoch)

    def load(self, connection: Connection) -> None:
        """Read what every search needs: 0.2 s at 100,000."""
        with suppress(WordsDamaged):  # a search says so, and has them made again
            Moment(connection, self).load_passages(COLLECTIONS)

    def load_common(self, connection: Connection, *, words: str) -> None:
        """Read the commonest words of a list: 0.5 s at 100,000."""
        with suppress(WordsDamaged), _sound():
            among = Moment(connection, self).load_among(words)
            query = f"SELECT term FROM temp.{words}_terms WHERE doc > max({_KEPT_FROM}, ?)"  # noqa: S608 - a name of the schema
            common = find_driver_of(connection).execute(query, (among.count * _COMMON,)).fetchall()
            for term, stems in find_distinct([Term(word) for (word,) in common]).items():
                if stems == (term.text,):  # a stem is not always the one of itself
                    self.load_posting(connection, term, stem=term.text, among=among, timed=True)

    def load_owners(self, connection: Connection, newest: int) -> NDArray[np.int64]:
        """Return whose each passage is up to that one (`_owners`)."""
        with self._lock:
            known = self._owners
        if newest >= known.shape[1]:
            known = np.hstack([known, _owners(connection, first=known.shape[1], last=newest)])
            with self._lock:
                if known.shape[1] > self._owners.shape[1]:
                    self._owners = known
        return known[:, : newest + 1]

    def load_posting(
        self, connection: Connection, term: Term, *, stem: str, among: Among, timed: bool = False
    ) -> _Posting:
        """Return the texts that hold a word, and how often where `timed`; raises `WordsDamaged`."""
        if (found := among.held.get(stem)) and not (timed and found.times is None):
            return found
        name = (among.words, stem)
        with self._lock:
            found = self._places.get(name)
        newest = len(among.lengths) - 1
        if found is not None and found.upto < newest:
            found = _grown(connection, found, term=term, stem=stem, among=among)
        if found is None or (timed and found.times is None):
            # A rare word is read once, with its times; a common one may not need them.
            places = _places(connection, stem, among=among, most=-1 if timed else _KEPT_FROM)
            if timed or len(places) < _KEPT_FROM:
                found = _timed(places, among=among)
            else:
                found = _Posting(_holding(connection, term, among=among), None, newest)
        among.held[stem] = found
        with self._lock:
            known = self._places.pop(name, None)
            if known is not None:
                self._kept -= len(known.texts)
            # A search of an earlier moment leaves what is known of a later one.
            kept = known if known is not None and known.upto > found.upto else found
            if len(kept.texts) >= _KEPT_FROM:
                self._places[name] = kept
                self._kept += len(kept.texts)
            while self._kept > _KEPT:
                self._kept -= len(self._places.popitem(last=False)[1].texts)
        return found

    def _reset(self, epoch: int) -> None:
        """Know nothing of the ledger of that owner."""
        self._epoch = epoch
        self._known: dict[str, NDArray[np.int32]] = {}
        #: How many texts each list has.
        self._counts: dict[str, int] = {}
        #: The places of words, the one that was used last behind all others, and how many.
        self._places: OrderedDict[tuple[str, str], _Posting] = OrderedDict()
        self._kept = 0
        #: Of each passage the `rowid` of its memory, -1 for none, and the number of its collection.
        self._owners = np.empty((2, 0), np.int64)

    def load_lengths(self, connection: Connection, words: str) -> NDArray[np.int32]:
        """Return the lengths of a list as the transaction sees it."""
        newest, epoch = find_driver_of(connection).execute(_NEWEST).fetchone()
        # Without a condition SQLite counts pages and not rows: 0.05 ms at 100,000.
        query = f"SELECT count(*) FROM {words}_docsize"  # noqa: S608 - a name of the schema
        (count,) = find_driver_of(connection).execute(query).fetchone()
        with self._lock:
            if epoch != self._epoch:
                self._reset(epoch)
            known = self._known.get(words, np.empty(0, np.int32))
            if newest + 1 == len(known) and self._counts.get(words) == count:
                return known  # nothing came, and nothing has gone
        found = known[: newest + 1]
        if newest >= len(known):
            new = _lengths(connection, words, first=len(known), last=newest)
            found = np.concatenate([known, new])
        if np.count_nonzero(found >= 0) != count:  # some have gone, or had not gone then
            there = np.zeros(newest + 1, np.bool_)
            there[_numbers(connection, f"SELECT group_concat(id) FROM {words}_docsize")] = True  # noqa: S608 - as above
            if (found[there] < 0).any():
                found = _lengths(connection, words, first=0, last=newest)
            found = np.where(there, found, np.int32(-1))
        with self._lock:
            if newest >= len(self._known.get(words, ())) - 1 and epoch == self._epoch:
                self._known[words], self._counts[words] = found, count
        return found


@dataclass(slots=True)
class Moment:
    """The lists of words as one search sees them: each is looked at once.

    Attributes:
        ids: the numbers of the passages that may be found, once they are known (`select`); None
            for everything there is.

    """

    connection: Connection
    postings: Postings
    ids: Numbers | None = None
    _lengths: dict[str, NDArray[np.int32]] = field(default_factory=dict)
    _lists: dict[str, Among] = field(default_factory=dict)

    def select(self, seen: SearchScope) -> Numbers | None:
        """Keep and return the numbers of the passages that may be found; None for all.

        Which passages a memory has is known in memory: joining the two tables takes the ledger
        0.4 us for each passage, ten times as long as finding the memories.
        """
        if seen.ids is not None:
            try:
                self.ids = self._selected(seen)
            except WordsDamaged:  # then that is not known either
                self.ids = _read_all(self.connection, seen.ids)
        return self.ids

    def _selected(self, seen: SearchScope) -> Numbers:
        """Return the numbers of the passages that a scope selects; raises `WordsDamaged`."""
        if seen.allowed is None:
            return self.load_passages(seen.collections)
        found = [self.load_passages(seen.whole)] if seen.whole else []
        if seen.memories:
            names = set(memory_records.COLLECTIONS.values()).intersection(seen.collections)
            rows = np.concatenate([_read_all(self.connection, each) for each in seen.memories])
            found.append(self.load_passages(names.difference(seen.whole), rows=rows))
        if seen.others is not None:
            found.append(_read_all(self.connection, seen.others))
        return np.concatenate(found)

    def load_passages(
        self, collections: Collection[str], *, rows: Numbers | None = None
    ) -> Numbers:
        """Return the passages of some collections, of memories those of some `rowid`s.

        None for all memories. Raises `WordsDamaged`.
        """
        alone, paired = (self._of(words) for words in WORDS)
        owners, places = self.postings.load_owners(self.connection, len(alone) - 1)
        wanted = np.zeros(len(COLLECTIONS) + 1, np.bool_)
        wanted[[COLLECTIONS.index(name) for name in collections]] = True
        found = wanted[places] & ((alone >= 0) | (paired >= 0))
        if rows is not None:
            of_rows = np.zeros(
                max(int(owners.max(initial=0)), int(rows.max(initial=0))) + 2, np.bool_
            )
            of_rows[rows] = True  # the last place is that of -1
            found &= of_rows[owners]
        return np.flatnonzero(found)

    def load_among(self, words: str) -> Among:
        """Return the texts of a list that may be found; raises `WordsDamaged`."""
        if words not in self._lists:
            lengths = self._of(words)
            seen = lengths >= 0
            if self.ids is not None:
                seen &= np.bincount(self.ids, minlength=len(lengths)) > 0
            own = lengths[seen]
            many = len(own), int(own.sum())
            self._lists[words] = Among(words, lengths, seen, *many, self.postings)
        return self._lists[words]

    def takes(self, earlier: Moment) -> bool:
        """Take what an earlier moment read; False where other texts were there then.

        Both must see all that is there. Raises `WordsDamaged`.
        """
        # A passage never changes, and the lengths are kept as long as none comes or goes.
        is_same = all(self._of(each) is known for each, known in earlier._lengths.items())
        if is_same:
            self._lists = earlier._lists
        return is_same

    def _of(self, words: str) -> NDArray[np.int32]:
        """Return the lengths of a list; raises `WordsDamaged`."""
        if words not in self._lengths:
            with _sound():
                self._lengths[words] = self.postings.load_lengths(self.connection, words)
        return self._lengths[words]


def choose_terms(
    connection: Connection, question: str, *, most: int, among: Among
) -> dict[Term, Stems]:
    """Return the terms a question is searched by, in its order; none when it holds no word.

    Terms that the index does not tell apart are one. Where words could be in more than `PLACES`
    texts together, or are more than `most`, the rarest of what may be found are kept
    (`terms.rarest`). Where none of them is in any text, the first are searched. Raises `BadInput`
    for text that is not valid Unicode, and `WordsDamaged`.
    """
    found = find_distinct(terms.find_terms(question))
    words = [term for term in found if not term.phrase]
    if len(words) <= most and len(words) * among.count <= PLACES:
        return found
    with _sound():
        counts = {
            each: 1 if each.prefix else _count(connection, each, stems=found[each], among=among)
            for each in words
        }
    kept = terms.choose_rarest(list(found), counts, most=most, places=PLACES)
    return {each: found[each] for each in kept or list(found)[: terms.FEWEST]}


def weigh_terms(connection: Connection, question: str, *, among: Among) -> dict[str, float]:
    """Return what the words of a question weigh by how rare they are among what may be found.

    One that is in no text weighs most: it is what was asked for. Raises `WordsDamaged`.
    """
    found = find_distinct(terms.find_terms(question)[:WEIGHED])
    with _sound():
        counts = {each: _count(connection, each, stems=found[each], among=among) for each in found}
    return {
        word: rarity(count, among.count)
        for term, count in counts.items()
        for word in terms.split_words(term.text)
    }


def find_near(
    connection: Connection, some: Mapping[Term, Stems], *, among: Among, depth: int
) -> list[ListedItem]:
    """Return what holds at least one of the terms, best first; equal weights go by id.

    Raises `WordsDamaged`.
    """
    weights = np.zeros(len(among.lengths))
    long = _SOON * _HELD_BACK * among.count / max(among.tokens, 1)
    with _sound():
        counts = {each: _count(connection, each, stems=some[each], among=among) for each in some}
        for term in sorted(counts, key=lambda each: counts[each]):
            # It weighs next to nothing, and so does what is commoner.
            is_common = 2 * counts[term] > among.count
            if is_common and np.count_nonzero(weights > 0) >= depth:
                break
            is_dear = is_common and counts[term] > _TIMED
            texts, times = _times(
                connection, term, stems=some[term], among=among, timed=not is_dear
            )
            if is_dear:  # nothing tells so many apart: the newest are taken
                weights[texts[weights[texts] == 0][-depth:]] = _WORTHLESS
                break
            if len(texts):
                worth = math.log((among.count - len(texts) + 0.5) / (len(texts) + 0.5))
                room = _SOON * (1 - _HELD_BACK) + among.lengths[texts] * long
                part = times * (_SOON + 1) / (times + room)
                weights[texts] += max(worth, _WORTHLESS) * part
    held = np.flatnonzero(weights > 0)  # of truths a third of the time of numbers
    groups = [(held, -1)]
    if len(held) > depth:
        # Several may be equal where the list ends. Which of them it keeps is for their ids to say,
        # and not for the order in which they were written: all of them are looked at.
        last = np.partition(weights[held], len(held) - depth)[len(held) - depth]
        sure, equal = held[weights[held] > last], held[weights[held] == last]
        groups = [(sure, -1), (equal, depth - len(sure))]
    placed = [
        ListedItem(collection, item, float(weights[each]))
        for ids, most in groups
        for each, collection, item in find_driver_of(connection).execute(
            _ITEMS, (json.dumps(ids.tolist()), most)
        )
    ]
    return sorted(placed, key=lambda each: (-each.score, each.item_id))


def find_distinct(some: Sequence[Term]) -> dict[Term, Stems]:
    """Return the terms that the index tells apart, with their words there.

    A term that the tokeniser makes nothing of (a mark on its own) is left out, and of those that
    it makes the same of ("run", "running") only the first one is kept.
    """
    return dict(_told_apart(tuple(some))) if some else {}


@lru_cache(maxsize=_ASKED)
def _told_apart(some: tuple[Term, ...]) -> dict[Term, Stems]:
    """Return what `find_distinct` does: a question asks it of its words more than once."""
    rows, made = [(number, term.text) for number, term in enumerate(some)], dict[int, Stems]()
    with _CUTTING:
        private = _cutter()
        private.rollback()  # of none where SQLite has done so itself: it had no memory
        private.execute("BEGIN")  # words are forgotten with their transaction
        private.executemany("INSERT INTO given (rowid, term) VALUES (?, ?)", rows)
        for number, stem in private.execute("SELECT doc, term FROM made ORDER BY doc, offset"):
            made[number] = (*made.get(number, ()), stem)
    first: dict[tuple[Stems, bool], Term] = {}
    for number, stems in made.items():
        first.setdefault((stems, some[number].prefix), some[number])
    return {term: stems for (stems, _), term in first.items()}


@cache
def _cutter() -> sqlite3.Connection:
    """Return a database in memory that cuts words: making one takes as long as ten questions."""
    private = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    private.execute(f"CREATE VIRTUAL TABLE given USING fts5(term, tokenize='{TOKENIZE}')")
    private.execute("CREATE VIRTUAL TABLE made USING fts5vocab('given', 'instance')")
    return private


@contextmanager
def open_texts(texts: Sequence[str]) -> Iterator[sqlite3.Connection]:
    """Give a private database in memory whose table `said` has the words of texts, by place.

    Its table `held` has each word (`term`) and how many of the texts hold it (`doc`).
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as private:
        private.execute(_SAID)
        private.execute("BEGIN")
        private.executemany("INSERT INTO said (rowid, text) VALUES (?, ?)", enumerate(texts))
        private.execute("CREATE VIRTUAL TABLE held USING fts5vocab('said', 'row')")
        yield private


def find_best(
    private: sqlite3.Connection, some: Iterable[Term], depth: int
) -> list[tuple[int, float]]:
    """Return which texts of such a database hold a term, and BM25's weight for each, best first."""
    return private.execute(_BEST, (terms.write_expression(some), depth)).fetchall()


def _times(
    connection: Connection, term: Term, *, stems: Stems, among: Among, timed: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the texts that may be found and hold a term, and how often each does.

    Unless `timed`, once each.
    """
    if len(stems) > 1 or term.prefix:
        texts, times = _phrased(connection, term, among=among)
        mine = _seen(texts, among)
        return texts[mine], times[mine]
    found = among.postings.load_posting(connection, term, stem=stems[0], among=among, timed=timed)
    texts = found.texts[mine := _seen(found.texts, among)].astype(np.int64)
    if not timed or found.times is None:
        return texts, np.ones_like(texts)
    return texts, found.times[mine].astype(np.int64)


def _seen(texts: NDArray[Any], among: Among) -> NDArray[np.bool_]:
    """Return which of those texts may be found; those of a later moment may not."""
    if texts.max(initial=0) < len(among.seen):
        found: NDArray[np.bool_] = among.seen[texts]
        return found
    mine = np.zeros(len(texts), np.bool_)
    known = texts < len(among.seen)
    mine[known] = among.seen[texts[known]]
    return mine


def _count(connection: Connection, term: Term, *, stems: Stems, among: Among) -> int:
    """Return how many texts that may be found hold a term."""
    if len(stems) > 1 or term.prefix:
        return int(np.count_nonzero(_seen(_holding(connection, term, among=among), among)))
    if stems not in among.counts:
        found = among.postings.load_posting(connection, term, stem=stems[0], among=among)
        among.counts[stems] = int(np.count_nonzero(_seen(found.texts, among)))
    return among.counts[stems]


def _holding(
    connection: Connection, term: Term, *, among: Among, after: int = 0
) -> NDArray[np.int32]:
    """Return the texts behind a passage that hold a term."""
    words = among.words
    query = f"SELECT group_concat(rowid) FROM {words} WHERE {words} MATCH ? AND rowid > ?"  # noqa: S608 - a name of the schema
    return _sure(_numbers(connection, query, term.written, after), among).astype(np.int32)


def _places(connection: Connection, stem: str, *, among: Among, most: int) -> Numbers:
    """Return the text of each place of a word, in order; at most so many, -1 for all."""
    places = f"SELECT doc FROM temp.{among.words}_places WHERE term = ? LIMIT ?"  # noqa: S608 - a name of the schema
    return _numbers(connection, f"SELECT group_concat(doc) FROM ({places})", stem, most)  # noqa: S608 - as above


def _timed(places: Numbers, *, among: Among) -> _Posting:
    """Return the texts that hold a word, and how often each does, by all of its places."""
    first = np.flatnonzero(np.diff(places, prepend=-1))
    texts, times = _sure(places[first], among), np.diff(first, append=len(places))
    often = np.minimum(times, np.iinfo(np.uint16).max).astype(np.uint16)
    return _Posting(texts.astype(np.int32), often, len(among.lengths) - 1)


def _grown(
    connection: Connection, known: _Posting, *, term: Term, stem: str, among: Among
) -> _Posting:
    """Return what is known of a word with the texts that came since."""
    new, times = _holding(connection, term, among=among, after=known.upto), None
    if known.times is not None and len(new) <= _NEW:
        rows = connection.exec_driver_sql(_TEXTS, (json.dumps(new.tolist()),)).all()
        with open_texts([row.text for row in rows]) as private:
            private.execute("CREATE VIRTUAL TABLE places USING fts5vocab('said', 'instance')")
            places = private.execute("SELECT doc FROM places WHERE term = ?", (stem,)).fetchall()
        often = np.bincount([doc for (doc,) in places], minlength=len(new)).astype(np.uint16)
        times = np.concatenate([known.times, often])
    return _Posting(np.concatenate([known.texts, new]), times, len(among.lengths) - 1)


def _sure(texts: Numbers, among: Among) -> Numbers:
    """Return texts that hold a word; raises `WordsDamaged` where the list does not have all."""
    if len(texts) and (texts.max() >= len(among.lengths) or (among.lengths[texts] < 0).any()):
        raise _damaged()
    return texts


def _phrased(connection: Connection, term: Term, *, among: Among) -> tuple[Numbers, Numbers]:
    """Return texts that hold words in a row, or what begins with one, and how often each does.

    FTS5 finds these much sooner than their places could be compared here, and how often is hidden
    in its `bm25`: that is worked out backwards.
    """
    words = among.words
    query = f"SELECT rowid, -bm25({words}) AS weight FROM {words} WHERE {words} MATCH ?"  # noqa: S608 - a name of the schema
    rows = connection.exec_driver_sql(query, (term.written,)).all()
    held = _sure(np.array([row.rowid for row in rows], np.int64), among)
    if not rows:
        return held, held
    own = among.lengths[among.lengths >= 0]  # FTS5 weighs among all
    worth = math.log((len(own) - len(rows) + 0.5) / (len(rows) + 0.5))
    part = np.array([row.weight for row in rows]) / max(worth, _WORTHLESS)
    long = among.lengths[held] / own.mean()
    room = _SOON * (1 - _HELD_BACK + _HELD_BACK * long)
    return held, np.rint(part * room / (_SOON + 1 - part)).astype(np.int64)


def _read_all(connection: Connection, query: Ids) -> Numbers:
    """Return all numbers that a query finds."""
    written = connection.execute(select(func.group_concat(query.subquery().c.id)))
    return np.fromstring(written.scalar_one() or "", np.int64, sep=",")


def _numbers(connection: Connection, query: str, *asked: object) -> Numbers:
    """Return numbers that a query writes one behind the other: a third of the time of rows."""
    (written,) = find_driver_of(connection).execute(query, asked).fetchone()
    return np.fromstring(written or "", np.int64, sep=",")


def _owners(connection: Connection, *, first: int, last: int) -> NDArray[np.int64]:
    """Return the `rowid` of each passage's memory, and its collection by number; -1 for none."""
    cases = " ".join(f"WHEN '{name}' THEN {at}" for at, name in enumerate(COLLECTIONS))
    query = (
        "SELECT group_concat(p.id), group_concat(coalesce(m.rowid, -1)),"  # noqa: S608 - our names
        f" group_concat(CASE p.collection {cases} ELSE -1 END) FROM passages AS p"
        " LEFT JOIN memories AS m ON m.id = p.item_id WHERE p.id BETWEEN ? AND ?"
    )
    written = connection.exec_driver_sql(query, (first, last)).one()
    ids, *told = (np.fromstring(each or "", np.int64, sep=",") for each in written)
    found = np.full((2, last + 1 - first), -1, np.int64)
    found[:, ids - first] = told
    return found


def _lengths(connection: Connection, words: str, *, first: int, last: int) -> NDArray[np.int32]:
    """Return how long the texts of some passages in a row are, -1 for what is not in the list."""
    query = f"SELECT id, sz FROM {words}_docsize WHERE id BETWEEN ? AND ?"  # noqa: S608 - a name of the schema
    found = np.full(last + 1 - first, -1, np.int32)
    if rows := find_driver_of(connection).execute(query, (first, last)).fetchall():
        ids, sizes = zip(*rows, strict=True)
        found[np.array(ids) - first] = [
            each[0] if len(each) == 1 else _varint(each) for each in sizes
        ]
    return found


def _varint(block: bytes) -> int:
    """Return a number as SQLite writes it: seven bits a byte, highest first."""
    return sum((byte & 0x7F) << 7 * place for place, byte in enumerate(reversed(block)))


def _damaged() -> WordsDamaged:
    """Return the error for words that are not those of the passages."""
    return WordsDamaged(
        "what shares words was not looked for: the ledger's list of words is damaged; it is "
        "made again now, so ask again in a moment"
    )


@contextmanager
def _sound() -> Iterator[None]:
    """Raise `WordsDamaged` where SQLite finds the words damaged: the texts may well be whole."""
    try:
        yield
    except (DatabaseError, sqlite3.DatabaseError) as error:
        if not faults.is_of_words(error):
            raise
        raise _damaged() from error
