"""Adapters that do as they are told, and remember everything they were asked."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, ClassVar

from cortex_actors.clock import SystemClock
from cortex_actors.domain.hit import REMOTE, RankedHit
from cortex_actors.endpoint.client import Guard
from cortex_actors.federation.remote import RemoteStore
from cortex_actors.federation.store import Answer, ByTopic, Outward, Question, StoreSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.federation.answers import OutgoingQuestion

#: A question that may leave.
ASKED = Question("tabs", outward=Outward("tabs"))


class Far:
    """Speaks to a program that is not there: it answers what it was given."""

    most: ClassVar[int] = 5

    def __init__(self, *hits: RankedHit) -> None:
        self.hits = hits
        self.fails: BaseException | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked: list[OutgoingQuestion] = []
        self.closed = 0

    async def search(self, asked: OutgoingQuestion) -> Answer:
        """Return the hits."""
        self.asked.append(asked)
        await self._answer()
        return Answer(self.hits)

    async def ping(self, seconds: float) -> dict[str, Any]:
        """Return a name."""
        assert seconds > 0
        await self._answer()
        return {"service": "far"}

    async def close(self) -> None:
        """Count how often."""
        self.closed += 1

    async def _answer(self) -> None:
        """Wait, and fail, as was said."""
        await self.gate.wait()
        if self.fails is not None:
            raise self.fails

    @property
    def heard(self) -> str:
        """All text that was sent."""
        return "\n".join(each.text for each in self.asked)


class Filed(Far):
    """The same, and it can be asked by topic."""

    def __init__(self, *hits: RankedHit, filed: Sequence[RankedHit] = ()) -> None:
        super().__init__(*hits)
        self.filed = filed
        self.topics: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
        self.topics_fail: Exception | None = None

    async def find_by_topic(self, asked: ByTopic) -> Answer:
        """Return what is filed there."""
        assert asked.seconds > 0
        self.topics.append((tuple(asked.topics), tuple(asked.exclude_ids)))
        if self.topics_fail is not None:
            raise self.topics_fail
        return Answer(tuple(self.filed[: asked.limit]))

    @property
    def heard(self) -> str:
        """All text that was sent, topics and ids as well."""
        return "\n".join([super().heard, json.dumps(self.topics)])


def remote(
    adapter: Far, name: str = "far", *, clock: Clock | None = None, failures: int = 2
) -> RemoteStore:
    """Return a store that asks one, behind a guard."""
    guard = Guard(clock or SystemClock(), at_once=2, failures=failures, pause=30.0)
    return RemoteStore(StoreSpec(name, "far", "http://127.0.0.1:1"), adapter, guard)


def hit(id_: str, text: str = "", *, base: float = 0.5, **extra: Any) -> RankedHit:
    """Return a hit as adapters make them; what is left over is its metadata."""
    metadata = {"metadata": extra} if extra else {}
    return RankedHit(
        id_,
        text or f"text of {id_}",
        base,
        "far",
        base_relevance=base,
        trust=REMOTE,
        extra=metadata,
    )
