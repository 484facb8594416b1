"""RemoteStore: another program as a store, whatever it speaks.

What all of them have in common is here and not in their adapters: only what may leave this machine
is sent, an answer takes as long as it may and no longer, a store that fails in a row is left alone
for a while, and whatever comes back is marked as another's.

What speaks to one kind of remote store: its dialect and nothing else.

Time limits, the breaker, what may leave this machine and how an answer is marked are the same for
all of them and are RemoteStore's.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, runtime_checkable

from cortex_actors.endpoint.replies import limit_time
from cortex_actors.errors import CortexError, StoreDown
from cortex_actors.federation.answers import OutgoingQuestion, clean_hits, read_text, require_object
from cortex_actors.federation.store import Answer, ByTopic, Outward, Question, StoreSpec
from cortex_actors.text.hazards import show_hidden

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from cortex_actors.endpoint.client import Guard
    from cortex_actors.endpoint.connection import StoreConnection


class Adapter(Protocol):
    """Asks one store in its own words and reads its answer.

    Made with `StoreUnusable` for a description it cannot work with; the text names the option. A
    store that gives no usable answer raises `StoreDown`, whatever it did.
    """

    #: Hits that such a store gives at most.
    most: ClassVar[int]

    def __init__(self, spec: StoreSpec, line: StoreConnection) -> None:
        """Remember how to ask; nothing is sent."""

    async def search(self, asked: OutgoingQuestion) -> Answer:
        """Return hits in the store's own order."""

    async def ping(self, seconds: float) -> dict[str, Any]:
        """Return what the store says of itself: plain JSON values."""

    async def close(self) -> None:
        """Close what was opened."""


class HttpAdapter:
    """What adapters have in common whose stores are asked over HTTP."""

    def __init__(self, spec: StoreSpec, line: StoreConnection) -> None:
        """Remember whom to ask."""
        self.name = spec.name
        self.line = line

    async def introduce(self, seconds: float, *, shape: str) -> tuple[str, Mapping[str, Any]]:
        """Return what a program calls itself on its first page, and what else it says there."""
        said = require_object(await self.line.get("/", seconds=seconds), shape=shape)
        return read_text(said.get("service")), said

    async def close(self) -> None:
        """Close the connection."""
        await self.line.close()


@runtime_checkable
class TopicAdapter(Protocol):
    """An adapter whose stores can be asked by topic."""

    async def find_by_topic(self, asked: ByTopic) -> Answer:
        """Return what is filed under any of some topics, but for what is known already."""


T = TypeVar("T")

log = logging.getLogger("cortex.federation")

#: What a remote store need not narrow its answer by: a store that is added is open to every agent
#: of this daemon, as the village is.
_EVERYBODY = frozenset({"reader"})

#: Characters of what a store says did not take part in an answer.
_TOLD = 200


class RemoteStore:
    """Asks one other program; whatever goes wrong is `StoreDown`, and its guard learns of it."""

    def __init__(self, spec: StoreSpec, adapter: Adapter, guard: Guard) -> None:
        """Remember how to ask; nothing is sent."""
        #: What the answer calls it, and its type.
        self.name, self.kind = spec.name, spec.type
        #: Hits that such a store gives at most.
        self.most = adapter.most
        #: Whether it can be asked by topic.
        self.has_topics = isinstance(adapter, TopicAdapter)
        self.guard = guard
        self._adapter = adapter

    def explain_unmet(self, question: Question) -> str:
        """Return why a question cannot be put to it: a condition, a secret, or too many failures.

        Nothing is sent to find out.
        """
        if strange := [each for each in question.conditions if each not in _EVERYBODY]:
            return f"it cannot narrow its answer by {', '.join(strange)}"
        if question.outward is None:
            return question.why_not or "the question may not leave this machine"
        return self.guard.explain_refusal()

    async def recall(self, question: Question, *, limit: int, seconds: float) -> Answer:
        """Return its hits in its own order, marked as another's; only `question.outward` is sent.

        Raises `StoreTimeout` after `seconds`, waiting for a free place included, and `StoreDown`
        for every other way in which there is no usable answer.
        """
        outward = _outward(question)
        wanted = min(max(limit, 1), self.most)
        answer = await self._within(
            seconds,
            lambda left: self._adapter.search(
                OutgoingQuestion(outward.text, wanted, left, outward.vector, outward.model)
            ),
        )
        hits = clean_hits(answer.hits, store=self.name, limit=wanted)
        return Answer(hits, tuple(show_hidden(each[:_TOLD]) for each in answer.skipped))

    async def find_by_topic(self, asked: ByTopic, question: Question) -> Answer:
        """Return what it has filed under any of some topics; raises as `recall` does.

        What the topics are made of is the asker's care: they are sent as they are.
        """
        adapter = self._adapter
        if not isinstance(adapter, TopicAdapter):
            return Answer(())
        _outward(question)
        wanted = min(max(asked.limit, 1), self.most)
        answer = await self._within(
            asked.seconds,
            lambda left: adapter.find_by_topic(replace(asked, limit=wanted, seconds=left)),
        )
        return Answer(clean_hits(answer.hits, store=self.name, limit=wanted))

    async def ping(self, seconds: float) -> dict[str, Any]:
        """Return what it says of itself, asked even while it is left alone; raises `StoreDown`."""
        return await self._asked(seconds, lambda: self._adapter.ping(seconds), told=seconds)

    async def close(self) -> None:
        """Close its connections."""
        await self._adapter.close()

    async def _within(self, seconds: float, ask: Callable[[float], Awaitable[T]]) -> T:
        """Ask behind the guard, to which an answer that is late is none."""
        async with self.guard.attempt(seconds) as left:
            return await self._asked(left, lambda: ask(left), told=seconds)

    async def _asked(self, seconds: float, ask: Callable[[], Awaitable[T]], *, told: float) -> T:
        """Return what an adapter returns in time; an unexpected error is the store's failure."""
        try:
            async with limit_time(seconds, told=told):
                return await ask()
        except CortexError:
            raise
        except Exception as error:
            log.warning("the store %s failed in an unexpected way", self.name, exc_info=error)
            # Not its text: that may be the store's own words, and agents read errors.
            raise StoreDown(f"failed in an unexpected way: {type(error).__name__}") from error


def _outward(question: Question) -> Outward:
    """Return what may be sent; raises `StoreDown` where nothing may."""
    if question.outward is None:
        raise StoreDown(question.why_not or "the question may not leave this machine")
    return question.outward
