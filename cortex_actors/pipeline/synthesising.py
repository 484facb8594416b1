"""Synthesising: one sentence for a cluster, where a language model is there to write it.

What it writes is only taken when it stands on every one of its sources; else, and whenever nobody
answers, the cluster has the words of its medoid. What was taken once is not asked for again as long
as it is made of the same insights.
"""

from __future__ import annotations

import hashlib
import logging
import unicodedata
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from cortex_actors.domain.insight import statement_hash
from cortex_actors.domain.principle import (
    Origin,
    Principle,
    PrincipleCategory,
    PrincipleStatus,
    principle_id,
)
from cortex_actors.errors import CortexError
from cortex_actors.rules import merging

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from cortex_actors.pipeline.gathering import Gathered
    from cortex_actors.pipeline.promoting import Unit
    from cortex_actors.pipeline.vectors import Embed
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.text.lexicon import Lexicon

log = logging.getLogger("cortex.organiser")

#: Distinct texts that a sentence is worth being written for.
FEWEST = 2


class Writer(Protocol):
    """A model that may be asked for the one principle behind several texts."""

    @property
    def is_there(self) -> bool:
        """Whether there is a model at all."""

    def synthesise(self, texts: Sequence[str], *, run: str = "") -> Awaitable[str | None]:
        """Return a sentence; None where nobody can. Raises nothing."""


@dataclass(slots=True)
class Written:
    """What was written for the units of one run.

    Attributes:
        words: unit -> a principle that has its words; the rest of it is to be made.
        rows: vectors that the ledger has not got yet, by the hash of their text.
        taken: sentences that were taken.
        dropped: sentences that did not stand on their sources.

    """

    words: dict[str, Principle] = field(default_factory=dict)
    rows: dict[bytes, Matrix] = field(default_factory=dict)
    taken: int = 0
    dropped: int = 0


class Synthesising:
    """Asks the model, and looks at what it says."""

    def __init__(self, writer: Writer | None, embed: Embed, *, model: str) -> None:
        """Remember whom to ask; `model` is whose vectors are kept."""
        self._writer = writer
        self._embed = embed
        self._model = model

    async def write(
        self,
        units: Sequence[Unit],
        found: Gathered,
        *,
        run: str,
        lexicon: Lexicon | None = None,
    ) -> tuple[list[Unit], Written]:
        """Return units with the words they are given; those that keep their own are unchanged."""
        written = Written()
        told = [await self._told(each, found, written, run, lexicon=lexicon) for each in units]
        await self._embedded(written)
        return told, written

    async def _told(
        self, unit: Unit, found: Gathered, written: Written, run: str, *, lexicon: Lexicon | None
    ) -> Unit:
        """Return a unit, as a synthesis where there is one."""
        if unit.origin is not Origin.CLUSTER or not unit.is_earned:
            return unit
        known = _known(unit, found)
        if known is not None:
            return replace(unit, origin=Origin.SYNTHESIS, keeps=known)
        sources = [found.said[each][0] for each in unit.members]
        texts = sorted({each.content for each in sources})
        if self._writer is None or not self._writer.is_there or len(texts) < FEWEST:
            return unit
        said = await self._writer.synthesise(texts, run=run)
        if said is None:
            return unit
        text = " ".join(unicodedata.normalize("NFC", said).split())
        why = merging.flaw(text, [each.claim for each in sources], lexicon=lexicon)
        words = _words(text)
        if why is None and (words.id in found.revoked or words.id in found.principles):
            why = "another principle has these words"
        if why is not None:
            log.info("a sentence for %s is not taken: %s", unit.voice, why)
            written.dropped += 1
            return unit
        written.taken += 1
        written.words[unit.key] = words
        return replace(unit, origin=Origin.SYNTHESIS)

    async def _embedded(self, written: Written) -> None:
        """Have the new sentences embedded; without a vector they can still be given out."""
        made = sorted(written.words.values(), key=lambda each: each.id)
        if not made:
            return
        try:
            rows = await self._embed([each.content for each in made], model=self._model)
        except CortexError as error:
            log.debug("sentences are embedded another time: %s", error)
            return
        written.rows = {each.text_hash: row for each, row in zip(made, rows, strict=True)}


def _known(unit: Unit, found: Gathered) -> str | None:
    """Return the synthesis there is already of the same insights."""
    members = set(unit.members)
    for name, principle in sorted(found.principles.items()):
        owed: Mapping[str, str] = {
            found.leads.get(each.insight_id, each.insight_id): name for each in found.owed[name]
        }
        if principle.origin is Origin.SYNTHESIS and owed.keys() == members:
            return name
    return None


def _words(text: str) -> Principle:
    """Return a principle that has those words and nothing else yet."""
    digest = statement_hash(text)
    return Principle(
        id=principle_id(digest),
        content=text,
        content_hash=digest,
        elaboration=None,
        category=PrincipleCategory.LEARNING,
        tags=(),
        domains=(),
        confidence=0.0,
        quality=0.0,
        rank=0.0,
        status=PrincipleStatus.ACTIVE,
        origin=Origin.SYNTHESIS,
        text_hash=hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(),
        created_at=0,
    )
