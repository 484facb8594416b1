"""What an agent wants remembered, as it was admitted, and what became of it.

Posting: what an agent wants to say to others, as it is admitted, and the memory it becomes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from cortex_actors.domain.agent import OWNER, Caller, format_given, read_agent_id
from cortex_actors.domain.memory import MERGEABLE, PROBE, Layer, Memory, MemoryType, Realm
from cortex_actors.domain.project import Trust
from cortex_actors.errors import BadInput
from cortex_actors.rules.admission import THREAD, check_name, check_tags, check_text
from cortex_actors.rules.decay import is_deeper
from cortex_actors.rules.merging import Prefer
from cortex_actors.storage import memory_records, realms
from cortex_actors.storage.memory import village
from cortex_actors.storage.memory_records import digest
from cortex_actors.text.summary import make_abstract, make_summary
from cortex_actors.text.terms import parse_word

if TYPE_CHECKING:
    from cortex_actors.storage.ledger.actor import Connection


#: Fields of a post that clients get as they were wished.
_SHOWN = ("agent", "realm", "layer", "type", "thread")

#: Fields that a memory has as they were wished.
_SAME = (
    *("realm", "text", "thread", "layer", "type", "tags", "related", "replies_to", "role"),
    *("trust", "said_from", "said_until", "project_id"),
)


@dataclass(frozen=True, slots=True)
class RememberRequest:
    """Something to remember; the code that makes one has checked it.

    Attributes:
        content: what was said; `text` is what is kept of it.
        caller: who has it remembered: the owner for any agent, an agent for itself.
        abstract: the agent's own, which is kept; None has one made.
        supersedes: memories that hold no more.
        prefer: whose words count in a merge: `a`, this one's, `b`, those of what was known.
        merge: whether it may become one with what says the same.
        key: what the client calls this wish, so that saying it again is saying it once.
        project_id: the project it belongs to; empty for none.

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
    project_id: str = ""

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

    def make_memory(self, memory_id: str, at: int) -> Memory:
        """Return the memory that it begins as."""
        same: dict[str, Any] = {name: getattr(self, name) for name in _SAME}
        return Memory(
            id=memory_id,
            agent_id=self.agent,
            created_at=at,
            layer_since=at,
            abstract=make_abstract(self.content) if self.abstract is None else self.abstract,
            summary=make_summary(self.content),
            saved_by=self.caller.by,
            **same,
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
        said = [f"{'Known already' if self.state == 'existing' else 'Saved'} as #{self.id}."]
        if self.tags_added:
            said.append(f"Tags added: {', '.join(self.tags_added)}.")
        if self.asked is not None and is_deeper(self.asked, self.layer):
            deeper = f"cortex memory promote {self.id} --to {self.asked}"
            said.append(f"It stays in its layer, {self.layer}; to change that: {deeper}")
        return " ".join(said)

    def as_dict(self) -> dict[str, Any]:
        """Return it as clients get it."""
        found = asdict(self)
        found["merged"] = list(self.merged)
        found["conflicts"] = [{"id": each, "reason": why} for each, why in self.conflicts]
        found |= {"superseded": list(self.superseded), "tags_added": list(self.tags_added)}
        del found["asked"]
        return {**found, "message": self.message}


#: What becomes of a post: it is new, or the agent has stated the same in that thread before.
SAVED, EXISTING = "saved", "existing"

#: Agents, answered memories and superseded ones that one memory or post may name.
MOST = 32


@dataclass(frozen=True, slots=True)
class Message:
    """A post as a request has it: nothing of it was looked at yet."""

    content: object
    realm: object = Realm.VILLAGE
    type: object = MemoryType.DIALOGUE
    responding_to: object = ()
    thread: object = None
    related_agents: object = ()
    tags: object = ()
    redact: bool = False
    project_id: str = ""


@dataclass(frozen=True, slots=True)
class Posted:
    """What became of a post."""

    id: str
    state: str
    wish: RememberRequest

    def as_dict(self) -> dict[str, Any]:
        """Return it as clients get it."""
        wish = self.wish
        return {
            "id": self.id,
            "state": self.state,
            **{name: getattr(wish, name) for name in _SHOWN},
            "collection": memory_records.COLLECTIONS[wish.realm],
            "message": f"Posted to {wish.realm}: {self.id}",
        }


def check_message(given: Message, *, agent: str, caller: Caller) -> RememberRequest:
    """Return what is kept of a post; raises `BadInput`, and `Refused` for a secret.

    A post is a working memory: what is said to others is meant to be found for some days.
    """
    realm = parse_word(Realm, given.realm, name="realm")
    related = tuple(
        dict.fromkeys(map(read_agent_id, list_ids(given.related_agents, "related_agents")))
    )
    if realm is Realm.BRIDGE and not set(related) - {agent}:
        raise BadInput(
            "cannot post on a bridge to no agent: name one in related_agents (--to AGENT)"
        )
    return RememberRequest(
        content=check_text(given.content, what="the post", redact=given.redact),
        agent=agent,
        layer=Layer.WORKING,
        realm=realm,
        type=parse_word(MemoryType, given.type, name="type"),
        thread=check_name(given.thread or "", what="the thread", most=THREAD, redact=given.redact),
        tags=check_tags(given.tags, redact=given.redact),
        related=related,
        replies_to=list_ids(given.responding_to, "responding_to"),
        caller=caller,
        project_id=given.project_id,
    )


def save_post(connection: Connection, wish: RememberRequest, *, memory_id: str, at: int) -> Posted:
    """Write a post, or find the one that states the same; what is new waits to be compared.

    Raises `NotFound` for a post that it answers and may not read.
    """
    realms.require_readable(connection, wish.replies_to, wish.agent)
    said = wish.make_memory(memory_id, at)
    whole = replace(
        wish, thread=wish.thread or village.find_thread(connection, wish.replies_to, beside=said)
    )
    if wish.type in MERGEABLE and wish.realm is not Realm.BRIDGE:
        known = village.find_stated(
            connection, whole.make_memory(memory_id, at), digest(whole.text)
        )
        if known is not None:
            return Posted(known, EXISTING, whole)
    made = replace(whole.make_memory(memory_id, at), merge_due=whole.is_mergeable)
    memory_records.save(connection, [made])
    if whole.realm in village.SPOKEN:
        village.note_due(connection, [memory_id])
    return Posted(memory_id, SAVED, whole)


def list_ids(given: object, name: str) -> tuple[str, ...]:
    """Return a list of ids, each once; raises `BadInput` for what is none, and for too many."""
    if not isinstance(given, list | tuple) or not all(isinstance(each, str) for each in given):
        raise BadInput(f"{name} must be a list of ids, not {format_given(given)}")
    if len(given) > MOST:
        raise BadInput(f"{name} names {len(given)}, and at most {MOST} are taken")
    return tuple(dict.fromkeys(each.removeprefix("#") for each in given))
