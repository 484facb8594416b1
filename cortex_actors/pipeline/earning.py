"""Earning: which insights may become principles, each for itself or a cluster together.

A function of what files say now and of what persons have said; whether something is a principle
already does not matter here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.domain.insight import Granularity, Relation
from cortex_actors.domain.project import Decision, StatementKind
from cortex_actors.pipeline import weighing
from cortex_actors.rules import contradiction
from cortex_actors.rules.contradiction import opposition
from cortex_actors.storage import insight_evidence, insights
from cortex_actors.storage.search.matrix import cosine
from cortex_actors.text.suspicion import is_boilerplate, wary

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from cortex_actors.pipeline.weighing import Scales
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.insight_evidence import Spoken
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.text.lexicon import Lexicon

#: Cosine with its medoid from which on an insight of a cluster says what it says; edges of clusters
#: (0.75) hold together what is about one thing: of real ones in three projects, half were no claim
#: of all of them.
TOGETHER = 0.8

#: The cosine of two texts of which only what speaks against it is asked.
_EQUAL = 1.0

#: What tells of one project: three that say much the same of themselves claim nothing together.
_OF_ITSELF = frozenset({StatementKind.FACT, StatementKind.COMMAND, StatementKind.EXAMPLE})


@dataclass(frozen=True, slots=True, order=True)
class Pool:
    """Insights of a cluster that have earned together what none of them has alone.

    Attributes:
        voice: whose words they are given: what most voices say, of those the shortest.
        members: those that make one claim with it, itself among them, in order.

    """

    voice: str
    members: tuple[str, ...]


def said(connection: Connection, ids: Collection[str]) -> dict[str, list[Spoken]]:
    """Return insights with the texts that count for them, each itself the first."""
    counting = insights.followers(connection, ids)
    texts = insight_evidence.by_id(connection, {*ids, *counting})
    found = {each: [texts[each]] for each in sorted(ids) if each in texts}
    for text, lead in sorted(counting.items()):
        if lead in found:
            found[lead].append(texts[text])
    return found


def pools(
    grouped: Iterable[tuple[str, Sequence[str]]],
    texts: Mapping[str, Sequence[Spoken]],
    scales: Scales,
    *,
    rows: Mapping[str, Matrix],
    lexicon: Lexicon | None = None,
) -> list[Pool]:
    """Return what clusters, given as medoid and members, have earned together.

    Nothing where one of them has earned it alone: it speaks for itself. What contradicts the medoid
    or whose words are given out, or differs from it in a number, a name or its place, does not
    count, nor does what is not near it, what only one person may read, what a person turned down
    or has to look at first, and what asks nothing. `rows` are their vectors.
    """
    found = []
    for medoid, members in grouped:
        some = [each for each in members if each in texts and _may_join(texts[each], scales)]
        if medoid not in some or any(weighing.has_earned(texts[each], scales) for each in some):
            continue
        about = _alike(medoid, some, texts, rows=rows, lexicon=lexicon)
        voice = min(about, key=lambda each: _place(texts[each]))
        one = _alike(voice, about, texts, rows=rows, lexicon=lexicon)
        others = [text for each in one if each != voice for text in texts[each]]
        if others and weighing.has_earned([*texts[voice], *others], scales):
            found.append(Pool(voice, tuple(sorted(one))))
    return sorted(found)


def _alike(
    middle: str,
    some: Iterable[str],
    texts: Mapping[str, Sequence[Spoken]],
    *,
    rows: Mapping[str, Matrix],
    lexicon: Lexicon | None,
) -> list[str]:
    """Return those of some insights that make one claim with another, itself among them."""
    first = texts[middle][0]
    return [
        each
        for each in some
        if _is_near(middle, each, rows) and agree(first, texts[each][0], lexicon=lexicon)
    ]


def _place(texts: Sequence[Spoken]) -> tuple[int, int, str]:
    """Return where an insight stands among those whose words may be given out, the first first.

    What most voices say, then the shortest: any number of wordings of one project surround the
    middle of a cluster, and what one of them adds, no other project says.
    """
    voices = set[str]().union(*(each.voices for each in texts))
    return -len(voices), len(texts[0].content), texts[0].id


def agree(left: Spoken, right: Spoken, *, lexicon: Lexicon | None = None) -> bool:
    """Tell whether two texts that are near each other may count as one claim.

    Polarity before likeness: they neither contradict each other nor differ in a number, a name, a
    switch or the place where they hold. Of a script that no model knows, the letters count.
    """
    if left.granularity is not right.granularity:
        return False
    if left.id == right.id:
        return True
    if left.granularity is Granularity.SECTION:
        return opposition(*sorted((left.content, right.content))) is None
    found = contradiction.judge(left.claim, right.claim, cosine=_EQUAL, lexicon=lexicon)
    return found.relation is Relation.SAME


def _is_near(medoid: str, other: str, rows: Mapping[str, Matrix]) -> bool:
    """Tell whether an insight is near enough to its medoid to say what it says."""
    known = medoid in rows and other in rows
    return known and cosine(rows[medoid], rows[other]) >= TOGETHER


def _may_join(texts: Sequence[Spoken], scales: Scales) -> bool:
    """Tell whether an insight may speak for others of its cluster."""
    first = texts[0]
    return (
        first.is_live
        and first.kind not in _OF_ITSELF
        and first.id not in scales.contradicted
        and not is_boilerplate(first.content)
        and not all(each.is_private for each in texts)
        and wary(first.content) is None
        and weighing.decision(texts, scales.decisions) is not Decision.REJECTED
    )
