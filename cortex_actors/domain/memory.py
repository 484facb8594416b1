"""A memory: something an agent said or learned, who may read it, and how present it still is.

A forward crumb: what an agent leaves for itself in its next session.

An access: that a memory was in an answer, and how it came there.

Passages: the texts by which something is found, and which lists of a search they take part in.

A piece of a thread or of a document says little without what came before it, so it is searched
twice: alone, and with its predecessor in front.

The agent under whose name the daemon tries itself: it remembers, recalls and forgets a probe.

A probe lies in this agent's private realm for the moment of one trial. Only the daemon itself may
act as this agent, and what it keeps is in no list, count, export or digest: not even in those of
the owner, who reads everything else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from cortex_actors.domain.project import Trust

if TYPE_CHECKING:
    from collections.abc import Mapping


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


#: What may be merged and is said once: an agent's claim, and no turn of a conversation.
MERGEABLE: Final = (MemoryType.FACT, MemoryType.OBSERVATION)


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


class ConvergenceLevel(StrEnum):
    """How many agents say the same (Neo-Cortex's words)."""

    #: Two.
    HARMONY = "HARMONY"
    #: Three and more.
    CONSENSUS = "CONSENSUS"


class MemoryStatus(StrEnum):
    """The status of a memory; only an active one is found, and every other can come back."""

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
        text: as it is found and compared: behind "role: " for a turn of a conversation.
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
        said_from: UTC microseconds when what it tells of began; None where that was not given.
        said_until: UTC microseconds when that ended.
        promoted_at: UTC microseconds when it last came to a deeper layer; None until then.
        pinned_at: UTC microseconds since it is kept as it is; None for one that is not.
        replaced_by: the memory that says what holds now.
        merge_due: whether it has still to be compared with the others: it had no vector.
        project_id: the project it belongs to; empty for a global one.

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
    project_id: str = ""

    @property
    def readers(self) -> frozenset[str] | None:
        """The agents that may read it; None for every one."""
        if self.realm is Realm.VILLAGE:
            return None
        named = self.related if self.realm is Realm.BRIDGE else ()
        return frozenset({self.agent_id, *named})


class CrumbType(StrEnum):
    """What a crumb is mainly for."""

    #: How things are.
    ORIENTATION = "orientation"
    TECHNICAL = "technical"
    EMOTIONAL = "emotional"
    #: Something is left to do.
    TASK = "task"


class Priority(StrEnum):
    """How urgently the next session should read it."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


@dataclass(frozen=True, slots=True)
class CrumbRecord:
    """What one session left, in parts; it is never changed.

    Only its agent reads it, and the owner.

    Attributes:
        session_id: what the session is called; two crumbs of one second may share the default.
        left_at: UTC microseconds.
        emotional_state: a feeling, and how strong or of what kind it is.
        references: a kind of thing (`message_ids`, `thread_ids`, `files` ...) -> what to look up.
        if_disoriented: what to do first, in that order.
        saved_by: `owner`, or the agent whose token it was.
        project_id: the project whose session it was; empty for none.

    """

    id: str
    agent_id: str
    session_id: str
    summary: str
    left_at: int
    type: CrumbType = CrumbType.ORIENTATION
    priority: Priority = Priority.MEDIUM
    discoveries: tuple[str, ...] = ()
    emotional_state: Mapping[str, str] = field(default_factory=dict, hash=False)
    unfinished: tuple[str, ...] = ()
    references: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    if_disoriented: tuple[str, ...] = ()
    saved_by: str = "owner"
    project_id: str = ""

    @property
    def has_unfinished(self) -> bool:
        """Whether something is left to do."""
        return bool(self.unfinished)

    @property
    def searched(self) -> str:
        """The text by which it is found: everything it says, without the frame around it."""
        told = (f"{name}: {value}" for name, value in self.emotional_state.items())
        named = (each for some in self.references.values() for each in some)
        parts = (*self.discoveries, *self.unfinished, *told, *named, *self.if_disoriented)
        return "\n".join((self.summary, *parts))


def choose_type(unfinished: object) -> CrumbType:
    """Return the default type of a crumb: a task if something is unfinished."""
    return CrumbType.TASK if unfinished else CrumbType.ORIENTATION


@dataclass(frozen=True, slots=True)
class Access:
    """One memory of one answer.

    Attributes:
        cosine: how near its own text is to the question; None where that was not compared.
        by_words: whether its own text was found by words of the question.

    """

    memory_id: str
    cosine: float | None = None
    by_words: bool = False

    def is_relevant(self, least: float) -> bool:
        """Tell whether it answers: it shares words with the question, or is near enough."""
        return self.by_words or (self.cosine is not None and self.cosine >= least)


#: What the name of an index collection ends in that holds passages with their predecessor.
PAIRED = "_paired"


class SearchPlace(StrEnum):
    """Which lists of a search a passage takes part in."""

    #: The item's own text.
    ALONE = "alone"
    #: Its predecessor's text and its own.
    PAIRED = "paired"
    #: It has no predecessor: its own text, in either list.
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Passage:
    """One text of an item that may be found; `text_hash` is the SHA-256 of the text's UTF-8."""

    collection: str
    item_id: str
    place: SearchPlace
    text: str
    text_hash: bytes

    @property
    def index(self) -> str:
        """The collection of the vector index that it lies in."""
        return name_index(self.collection, self.place)


def name_index(collection: str, place: SearchPlace) -> str:
    """Return the collection of the vector index that passages of that place lie in."""
    return collection + PAIRED if place is SearchPlace.PAIRED else collection


#: Whose memories are probes; agents' ids are upper case.
PROBE: Final = "CORTEX-PROBE"
