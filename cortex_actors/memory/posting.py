"""Posting: what somebody wants to say to others, as it is admitted, and the memory it becomes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from cortex_actors.domain.agent import agent_id, shown
from cortex_actors.domain.memory import Layer, MemoryType, Realm
from cortex_actors.errors import BadInput
from cortex_actors.memory.wish import Wish, digest
from cortex_actors.rules.admission import THREAD, admitted, filed, named
from cortex_actors.rules.merging import MERGEABLE
from cortex_actors.storage import memory_records, memory_states, village

if TYPE_CHECKING:
    from enum import StrEnum

    from cortex_actors.domain.agent import Caller
    from cortex_actors.storage.ledger.actor import Connection

T = TypeVar("T", bound="StrEnum")

#: What becomes of a post: it is new, or the agent has stated the same in that thread before.
SAVED, EXISTING = "saved", "existing"

#: Agents that a post names, and posts that it answers.
MOST = 32


@dataclass(frozen=True, slots=True)
class Given:
    """A post as a request has it: nothing of it was looked at yet."""

    content: object
    realm: object = Realm.VILLAGE
    type: object = MemoryType.DIALOGUE
    responding_to: object = ()
    thread: object = None
    related: object = ()
    tags: object = ()
    redact: bool = False


@dataclass(frozen=True, slots=True)
class Posted:
    """What became of a post."""

    id: str
    state: str
    wish: Wish

    def shown(self) -> dict[str, Any]:
        """Return it as clients get it."""
        wish = self.wish
        return {
            "id": self.id,
            "state": self.state,
            "agent": wish.agent,
            "realm": str(wish.realm),
            "layer": str(wish.layer),
            "type": str(wish.type),
            "thread": wish.thread,
            "collection": memory_records.COLLECTIONS[wish.realm],
            "message": f"Posted to {wish.realm}: {self.id}",
        }


def wished(given: Given, *, agent: str, caller: Caller) -> Wish:
    """Return what is kept of a post; raises `BadInput`, and `Refused` for a secret.

    A post is a working memory: what is said to others is meant to be found for some days.
    """
    realm = _word(given.realm, Realm, "realm")
    related = tuple(
        dict.fromkeys(agent_id(each) for each in _list(given.related, "related_agents"))
    )
    if realm is Realm.BRIDGE and not set(related) - {agent}:
        raise BadInput(
            "cannot post on a bridge to nobody: name whom it is for in related_agents (--to AGENT)"
        )
    return Wish(
        content=admitted(given.content, what="the post", redact=given.redact),
        agent=agent,
        layer=Layer.WORKING,
        realm=realm,
        type=_word(given.type, MemoryType, "type"),
        thread=named(given.thread or "", what="the thread", most=THREAD, redact=given.redact),
        tags=filed(given.tags, redact=given.redact),
        related=related,
        replies_to=tuple(dict.fromkeys(_list(given.responding_to, "responding_to"))),
        caller=caller,
    )


def keep(connection: Connection, wish: Wish, *, memory_id: str, at: int) -> Posted:
    """Write a post, or find the one that states the same; what is new waits to be compared.

    Raises `NotFound` for a post that it answers and may not read.
    """
    memory_records.require_readable(connection, wish.replies_to, wish.agent)
    said = wish.memory(memory_id, at)
    whole = replace(
        wish, thread=wish.thread or village.joined(connection, wish.replies_to, beside=said)
    )
    if wish.type in MERGEABLE and wish.realm is not Realm.BRIDGE:
        known = village.stated(connection, whole.memory(memory_id, at), digest(whole.text))
        if known is not None:
            return Posted(known, EXISTING, whole)
    made = replace(whole.memory(memory_id, at), merge_due=whole.is_mergeable)
    memory_records.save(connection, [made])
    memory_states.begin(connection, [memory_id], at)
    if whole.realm in village.SPOKEN:
        village.wait(connection, [memory_id])
    return Posted(memory_id, SAVED, whole)


def _word(word: object, known: type[T], name: str) -> T:
    """Return a word of a closed set, in any case."""
    for each in known:
        if isinstance(word, str) and word.lower() == each:
            return each
    raise BadInput(f"there is no {name} {shown(word)}; there are {', '.join(known)}")


def _list(given: object, name: str) -> list[str]:
    """Return a list of ids."""
    if not isinstance(given, list | tuple) or any(not isinstance(each, str) for each in given):
        raise BadInput(f"cannot post: {name} must be a list of texts")
    if len(given) > MOST:
        raise BadInput(f"cannot post: {len(given)} {name} were given, at most {MOST} are taken")
    return [each.removeprefix("#") for each in given]
