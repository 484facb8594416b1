"""Past: memories of another time, searched without an index: there is none for what is no more.

What is selected is read and compared whole (`whole`). A memory is searched without its
predecessor: what came before it then is not looked for.

Distilled: principles as answers, searched whole when a query asks for them by name.

They have no passages. The insight that says the same would be found twice by them, and their words
would weigh in every other search; there are few of them, so their rows are read instead (`whole`).
What is given out no more (pruned, taken back) is not found.

Whole: texts that are read and compared one by one, because no index knows them.

Their vectors are found by the hashes of what was embedded of them, and their words are put into a
private full-text table in memory, cut up as the ledger's own are. So an answer is exact, words are
weighed among the selected texts alone, and it costs as much as reading all of these.

Each text is alone here: nothing came before it, so it takes part in the lists of pairs with its
own words, as what has no predecessor does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, exists, select

from cortex_actors.clock import iso
from cortex_actors.domain.hit import RankedHit
from cortex_actors.domain.insight import Decider
from cortex_actors.domain.memory import ChangeKind
from cortex_actors.domain.project import SourceKind
from cortex_actors.rules.ranking import fusion
from cortex_actors.rules.ranking.relevance import rarity
from cortex_actors.storage import embeddings, memory_records
from cortex_actors.storage.pipeline import principle_decay, principle_lists, principles, reviews
from cortex_actors.storage.search.dense import compute_exact
from cortex_actors.storage.search.query import ListedItem
from cortex_actors.storage.search.scope import match_memories
from cortex_actors.storage.search.words import PLACES, find_best, find_distinct, open_texts
from cortex_actors.storage.tables.dialect import has_word
from cortex_actors.storage.tables.schema import memories as memory_table
from cortex_actors.storage.tables.schema import memory_changes, vectors
from cortex_actors.storage.tables.schema import principles as principle_table
from cortex_actors.text import terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.search.query import Past, Query, Where
    from cortex_actors.text.terms import Term


#: Rows read at once: 3 MB of vectors.
READ = 2_000


class Looked(NamedTuple):
    """What was found so, before it is one list."""

    lists: Mapping[str, Sequence[ListedItem]]
    #: The terms that were searched, with their weights.
    terms: Mapping[Term, float]
    #: What those say that a list holds.
    texts: Mapping[str, str]
    #: Texts that were selected, and those of them whose vectors were compared.
    total: int
    compared: int
    #: What they are, in words, and which of those.
    kind: str = "memories"
    which: str = "memories of the past"

    @property
    def plan(self) -> fusion.FusionPlan:
        """How vectors were compared."""
        return fusion.FusionPlan(
            fusion.FusionKind.EXACT, f"{self.compared} {self.which} are compared one by one"
        )

    @property
    def late(self) -> str:
        """What took no part in the lists of meaning, and why; empty when all did."""
        late = self.total - self.compared if fusion.DENSE_ALONE in self.lists else 0
        if not late:
            return ""
        return f"{late} of the {self.kind} have no vector and were looked for by their words alone"


@dataclass(slots=True)
class SelectedTexts:
    """The texts that were selected: what each list needs of them, and no vector."""

    items: list[tuple[str, str]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    near: list[ListedItem] = field(default_factory=list)

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
        found, sound = embeddings.to_rows([row.vector for row, _ in whole], length)
        cosines = compute_exact(found[sound], vector.reshape(-1))
        good = [item for (_, item), is_sound in zip(whole, sound, strict=True) if is_sound]
        self.near += [ListedItem(*item, cosine) for item, cosine in zip(good, cosines, strict=True)]

    def make_lists(
        self, question: str, *, is_compared: bool, most: int, depth: int
    ) -> tuple[dict[str, Sequence[ListedItem]], dict[Term, float]]:
        """Return every list, best first and ties by id, and the terms searched, with weights.

        Lists of meaning are there where texts were compared. Raises `BadInput` for a question that
        is not valid Unicode.
        """
        near = sorted(self.near, key=lambda each: (-each.score, each.item_id))[:depth]
        asked = find_distinct(terms.find_terms(question))
        some: list[Term] = []
        counts: dict[Term, int] = {}
        placed: list[ListedItem] = []
        if asked:
            with open_texts(self.texts) as private:
                held = dict(private.execute("SELECT term, doc FROM held"))
                # A beginning is not counted; words in a row are in no more than their rarest.
                counts = {
                    term: 1 if term.prefix else min(held.get(stem, 0) for stem in stems)
                    for term, stems in asked.items()
                }
                some = terms.choose_rarest(list(asked), counts, most=most, places=PLACES)
                some = some or list(asked)[: terms.FEWEST]
                found = find_best(private, some, depth)
            placed = [ListedItem(*self.items[place], weight) for place, weight in found]
        names = (fusion.WORDS_ALONE, fusion.WORDS_PAIRED)
        lists: dict[str, Sequence[ListedItem]] = dict.fromkeys(names, placed)
        if is_compared:
            lists |= {fusion.DENSE_ALONE: near, fusion.DENSE_PAIRED: near}
        return lists, {each: rarity(counts[each], len(self.texts)) for each in some}

    def load_texts(self, lists: Mapping[str, Sequence[ListedItem]]) -> dict[str, str]:
        """Return the texts of what lists hold, by id."""
        listed = {each.item_id for some in lists.values() for each in some}
        pairs = zip(self.items, self.texts, strict=True)
        return {name: text for (_, name), text in pairs if name in listed}


def search_whole(
    connection: Connection, query: Query, *, vector: embeddings.Matrix | None, most: int, depth: int
) -> Looked:
    """Return the lists of a look back, or else of a search among principles.

    In a read transaction, on its thread. `vector` is the question's, None to look for words alone;
    `most` words of it are searched, and each list has `depth` places. Ties go by id. Raises
    `BadInput` for text that is not valid Unicode.
    """
    kept, where, of_past = SelectedTexts(), query.where, query.past is not None
    is_none = where.project_id is not None or where.of_memories or where.of_knowledge
    if of_past:
        for some in connection.execute(_selected_memories(query)).partitions(READ):
            items = [(memory_records.COLLECTIONS[row.realm], row.id) for row in some]
            kept.add(some, items, vector)
    elif not is_none:
        for some in connection.execute(_selected_principles(query)).partitions(READ):
            mine = _met(connection, some, where)
            kept.add(mine, [(principles.COLLECTION, row.id) for row in mine], vector)
    lists, found = kept.make_lists(
        query.text, is_compared=vector is not None, most=most, depth=depth
    )
    told = () if of_past else ("principles", "principles")
    return Looked(lists, found, kept.load_texts(lists), len(kept.items), len(kept.near), *told)


def _selected_memories(query: Query) -> Any:
    """Return the query for the memories that are looked at, in the order of their ids."""
    past = query.past
    found = select(memory_table.c.id, memory_table.c.realm, memory_table.c.text, vectors.c.vector)
    embedded = embeddings.match_text(memory_table, query.model)
    found = found.outerjoin(vectors, embedded).order_by(memory_table.c.id)
    found = found.where(*match_memories(query.where, query.now, query.decays))
    if query.collections:
        realms = [
            realm for realm, name in memory_records.COLLECTIONS.items() if name in query.collections
        ]
        found = found.where(memory_table.c.realm.in_(realms))
    return found.where(*_of(past)) if past else found


def _of(past: Past) -> list[ColumnElement[bool]]:
    """Return the conditions on the memories of another time."""
    found: list[ColumnElement[bool]] = []
    if past.original:
        parts = memory_table.alias("parts")
        # What a person made part of another one left the words of that one as they were.
        made = exists().where(
            parts.c.merged_into == memory_table.c.id, parts.c.merged_by != Decider.PERSON
        )
        # What was taken apart again has no parts any more, and was made of them all the same.
        change = memory_changes.c
        once = exists().where(
            change.memory_id == memory_table.c.id, change.kind == ChangeKind.MERGE
        )
        found += [~made, ~once]
    if past.as_of is not None:
        found.append(memory_records.match_held_at(past.as_of))
    return found


#: Fields of a principle that an answer shows as they are.
_NUMBERS = ("rank", "confidence", "quality")


def make_answers(connection: Connection, ids: Sequence[str], query: Query) -> list[RankedHit]:
    """Return principles with rank and status; which projects say them stays here."""
    known, counted = (
        principles.load_principles(connection, ids),
        principle_decay.load_evidence(connection, ids),
    )
    named = {} if query.where.outward else principle_lists.load_projects(connection, ids)
    made_of = principles.load_derivations(connection, ids)
    return [
        RankedHit(
            each,
            principle.content,
            0.0,
            principles.COLLECTION,
            extra={
                **{name: str(getattr(principle, name)) for name in ("category", "status")},
                **{name: getattr(principle, name) for name in _NUMBERS},
                "origin": str(principle.origin),
                "domains": list(principle.domains),
                "tags": list(principle.tags),
                "observations": counted[each].observed,
                "last_seen": counted[each].seen_at,
                "at": iso(counted[each].seen_at),
                "linked": counted[each].links,
                "insights": len(made_of.get(each, ())),
                "projects": list(named.get(each, ())),
            },
        )
        for each, principle in known.items()
    ]


def _selected_principles(query: Query) -> Any:
    """Return the query for the principles that are looked at, in the order of their ids."""
    embedded = embeddings.match_text(principle_table, query.model)
    found = select(principle_table.c.id, principle_table.c.content.label("text"), vectors.c.vector)
    found = found.outerjoin(vectors, embedded).order_by(principle_table.c.id)
    found = found.where(principle_table.c.status.in_(sorted(principle_lists.GIVEN)))
    found = found.where(principle_table.c.id.not_in(reviews.select_revoked(SourceKind.PRINCIPLE)))
    return found.where(*(has_word(principle_table.c.tags, tag) for tag in query.where.tags))


def _met(connection: Connection, some: Sequence[Any], where: Where) -> list[Any]:
    """Return the rows that meet what SQL was not asked.

    What leaves for another program is what projects may be given: a shared file says it now.
    """
    ids = [row.id for row in some]
    kept = set(principles.filter_given(connection, ids) if where.outward else ids)
    if where.since is not None or where.until is not None:
        first, last = where.since or 0, where.until
        seen = principle_decay.load_evidence(connection, kept)
        kept = {
            each
            for each, one in seen.items()
            if first <= one.seen_at and (last is None or one.seen_at < last)
        }
    return [row for row in some if row.id in kept]
