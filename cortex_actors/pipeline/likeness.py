"""Likeness: which texts of a file say what a known insight says, in nearly the same words.

Two texts are one from a cosine of `accumulation.merge` on, if both have the same words: opposite
rules lie nearest of all, and what one says more would be lost. What is found here is provisional:
it counts twins as one from the start, and the reconciler makes of it what does not depend on the
order in which files were read.

Vectors: those of what a file says, as far as there is a model that makes them now.

A second opinion on statements whose category no keyword tells, by the examples nearest to them.

The examples are embedded once in a life and model. Without an embedder there is no opinion,
and the statements stay facts until they are compared again.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from cortex_actors.domain.insight import Claim, Granularity, Insight, Relation
from cortex_actors.errors import (
    ActorAway,
    BadInput,
    CortexError,
    DeadlineExceeded,
    EmbedderDown,
    MailboxFull,
)
from cortex_actors.rules import classification
from cortex_actors.rules.contradiction import contradicts, judge
from cortex_actors.storage.pipeline import insights
from cortex_actors.storage.pipeline.insights import Finding, Opinion
from cortex_actors.storage.tables.columns import split_chunks

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from cortex_actors.domain.project import StatementKind
    from cortex_actors.storage.embeddings import Embed, Matrix
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.search.matrix import Near, Neighbours


K = TypeVar("K")

log = logging.getLogger("cortex.opinion")

#: Neighbours that are looked at: the nearest may say the opposite, and one after it the same.
_NEAREST = 5


@dataclass(frozen=True, slots=True)
class Likeness:
    """Finds which new texts are known in other words, among neighbours that are near enough."""

    neighbours: Neighbours
    merge: float

    def find_same(
        self,
        connection: Connection,
        findings: Sequence[Finding],
        *,
        vectors: Mapping[bytes, Matrix],
    ) -> dict[str, str]:
        """Return, for texts that no file says yet, the insight that says the same (a query).

        Texts without a vector are left out, and so are those that wait for a person. What only one
        person's own file says is the caller's to leave out.
        """
        wanted = {
            each.insight_id: each
            for each in findings
            if each.review is None and each.text_hash in vectors
        }
        said = insights.filter_said(connection, wanted)
        new = [each for each in wanted.values() if each.insight_id not in said]
        if not new:
            return {}
        rows = np.stack([vectors[each.text_hash] for each in new])
        near = self.neighbours.find_nearest(connection, rows, floor=self.merge, most=_NEAREST)
        ids = {each.insight_id for some in near for each in some}
        known = insights.load_live(connection, ids - insights.filter_private(connection, ids))
        found: dict[str, str] = {}
        firsts: list[Finding] = []
        for each, others in zip(new, near, strict=True):
            twin = _first_agreeing(each, others, known)
            twin = twin or _twin(each, firsts, vectors, self.merge)
            if twin is None:
                firsts.append(each)
            else:
                found[each.insight_id] = twin
        return found


def _first_agreeing(
    finding: Finding, near: Sequence[Near], known: Mapping[str, Insight]
) -> str | None:
    """Return the nearest insight that does not say otherwise."""
    for each in near:
        other = known.get(each.insight_id)
        if other is None or other.granularity is not finding.granularity:
            continue
        if _same(finding, Claim(other.content, other.heading), other.kind, cosine=each.cosine):
            return other.id
    return None


def _twin(
    finding: Finding, firsts: Sequence[Finding], vectors: Mapping[bytes, Matrix], merge: float
) -> str | None:
    """Return the text of the same file that says the same first."""
    row = vectors[finding.text_hash]
    for each in firsts:
        cosine = float(row @ vectors[each.text_hash])
        claim, kind = Claim(each.content, each.source.heading), each.source.kind
        if cosine >= merge and _same(finding, claim, kind, cosine=cosine):
            return each.insight_id
    return None


def _same(finding: Finding, other: Claim, kind: StatementKind | None, *, cosine: float) -> bool:
    """Tell whether two texts so near are one; sections go by the document's words of denial."""
    if finding.granularity is Granularity.SECTION:
        return not contradicts(finding.content, other.text)
    one = Claim(finding.content, finding.source.heading, finding.source.scope)
    kinds = (finding.source.kind, kind)
    found = judge(one, other, cosine=min(cosine, 1.0), kinds=kinds)
    return found.relation is Relation.SAME and not found.fuller


#: Why a text is kept without a vector for now.
UNEMBEDDED = (EmbedderDown, BadInput, MailboxFull, ActorAway, DeadlineExceeded)


async def embed_texts(embed: Embed, texts: Mapping[K, str], *, model: str) -> dict[K, Matrix]:
    """Return what can be embedded now, by the keys of the texts; nothing when that is nothing."""
    try:
        rows = await embed(list(texts.values()), model=model) if texts else ()
    except UNEMBEDDED as error:
        log.debug("%d texts are embedded another time: %s", len(texts), error)
        return {}
    return dict(zip(texts, rows, strict=True))


class SecondOpinion:
    """Compares statements with the examples of each category."""

    def __init__(self, records: Records, embed: Embed, *, model: str) -> None:
        """Remember whom to ask; nothing is embedded before it is needed."""
        self._records = records
        self._embed = embed
        self._model = model
        self._examples: Matrix | None = None

    async def form_opinions(self, ids: Collection[str]) -> list[Opinion]:
        """Return the opinions on those of the insights on which there are any."""
        opinions: list[Opinion] = []
        for some in split_chunks(sorted(ids)):
            look = partial(self._look, ids=some)
            found = await self._records.read(look)
            if found is None:
                try:
                    self._examples = await self._embed(
                        classification.list_examples(), model=self._model
                    )
                except CortexError as error:
                    log.debug("no second opinion now: %s", error)
                    return []
                found = await self._records.read(look)
            opinions += found or ()
        return opinions

    def _look(self, connection: Connection, ids: Collection[str]) -> list[Opinion] | None:
        """Return the opinions on some; None where there would be some if the examples were there.

        In a read transaction, on its thread: each takes a tenth of a millisecond.
        """
        rows = insights.load_undecided(connection, self._model, ids)
        examples = self._examples
        if rows and examples is None:
            return None
        return [
            Opinion(name, found.category, found.cosine)
            for name, row in sorted(rows.items())
            if examples is not None
            and (found := classification.choose_category(row, examples)) is not None
        ]
