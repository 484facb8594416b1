"""The verb that remembers: what an agent says is admitted here, and the archivist keeps it."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from cortex_actors.bus.commits import refuse_key
from cortex_actors.domain.agent import OWNER, Caller, agent_id, shown
from cortex_actors.domain.memory import Layer, MemoryType, Realm
from cortex_actors.errors import BadInput
from cortex_actors.memory.request import Wish
from cortex_actors.narrowing import word
from cortex_actors.rules.admission import ABSTRACT, ROLE, THREAD, admitted, filed, named
from cortex_actors.rules.merging import Prefer
from cortex_actors.text.credentials import cleared
from cortex_actors.text.terms import moment
from cortex_actors.topics import MEMORY_REMEMBERED
from cortex_actors.verbs import Verbs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from cortex_actors.memory.request import Remembered

#: Agents, answered memories and superseded ones that one memory may name.
MOST = 32


class ArchivistPort(Protocol):
    """What the front desk needs of the archivist."""

    def remember(self, wish: Wish) -> Awaitable[Remembered]:
        """Keep what an agent says; return what became of it, once it is committed."""

    def look(self) -> object:
        """Have compared soon what waits for it; if nobody is there now, the next life looks."""


class RememberVerbs(Verbs):
    """Part of the front desk.

    A fact or an observation becomes one with what its agent remembers already and says the same;
    what contradicts it is named under `conflicts`, and both stay.
    """

    async def remember(
        self,
        content: str,
        layer: str | None = None,
        realm: str | None = None,
        *,
        agent: str | None = None,
        tags: list[str] | None = None,
        type: str = MemoryType.OBSERVATION,  # noqa: A002 - named by every client
        role: str = "",
        thread: str = "",
        related_agents: list[str] | None = None,
        responding_to: list[str] | None = None,
        abstract: str | None = None,
        said_from: int | str | None = None,
        said_until: int | str | None = None,
        supersedes: list[str] | None = None,
        prefer: str | None = None,
        redact: bool = False,
        merge: bool = True,
        idempotency_key: str | None = None,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Remember something; return what became of it, once it is on the disk.

        Raises `BadInput`, `NotYours`, `NotFound`, `Refused` for a secret (`redact` masks it).
        """
        settings = self._parts.memory()
        texts = partial(_texts, content, role, thread, tags=tags, abstract=abstract, redact=redact)
        wish = Wish(
            # On a thread: 64 KB that are made to be slow take up to 2 s to look through.
            **await asyncio.to_thread(texts),
            agent=caller.acting(agent, settings.agent),
            **_words(layer, realm, type_=type, prefer=prefer or settings.prefer),
            **_links(related_agents, responding_to, supersedes=supersedes),
            **_times(said_from, said_until, now=self._parts.clock.now()),
            merge=merge,
            key=_key(idempotency_key),
            caller=caller,
        )
        _refuse_nobody(wish)
        return (await self._parts.archivist.remember(wish)).shown()


def _words(layer: str | None, realm: str | None, *, type_: str, prefer: str) -> dict[str, Any]:
    """Return the words of closed sets."""
    return {
        "layer": Layer.SENSORY if layer is None else word(Layer, layer, name="layer"),
        "realm": Realm.PRIVATE if realm is None else word(Realm, realm, name="realm"),
        "type": word(MemoryType, type_, name="type"),
        "prefer": word(Prefer, prefer, name="prefer"),
    }


def _refuse_nobody(wish: Wish) -> None:
    """Raise `BadInput` for a bridge that leads to nobody but who speaks."""
    if wish.realm is Realm.BRIDGE and not {*wish.related} - {wish.agent}:
        raise BadInput(
            "cannot remember on a bridge to nobody: name whom it is for in related_agents "
            "(--about AGENT)"
        )


def _texts(
    content: str,
    role: str,
    thread: str,
    *,
    tags: list[str] | None,
    abstract: str | None,
    redact: bool,
) -> dict[str, Any]:
    """Return what a memory says, what it is called, and what it is filed under."""
    return {
        "content": admitted(content, redact=redact),
        "role": named(role, what="the role", most=ROLE, redact=redact),
        "thread": named(thread, what="the thread", most=THREAD, redact=redact),
        "tags": filed(tags or [], redact=redact),
        "abstract": _abstract(abstract, redact=redact),
    }


def _links(
    related: list[str] | None, answered: list[str] | None, *, supersedes: list[str] | None
) -> dict[str, Any]:
    """Return the agents and memories that it names."""
    return {
        "related": tuple(dict.fromkeys(map(agent_id, _some(related, "related_agents")))),
        "replies_to": _some(answered, "responding_to"),
        "supersedes": _some(supersedes, "supersedes"),
    }


def _key(given: str | None) -> str | None:
    """Return an idempotency key that can be kept."""
    if given is not None:
        refuse_key(MEMORY_REMEMBERED, given, durable=True)
        cleared(given, what="the idempotency key", redact=None)
    return given


def _some(given: Sequence[str] | None, name: str) -> tuple[str, ...]:
    """Return a list of ids, each once; raises `BadInput` for what is none."""
    some = given or []
    if not isinstance(some, list | tuple) or not all(isinstance(each, str) for each in some):
        raise BadInput(f"{name} must be a list of ids, not {shown(given)}")
    if len(some) > MOST:
        raise BadInput(f"{name} names {len(some)}, and at most {MOST} are taken")
    return tuple(dict.fromkeys(each.removeprefix("#") for each in some))


def _abstract(given: str | None, *, redact: bool) -> str | None:
    """Return an agent's own abstract, which is kept; None where it gave none."""
    if given is None:
        return None
    text = " ".join(admitted(given, what="the abstract", redact=redact).split())
    if len(text) > ABSTRACT:
        message = f"the abstract has {len(text)} characters, and at most {ABSTRACT} are kept"
        raise BadInput(message)
    return text


def _times(
    said_from: int | str | None, said_until: int | str | None, *, now: int
) -> dict[str, Any]:
    """Return when what is told began and ended; one of the two alone is both."""
    begun = None if said_from is None else moment(said_from, now, name="said_from")
    ended = None if said_until is None else moment(said_until, now, name="said_until")
    begun, ended = (ended if begun is None else begun), (begun if ended is None else ended)
    if begun is not None and ended is not None and begun > ended:
        raise BadInput("said_from lies behind said_until; give them in the order of time")
    return {"said_from": begun, "said_until": ended}
