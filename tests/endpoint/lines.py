"""A store's connection and the server at its other end."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from cortex_actors.clock import SystemClock
from cortex_actors.endpoint.connection import StoreConnection
from tests.endpoint.server import FakeServer, Reply, Request, document

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from cortex_actors.clock import Clock

#: What must be seen by one store and by nobody else.
TOKEN = "tok-very-secret"

#: What a store answers that has nothing else to say.
HITS = {"hits": [{"id": "a"}]}


class StoreServer(FakeServer):
    """A store that always knows the same."""

    def answer(self, _request: Request) -> Reply:
        """Return it."""
        return document(HITS)


class Names:
    """A name server: each look gets the next answer, and the last one for ever after."""

    def __init__(self, *answers: Sequence[str] | OSError) -> None:
        self.answers = list(answers)
        self.looks = 0

    def __call__(self, host: str, port: int) -> Sequence[str]:
        """Return what a name stands for now."""
        self.looks += 1
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, OSError):
            raise found
        return found


@asynccontextmanager
async def line_to(
    url: str, clock: Clock | None = None, **more: Any
) -> AsyncIterator[StoreConnection]:
    """Give a line, and close it."""
    line = StoreConnection(url, clock or SystemClock(), **more)
    try:
        yield line
    finally:
        await line.close()
