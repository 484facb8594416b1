"""Operations on memories: remember, search, recall; one memory, and what may be done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cortex_actors.library.operations import Operations, said
from cortex_actors.library.results import Detail, Found, Saved

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

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
