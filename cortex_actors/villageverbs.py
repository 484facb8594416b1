"""The verbs of the village: posts, threads, and what agents say alike.

What one may not read is not there: not in a thread, not among the answers to a post, not in what is
said to converge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from cortex_actors import narrowing, villageviews, wants
from cortex_actors.domain.agent import OWNER, Caller
from cortex_actors.domain.memory import Realm
from cortex_actors.errors import BadInput, NotFound
from cortex_actors.storage import village
from cortex_actors.verbs import Verbs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from cortex_actors.memory.village import Answer
    from cortex_actors.storage.ledger.actor import Connection

#: Characters a question may have: a page, not a book.
QUESTION_LIMIT = 4_096

#: Agents that may be asked for, and cosines.
AGENTS, THRESHOLDS = (2, 10), (0.5, 1.0)

#: Groups that statistics name.
LATEST = 10


class VillagePort(Protocol):
    """What the front desk needs of the village."""

    def post(
        self,
        content: str,
        *,
        realm: str = Realm.VILLAGE,
        agent: str | None = None,
        type: str = "dialogue",  # noqa: A002 - named by every client
        responding_to: Sequence[str] = (),
        thread: str | None = None,
        related_agents: Sequence[str] = (),
        tags: Sequence[str] = (),
        redact: bool = False,
        caller: Caller = OWNER,
    ) -> Awaitable[dict[str, Any]]:
        """Keep a post; return what became of it."""

    def converge(
        self, query: str, *, reader: str | None, min_agents: int, threshold: float
    ) -> Awaitable[Answer]:
        """Return what the posts near a question have in common."""


class VillageVerbs(Verbs):
    """Part of the front desk."""

    async def post(
        self,
        content: str,
        realm: str = Realm.VILLAGE,
        *,
        agent: str | None = None,
        type: str = "dialogue",  # noqa: A002 - named by every client
        responding_to: list[str] | None = None,
        thread: str | None = None,
        related_agents: list[str] | None = None,
        tags: list[str] | None = None,
        redact: bool = False,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Say something to the other agents, or on a bridge to some, or to oneself.

        An answer without a thread of its own joins that of what it answers, where the two are in
        one realm. Raises `BadInput`, `NotFound` for what it answers, `Refused` for a secret
        (`redact` takes them out), `NotYours`.
        """
        return await self._parts.village.post(
            content,
            realm=realm,
            agent=agent,
            type=type,
            responding_to=responding_to or (),
            thread=thread,
            related_agents=related_agents or (),
            tags=tags or (),
            redact=redact,
            caller=caller,
        )

    async def thread(
        self,
        thread: str,
        limit: int = 200,
        *,
        as_agent: str | None = None,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Return the newest posts of a thread, oldest first, and who answered which.

        Raises `NotFound` where there is no post that one may read, `BadInput`, `NotYours`.
        """
        reader, name = caller.reader(as_agent), narrowing.thread_of(thread)
        wants.page(limit, 0, of="posts")

        def read(connection: Connection) -> tuple[list[dict[str, Any]], int]:
            posts, total = village.posts(connection, name, reader=reader, limit=limit)
            return villageviews.messages(connection, posts, reader), total

        messages, total = await self._parts.records.read(read)
        if not messages:
            message = (
                f"no thread of the village or a bridge is called {name!r}; list them with: cortex "
                "threads (what is private in it: cortex memory list --thread)"
            )
            raise NotFound(message)
        return {
            "thread": name,
            "total": total,
            "agents": sorted({each["agent"] for each in messages}),
            "messages": messages,
        }

    async def threads(
        self,
        limit: int = 50,
        skip: int = 0,
        *,
        as_agent: str | None = None,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Return the threads, the one that was spoken in last first. Raises `BadInput`."""
        reader = caller.reader(as_agent)
        wants.page(limit, skip, of="threads")
        found, total = await self._parts.records.read(
            lambda c: village.list_threads(c, reader, limit=limit, skip=skip)
        )
        return {"total": total, "threads": [villageviews.thread(each) for each in found]}

    async def convergence(
        self,
        query: str,
        min_agents: int = 2,
        threshold: float | None = None,
        *,
        as_agent: str | None = None,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Return which of the posts near a question say alike, by different agents.

        Posts are compared with one another; two that say the opposite are under `apart`, however
        alike. `converging_agents`, `type` and `by_agent` are of the group of most agents, `groups`
        has them all. Nothing counts as read. Raises `BadInput`, `EmbedderDown`, `NotYours`.
        """
        reader = caller.reader(as_agent)
        least = self._parts.memory().convergence if threshold is None else threshold
        _admit(query, min_agents, least)
        answer = await self._parts.village.converge(
            query, reader=reader, min_agents=min_agents, threshold=least
        )
        return villageviews.converged(query, answer, least)

    async def village_stats(
        self, *, as_agent: str | None = None, caller: Caller = OWNER
    ) -> dict[str, Any]:
        """Return how much was said, by realm, agent and type, and what was found to agree."""
        reader = caller.reader(as_agent)

        def read(connection: Connection) -> dict[str, Any]:
            spoken = village.spoken(connection, reader)
            _, named = village.list_threads(connection, reader, limit=1)
            latest = village.listed(connection, reader, limit=LATEST)
            return {
                "total": sum(spoken.realms.values()),
                "by_realm": spoken.realms,
                "by_agent": spoken.agents,
                "by_type": spoken.types,
                "threads": named,
                "convergences": village.counts(connection, reader),
                "latest": [villageviews.told(each) for each in latest],
                # How many wait is not for whoever may read only some of them.
                **({"waiting": village.count_waiting(connection)} if reader is None else {}),
            }

        return await self._parts.records.read(read)


def _admit(query: str, min_agents: object, threshold: object) -> None:
    """Raise `BadInput` for a question that cannot be asked."""
    if not query.strip() or len(query) > QUESTION_LIMIT:
        message = (
            "cannot look for a convergence: say what it is to be about, in 1 to "
            f"{QUESTION_LIMIT:,} characters"
        )
        raise BadInput(message)
    for name, value, (least, most), kinds in (
        ("min_agents", min_agents, AGENTS, (int,)),
        ("threshold", threshold, THRESHOLDS, (int, float)),
    ):
        if type(value) not in kinds or not least <= value <= most:  # type: ignore[operator]
            message = f"{name} must be a number from {least} to {most}, not {value!r}"
            raise BadInput(message)
