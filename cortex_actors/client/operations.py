"""What every operation has: a door to ask, and the agent it speaks for.

Operations on memories: remember, search, recall; one memory, and what may be done with it.

Operations between agents: what they post, and the crumbs they leave for their next session.

Operations on the health of memories: what nobody reads, what is said twice.

Operations on knowledge: documents that are read, and what they say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cortex_actors.client.connection import Answer

from pathlib import Path
from typing import TYPE_CHECKING, Final

from cortex_actors.client import results
from cortex_actors.client.results import (
    Convergence,
    Crumb,
    Detail,
    Duplicate,
    Found,
    Saved,
    Stale,
    Thread,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from cortex_actors.client.connection import Answer


#: Verb -> the parameter by which it knows the agent that is spoken for.
SPEAKS_AS = {
    **dict.fromkeys(
        ("remember", "post", "leave_crumb", "crumbs", "latest_crumb", "unfinished"), "agent"
    ),
    **dict.fromkeys(
        (
            "search",
            "recall",
            "memory",
            "thread",
            "threads",
            "convergence",
            "village_stats",
            "export",
            "stale",
            "duplicates",
            "forget",
            "split",
            "consolidate",
        ),
        "as_agent",
    ),
}


class Operations:
    """Part of the library: it is made of several, and each has the same door."""

    def __init__(self, door: Door, agent: str | None = None) -> None:
        """Ask through a door, as an agent; None is the owner, or the agent whose token it is."""
        self._door = door
        self._agent = agent

    async def _ask(self, verb: str, timeout: float | None = None, /, **said: object) -> Answer:
        """Ask a verb, with what was said under whichever words; see `words.plain`."""
        given = results.plain(verb, said)
        if self._agent is not None and (word := SPEAKS_AS.get(verb)):
            given.setdefault(word, self._agent)
        return await self._door.ask(verb, given, timeout)

    async def status(self) -> dict[str, Any]:
        """Return how the daemon, or the embedded tree, is; `reasons` says why it is degraded.

        Example:
            >>> cortex.status()["state"]
            'running'

        """
        return await self._ask("status")


def said(given: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters of an operation; `given` are its first locals."""
    return {name: value for name, value in given.items() if name != "self"}


#: A moment: UTC microseconds, an ISO 8601 date or time, or a span back from now such as `7d`.
Moment = int | str


class Remembering(Operations):
    """Part of the library."""

    async def remember(
        self,
        content: str,
        *,
        layer: str | None = None,
        realm: str | None = None,
        agent: str | None = None,
        tags: Collection[str] = (),
        type: str | None = None,  # noqa: A002 - the verb's word
        role: str | None = None,
        thread: str | None = None,
        related_agents: Collection[str] = (),
        responding_to: Collection[str] = (),
        abstract: str | None = None,
        said_from: Moment | None = None,
        said_until: Moment | None = None,
        supersedes: Collection[str] = (),
        prefer: str | None = None,
        redact: bool | None = None,
        merge: bool | None = None,
        idempotency_key: str | None = None,
        visibility: str | None = None,
        agent_id: str | None = None,
        message_type: str | None = None,
        conversation_thread: str | None = None,
    ) -> Saved:
        """Remember a text; what says the same and is known already becomes one memory with it.

        `layer` is sensory (what is left out), working, long_term or cortex; `realm` private,
        village or bridge; `type` is an observation where nothing is said. docs/memory.md says what
        the others mean. Returns once it is durable. Raises `BadInput`, and `Refused` for a text
        with a secret in it, unless `redact`.

        Example:
            >>> cortex.remember("The test database is on 5433.", layer="working", tags=["db"]).state
            'saved'

        """
        answer = await self._ask("remember", **said(locals()))
        return Saved.of(answer)

    async def search(
        self,
        query: str,
        *,
        layers: Sequence[str] = (),
        realm: str | None = None,
        agent: str | None = None,
        type: str | None = None,  # noqa: A002 - the verb's word
        tags: Collection[str] = (),
        thread: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        min_attention: float | None = None,
        as_of: Moment | None = None,
        as_agent: str | None = None,
        limit: int | None = None,
        original_only: bool | None = None,
        explain: bool | None = None,
        track: bool | None = None,
        visibility: str | None = None,
        agent_filter: str | None = None,
        conversation_thread: str | None = None,
        n_results: int | None = None,
    ) -> Found:
        """Return the memories that answer a question best; filters narrow them before ranking.

        `agent` is who wrote them, `as_agent` through whose eyes is looked. `as_of` finds what was
        believed at a moment. Every memory in the answer counts as read, unless `track` is False.

        Example:
            >>> [hit.text for hit in cortex.search("which port?", layers=["working"], limit=3)]
            ['The test database is on 5433.']

        """
        answer = await self._ask("search", **said(locals()))
        return Found.of(answer)

    async def recall(
        self,
        query: str,
        *,
        limit: int | None = None,
        project: str | None = None,
        stores: Sequence[str] = (),
        budget_tokens: int | None = None,
        hops: int | None = None,
        explain: bool | None = None,
        layers: Sequence[str] = (),
        realm: str | None = None,
        agent: str | None = None,
        type: str | None = None,  # noqa: A002 - the verb's word
        tags: Collection[str] = (),
        thread: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        min_attention: float | None = None,
        as_of: Moment | None = None,
        as_agent: str | None = None,
        track: bool | None = None,
        visibility: str | None = None,
        agent_filter: str | None = None,
        conversation_thread: str | None = None,
        n_results: int | None = None,
    ) -> Found:
        """Return what is known about a question anywhere: memories, insights, documents, crumbs.

        The filters are those of `search`; one that only memories can meet leaves out the rest.
        Other stores are asked as well, or those alone that are named. `budget_tokens` is what the
        answer may cost a reader; with `hops` above 1 all are asked again with what was found.

        Example:
            >>> cortex.recall("which port does the test database use", limit=1)[0].score <= 1
            True

        """
        answer = await self._ask("recall", **said(locals()))
        return Found.of(answer)

    async def memory(self, id: str, *, as_agent: str | None = None) -> Detail:  # noqa: A002 - the verb's word
        """Return all that is known of a memory: its lineage, what was done with it.

        A part is shown as it was; `current` is the memory that says it now. Raises `NotFound`, for
        what may not be read as for what is not there.

        Example:
            >>> cortex.memory(saved.id).status
            'active'

        """
        return Detail.of(await self._ask("memory", id=id, as_agent=as_agent))

    async def forget(self, *ids: str) -> dict[str, Any]:
        """Delete memories for good, with all that was made of them; there is no undo.

        Raises `NotFound`, `NotYours` for another agent's, and `Refused` for a part of a bigger one.

        Example:
            >>> cortex.forget(saved.id)["forgotten"]
            ['mem_01J8Z3K4M5N6P7Q8R9S0T1V2W3']

        """
        return await self._ask("forget", ids=list(ids))

    async def split(self, id: str) -> dict[str, Any]:  # noqa: A002 - the verb's word
        """Take a merged memory apart again; its parts are never merged by themselves after that.

        Example:
            >>> cortex.split(saved.id)["parts"]
            ['mem_01J8Z3K4M5N6P7Q8R9S0T1V2W3', 'mem_01J8Z3K4M5N6P7Q8R9S0T1V2W4']

        """
        return await self._ask("split", id=id)


class Talking(Operations):
    """Part of the library."""

    async def post(
        self,
        content: str,
        *,
        realm: str | None = None,
        agent: str | None = None,
        type: str | None = None,  # noqa: A002 - the verb's word
        responding_to: Collection[str] = (),
        thread: str | None = None,
        related_agents: Collection[str] = (),
        tags: Collection[str] = (),
        redact: bool | None = None,
        visibility: str | None = None,
        agent_id: str | None = None,
        message_type: str | None = None,
        conversation_thread: str | None = None,
    ) -> Saved:
        """Say something to every agent (`realm` village), or to those named (bridge).

        Example:
            >>> cortex.post("Tests run in parallel now.", agent="VAJRA", thread="ci").realm
            'village'

        """
        answer = await self._ask("post", **said(locals()))
        return Saved.of(answer)

    async def thread(self, id: str, *, limit: int | None = None) -> Thread:  # noqa: A002 - the verb's word
        """Return what was said in a thread, in the order in which it was.

        Example:
            >>> [message["agent"] for message in cortex.thread("ci").messages]
            ['VAJRA']

        """
        return Thread.of(await self._ask("thread", thread=id, limit=limit))

    async def leave_crumb(
        self,
        summary: str | None = None,
        *,
        discoveries: Sequence[str] = (),
        unfinished: Sequence[str] = (),
        priority: str | None = None,
        type: str | None = None,  # noqa: A002 - the verb's word
        session: str | None = None,
        emotional_state: Mapping[str, Any] | None = None,
        links: Mapping[str, Any] | None = None,
        if_disoriented: Sequence[str] = (),
        agent: str | None = None,
        redact: bool | None = None,
        session_summary: str | None = None,
        key_discoveries: Sequence[str] = (),
        unfinished_business: Sequence[str] = (),
        crumb_type: str | None = None,
        session_id: str | None = None,
        references: Mapping[str, Any] | None = None,
        agent_id: str | None = None,
    ) -> Crumb:
        """Leave a crumb for the next session: what this one was about, found out, left undone.

        `priority` is HIGH, MEDIUM or LOW.

        Example:
            >>> crumb = cortex.leave_crumb("Moved the tests.", unfinished=["the docs"])
            >>> crumb.priority
            'MEDIUM'

        """
        answer = await self._ask("leave_crumb", **said(locals()))
        return Crumb.of(answer)

    async def get_crumbs(
        self,
        agent: str | None = None,
        *,
        hours: float | None = None,
        priority: str | None = None,
        type: str | None = None,  # noqa: A002 - the verb's word
        limit: int | None = None,
        agent_id: str | None = None,
        lookback_hours: float | None = None,
        priority_filter: str | None = None,
        n_results: int | None = None,
    ) -> tuple[Crumb, ...]:
        """Return the crumbs an agent left, the newest first, of the last 168 hours.

        Example:
            >>> cortex.get_crumbs(hours=24)[0].unfinished
            ('the docs',)

        """
        answer = await self._ask("crumbs", **said(locals()))
        return tuple(Crumb.of(each) for each in answer.get("crumbs", ()))

    async def detect_convergence(
        self,
        query: str,
        *,
        min_agents: int | None = None,
        threshold: float | None = None,
        similarity_threshold: float | None = None,
    ) -> Convergence:
        """Say whether several agents say the same about a topic.

        Example:
            >>> cortex.detect_convergence("how we test", min_agents=2).has_convergence
            True

        """
        answer = await self._ask("convergence", **said(locals()))
        return Convergence.of(answer)


class Upkeep(Operations):
    """Part of the library."""

    async def get_stale(
        self,
        days: float | None = None,
        *,
        limit: int | None = None,
        below: float | None = None,
        days_unused: float | None = None,
    ) -> tuple[Stale, ...]:
        """Return the memories that nobody has read for so many days (30), the oldest first.

        Example:
            >>> [each.id for each in cortex.get_stale(days=90)]
            []

        """
        answer = await self._ask("stale", **said(locals()))
        return tuple(Stale.of(each) for each in _list(answer, "stale", "memories"))

    async def get_duplicates(
        self,
        threshold: float | None = None,
        *,
        limit: int | None = None,
        similarity_threshold: float | None = None,
    ) -> tuple[Duplicate, ...]:
        """Return pairs of memories that say nearly the same, the most alike first.

        Example:
            >>> cortex.get_duplicates(threshold=0.9)
            ()

        """
        answer = await self._ask(
            "duplicates",
            threshold=threshold,
            limit=limit,
            similarity_threshold=similarity_threshold,
        )
        return tuple(Duplicate.of(each) for each in _list(answer, "duplicates", "pairs"))

    async def consolidate(
        self,
        first: str | None = None,
        second: str | None = None,
        *,
        keep: str | None = None,
        id1: str | None = None,
        id2: str | None = None,
    ) -> dict[str, Any]:
        """Make one of two memories that say the same; `split` parts them again.

        `keep` says which stays: higher_access (left out), higher_attention, id1 or id2, or its id.

        Example:
            >>> cortex.consolidate(one.id, two.id, keep="id1")["kept_id"] == one.id
            True

        """
        asked = said(locals())
        # The document's words for the two; the verb knows them by their ids.
        asked["keep"] = {"id1": first or id1, "id2": second or id2}.get(keep or "", keep)
        return await self._ask("consolidate", **asked)


def _list(answer: dict[str, Any], *names: str) -> list[dict[str, Any]]:
    """Return the list of an answer, under the name it has."""
    return next((answer[name] for name in names if name in answer), [])


#: Seconds that a folder of documents may take, which is what the daemon allows a verb.
LONG: Final = 125.0


class Reading(Operations):
    """Part of the library."""

    async def ingest(self, path: Path | str, *, topic: str | None = None) -> dict[str, Any]:
        """Read a document, or every document in a folder; only the owner may.

        What has not changed costs a hash; what is gone from a folder is found no more. `counts`
        says how many documents were added, changed, unchanged, withdrawn, and how many failed.

        Example:
            >>> cortex.ingest("docs")["counts"]
            {'added': 12}

        """
        whole = str(Path(path).expanduser().absolute())  # noqa: ASYNC240 - touches no disk
        return await self._ask("ingest", LONG, path=whole, topic=topic)

    async def ingest_text(
        self, text: str, *, source: str | None = None, topic: str | None = None
    ) -> dict[str, Any]:
        r"""Read a text as a document called `source`; again under that name, it is replaced.

        Example:
            >>> cortex.ingest_text("# Ports\n\nTests use 5433.", source="ports")["state"]
            'added'

        """
        return await self._ask("ingest", text=text, source=source, topic=topic)

    async def knowledge_search(
        self,
        query: str,
        *,
        topic: str | None = None,
        limit: int | None = None,
        code: bool | None = None,
        language: str | None = None,
        tags: Collection[str] = (),
        n_results: int | None = None,
    ) -> Found:
        """Return the pieces of documents that answer a question best.

        Example:
            >>> cortex.knowledge_search("which port do tests use", topic="docs")[0].heading
            'Ports'

        """
        answer = await self._ask("knowledge_search", **said(locals()))
        return Found.of(answer)

    async def topics(self) -> tuple[dict[str, Any], ...]:
        """Return the topics of all documents, each with how much it holds.

        Example:
            >>> [each["topic"] for each in cortex.topics()]
            ['docs']

        """
        return tuple((await self._ask("knowledge_topics"))["topics"])


class Door(Protocol):
    """What an operation needs of a door."""

    async def ask(self, verb: str, said: Mapping[str, Any], timeout: float | None = None) -> Answer:
        """Return what a verb answers; raises `CortexError`."""

    async def on_thread(self, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run what reads or writes files."""


P = ParamSpec("P")


R = TypeVar("R")
