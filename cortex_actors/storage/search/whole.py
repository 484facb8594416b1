"""Whole: texts that are read and compared one by one, because no index knows them.

Their vectors are found by the hashes of what was embedded of them, and their words are put into a
private full-text table in memory, cut up as the ledger's own are. So an answer is exact, words are
weighed among the selected texts alone, and it costs as much as reading all of these.

Each text stands alone here: nothing came before it, so it takes part in the lists of pairs with its
own words, as what has no predecessor does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cortex_actors.rules.fusion import (
    DENSE_ALONE,
    DENSE_PAIRED,
    WORDS_ALONE,
    WORDS_PAIRED,
    Kind,
    Plan,
)
from cortex_actors.storage import embeddings
from cortex_actors.storage.search import words
from cortex_actors.storage.search.compared import exact
from cortex_actors.storage.search.dense import Near
from cortex_actors.storage.search.words import Placed
from cortex_actors.text import terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.search.ranking import Named
    from cortex_actors.text.terms import Term

#: Rows read at once: 3 MB of vectors.
READ = 2_000


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found so, before it is one list."""

    lists: Mapping[str, Sequence[Named]]
    terms: list[Term]
    #: Texts that were selected, and those of them whose vectors were compared.
    total: int
    compared: int
    #: What they are, in words, and which of those.
    kind: str = "memories"
    which: str = "memories of the past"

    @property
    def plan(self) -> Plan:
        """How vectors were compared."""
        return Plan(Kind.EXACT, f"{self.compared} {self.which} are compared one by one")

    @property
    def late(self) -> str:
        """What took no part in the lists of meaning, and why; empty when all did."""
        late = self.total - self.compared if DENSE_ALONE in self.lists else 0
        if not late:
            return ""
        return f"{late} of the {self.kind} have no vector and were looked for by their words alone"


@dataclass(slots=True)
class Kept:
    """The texts that were selected: what each list needs of them, and no vector."""

    items: list[tuple[str, str]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    near: list[Near] = field(default_factory=list)

    def add(
        self, some: Sequence[Any], items: Sequence[tuple[str, str]], vector: Matrix | None
    ) -> None:
        """Take rows in, in the order of their ids, and compare those with vectors with `vector`.

        `items` are their collections and ids; a row has its `text` and `vector`.
        """
        self.items += items
        self.texts += [row.text for row in some]
        if vector is None:
            return
        whole = [(row, item) for row, item in zip(some, items, strict=True) if row.vector]
        if not whole:
            return
        length = vector.size * embeddings.FLOAT
        found, sound = embeddings.rows([row.vector for row, _ in whole], length)
        cosines = exact(found[sound], vector.reshape(-1))
        good = [item for (_, item), is_sound in zip(whole, sound, strict=True) if is_sound]
        self.near += [Near(*item, cosine) for item, cosine in zip(good, cosines, strict=True)]

    def lists(
        self, question: str, *, is_compared: bool, most: int, depth: int
    ) -> tuple[dict[str, Sequence[Named]], list[Term]]:
        """Return every list, best first and ties by id, and the terms that were searched.

        Lists of meaning are there where texts were compared. Raises `BadInput` for a question that
        is not valid Unicode.
        """
        near = sorted(self.near, key=lambda each: (-each.score, each.item_id))[:depth]
        found, placed = self._by_words(question, most=most, depth=depth)
        lists: dict[str, Sequence[Named]] = {WORDS_ALONE: placed, WORDS_PAIRED: placed}
        if is_compared:
            lists |= {DENSE_ALONE: near, DENSE_PAIRED: near}
        return lists, found

    def _by_words(self, question: str, *, most: int, depth: int) -> tuple[list[Term], list[Placed]]:
        """Return the terms a question is searched by, and what holds at least one of them."""
        asked = words.distinct(terms.terms(question))
        if not asked:
            return [], []
        with words.said(self.texts) as private:
            private.execute("CREATE VIRTUAL TABLE held USING fts5vocab('said', 'row')")
            counts = words.counted(asked, dict(private.execute("SELECT term, doc FROM held")))
            some = terms.rarest(list(asked), counts, most=most, places=words.PLACES)
            some = some or list(asked)[: terms.FEWEST]
            found = words.best(private, some, depth)
        return some, [Placed(*self.items[place], weight) for place, weight in found]
