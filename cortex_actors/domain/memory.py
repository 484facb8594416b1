"""A memory: something an agent said or learned, who may read it, and how present it still is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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


class MemoryStatus(StrEnum):
    """Where a memory stands; nothing is deleted, it changes its status."""

    ACTIVE = "active"
    #: It has become part of another one.
    MERGED = "merged"
    #: Taken out by hand or by decay; it can come back.
    ARCHIVED = "archived"


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory with what is known of it.

    Attributes:
        agent_id: who said it.
        abstract: one sentence, for lists; may be empty.
        summary: a few sentences; may be empty.
        created_at: UTC microseconds.
        thread: the conversation it belongs to; empty for none.
        related: agents it is about or for; of a bridge, who may read it beside its agent.
        replies_to: ids of the memories it answers.
        layer_since: UTC microseconds since it came to its layer; 0 for as long as it exists.
        attention: 0 to 2, as it was last weighed.
        accessed_at: UTC microseconds when it was last read; None until then.

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

    @property
    def readers(self) -> frozenset[str] | None:
        """The agents that may read it; None for every one."""
        if self.realm is Realm.VILLAGE:
            return None
        named = self.related if self.realm is Realm.BRIDGE else ()
        return frozenset({self.agent_id, *named})
