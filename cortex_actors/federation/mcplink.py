"""The way to an MCP server: one session for many questions, opened again when it has ended.

What opens a session is `mcpdriver`, which imports the SDK; it is imported here on a thread, from
the moment that there is a store to ask.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from cortex_actors.endpoint.client import LeftAlone
from cortex_actors.errors import StoreDown, StoreTimeout, StoreUnusable
from cortex_actors.federation.mcptrouble import Ended

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from cortex_actors.endpoint.connection import Line
    from cortex_actors.federation.mcpdriver import Session
    from cortex_actors.federation.mcptrouble import Outcome

T = TypeVar("T")

#: Who speaks to the SDK; importing it takes half a second and more.
_DRIVER = "cortex_actors.federation.mcpdriver"

#: Shares of a question's time: what it waits for our own import at most, and, once it has waited,
#: what it ends early by, so that it is not taken for a store that is late.
_WAIT, _EARLY = 0.5, 0.1

#: What is said of a store while we are not ready to ask it.
LOADING = "the MCP SDK is still being loaded here; ask again in a few seconds"


class Link:
    """The session with one server; whoever finds it ended opens the next one."""

    def __init__(
        self, line: Line, path: str, *, command: tuple[str, ...], env: Mapping[str, str]
    ) -> None:
        """Remember whom to ask; nothing is started but the import of the SDK, on a thread.

        With a command that program is started and spoken to through its pipes; else the line leads
        to a server that speaks streamable HTTP, at a path below its address.
        """
        self._line = line
        self._path = path
        self._command = command
        self._env = env
        self._session: Session | None = None
        self._opening = asyncio.Lock()
        self._left: set[asyncio.Task[None]] = set()
        self._closed = False
        self._loading = _begun()

    async def call(self, tool: str, arguments: Mapping[str, Any], seconds: float) -> Outcome:
        """Return what a tool says; raises `StoreDown` for whatever went wrong."""
        return await self._run(lambda session: session.call(tool, arguments), seconds)

    async def described(self, seconds: float) -> Mapping[str, Any]:
        """Return what the server says of itself."""
        return await self._run(lambda session: session.described(), seconds)

    async def close(self) -> None:
        """End the session, and the program that was started for it."""
        self._closed = True
        self._leave(self._session)
        # A thread cannot be told to end: an import that has begun is waited for.
        await asyncio.wait({*self._left, self._loading})
        await self._line.close()

    async def _run(self, ask: Callable[[Session], Awaitable[T]], seconds: float) -> T:
        """Ask within a time; once more when a session that was kept has ended since.

        Raises `LeftAlone` when the time went into our own import: the store is not to blame.
        """
        session: Session | None = None
        has_waited = False
        try:
            async with asyncio.timeout(seconds) as limit:
                has_waited = await self._loaded(seconds * _WAIT)
                if has_waited:
                    limit.reschedule((limit.when() or 0.0) - seconds * _EARLY)
                while True:
                    was_kept = self._session is not None
                    session = await self._opened()
                    try:
                        return await ask(session)
                    except Ended:
                        self._leave(session)
                        if not was_kept:
                            raise
        except TimeoutError:
            if has_waited:
                raise LeftAlone(LOADING) from None
            raise StoreTimeout(f"timeout after {seconds:.2f} s") from None
        except asyncio.CancelledError:
            # Over HTTP an answer that nobody waits for would go on dripping; a program that is
            # only slow, or still starting, is let be.
            if session is not None and not self._command:
                self._leave(session)
            raise

    async def _loaded(self, seconds: float) -> bool:
        """Wait until the SDK is imported, and return whether that took any waiting.

        Raises `LeftAlone` when it takes longer, and `StoreUnusable` where the SDK is missing; then
        the next question tries again.
        """
        if self._closed:
            raise StoreDown("the store was let go of; ask again")
        if self._loading.done() and self._loading.exception() is not None:
            self._loading = _begun()
        if self._loading.done():
            return False
        await asyncio.wait({self._loading}, timeout=seconds)
        if not self._loading.done():
            raise LeftAlone(LOADING)
        self._loading.result()
        return True

    async def _opened(self) -> Session:
        """Return the session, opening one first if need be.

        Everybody waits for the same opening, which goes on when one of them gives up: a program
        may take longer to start than a question may take.
        """
        if self._closed:
            raise StoreDown("the store was let go of; ask again")
        async with self._opening:
            if self._session is None or self._session.is_over:
                self._leave(self._session)
                self._session = self._loading.result().Session(
                    self._line, self._path, command=self._command, env=self._env
                )
        session = self._session
        await session.ready()
        return session

    def _leave(self, session: Session | None) -> None:
        """Have a session end, without waiting for it."""
        if session is None:
            return
        if self._session is session:
            self._session = None
        task = asyncio.create_task(session.close(), name="end of an MCP session")
        self._left.add(task)
        task.add_done_callback(self._left.discard)


def _begun() -> asyncio.Task[Any]:
    """Return the import of the SDK, on a thread; nobody need ask how it ended."""
    task = asyncio.create_task(asyncio.to_thread(_driver), name="import of the MCP SDK")
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    return task


def _driver() -> Any:  # noqa: ANN401 - a module
    """Return the module that speaks to the SDK; raises `StoreUnusable` where it is missing."""
    try:
        return import_module(_DRIVER)
    except ImportError as error:
        raise StoreUnusable(f"the MCP SDK cannot be used ({error.name} is missing)") from error
