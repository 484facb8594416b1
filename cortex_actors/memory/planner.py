"""Planner: the fixed-point merge, thought out before anything is written.

What is said is compared with the nearest memories of its scope, best first. What contradicts it is
noted and never merged; what says the same becomes one with it, if the merged text is faithful to
everything it was made of and does not come too near to what else is known. A candidate that fails
is passed over, and the next one is tried. After a merge all of it begins again with the merged
text, until nothing says the same, or there were `rounds` merges.

What remembering something will do to the ledger, as it was thought out beforehand.

Looking: one read of the ledger, for everything that a round of merging has to know.

The memory that two become: whose words, layer, tags and times it has. Pure.

Nothing of either is lost: what can be added is added, of what cannot the stronger counts.

Whom the archivist asks beside the ledger: handed in, so that this branch knows no other.
"""

from __future__ import annotations

import logging
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from cortex_actors.clock import Clock, make_ulid
from cortex_actors.domain.insight import Claim, Judgement
from cortex_actors.domain.memory import Memory, MemoryType
from cortex_actors.domain.project import Trust
from cortex_actors.errors import (
    ActorAway,
    BadInput,
    DeadlineExceeded,
    EmbedderDown,
    MailboxFull,
    ModelChanged,
)
from cortex_actors.rules import merging
from cortex_actors.rules.merging import (
    MergeVerdict,
    Prefer,
    Ruled,
    choose_deeper,
    find_objection,
    judge_pair,
    score_neighbours,
    unite_texts,
)
from cortex_actors.rules.sameness import cosine
from cortex_actors.storage import memory_history, memory_records
from cortex_actors.storage.memory import memory_states
from cortex_actors.storage.memory.memory_merge import MemoryClash, MergePlan, MergeStep
from cortex_actors.storage.memory_records import digest
from cortex_actors.storage.search import similar_memories
from cortex_actors.text.summary import (
    ABSTRACT,
    SUMMARY,
    make_abstract,
    make_summary,
    split_sentences,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence

    from cortex_actors.rules.contradiction import ConflictThresholds
    from cortex_actors.rules.merging import MergeGates
    from cortex_actors.storage.embeddings import EmbedInTime, Matrix
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.search.dense import DenseQuestion
    from cortex_actors.text.lexicon import Lexicon


#: Whom a text is believed less, last: a whole is believed as its least trusted part is.
_TRUSTED = (Trust.AGENT, Trust.FILE, Trust.IMPORT, Trust.REMOTE)


def merge_memories(new: Memory, old: Memory, text: str, *, memory_id: str, at: int) -> Memory:
    """Return the memory that `new`, said just now, and `old` become, with that text.

    It begins at the moment of the merge; its layer is the deeper one of the two, and it has been in
    it for as long as that one.
    """
    layer = choose_deeper(new.layer, old.layer)
    since = min(each.layer_since or each.created_at for each in (new, old) if each.layer is layer)

    def times(name: str) -> list[int]:
        return [at for each in (new, old) if (at := getattr(each, name)) is not None]

    both: dict[str, Any] = {
        name: tuple(dict.fromkeys((*getattr(old, name), *getattr(new, name))))
        for name in ("tags", "related", "replies_to")
    }
    # Abstract and summary are those of the part whose text stays, else new ones; an abstract that
    # an agent wrote itself is kept where the text has become another one.
    same = next((each for each in (new, old) if each.text == text), None)
    if same is not None:
        brief = same.abstract, same.summary
    else:
        said = text.removeprefix(f"{new.role}: ") if new.role else text
        own = new.abstract if new.abstract != make_abstract(strip_role(new)) else ""
        brief = own or make_abstract(said), make_summary(said)
    return replace(
        new,
        id=memory_id,
        text=text,
        created_at=at,
        layer=layer,
        layer_since=since,
        type=MemoryType.FACT if MemoryType.FACT in {new.type, old.type} else new.type,
        abstract=brief[0],
        summary=brief[1],
        **both,
        attention=max(new.attention, old.attention),
        access_count=new.access_count + old.access_count,
        accessed_at=max(times("accessed_at"), default=None),
        promoted_at=max(times("promoted_at"), default=None),
        said_from=min(times("said_from"), default=None),
        said_until=max(times("said_until"), default=None),
        trust=max(new.trust, old.trust, key=_TRUSTED.index),
        merge_due=False,
    )


def strip_role(memory: Memory) -> str:
    """Return what a memory says, without who spoke."""
    return memory.text.removeprefix(f"{memory.role}: ") if memory.role else memory.text


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory near a text, and what the rules say of the two.

    Attributes:
        leaves: the ids of what it was made of, itself where it was said as it is.
        vectors: its own and those of its leaves; what has none is left out.

    """

    memory: Memory
    cosine: float
    ruled: Ruled
    leaves: frozenset[str]
    vectors: tuple[Matrix, ...]


@dataclass(frozen=True, slots=True)
class CandidatesSeen:
    """What one look showed: what is known already, and the candidates, nearest first."""

    known: str | None
    candidates: tuple[Candidate, ...] = ()


log = logging.getLogger("cortex.archivist")

#: Why a text has no vector for now.
UNEMBEDDED = (EmbedderDown, BadInput, MailboxFull, ActorAway, DeadlineExceeded, ModelChanged)


class JudgePort(Protocol):
    """Judges where the rules leave it open; never raises, and None is that it is not sure."""

    #: Whether there is any model to ask.
    is_there: bool

    def compare(
        self, pairs: Sequence[tuple[Claim, Claim, float | None]], *, run: str = ""
    ) -> Awaitable[Sequence[Judgement | None]]:
        """Return what each pair of claims is to each other."""

    def merge(
        self, texts: Sequence[str], *, prefer: str = "equal", run: str = ""
    ) -> Awaitable[str | None]:
        """Return one text that says all that several say."""

    def summarise(self, text: str, *, most: int, run: str = "") -> Awaitable[str | None]:
        """Return a text in at most so many letters."""


#: By which thresholds and tables two texts are judged now; called on a thread. None are the
#: product's own tables.
Rules: TypeAlias = "Callable[[], tuple[ConflictThresholds, Lexicon | None]]"

#: Bytes that the text of a memory may have, however it came about.
LONGEST = 65_536

#: Letters of a summary that a model writes.
BRIEFED = 600


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
    steps: list[MergeStep] = field(default_factory=list)
    clashes: dict[str, MemoryClash] = field(default_factory=dict)
    vectors: dict[bytes, Matrix] = field(default_factory=dict)

    def plan(self) -> MergePlan:
        """Return what is to be written."""
        parts = {each.part.id for each in self.steps}
        clashes = tuple(each for name, each in self.clashes.items() if name not in parts)
        return MergePlan(
            self.first, self.is_new, tuple(self.steps), clashes, vectors=dict(self.vectors)
        )


@dataclass(eq=False, slots=True)
class Planner:
    """Works out what becomes of one memory at a time; several may run at once."""

    around: similar_memories.Vicinity
    records: Records
    judge: JudgePort
    _: KW_ONLY
    embed: EmbedInTime
    rules: Rules
    gates: MergeGates
    #: Whose vectors are compared.
    model: str
    clock: Clock

    async def add_summary(self, memory: Memory, *, own: str | None) -> Memory:
        """Return a memory with a model's abstract and summary, where its text is long enough.

        An agent's own abstract is kept.
        """
        text, run = strip_role(memory), memory.id
        if not self.judge.is_there or len(split_sentences(text)) <= SUMMARY:
            return memory
        short = own or await self.judge.summarise(text, most=ABSTRACT, run=run)
        long = await self.judge.summarise(text, most=BRIEFED, run=run)
        return replace(memory, abstract=short or memory.abstract, summary=long or memory.summary)

    async def embed_text(self, text: str, *, urgent: bool = False, patience: float = 0.0) -> Matrix:
        """Return the vector of a text; raises one of `UNEMBEDDED` where there is none for now."""
        rows = await self.embed([text], urgent=urgent, patience=patience, model=self.model)
        row: Matrix = rows[0]
        return row

    async def find_vector(self, text: str, *, patience: float = 0.0) -> Matrix | None:
        """Return the vector of a text that a caller waits for; None where there is none for now."""
        try:
            return await self.embed_text(text, urgent=True, patience=patience)
        except UNEMBEDDED as error:
            log.debug("a memory has no vector yet: %s", error)
            return None

    async def plan(
        self,
        first: Memory,
        vector: Matrix,
        *,
        is_new: bool,
        prefer: Prefer = Prefer.EQUAL,
        but: tuple[str, ...] = (),
    ) -> MergePlan:
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
        for left in range(self.gates.max_rounds, -1, -1):
            asked = await self._ask(node.vector, node.memory)
            seen = await self.records.read(partial(self._candidates, node=node, asked=asked))
            if seen.known is not None:
                return MergePlan(first, known=seen.known)
            if not await self._round(node, seen, may_merge=left > 0):
                break
        return node.plan()

    async def _round(self, node: _Node, seen: CandidatesSeen, *, may_merge: bool) -> bool:
        """Note what contradicts, and merge with the first candidate that passes every gate.

        False when none does, or nothing may be merged any more.
        """
        for each in seen.candidates:
            if each.memory.id in node.clashes:
                continue
            said = each.ruled
            if said.verdict is MergeVerdict.ASK:
                texts = strip_role(node.memory), strip_role(each.memory)
                asked = (Claim(texts[0]), Claim(texts[1]), each.cosine)
                (word,) = await self.judge.compare([asked], run=node.first.id)
                said = merging.judge_answer(word, *texts)
            if said.verdict is MergeVerdict.CONFLICT:
                node.clashes[each.memory.id] = MemoryClash(each.memory.id, said.by, said.why)
            if (
                may_merge
                and said.verdict is MergeVerdict.MERGE
                and await self._merged(node, each, said)
            ):
                return True
        return False

    async def _merged(self, node: _Node, candidate: Candidate, said: Ruled) -> bool:
        """Merge a candidate into what there is; by a model's text where that can be believed."""
        both = strip_role(node.memory), strip_role(candidate.memory)
        text = await self.judge.merge(list(both), prefer=str(node.prefer), run=node.first.id)
        is_it = text is not None and find_objection(text, both) is None
        if text is not None and is_it and await self._taken(node, candidate, text, said=said):
            return True
        text = unite_texts(*both, prefer=node.prefer)
        return await self._taken(node, candidate, text, said=said)

    async def _taken(self, node: _Node, candidate: Candidate, content: str, *, said: Ruled) -> bool:
        """Let a node become a text, if it passes the gates."""
        text = f"{node.memory.role}: {content}" if node.memory.role else content
        if len(text.encode()) > LONGEST:
            return False
        vector = await self.find_vector(text)
        if vector is None:
            return False
        others = [node.vector, *node.cores, *candidate.vectors]
        least = min(cosine(vector, each) for each in others)
        if not merging.is_faithful((least,), self.gates.min_faithfulness):
            return False
        at = self.clock.now()
        became = merge_memories(
            node.memory, candidate.memory, text, memory_id=f"mem_{make_ulid(at)}", at=at
        )
        but = {*node.but, candidate.memory.id}
        # A text that was there before has not grown, whatever is around it.
        if text not in {node.memory.text, candidate.memory.text}:
            asked = await self._ask(vector, became)
            crowd = partial(self._is_crowded, merged=became, asked=asked, but=but)
            if await self.records.read(crowd):
                return False
        node.steps.append(MergeStep(became, candidate.memory, said.by, said.why))
        node.memory, node.vector, node.but = became, vector, {*but, became.id}
        node.leaves |= candidate.leaves
        node.cores += candidate.vectors
        node.vectors[digest(text)] = vector
        return True

    async def _ask(self, vector: Matrix, memory: Memory) -> DenseQuestion:
        """Ask the index what is near, before the ledger is read."""
        most = self.gates.top_k + self.gates.neighbor_k + self.gates.max_rounds
        return await self.around.ask(
            vector, similar_memories.MergeScope.from_memory(memory), most=most
        )

    def _candidates(
        self, connection: Connection, node: _Node, asked: DenseQuestion
    ) -> CandidatesSeen:
        """Return what is near the text as it is now, and what it may become one with."""
        scope = similar_memories.MergeScope.from_memory(node.memory)
        if node.is_new and not node.steps:
            known = similar_memories.find_active(connection, scope, digest(node.memory.text))
            if known is not None:
                return CandidatesSeen(known)
        near = self.around.find_near(connection, asked, scope, most=self.gates.top_k, but=node.but)
        wanted = [each for each in near if each.cosine >= self.gates.merge_never]
        rows = memory_records.load_active(connection, [each.memory_id for each in wanted])
        found: list[Candidate] = []
        mine = {*node.leaves, *memory_history.list_parts(connection, node.leaves)}
        for each in wanted:
            other = rows.get(each.memory_id)
            if other is None or other.pinned_at is not None:
                continue
            # What was split may have been made of others itself: then it is no leaf.
            theirs = [other.id, *memory_history.list_parts(connection, [other.id])]
            parted = memory_states.list_apart(connection, theirs).values()
            if any(not some.isdisjoint(mine) for some in parted):
                continue
            leaves = self.around.load_leaves(connection, other.id)
            said = self._ruled(node.memory, other, each.cosine)
            vectors = tuple(
                np.frombuffer(blob, np.float32)
                for blob in leaves.values()
                if blob is not None and len(blob) == asked.vector.nbytes  # else it is damaged
            )
            found.append(Candidate(other, each.cosine, said, frozenset(leaves), vectors))
        return CandidatesSeen(None, tuple(found))

    def _is_crowded(
        self, connection: Connection, merged: Memory, asked: DenseQuestion, *, but: Collection[str]
    ) -> bool:
        """Tell whether a new text must not come to be among what is known.

        Neighbours that it would merge with next do not count: they are the same thing, then gone.
        """
        gates, scope = self.gates, similar_memories.MergeScope.from_memory(merged)
        said = similar_memories.find_text(connection, scope, digest(merged.text))
        if said is not None and said not in but:
            return True
        most = gates.neighbor_k + gates.top_k
        near = self.around.find_near(connection, asked, scope, most=most, but=but)
        if not near or near[0].cosine <= gates.max_neighbor_score:
            return False
        rows = memory_records.load_active(connection, [each.memory_id for each in near])
        counted = [
            each.cosine
            for each in near
            if each.memory_id in rows
            and self._ruled(merged, rows[each.memory_id], each.cosine).verdict
            is not MergeVerdict.MERGE
        ]
        return score_neighbours(counted, gates.neighbor_k) > gates.max_neighbor_score

    def _ruled(self, node: Memory, other: Memory, cosine_: float) -> Ruled:
        """Return what the rules say of two memories."""
        thresholds, lexicon = self.rules()
        return judge_pair(
            strip_role(node),
            strip_role(other),
            cosine_,
            gates=self.gates,
            thresholds=thresholds,
            lexicon=lexicon,
        )
