"""An adapter over a store that is really there, and the trouble that any store can make."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from cortex_actors.clock import SystemClock
from cortex_actors.endpoint.connection import StoreConnection
from cortex_actors.federation.answers import OutgoingQuestion
from cortex_actors.federation.binding import ADAPTERS
from cortex_actors.federation.store import StoreSpec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from cortex_actors.federation.remote import Adapter
    from cortex_actors.storage.embeddings import Matrix

#: Seconds that a store which answers is given: a machine may be busy.
LONG = 20.0

#: Seconds that a server has to start: several may do so at once, on a machine that is busy.
STARTING = 90.0

#: Seconds that one which never answers is given.
SHORT = 0.3

#: What no answer and no error may repeat.
TOKEN = "hush-hush-token"


@dataclass(frozen=True, slots=True)
class Case:
    """One type of store, with something in it.

    Attributes:
        question: what the store knows something about.
        ids: the ids with which its answer begins, in order; `known` text -> id where ids differ.
        token: what it lets in.
        vector: makes a question's vector where the store compares vectors; None else.
        topic: what `tagged` is filed under, where it can be asked by topic.
        tagged: the ids by that topic, in any order.

    """

    type: str
    url: str
    question: str
    ids: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    token: str = ""
    vector: Callable[[str], Matrix] | None = None
    model: str = ""
    topic: str = ""
    tagged: frozenset[str] = frozenset()

    def spec(self, **changed: Any) -> StoreSpec:
        """Return the description of the store, with some of it changed."""
        plain = StoreSpec("other", self.type, self.url, options=self.options)
        return replace(plain, **changed)

    def at(self, port: int) -> str:
        """Return the store's address on another port of this machine."""
        parts = urlsplit(self.url)
        user, at, _ = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=f"{user}{at}127.0.0.1:{port}"))

    def asked(self, text: str = "", limit: int = 5, seconds: float = LONG) -> OutgoingQuestion:
        """Return a question; the one it knows something about unless another is given."""
        text = text or self.question
        vector = self.vector(text) if self.vector else None
        return OutgoingQuestion(text, limit, seconds, vector, self.model)

    @asynccontextmanager
    async def opened(self, **changed: Any) -> AsyncIterator[Adapter]:
        """Give its adapter, on a line of its own, as the roster makes one."""
        spec = self.spec(**changed)
        token = self.token if spec.url == self.url else TOKEN
        adapter = ADAPTERS[self.type](spec, StoreConnection(spec.url, SystemClock(), token=token))
        try:
            yield adapter
        finally:
            await adapter.close()


class Trouble:
    """A server that is no store: `said` is all it ever answers, and nothing means silence."""

    def __init__(self, said: bytes) -> None:
        self.said = said
        self.connections = 0
        #: Set when somebody has said something.
        self.heard = asyncio.Event()
        self.port = 0

    async def attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection."""
        self.connections += 1
        try:
            while await reader.read(65_536):
                self.heard.set()
                if self.said:
                    writer.write(self.said)
                    break
        except (asyncio.CancelledError, ConnectionError):
            pass  # the end of the test, or the client has gone
        finally:
            writer.close()


@asynccontextmanager
async def trouble(said: bytes = b"") -> AsyncIterator[Trouble]:
    """Give a server that makes trouble."""
    made = Trouble(said)
    tasks: set[asyncio.Task[None]] = set()

    async def attend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        await made.attend(reader, writer)

    server = await asyncio.start_server(attend, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await server.wait_closed()
        if tasks:
            await asyncio.wait(tasks)
