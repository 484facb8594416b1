"""Linking: the links of principles follow what they say, at the cost of what changed.

What the links of a principle were drawn of is kept with it as a digest: its words and where they
stand, its fields, whether it has a vector, what was said about it, and how links are drawn. Where
that is another one now they are drawn anew, whoever changed it: the organiser, a vector that came
late, another model, other thresholds.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from cortex_actors.pipeline.drawing import Drawn, Survey, affected, drawn
from cortex_actors.rules import linking
from cortex_actors.storage import principle_lists, principles
from cortex_actors.text.lexicon import standard

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from cortex_actors.domain.principle import Principle
    from cortex_actors.flowsections import OrganisationSettings
    from cortex_actors.runtime.threads import Threads
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.principle_lists import Node, Shelf
    from cortex_actors.text.lexicon import Lexicon


@dataclass(frozen=True, slots=True)
class Linked:
    """What one look found; nothing of it is written yet."""

    drawn: Drawn = field(default_factory=Drawn)
    #: Principle -> digest of what its links were drawn of.
    digests: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """Return the numbers of an audit row."""
        return {"linked": len(self.drawn.found), "unlinked": len(self.drawn.gone)}

    def write(self, connection: Connection, *, at: int) -> set[str]:
        """Write it, after the principles; return who has other links than before.

        A link to a principle that has gone meanwhile is left out.
        """
        principles.replace_links(connection, self.drawn.gone, self.drawn.found, at=at)
        principles.note(connection, self.digests.items())
        return self.drawn.ends


class Linker:
    """Finds the links of principles; whoever asks writes them."""

    def __init__(
        self, records: Records, threads: Threads, *, model: str, settings: OrganisationSettings
    ) -> None:
        """Compare vectors of that model, on those threads."""
        self._records = records
        self._threads = threads
        self._model = model
        self._thresholds = settings.linking

    async def find(
        self,
        made: Sequence[Principle] = (),
        *,
        rows: Mapping[bytes, Matrix] | None = None,
        gone: Collection[str] = (),
        lexicon: Lexicon | None = None,
    ) -> Linked:
        """Return how links change once principles are `made`, and others `gone`.

        `rows` are vectors that the ledger has not got yet, by the hash of their text; `lexicon` is
        the user's own rules with the product's. With nothing given, what is due in the ledger is
        drawn. Reads only.
        """
        shelf = await self._records.read(
            lambda c: principle_lists.shelf(c, self._model, made=made, rows=rows, gone=gone)
        )
        tables = lexicon if lexicon is not None else await self._threads.run(standard)
        digests = await self._threads.run(self._digests, shelf, tables)
        due = {name for name, now in digests.items() if now != shelf.nodes[name].linked}
        due |= await self._left(gone, shelf)
        if not due:
            return Linked()
        survey = Survey(shelf, self._thresholds, tables)
        known = await self._records.read(lambda c: principles.touching(c, due))
        around = await self._threads.run(affected, survey, due, known)
        before = await self._records.read(lambda c: principles.touching(c, {*around, *gone}))
        found = await self._threads.run(drawn, survey, due, around, before)
        return Linked(found, {name: digests[name] for name in due})

    async def _left(self, gone: Collection[str], shelf: Shelf) -> set[str]:
        """Return who loses a neighbour that goes."""
        if not gone:
            return set()
        lost = await self._records.read(lambda c: principles.touching(c, gone))
        return {end for each in lost for end in each.pair if end in shelf.nodes}

    def _digests(self, shelf: Shelf, lexicon: Lexicon) -> dict[str, bytes]:
        """Return the digest of each principle (on a thread)."""
        how = json.dumps(
            [linking.VERSION, lexicon.digest, self._model, asdict(self._thresholds)]
        ).encode()
        nodes = shelf.nodes.values()
        return {each.id: _digest(each, how, each.id in shelf.rows) for each in nodes}


def _digest(node: Node, how: bytes, has_vector: bool) -> bytes:  # noqa: FBT001 - one of three
    """Return the digest of all that a principle's links are drawn of."""
    subject = node.subject
    said = [(name, *map(str, (v.relation, v.decider, v.reason))) for name, v in subject.verdicts]
    claim = (subject.claim.text, subject.claim.heading, subject.claim.scope)
    parts = (claim, sorted(subject.domains), sorted(subject.tags), said, subject.is_section)
    text = json.dumps([*parts, has_vector, node.text_hash.hex()])
    return hashlib.sha256(how + text.encode("utf-8", "surrogatepass")).digest()
