"""Planner: the fixed-point merge, thought out before anything is written.

What is said is compared with the nearest memories of its scope, best first. What contradicts it is
noted and never merged; what says the same becomes one with it, if the merged text is faithful to
everything it was made of and does not come too near to what else is known. A candidate that fails
is passed over, and the next one is tried. After a merge all of it begins again with the merged
text, until nothing says the same, or there were `rounds` merges.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from cortex_actors.clock import ulid
from cortex_actors.memory.looking import least_cosine
from cortex_actors.memory.plan import Clash, Plan, Step
from cortex_actors.memory.ports import UNEMBEDDED
from cortex_actors.memory.whole import spoken, whole
from cortex_actors.memory.wish import digest
from cortex_actors.rules import merging
from cortex_actors.rules.merging import Prefer, Verdict, united
from cortex_actors.storage.similar_memories import Scope

if TYPE_CHECKING:
    from cortex_actors.clock import Clock
    from cortex_actors.domain.memory import Memory
    from cortex_actors.memory.looking import Candidate, Looking, Seen
    from cortex_actors.memory.phrasing import Phrasing
    from cortex_actors.memory.ports import Embed
    from cortex_actors.rules.merging import Gates, Ruled
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Records

#: Bytes that the text of a memory may have, however it came about.
LONGEST = 65_536


@dataclass(slots=True)
class _Node:
    """What is remembered, as it has become so far."""

    first: Memory
    memory: Memory
    vector: Matrix
    is_new: bool
    prefer: Prefer
    #: What it was made of: ids of leaves, and their vectors.
    leaves: set[str]
    cores: list[Matrix]
    #: Memories that are not compared: itself, what it took in, and what it replaces.
    but: set[str]
    steps: list[Step] = field(default_factory=list)
    clashes: dict[str, Clash] = field(default_factory=dict)
    vectors: dict[bytes, Matrix] = field(default_factory=dict)

    def plan(self) -> Plan:
        """Return what is to be written."""
        parts = {each.part.id for each in self.steps}
        clashes = tuple(each for name, each in self.clashes.items() if name not in parts)
        return Plan(self.first, self.is_new, tuple(self.steps), clashes, vectors=dict(self.vectors))


class Planner:
    """Thinks out what becomes of one memory at a time; several may be under way."""

    def __init__(
        self,
        looking: Looking,
        records: Records,
        phrasing: Phrasing,
        *,
        embed: Embed,
        gates: Gates,
        model: str,
        clock: Clock,
    ) -> None:
        """Compare vectors of that model."""
        self._looking = looking
        self._records = records
        self._phrasing = phrasing
        self._embed = embed
        self._gates = gates
        self._model = model
        self._clock = clock

    async def plan(
        self,
        first: Memory,
        vector: Matrix,
        *,
        is_new: bool,
        prefer: Prefer = Prefer.EQUAL,
        but: tuple[str, ...] = (),
    ) -> Plan:
        """Return what is to be written for a memory that may become one with others.

        Raises what reading the ledger raises; no trouble of a judge or an embedder.
        """
        node = _Node(
            first,
            first,
            vector,
            is_new=is_new,
            prefer=prefer,
            leaves={first.id},
            cores=[vector],
            but={first.id, *but},
            vectors={digest(first.text): vector},
        )
        # After the last merge there is one more look, for what contradicts the text as it is then.
        for left in range(self._gates.rounds, -1, -1):
            seen = await self._look(node)
            if seen.known is not None:
                return Plan(first, known=seen.known)
            if not await self._round(node, seen, may_merge=left > 0):
                break
        return node.plan()

    async def _look(self, node: _Node) -> Seen:
        """Return what is near the text as it is now."""
        asked = await self._looking.ask(node.vector, Scope.of(node.memory))
        look = partial(
            self._looking.candidates,
            node=node.memory,
            asked=asked,
            made_of=node.leaves,
            but=node.but,
            is_new=node.is_new and not node.steps,
        )
        return await self._records.read(look)

    async def _round(self, node: _Node, seen: Seen, *, may_merge: bool) -> bool:
        """Note what contradicts, and merge with the first candidate that passes every gate.

        False when none does, or nothing may be merged any more.
        """
        for each in seen.candidates:
            if each.memory.id in node.clashes:
                continue
            said = each.ruled
            if said.verdict is Verdict.ASK:
                said = await self._asked(node, each)
            if said.verdict is Verdict.CONFLICT:
                node.clashes[each.memory.id] = Clash(each.memory.id, said.by, said.why)
            if may_merge and said.verdict is Verdict.MERGE and await self._merged(node, each, said):
                return True
        return False

    async def _asked(self, node: _Node, candidate: Candidate) -> Ruled:
        """Return what a model's word on a candidate comes to."""
        texts = spoken(node.memory), spoken(candidate.memory)
        said = await self._phrasing.compared(*texts, candidate.cosine, run=node.first.id)
        return merging.believed(said, *texts)

    async def _merged(self, node: _Node, candidate: Candidate, said: Ruled) -> bool:
        """Let a node take a candidate in, if the text that they become passes the gates."""
        by_model = await self._phrasing.merged(
            spoken(node.memory), spoken(candidate.memory), prefer=node.prefer, run=node.first.id
        )
        if by_model is not None and await self._taken(node, candidate, by_model, said=said):
            return True
        text = united(spoken(node.memory), spoken(candidate.memory), prefer=node.prefer)
        return await self._taken(node, candidate, text, said=said)

    async def _taken(self, node: _Node, candidate: Candidate, content: str, *, said: Ruled) -> bool:
        """Let a node become a text, if it passes the gates."""
        text = f"{node.memory.role}: {content}" if node.memory.role else content
        if len(text.encode()) > LONGEST:
            return False
        vector = await self._vector(text)
        if vector is None:
            return False
        least = least_cosine(vector, [node.vector, *node.cores, *candidate.vectors])
        if not merging.faithful((least,), self._gates.faithful):
            return False
        at = self._clock.now()
        became = whole(node.memory, candidate.memory, text, memory_id=f"mem_{ulid(at)}", at=at)
        but = {*node.but, candidate.memory.id}
        # A text that was there before has not grown, whatever stands around it.
        if text not in {node.memory.text, candidate.memory.text} and await self._crowded(
            became, vector, but
        ):
            return False
        node.steps.append(Step(became, candidate.memory, said.by, said.why))
        node.memory, node.vector, node.but = became, vector, {*but, became.id}
        node.leaves |= candidate.leaves
        node.cores += candidate.vectors
        node.vectors[digest(text)] = vector
        return True

    async def _crowded(self, became: Memory, vector: Matrix, but: set[str]) -> bool:
        """Tell whether a new text would be too near to what else is known."""
        asked = await self._looking.ask(vector, Scope.of(became))
        crowded = partial(self._looking.crowd, merged=became, asked=asked, but=but)
        return await self._records.read(crowded) is not None

    async def _vector(self, text: str) -> Matrix | None:
        """Return the vector of a merged text; None where there is none now."""
        try:
            rows = await self._embed([text], urgent=True, model=self._model)
        except UNEMBEDDED:
            return None
        row: Matrix = rows[0]
        return row
