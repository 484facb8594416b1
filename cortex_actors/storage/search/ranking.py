"""Ranking: what the lists of a search hold as one list, with the chance that each is an answer.

What files say is ordered by that chance (`rules/ranking/relevance.py`), and all that the meant
projects say takes part: the one from which is asked, and those that the question names. Everything
else keeps the order of the fused lists, with chances that fall as the order does. So scores and
order agree, and a score means the same in every question.

Texts are those of passages that may be found, and how rare a word is counts these alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sqlalchemy import Connection, select

from cortex_actors.rules.ranking import relevance
from cortex_actors.rules.ranking.fusion import WORDS_ALONE, Fused
from cortex_actors.storage import insight_records, projects
from cortex_actors.storage.tables.columns import decode_text
from cortex_actors.storage.tables.dialect import execute_for
from cortex_actors.storage.tables.schema import insight_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from cortex_actors.domain.hit import RankedHit
    from cortex_actors.rules.ranking.rerank import Pieces
    from cortex_actors.storage.search.query import Lists, Query

#: Statements of the meant projects that are looked at, the nearest in meaning: more than nearly
#: every project has, and comparing the words of one takes 0.03 ms.
NEAREST = 300

#: Hits beyond those wanted whose chance is worked out: some of them may not be shown.
SPARE = 10

#: One passage of each item: a statement with its headings, all else by itself.
_TEXTS = (
    "SELECT id, item_id, text FROM passages WHERE item_id IN :ids"
    " AND place <> CASE collection WHEN ?2 THEN 'alone' ELSE 'paired' END"
)


def sort_newest(hits: Sequence[RankedHit]) -> list[RankedHit]:
    """Return hits in which, of memories that cannot both hold, the newest comes first and says so.

    It has the place and the score of the first that it contradicts, if that is the better one.
    """
    found: list[RankedHit] = []
    for hit in hits:
        against, at = hit.extra.get("conflicts", ()), hit.extra.get("created_at", 0)
        older = [each.id for each in hits if each.id in against and each.extra["created_at"] < at]
        new = replace(hit, extra={**hit.extra, "newer_than": older}) if older else hit
        place = next((n for n, each in enumerate(found) if each.id in older), len(found))
        if place < len(found):
            new = replace(new, score=found[place].score, weak=found[place].weak)
        found.insert(place, new)
    return found


class Support(NamedTuple):
    """What speaks for an item: its text, and its cosine where that is known."""

    text: str
    cosine: float | None


@dataclass(slots=True)
class Ranking:
    """Orders what one search found, in its read transaction.

    Attributes:
        lists: what was found; what is looked at beside it is noted there.
        visible: the numbers of the passages that may be found; None for all.
        weigh: text -> its words with what they weigh.
        compare: passages -> their cosines with the question, of those that have any.
        texts: what items say that have no passages; None where all have.
        holds: whether something that is shown holds a word of the question.

    """

    connection: Connection
    query: Query
    lists: Lists
    visible: NDArray[np.int64] | None
    weigh: Callable[[str], Mapping[str, float]]
    compare: Callable[[NDArray[np.int64]], Mapping[int, float]]
    pieces: Pieces | None = None
    texts: Mapping[str, str] | None = None
    holds: bool = False

    def order(self, fused: Sequence[Fused]) -> list[Fused]:
        """Return the items, the likeliest answer first, each with its chance as its score."""
        query, items = self.query, self.lists.items
        said = [each for each in fused if items[each.id] == insight_records.COLLECTION]
        others = [each for each in fused if items[each.id] != insight_records.COLLECTION]
        heads = others[: query.limit + SPARE]
        known = self._known([each.id for each in heads])
        chances = self._chances(known, query.text, meant=None, led={})
        levels = relevance.flatten_rises([chances.get(each.id, 0.0) for each in heads])
        last = levels[-1] if levels else 0.0
        levels += [last] * (len(others) - len(heads))
        ranked = [Fused(e.id, one, e.ranks) for e, one in zip(others, levels, strict=True)]
        ranked += self._statements(said)
        ranked.sort(key=lambda each: -each.score)
        if query.sure:
            ranked = [each for each in ranked if each.score >= relevance.WEAK]
        return ranked

    def _statements(self, said: Sequence[Fused]) -> list[Fused]:
        """Return what files say that was found or that meant projects say, likeliest first.

        Of those that are as likely the lists decide.
        """
        meant, ids = self._meant(), [each.id for each in said]
        known = self._known(ids) | self._known(meant.difference(ids), nearest=NEAREST)
        ranks = {each.id: each.ranks for each in said}
        led = {each.id: 1 / each.ranks[WORDS_ALONE] for each in said if WORDS_ALONE in each.ranks}
        chances = self._chances(known, self.query.text, meant=meant, led=led)
        self.lists.beside |= dict.fromkeys(known.keys() - set(ids), insight_records.COLLECTION)
        found = [Fused(each, chance, ranks.get(each, {})) for each, chance in chances.items()]
        place = {each: number for number, each in enumerate(ids)}
        return sorted(found, key=lambda e: (-e.score, place.get(e.id, len(place)), e.id))

    def _asked(self) -> list[str]:
        """Return the projects that are meant."""
        query = self.query
        named = query.about.named if query.about is not None else ()
        return sorted(filter(None, {*named, query.here, query.where.project_id}))

    def _meant(self) -> set[str]:
        """Return the statements of the projects that are meant."""
        query, collection = self.query, insight_records.COLLECTION
        asked = self._asked()
        is_searched = collection in (query.collections or (collection,)) and self.texts is None
        if not (asked and is_searched):
            return set()
        said = select(insight_sources.c.insight_id).where(insight_sources.c.withdrawn_at.is_(None))
        found = self.connection.execute(said.where(insight_sources.c.project_id.in_(asked)))
        return set(found.scalars())

    def _known(self, ids: Iterable[str], *, nearest: int | None = None) -> dict[str, Support]:
        """Return what speaks for items, of those that may be found; of many only the nearest."""
        if self.texts is not None:
            return {
                each: Support(self.texts[each], self.lists.cosines.get(each))
                for each in ids
                if each in self.texts
            }
        found = execute_for(self.connection, _TEXTS, ids, insight_records.COLLECTION)
        rows = [(number, item, decode_text(text) or "") for number, item, text in found]
        if self.visible is not None:
            numbers = np.array([row[0] for row in rows], np.int64)
            seen = np.isin(numbers, self.visible).tolist()
            rows = [row for row, may in zip(rows, seen, strict=True) if may]
        numbers = np.array([row[0] for row in rows], np.int64)
        near = self.compare(numbers) if rows else {}
        if nearest is not None and len(rows) > nearest:
            rows = sorted(rows, key=lambda row: (-near.get(row[0], 0.0), row[1]))[:nearest]
        return {item: Support(text, near.get(number)) for number, item, text in rows}

    def _chances(
        self,
        known: Mapping[str, Support],
        text: str,
        *,
        meant: set[str] | None,
        led: Mapping[str, float],
    ) -> dict[str, float]:
        """Return the chance of each item that it answers a question.

        `meant` are those of the projects that are meant; None for what belongs to everybody.
        `led` are 1 / places in the list of words.
        """
        if not known:
            return {}
        odds = relevance.PLAIN if self.pieces is None else relevance.PIECES
        if self._asked():
            elsewhere = 1.0 if meant is None else 0.0
        else:
            elsewhere = relevance.weigh_unaimed(
                len(projects.list_followed(self.connection)), odds=odds
            )
        weights = relevance.weigh_telling(self.weigh(text))
        texts = [each.text for each in known.values()]
        # Memories say names by who speaks, and keep the order that their lists have.
        asked = "" if meant is None else text
        shares = relevance.weigh_shares(weights, texts, pieces=self.pieces, question=asked)
        self.holds = self.holds or any(is_held for _, is_held in shares)
        tells, found = relevance.tells(self.query.model), {}
        for (name, each), (share, _) in zip(known.items(), shares, strict=True):
            if each.cosine is not None:
                self.lists.cosines[name] = each.cosine
            found[name] = relevance.score(
                each.cosine if tells else None,
                share,
                words=relevance.count_telling(text, weights),
                meant=1.0 if name in (meant or ()) else elsewhere,
                led=led.get(name, 0.0),
                odds=odds,
            )
        return found
