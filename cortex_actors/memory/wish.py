"""What an agent wants remembered, as it was admitted, and what became of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any

from cortex_actors.domain.agent import OWNER, Caller
from cortex_actors.domain.memory import PROBE, Layer, Memory, MemoryType, Realm
from cortex_actors.domain.project import Trust
from cortex_actors.rules.decay import is_deeper
from cortex_actors.rules.merging import MERGEABLE, Prefer
from cortex_actors.text.summary import abstract, summary


@dataclass(frozen=True, slots=True)
class Wish:
    """Something to remember; whoever makes one has checked it.

    Attributes:
        content: what was said; `text` is what is kept of it.
        caller: who has it remembered: the owner for any agent, an agent for itself.
        abstract: the agent's own, which is kept; None has one made.
        supersedes: memories that hold no more.
        prefer: whose words count in a merge: `a`, this one's, `b`, those of what was known.
        merge: whether it may become one with what says the same.
        key: what the client calls this wish, so that saying it again is saying it once.

    """

    content: str
    agent: str
    layer: Layer = Layer.SENSORY
    realm: Realm = Realm.PRIVATE
    type: MemoryType = MemoryType.OBSERVATION
    role: str = ""
    thread: str = ""
    tags: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    replies_to: tuple[str, ...] = ()
    abstract: str | None = None
    said_from: int | None = None
    said_until: int | None = None
    supersedes: tuple[str, ...] = ()
    prefer: Prefer = Prefer.EQUAL
    merge: bool = True
    key: str | None = None
    caller: Caller = OWNER
    trust: Trust = Trust.AGENT

    @property
    def text(self) -> str:
        """The text as it is stored, embedded, compared and found."""
        return f"{self.role}: {self.content}" if self.role else self.content

    @property
    def is_mergeable(self) -> bool:
        """Whether it may become one with others: village voices are counted, and stay several."""
        return self.merge and self.type in MERGEABLE and self.realm is not Realm.VILLAGE

    @property
    def is_probe(self) -> bool:
        """Whether it is the doctor's: nothing is said of it, and nothing noted."""
        return self.agent == PROBE

    def memory(self, memory_id: str, at: int) -> Memory:
        """Return the memory that it begins as."""
        return Memory(
            id=memory_id,
            realm=self.realm,
            agent_id=self.agent,
            text=self.text,
            created_at=at,
            thread=self.thread,
            layer=self.layer,
            type=self.type,
            abstract=abstract(self.content) if self.abstract is None else self.abstract,
            summary=summary(self.content),
            tags=self.tags,
            related=self.related,
            replies_to=self.replies_to,
            layer_since=at,
            role=self.role,
            saved_by=self.caller.by,
            trust=self.trust,
            said_from=self.said_from,
            said_until=self.said_until,
        )


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of a wish.

    Attributes:
        id: the active memory that says it now.
        state: `saved`, `merged` with those under `merged`, or `existing`: it was known.
        pending: whether it is still to be compared with what is known.
        conflicts: (memory, why) that cannot hold beside it.
        superseded: memories that it has replaced.
        tags_added: tags that a known memory got.
        asked: the layer that was asked for, where the text was known.

    """

    id: str
    state: str
    layer: Layer
    realm: Realm
    agent: str
    merged: tuple[str, ...] = ()
    pending: bool = False
    conflicts: tuple[tuple[str, str], ...] = field(default=())
    superseded: tuple[str, ...] = ()
    tags_added: tuple[str, ...] = ()
    asked: Layer | None = None

    @property
    def message(self) -> str:
        """What became of it, for people."""
        said = [f"Known already as #{self.id}." if self.state == "existing" else ""]
        said = said if said[0] else [f"Saved as #{self.id}."]
        if self.tags_added:
            said.append(f"Tags added: {', '.join(self.tags_added)}.")
        if self.asked is not None and is_deeper(self.asked, self.layer):
            deeper = f"cortex memory promote {self.id} --to {self.asked}"
            said.append(f"It stays in its layer, {self.layer}; to change that: {deeper}")
        return " ".join(said)

    def shown(self) -> dict[str, Any]:
        """Return it as clients get it."""
        found = asdict(self)
        found["merged"] = list(self.merged)
        found["conflicts"] = [{"id": each, "reason": why} for each, why in self.conflicts]
        found |= {"superseded": list(self.superseded), "tags_added": list(self.tags_added)}
        del found["asked"]
        return {**found, "message": self.message}


def digest(text: str) -> bytes:
    """Return the SHA-256 by which a text is known."""
    return sha256(text.encode()).digest()
