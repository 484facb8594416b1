"""`Cortex`: the memory of a home, for any program.

`AsyncCortex`: the memory of a home, for programs that run a loop.

Doors: how an operation asks, whoever it is that answers.

An operation is a coroutine that asks its door. The blocking door never suspends it, so it can be
run to its end by calling it (`finished`); the other one is awaited on the caller's loop, and there
nothing blocks.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import CancelledError
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Self

from cortex_actors.client.async_connection import AsyncClient
from cortex_actors.client.connection import TIMEOUT, Client, result
from cortex_actors.client.host import Way
from cortex_actors.client.operations import P, R, Reading, Remembering, Talking, Upkeep
from cortex_actors.client.transfer import Carrying
from cortex_actors.errors import DaemonStopping, InternalError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from concurrent.futures import Future
    from pathlib import Path
    from types import TracebackType

    from cortex_actors.client.connection import Answer
    from cortex_actors.client.host import Embed
    from cortex_actors.home import Home


class Blocking:
    """Waits for answers by keeping the calling thread; may be shared by threads."""

    def __init__(
        self,
        home: Home | Path | str | None,
        *,
        token: str | None = None,
        embedded: Embed = False,
        timeout: float = TIMEOUT,
    ) -> None:
        """Find out who answers, and start a tree where it is to be ours; raises as `Way.host`."""
        self._client = Client(home, token=token, timeout=timeout)
        self._timeout = timeout
        self._way = Way(self._client, embedded)
        self._way.host()

    @property
    def home(self) -> Home:
        """The home that is asked."""
        return self._client.home

    async def ask(self, verb: str, said: Mapping[str, Any], timeout: float | None = None) -> Answer:
        """Ask, without ever suspending."""
        host = self._way.host()
        if host is None:
            return self._client.call(verb, timeout=timeout, **said)
        seconds = self._timeout if timeout is None else timeout
        answer = host.submit(self._client.encoded(verb, said))
        try:
            line = answer.result(seconds)
        except TimeoutError:
            raise self._client.silent(verb, seconds) from None
        except CancelledError:
            raise _closed(verb) from None
        finally:
            answer.cancel()
        return result(self._client.message(line, verb))

    async def on_thread(self, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run it here: whoever called us waits anyway."""
        return call(*args, **kwargs)

    def close(self) -> None:
        """End the tree, if it is ours."""
        self._way.close()


class Awaited:
    """Asks on the caller's loop; may be shared by tasks, and by loops one after another."""

    def __init__(
        self,
        home: Home | Path | str | None,
        *,
        token: str | None = None,
        embedded: Embed = False,
        timeout: float = TIMEOUT,
    ) -> None:
        """Remember whom to ask; the first ask, or `open`, finds out who answers."""
        self._socket = AsyncClient(home, token=token, timeout=timeout)
        self._client = Client(home, token=token, timeout=timeout)
        self._timeout = timeout
        self._way = Way(self._client, embedded)

    @property
    def home(self) -> Home:
        """The home that is asked."""
        return self._client.home

    async def open(self) -> None:
        """Start a tree where it is to be ours; raises as `Way.host`."""
        if not self._way.is_known:
            await asyncio.to_thread(self._way.host)

    async def ask(self, verb: str, said: Mapping[str, Any], timeout: float | None = None) -> Answer:
        """Ask; a cancelled ask is called off."""
        await self.open()
        host = self._way.host()
        if host is None:
            return await self._socket.call(verb, timeout=timeout, **said)
        seconds = self._timeout if timeout is None else timeout
        answer = host.submit(self._client.encoded(verb, said))
        try:
            async with asyncio.timeout(seconds) as limit:
                line = await _awaited(answer, verb)
        except TimeoutError:
            if not limit.expired():
                raise
            raise self._client.silent(verb, seconds) from None
        return result(self._client.message(line, verb))

    async def on_thread(self, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run it on one of the loop's threads."""
        return await asyncio.to_thread(call, *args, **kwargs)

    async def close(self) -> None:
        """End the tree, if it is ours."""
        await asyncio.to_thread(self._way.close)


def finished(work: Coroutine[Any, Any, R]) -> R:
    """Return what an operation behind a blocking door gives; it never waits for a loop."""
    try:
        work.send(None)
    except StopIteration as stop:
        given: R = stop.value
        return given
    work.close()
    raise InternalError("an operation behind a blocking door waited for a loop")


async def _awaited(answer: Future[bytes], verb: str) -> bytes:
    """Return an answer; being cancelled calls it off."""
    try:
        return await asyncio.wrap_future(answer)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise _closed(verb) from None


def _closed(verb: str) -> DaemonStopping:
    """Return the error of a tree that was closed with the question in hand."""
    return DaemonStopping(f"the embedded memory was closed before it answered {verb}")


class _Operations(Remembering, Talking, Upkeep, Reading, Carrying):
    """All of them, over a blocking door."""


def _run(
    operation: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Cortex, P], R]:
    """Return an operation as a method that returns when it is done."""

    @wraps(operation)
    def run(self: Cortex, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return finished(operation(self._operations, *args, **kwargs))

    return run


class Cortex:
    """The memory of one home: what its daemon knows, or a tree of this program's own.

    Every method may be called from any thread. Against a daemon nothing is held between two calls:
    its restarts are not noticed. Errors are `CortexError`s, with a text that says what to do.

    Example:
        >>> from cortex_actors import Cortex
        >>> with Cortex(agent="AZOTH") as cortex:
        ...     cortex.remember("The test database is on 5433.")
        ...     found = cortex.search("which port?")

    """

    def __init__(
        self,
        home: Home | Path | str | None = None,
        *,
        agent: str | None = None,
        token: str | None = None,
        embedded: Embed = False,
        timeout: float = TIMEOUT,
    ) -> None:
        """Find out who answers.

        `home` is the daemon's folder, as `--home`; `agent` is for whom is spoken and through whose
        eyes is read where a call says nothing else; `token` is an agent's (`cortex agents token`),
        without which it is the owner who asks. `embedded` runs the tree in this process instead:
        True refuses where a daemon runs (`AlreadyRunning`), "auto" uses that daemon. `timeout` is
        how many seconds an answer may take.
        """
        self._door = Blocking(home, token=token, embedded=embedded, timeout=timeout)
        self._operations = _Operations(self._door, agent)

    remember = _run(_Operations.remember)
    search = _run(_Operations.search)
    recall = _run(_Operations.recall)
    memory = _run(_Operations.memory)
    forget = _run(_Operations.forget)
    split = _run(_Operations.split)
    post = _run(_Operations.post)
    thread = _run(_Operations.thread)
    leave_crumb = _run(_Operations.leave_crumb)
    get_crumbs = _run(_Operations.get_crumbs)
    detect_convergence = _run(_Operations.detect_convergence)
    get_stale = _run(_Operations.get_stale)
    get_duplicates = _run(_Operations.get_duplicates)
    consolidate = _run(_Operations.consolidate)
    ingest = _run(_Operations.ingest)
    ingest_text = _run(_Operations.ingest_text)
    knowledge_search = _run(_Operations.knowledge_search)
    topics = _run(_Operations.topics)
    export_to = _run(_Operations.export_to)
    import_from = _run(_Operations.import_from)
    status = _run(_Operations.status)

    @property
    def home(self) -> Home:
        """The home whose memory this is."""
        return self._door.home

    def close(self) -> None:
        """Let go of everything; an embedded tree ends. A second time does nothing."""
        self._door.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncCortex(Remembering, Talking, Upkeep, Reading, Carrying):
    """What `Cortex` does, awaited: a daemon is asked on the loop, and a call may be cancelled.

    The examples of the operations are written for `Cortex`; here each of them is awaited.

    Example:
        >>> async with AsyncCortex(agent="AZOTH") as cortex:
        ...     await cortex.remember("The test database is on 5433.")
        ...     found = await cortex.search("which port?")

    """

    def __init__(
        self,
        home: Home | Path | str | None = None,
        *,
        agent: str | None = None,
        token: str | None = None,
        embedded: Embed = False,
        timeout: float = TIMEOUT,
    ) -> None:
        """Remember whom to ask; see `Cortex`. An embedded tree starts with the first call.

        It lives on a thread of its own and may be used from one loop after another.
        """
        self._way = Awaited(home, token=token, embedded=embedded, timeout=timeout)
        super().__init__(self._way, agent)

    @property
    def home(self) -> Home:
        """The home whose memory this is."""
        return self._way.home

    async def close(self) -> None:
        """Let go of everything; an embedded tree ends."""
        await self._way.close()

    async def __aenter__(self) -> Self:
        await self._way.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
