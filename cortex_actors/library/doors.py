"""Doors: how an operation asks, whoever it is that answers.

An operation is a coroutine that asks its door. The blocking door never suspends it, so it can be
run to its end by calling it (`finished`); the other one is awaited on the caller's loop, and there
nothing blocks.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from cortex_actors.asyncclient import AsyncClient
from cortex_actors.client import TIMEOUT, Client, result
from cortex_actors.errors import DaemonStopping, InternalError
from cortex_actors.library.ways import Way

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from concurrent.futures import Future
    from pathlib import Path

    from cortex_actors.client import Answer
    from cortex_actors.home import Home
    from cortex_actors.library.ways import Embed

P = ParamSpec("P")
R = TypeVar("R")


class Door(Protocol):
    """What an operation needs of a door."""

    async def ask(self, verb: str, said: Mapping[str, Any], timeout: float | None = None) -> Answer:
        """Return what a verb answers; raises `CortexError`."""

    async def on_thread(self, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run what reads or writes files."""


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
