"""Doors: how an operation asks a daemon or a tree of its own process.

An operation is a coroutine that asks its door. The blocking door never suspends it, so it can be
run to its end by calling it (`run_blocking`); the other one is awaited on the caller's loop, and
there nothing blocks.

`AsyncClient`: `Client`, awaited. No thread: a call is a connection on the caller's own loop.
Cancelling it closes the connection at once and nothing is left behind; whether the daemon did what
it was asked is then not known, as after any lost answer. Errors are those of `Client`.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from cortex_actors.client.connection import Answer, read_result
from cortex_actors.client.host import DaemonWay, Embed
from cortex_actors.errors import DaemonStopping, InternalError
from cortex_actors.process.lock import find_peer

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from cortex_actors.client.connection import Client

P = ParamSpec("P")
R = TypeVar("R")

#: Bytes of one answer: more than any verb gives, and an end to a daemon that never stops.
ANSWER_LIMIT = 256 * 1024 * 1024


class AsyncClient:
    """Calls the daemon of one home without blocking the loop; may be shared by tasks and loops."""

    def __init__(self, client: Client) -> None:
        """Remember whom to call, and as whom: what both kinds of calls have in common."""
        self.client = client

    async def call(self, method: str, /, **params: object) -> Answer:
        """Return the result of one method.

        Raises `DaemonDown` when no daemon answers, `DeadlineExceeded` after `Client.choose_timeout`
        seconds,
        and whatever the daemon raised.
        """
        data = self.client.encode_call(method, params)
        return await _in_time(self._asked(data), method, client=self.client)

    async def _asked(self, data: bytes) -> bytes:
        """Send one request and return the line that answers it, as far as it came."""
        reader, writer = await self._connect()
        try:
            if not self._is_ours(writer):
                raise self.client.make_foreign_error()
            writer.write(data)
            return await _line(reader, writer)
        finally:
            # At once, whatever was still to be sent: this is the end of a call that was cancelled.
            writer.transport.abort()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return a connection to the home's socket."""
        sock = socket.socket(socket.AF_UNIX)
        sock.setblocking(False)  # noqa: FBT003 - takes no keywords
        try:
            # By ourselves: asyncio takes a full queue of callers for a connection.
            sock.connect(str(self.client.home.socket))
        except BlockingIOError:
            sock.close()
            raise self.client.make_busy_error() from None
        except OSError as error:
            sock.close()
            raise self.client.make_down_error() from error
        return await asyncio.open_unix_connection(sock=sock, limit=ANSWER_LIMIT)

    def _is_ours(self, writer: asyncio.StreamWriter) -> bool:
        """Tell whether the same user listens; of one that hung up already the answer says so."""
        sock = writer.get_extra_info("socket")
        try:
            return sock is None or find_peer(sock).ours
        except OSError:
            return True


async def _in_time(line: Coroutine[Any, Any, bytes], verb: str, *, client: Client) -> Answer:
    """Return what the line of an answer says; raises `DeadlineExceeded` when it does not come."""
    seconds = client.choose_timeout(verb)
    try:
        async with asyncio.timeout(seconds) as limit:
            came = await line
    except TimeoutError:
        if not limit.expired():
            raise
        raise client.make_late_error(verb, seconds) from None
    return read_result(client.decode_line(came, verb))


async def _line(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """Return the next line, or what came of it before the other side ended."""
    with contextlib.suppress(OSError):  # it refused us and hung up: why is what we read next
        await writer.drain()
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        return error.partial
    except (OSError, asyncio.LimitOverrunError):
        return b""


class Blocking(DaemonWay):
    """Waits for answers by keeping the calling thread; may be shared by threads."""

    def __init__(self, client: Client, embedded: Embed) -> None:
        """Start a tree where it is to be ours; raises as `DaemonWay.find_host`."""
        super().__init__(client, embedded)
        self.find_host()

    async def ask(self, verb: str, said: Mapping[str, Any]) -> Answer:
        """Ask, without ever suspending."""
        host = self.find_host()
        if host is None:
            return self._client.call(verb, **said)
        seconds = self._client.choose_timeout(verb)
        answer = host.submit(self._client.encode_call(verb, said))
        try:
            line = answer.result(seconds)
        except TimeoutError:
            raise self._client.make_late_error(verb, seconds) from None
        except CancelledError:
            raise _closed(verb) from None
        finally:
            answer.cancel()
        return read_result(self._client.decode_line(line, verb))

    async def on_thread(self, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run it here: the caller waits anyway."""
        return call(*args, **kwargs)


class Awaited(DaemonWay):
    """Asks on the caller's loop; may be shared by tasks, and by loops one after another."""

    async def open(self) -> None:
        """Start a tree where it is to be ours; raises as `DaemonWay.find_host`."""
        if not self.is_known:
            await asyncio.to_thread(self.find_host)

    async def ask(self, verb: str, said: Mapping[str, Any]) -> Answer:
        """Ask; a cancelled ask is called off."""
        await self.open()
        host = self.find_host()
        if host is None:
            return await AsyncClient(self._client).call(verb, **said)
        line = _awaited(host.submit(self._client.encode_call(verb, said)), verb)
        return await _in_time(line, verb, client=self._client)

    async def on_thread(self, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run it on one of the loop's threads."""
        return await asyncio.to_thread(call, *args, **kwargs)


def run_blocking(work: Coroutine[Any, Any, R]) -> R:
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
    """Return the error of a tree that was closed before it answered."""
    return DaemonStopping(f"the embedded memory was closed before it answered {verb}")
