"""Operations between agents: what they post, and the crumbs they leave for their next session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cortex_actors.library.operations import Operations, said
from cortex_actors.library.reports import Convergence, Crumb, Thread
from cortex_actors.library.results import Saved

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


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
