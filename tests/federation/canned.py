"""A line to a store that says what a test has put there, and keeps what it was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from cortex_actors.federation.answers import OutgoingQuestion
from cortex_actors.federation.store import StoreSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cortex_actors.endpoint.connection import StoreConnection

A = TypeVar("A")


class CannedLine:
    """Answers every path with the document that is there for it."""

    def __init__(self, **documents: object) -> None:
        """Answer `/search` with `search`, and `/` with `first`."""
        self.documents = {f"/{name}".replace("/first", "/"): d for name, d in documents.items()}
        self.sent: list[tuple[str, Any]] = []

    async def post(self, path: str, document: object, *, seconds: float) -> Any:
        """Keep what was sent and return what is there."""
        self.sent.append((path, document))
        return self.documents[path]

    async def get(self, path: str, *, seconds: float) -> Any:
        """Return what is there."""
        self.sent.append((path, None))
        return self.documents[path]

    async def close(self) -> None:
        """Be let go of."""


def speaking(
    make: Callable[[StoreSpec, StoreConnection], A], kind: str, line: CannedLine, **options: object
) -> A:
    """Return an adapter that speaks over a line."""
    spec = StoreSpec("other", kind, "http://127.0.0.1:1", options=options)
    return make(spec, cast("StoreConnection", line))


def asked(text: str = "when are deploys", limit: int = 5) -> OutgoingQuestion:
    """Return a question."""
    return OutgoingQuestion(text, limit, seconds=1.0)


def without(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return a row without some of its fields."""
    return {name: value for name, value in row.items() if name not in names}
