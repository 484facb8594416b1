"""What speaks to one kind of remote store: its dialect and nothing else.

Time limits, the breaker, what may leave this machine and how an answer is marked are the same for
all of them and are RemoteStore's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.endpoint.connection import Line
    from cortex_actors.federation.spec import StoreSpec
    from cortex_actors.federation.store import Answer
    from cortex_actors.storage.embeddings import Matrix


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it leaves this machine.

    Attributes:
        text: without what is secret.
        vector: of that text, in the space of `model`; None while no text can be embedded.
        limit: hits that are wanted, at most what the adapter says a store gives.
        seconds: how long the whole of it may take.

    """

    text: str
    limit: int
    seconds: float
    vector: Matrix | None = None
    model: str = ""


class Adapter(Protocol):
    """Asks one store in its own words and reads its answer.

    Made with `StoreUnusable` for a description it cannot work with; the text names the option. A
    store that gives no usable answer raises `StoreDown`, whatever it did.
    """

    #: Hits that such a store gives at most.
    most: ClassVar[int]

    #: Conditions of a question that it can narrow its answer by; any other leaves the store out.
    meets: ClassVar[frozenset[str]]

    def __init__(self, spec: StoreSpec, line: Line) -> None:
        """Remember how to ask; nothing is sent."""

    async def search(self, asked: Asked) -> Answer:
        """Return hits in the store's own order."""

    async def ping(self, seconds: float) -> dict[str, Any]:
        """Return what the store says of itself: plain JSON values."""

    async def close(self) -> None:
        """Let go of what was opened."""


@runtime_checkable
class TopicAdapter(Protocol):
    """An adapter whose stores can be asked by topic."""

    async def by_topic(
        self, topics: Sequence[str], *, limit: int, exclude_ids: Sequence[str], seconds: float
    ) -> Answer:
        """Return what is filed under any of some topics, but for what is known already."""
