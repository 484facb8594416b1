"""Search: one question, up to four lists, one answer.

Near in meaning or sharing words, each text alone or with what was said before it: every list is
asked within one read transaction, so what was committed before the question began can be found by
it, embedded or not, in the index or not. Conditions are met in SQL before anything is ranked.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from cortex_actors.errors import CortexError, WordsDamaged
from cortex_actors.rules import sameness
from cortex_actors.rules.ranking import relevance
from cortex_actors.rules.ranking.fusion import (
    DENSE_ALONE,
    DENSE_PAIRED,
    MEASURED,
    WORDS_ALONE,
    WORDS_PAIRED,
    weaken_far,
)
from cortex_actors.storage import embeddings, memory_records, passages
from cortex_actors.storage.pipeline import principles
from cortex_actors.storage.search import scans, turns, words
from cortex_actors.storage.search.dense import Dense, DenseNeighbours, DenseQuestion
from cortex_actors.storage.search.hits import Folding, load_hits
from cortex_actors.storage.search.matrix import VectorMatrix
from cortex_actors.storage.search.query import ListedItem, Lists, Query, SearchHits, profile_of
from cortex_actors.storage.search.ranking import Ranking, sort_newest
from cortex_actors.storage.search.scope import (
    COLLECTIONS,
    SearchScope,
    count,
    find_elsewhere,
    make_scope,
)
from cortex_actors.text.terms import find_terms as terms_of
from cortex_actors.text.terms import split_words

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from cortex_actors.domain.hit import RankedHit
    from cortex_actors.rules.ranking.fusion import Fused, FusionPlan
    from cortex_actors.rules.ranking.rerank import Pieces
    from cortex_actors.sections import MemorySettings
    from cortex_actors.storage.ledger.actor import Records
    from cortex_actors.text.terms import Term

log = logging.getLogger("cortex.search")

#: Places of each list that are fused. With k = 5 the hundredth is worth a seventeenth of the first;
#: 200 places found .751 of LoCoMo's evidence where 100 find .749.
DEPTH = 100

#: Megabytes of vectors in memory unless told otherwise (`storage.matrix_mb`).
MATRIX_MB = 1_024

#: The two halves of a search, as `skipped` names them.
MEANING, WORDS = "meaning", "words"


class Search:
    """Finds what is nearest to a question among everything the ledger has."""

    def __init__(
        self,
        records: Records,
        neighbours: DenseNeighbours,
        *,
        model: str,
        settings: MemorySettings,
        matrix: VectorMatrix | None = None,
        pieces: Callable[[], Pieces | None] = lambda: None,
    ) -> None:
        """Search the ledger with the index's help; `model` is whose vectors are compared.

        In a daemon the matrix of its vectors is shared with others that compare them. Turns of
        conversations are re-ranked by the model's `pieces`, where it has some.
        """
        #: The ledger that is searched.
        self.records = records
        self._model = model
        self._profile = profile_of(settings)
        self._pieces = pieces
        self._most = settings.words_most
        self._decays = settings.decays
        matrix = matrix or VectorMatrix(model, MATRIX_MB)
        self._dense = Dense(neighbours, model=model, matrix=matrix)
        self._postings = words.Postings()
        #: How vectors were compared, and how often.
        self.ways: dict[str, int] = {}
        #: Whether a search has the words rebuilt: it takes the writer, so only one at a time.
        self._is_mending = False

    async def find(self, query: Query) -> SearchHits:
        """Return what is found, best first; equal scores go by id.

        Of the past, memories alone are searched, one by one (`past`); principles, where they alone
        are asked (`distilled`). Without a vector, or with one of another model, words alone are,
        and `skipped` says so; likewise when no word can be searched. Raises `BadInput` for text
        that is not valid Unicode, and what reading the ledger raises.
        """
        query = replace(query, decays=self._decays)
        if (about := query.about) is not None:
            vector = query.vector if about.vector is None else about.vector
            query = replace(query, text=about.text, vector=vector)
        names = query.collections or COLLECTIONS
        if query.past is not None:
            names = tuple(name for name in names if name in memory_records.COLLECTIONS.values())
        seen = make_scope(query.where, names, now=query.now, decays=query.decays)
        if not (names and seen.collections):
            return SearchHits(())
        run = _Run(query, seen, max(DEPTH, 2 * query.limit))
        asked, run.ahead = await asyncio.gather(self._ask(run), self._look_ahead(run))
        found = await self.records.read(partial(self._answer, run=run, asked=asked))
        if run.way:
            self.ways[run.way] = self.ways.get(run.way, 0) + 1
        await self._mend(run)
        return found

    async def load(self) -> None:
        """Read what is kept in memory, a little at a time, so that no search has to wait for it."""
        try:
            await self.records.read(self._postings.load)
            while not await self.records.read(self._dense.load):
                pass
            for name in self._takes(WORDS_ALONE, WORDS_PAIRED):
                await self.records.read(partial(self._postings.load_common, words=name))
        except CortexError as error:
            log.debug("the first search reads what is kept in memory: %s", error)

    async def _ask(self, run: _Run) -> DenseQuestion | None:
        """Ask for neighbours before the ledger is read; None when vectors cannot be compared."""
        query = run.query
        if not self._takes(DENSE_ALONE, DENSE_PAIRED):
            return None
        why = "" if query.vector is not None else query.why
        if not why and query.model != self._model:
            why = (
                f"the question's vector is one of {query.model}, what is stored has vectors of "
                f"{self._model}, and the two are never compared"
            )
        if why or query.vector is None:
            run.skipped.append((MEANING, f"what is near in meaning was not looked for: {why}"))
            return None
        everywhere = len(run.seen.collections) == len(COLLECTIONS)
        return await self._dense.ask(
            query.vector,
            model=query.model,
            depth=run.depth,
            narrowed=run.narrowed,
            collections=() if everywhere else run.seen.collections,
        )

    async def _look_ahead(self, run: _Run) -> _WordsAhead | None:
        """Look for the words while the index is asked; None where that saves nothing.

        Conditions would have to be met in both transactions, so it is done where there are none.
        """
        is_asked = self._dense.has_index and run.query.vector is not None and not run.is_whole
        if run.seen.ids is not None or not (is_asked and self._takes(WORDS_ALONE, WORDS_PAIRED)):
            return None

        def look(connection: Connection) -> _WordsAhead | None:
            moment, lists = words.Moment(connection, self._postings), Lists()
            own = replace(run, skipped=[])  # what is damaged is said by the answer's own look
            terms = self._by_words(moment, own, lists)
            return None if own.is_damaged else _WordsAhead(moment, lists.said, terms)

        return await self.records.read(look)

    def _answer(self, connection: Connection, run: _Run, asked: DenseQuestion | None) -> SearchHits:
        """Ask every list, rank what they hold and look up the best (in a read transaction)."""
        lists, moment = Lists(), words.Moment(connection, self._postings)
        texts, ids, plan = None, None, None
        if not run.is_whole:
            ids = moment.select(run.seen)
            if asked is not None:
                some = None if run.seen.allowed is None else ids
                answer = self._dense.find_nearest(connection, asked, some)
                plan, run.way = answer.plan, answer.plan.way
                lists.said |= {name: answer.lists[name] for name in self._takes(*answer.lists)}
            terms = self._by_words(moment, run, lists)
            total = count(connection, run.seen) if self._profile.absent_last else None
        else:
            plan, terms, total, texts = self._whole(connection, run, lists, asked)
        ranking = Ranking(
            connection,
            run.query,
            lists,
            visible=ids,
            weigh=partial(self._weigh, moment, known=run.weights),
            compare=partial(self._cosines, connection, asked=asked),
            texts=texts,
            pieces=None if self._profile.absent_last else self._pieces(),
        )
        fused = lists.fuse(self._profile, total=total)
        if self._profile is MEASURED and not run.is_whole and (pieces := self._pieces()):
            compare = partial(self._cosines, connection, asked=asked)
            turned = partial(turns.rerank_turns, connection, question=run.query.text, pieces=pieces)
            fused = turned(fused, lists=lists, allowed=ids, compare=compare)
        if run.query.near:
            fused = weaken_far(fused, find_elsewhere(connection, lists.items, near=run.query.near))
        # The documents' ranking is kept as they have it, with its scores.
        fused = fused if self._profile.absent_last else ranking.order(fused)
        # The plan depends on how many rows there are in all, which no agent may learn.
        run.plan, run.terms = plan if run.is_owner else None, terms
        self._note(run, lists, holds=ranking.holds)
        hits = sort_newest(self._looked_up(connection, fused, lists, run=run))
        return SearchHits(tuple(hits), run.plan, tuple(run.skipped))

    def _whole(
        self, connection: Connection, run: _Run, lists: Lists, asked: DenseQuestion | None
    ) -> tuple[FusionPlan | None, list[Term], int | None, Mapping[str, str]]:
        """Ask every list of a look back, or of one among principles; return what items say, too."""
        vector = None if asked is None else asked.vector
        back = scans.search_whole(
            connection, run.query, vector=vector, most=self._most, depth=run.depth
        )
        lists.said |= {name: back.lists[name] for name in self._takes(*back.lists)}
        if back.late:
            run.skipped.append((MEANING, back.late))
        lists.cosines |= {each.item_id: each.score for each in back.lists.get(DENSE_ALONE, ())}
        run.weights = {
            word: weight for term, weight in back.terms.items() for word in split_words(term.text)
        }
        total = back.total if self._profile.absent_last else None
        plan = None if asked is None else back.plan
        return plan, list(back.terms), total, back.texts

    def _weigh(
        self, moment: words.Moment, text: str, *, known: Mapping[str, float] | None
    ) -> Mapping[str, float]:
        """Return what the words of a text weigh; all the same while the words are damaged."""
        if known is not None:
            return known
        try:
            among = moment.load_among(WORDS_PAIRED)
            return words.weigh_terms(moment.connection, text, among=among)
        except WordsDamaged:
            return {word: 1.0 for each in terms_of(text) for word in split_words(each.text)}

    def _cosines(
        self,
        connection: Connection,
        some: NDArray[np.int64],
        *,
        asked: DenseQuestion | None,
    ) -> Mapping[int, float]:
        """Return the cosines of passages with the question's vector; none without one."""
        return {} if asked is None else self._dense.compute_cosines(connection, asked, ids=some)

    def _looked_up(
        self, connection: Connection, fused: list[Fused], lists: Lists, *, run: _Run
    ) -> list[RankedHit]:
        """Return as many answers as are wanted: what is not shown, or repeats one, is none."""
        answers = Folding(connection, run.query.text)
        items, limit = lists.items, run.query.limit
        while fused and len(answers) < limit:
            wanted = limit - len(answers)
            some, fused = fused[:wanted], fused[wanted:]
            scores = {each.id: each.score for each in some}
            known = load_hits(connection, items, scores, run.query)
            answers.add(
                self._told(known[each.id], each, lists, run=run)
                for each in some
                if each.id in known
            )
        return answers.make_hits()

    def _by_words(self, moment: words.Moment, run: _Run, lists: Lists) -> list[Term]:
        """Ask the lists of words; return the terms they were asked for."""
        taken = self._takes(WORDS_ALONE, WORDS_PAIRED)
        if not taken:
            return []
        try:
            if run.ahead is not None and moment.takes(run.ahead.moment):
                lists.said |= run.ahead.said
                return run.ahead.terms
            connection, among = moment.connection, moment.load_among(WORDS_ALONE)
            terms = words.choose_terms(connection, run.query.text, most=self._most, among=among)
            for name in taken if terms else ():
                among = moment.load_among(name)
                lists.said[name] = words.find_near(connection, terms, among=among, depth=run.depth)
        except WordsDamaged as error:
            lists.said.pop(WORDS_ALONE, None)
            run.skipped.append((WORDS, str(error)))
            run.is_damaged = True
            return []
        return list(terms)

    def _note(self, run: _Run, lists: Lists, *, holds: bool) -> None:
        """Say what hits are worth that hold no word of the question, or none was looked for."""
        if run.is_damaged or not self._takes(WORDS_ALONE, WORDS_PAIRED):
            return
        dense = (lists.said.get(name, ()) for name in (DENSE_ALONE, DENSE_PAIRED))
        nearest = max((found[0].score for found in dense if found), default=None)
        named = sum(len(lists.said.get(name, ())) for name in (WORDS_ALONE, WORDS_PAIRED))
        if not run.terms:
            run.skipped.append((WORDS, sameness.explain_wordless(nearest=nearest)))
        elif not holds and sameness.is_strange(named=named, nearest=nearest):
            run.skipped.append((WORDS, sameness.NOT_KNOWN))

    def _told(self, hit: RankedHit, item: Fused, lists: Lists, *, run: _Run) -> RankedHit:
        """Return a hit that says which lists found it, and where in them when that was asked."""
        cosine = lists.find_measure(DENSE_ALONE, item)
        if cosine is None and item.id in lists.cosines:
            cosine = round(lists.cosines[item.id], 4)
        extra: dict[str, Any] = {
            **hit.extra,
            "found_by": lists.list_holding(item),
            "cosine": cosine,
        }
        if run.query.explain:
            plan = run.plan
            # Nor is it what words weigh, nor which were searched: an answer needs neither.
            extra["explain"] = {
                **lists.explain(item, weighed=run.is_owner),
                "plan": None if plan is None else {"kind": str(plan.kind), "why": plan.why},
                "profile": self._profile.name,
                **({"terms": [each.shown for each in run.terms]} if run.is_owner else {}),
            }
        is_weak = hit.score < relevance.WEAK and not self._profile.absent_last
        return replace(hit, extra=extra, weak=is_weak)

    def _takes(self, *names: str) -> list[str]:
        """Return which of those lists the ranking takes."""
        return [name for name in names if name in self._profile.lists]

    async def _mend(self, run: _Run) -> None:
        """Let what was found damaged be made again; the answer does not fail for it."""
        model, damaged = self._model, self._dense.take_damaged()
        try:
            if damaged:
                await self.records.write(lambda c: embeddings.remake(c, model, damaged))
            # Who finds the words damaged meanwhile need not ask for it, too.
            if run.is_damaged and not self._is_mending:
                log.warning("the ledger's words are damaged and are made again")
                self._is_mending = True
                try:
                    await self.records.write(passages.rebuild)
                    self._postings.forget()
                finally:
                    self._is_mending = False
        except CortexError as error:
            log.warning("what was found damaged was not made again: %s", error)


class _WordsAhead(NamedTuple):
    """What the lists of words said before the answer's own transaction, and for which terms."""

    moment: words.Moment
    said: Mapping[str, Sequence[ListedItem]]
    terms: list[Term]


@dataclass(slots=True)
class _Run:
    """One search on its way, and what could not take part in it."""

    query: Query
    seen: SearchScope
    depth: int
    skipped: list[tuple[str, str]] = field(default_factory=list)
    #: How vectors were compared, where the reader may know, and the terms that were searched.
    plan: FusionPlan | None = None
    terms: Sequence[Term] = ()
    #: Whether the words were found damaged.
    is_damaged: bool = False
    #: What it is counted as.
    way: str = ""
    #: What words weigh, where texts are read whole; None where the ledger's words tell.
    weights: Mapping[str, float] | None = None
    #: What the words found while the index was asked.
    ahead: _WordsAhead | None = None

    @property
    def is_whole(self) -> bool:
        """Whether texts are read and compared whole: no index knows them."""
        return self.query.past is not None or self.seen.collections == (principles.COLLECTION,)

    @property
    def narrowed(self) -> Hashable:
        """What leaves passages out, None for nothing: texts that no index knows are left out."""
        if self.is_whole:
            return WORDS
        return None if self.seen.allowed is None else (self.query.where, self.seen.collections)

    @property
    def is_owner(self) -> bool:
        """Whether the owner asks, who may see everything."""
        return self.query.where.reader is None
