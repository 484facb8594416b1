"""A memory: something an agent said or learned, who may read it, and how present it still is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from cortex_actors.domain.trust import Trust


class Realm(StrEnum):
    """Who may read a memory, apart from the owner of the daemon, who reads everything."""

    #: Its agent.
    PRIVATE = "private"
    #: Every agent.
    VILLAGE = "village"
    #: Its agent and those it names.
    BRIDGE = "bridge"


class Layer(StrEnum):
    """How deep a memory has sunk in; what lies deeper fades more slowly."""

    SENSORY = "sensory"
    WORKING = "working"
    LONG_TERM = "long_term"
    CORTEX = "cortex"


class MemoryType(StrEnum):
    """What kind of thing was said."""

    FACT = "fact"
    DIALOGUE = "dialogue"
    OBSERVATION = "observation"
    QUESTION = "question"
    CULTURAL = "cultural"
    AGENT_PROFILE = "agent_profile"


class ChangeKind(StrEnum):
    """What was done with a memory, apart from remembering and reading it."""

    MERGE = "merge"
    #: One of two that say the same was made part of the other, by hand.
    CONSOLIDATE = "consolidate"
    #: A merge was taken apart.
    SPLIT = "split"
    SUPERSEDE = "supersede"
    ARCHIVE = "archive"
    RESTORE = "restore"
    #: Saved on purpose: from the first layer to the next.
    SAVE = "save"
    PROMOTE = "promote"
    CRYSTALLIZE = "crystallize"
    PIN = "pin"
    UNPIN = "unpin"
    #: The only one that cannot be undone.
    FORGET = "forget"


class Convergence(StrEnum):
    """How many agents say the same (Neo-Cortex's words)."""

    #: Two.
    HARMONY = "HARMONY"
    #: Three and more.
    CONSENSUS = "CONSENSUS"


class MemoryStatus(StrEnum):
    """Where a memory stands; only an active one is found, and every other can come back."""

    ACTIVE = "active"
    #: It has become part of another one.
    MERGED = "merged"
    #: Another one says what holds now.
    SUPERSEDED = "superseded"
    #: Taken out by hand or by decay; it can come back.
    ARCHIVED = "archived"


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory with what is known of it.

    Attributes:
        agent_id: who said it.
        text: as it is found and compared: behind "role: " where somebody of a conversation spoke.
        abstract: one sentence, for lists; may be empty.
        summary: a few sentences; may be empty.
        created_at: UTC microseconds.
        thread: the conversation it belongs to; empty for none.
        related: agents it is about or for; of a bridge, who may read it beside its agent.
        replies_to: ids of the memories it answers.
        layer_since: UTC microseconds since it came to its layer; 0 for as long as it exists.
        attention: 0 to 2, as it was last weighed.
        accessed_at: UTC microseconds when it was last read; None until then.
        role: who spoke, in a conversation; empty for none.
        saved_by: `owner`, or the agent whose token it was.
        said_from: UTC microseconds when what it tells of began; None where nobody said so.
        said_until: UTC microseconds when that ended.
        promoted_at: UTC microseconds when it last came to a deeper layer; None until then.
        pinned_at: UTC microseconds since it is kept as it is; None for one that is not.
        replaced_by: the memory that says what holds now.
        merge_due: whether it has still to be compared with the others: it had no vector.

    """

    id: str
    realm: Realm
    agent_id: str
    text: str
    created_at: int
    thread: str = ""
    layer: Layer = Layer.WORKING
    type: MemoryType = MemoryType.DIALOGUE
    abstract: str = ""
    summary: str = ""
    tags: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    replies_to: tuple[str, ...] = ()
    status: MemoryStatus = MemoryStatus.ACTIVE
    layer_since: int = 0
    attention: float = 1.0
    access_count: int = 0
    accessed_at: int | None = None
    role: str = ""
    saved_by: str = "owner"
    trust: Trust = Trust.AGENT
    said_from: int | None = None
    said_until: int | None = None
    promoted_at: int | None = None
    pinned_at: int | None = None
    replaced_by: str | None = None
    merge_due: bool = False

    @property
    def readers(self) -> frozenset[str] | None:
        """The agents that may read it; None for every one."""
        if self.realm is Realm.VILLAGE:
            return None
        named = self.related if self.realm is Realm.BRIDGE else ()
        return frozenset({self.agent_id, *named})
