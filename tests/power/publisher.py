"""The program whose system calls fail: publishes a changed file, which an accumulator reads.

`python publisher.py` imports everything once, then runs a life in a fork for each line it reads,
`HOME WHEN`: the life stops itself (SIGSTOP) before it opens the ledger or before it publishes, so
that strace can be put on it. It tells what is durable: `published ID`, then `read`.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from cortex_actors import topics
from cortex_actors.bus import consumer
from cortex_actors.bus.bus import Bus
from cortex_actors.bus.consumer import Desk
from cortex_actors.clock import SystemClock
from cortex_actors.domain.event import FileChanged
from cortex_actors.domain.project import Project
from cortex_actors.errors import ActorAway, CortexError, InternalError, StorageFull
from cortex_actors.home import Home
from cortex_actors.pipeline.accumulator import Accumulator
from cortex_actors.runtime.actor import start_actor
from cortex_actors.runtime.names import Names
from cortex_actors.sections import AccumulationSettings, EventsSettings, StorageSettings
from cortex_actors.storage import projects
from cortex_actors.storage.events import LedgerJournal
from cortex_actors.storage.ledger import actor, writer
from cortex_actors.storage.ledger.actor import Ledger, Records
from cortex_actors.storage.search.matrix import Neighbours, VectorMatrix
from cortex_actors.testing import eventually

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from cortex_actors.runtime.actor import ActorHandle
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Connection

T = TypeVar("T")

#: `prctl`'s word for who may trace this process, and its word for anybody: where only a parent may,
#: strace could not be put on a life otherwise. (Source: linux/prctl.h.)
_SET_PTRACER, _ANYBODY = 0x59616D61, ctypes.c_ulong(-1)

#: Times a full disk is met before a life gives up: each failing call is one.
TRIES = 5

#: The one key under which the file is published, however often.
KEY = "once"


class Life:
    """A ledger, an accumulator and somebody who publishes."""

    def __init__(self, home: Home, when: str) -> None:
        self.home = home
        self.when = when
        self.clock = SystemClock()
        self.names = Names()
        self.records = Records(self.names)
        self.store = LedgerJournal(self.records, self.clock)
        self.bus = Bus(self.store, self.clock)
        self.folder = home.root.parent / "project"
        self.project = Project.from_root(str(self.folder), 0)

    async def run(self) -> int:
        """Live; return the exit code."""
        try:
            if self.when == "opening":
                _stop()
            make = partial(Ledger, self.home, StorageSettings(low_water_mb=0), self.clock)
            ledger = await _kept(lambda: start_actor(self.names, "ledger", make))
            if self.when == "preparing":
                await self.records.write(partial(projects.add, project=self.project))
            else:
                await self._watched(self._work(), ledger)
            await ledger.stop(10)
        except CortexError as error:
            tell(f"refused {type(error).__name__}")
            return error.exit_code
        # What fails while the file is closed has nobody else to tell it.
        fault = actor.find_fault(self.home.ledger)
        return 0 if fault is None else fault.exit_code

    async def _work(self) -> None:
        """Publish, and let it be read."""
        desk = Desk("accumulator", self.bus, self.store, self.clock, EventsSettings())
        make = partial(
            Accumulator,
            desk,
            self.records,
            settings=AccumulationSettings(granularity="section"),
            model="test/3",
            embed=_embed,
            neighbours=Neighbours(VectorMatrix("test/3", 1)),
        )
        accumulator = await start_actor(self.names, "accumulator", make)
        if self.when in ("publishing", "hasty"):
            _stop()
        if self.when == "hasty":
            tell("published too early")
        payload = FileChanged(self.project.id, str(self.folder / "CLAUDE.md"))
        event = await _kept(
            lambda: self.bus.publish(
                topics.FILE_CHANGED, payload, source="test", idempotency_key=KEY
            )
        )
        tell(f"published {event.id}")
        await eventually(self._is_read)
        tell("read")
        await accumulator.stop(10)

    async def _is_read(self) -> bool:
        return await self.records.read(_waiting) == 0

    async def _watched(self, work: Coroutine[None, None, None], ledger: ActorHandle) -> None:
        """Work as long as the ledger lives; raise what ended either."""
        working, ended = asyncio.ensure_future(work), asyncio.ensure_future(ledger.exited())
        await asyncio.wait((working, ended), return_when=asyncio.FIRST_COMPLETED)
        if working.done() and not isinstance(working.exception(), ActorAway):
            ended.cancel()
            return await working
        working.cancel()
        raise _reason(await ended)


async def _kept(call: Callable[[], Awaitable[T]]) -> T:
    """Do something again while the disk is full."""
    for _ in range(TRIES):
        try:
            return await call()
        except StorageFull:
            tell("refused StorageFull")
    return await call()


def _reason(found: object) -> BaseException:
    """Return an exit reason as something to raise."""
    return found if isinstance(found, BaseException) else InternalError(f"it ended: {found!r}")


def _waiting(connection: Connection) -> int:
    """Return how many events the accumulator has not read."""
    query = "SELECT count(*) FROM deliveries WHERE consumer = 'accumulator'"
    return int(connection.exec_driver_sql(query).scalar_one())


async def _embed(texts: Sequence[str], *, model: str | None = None) -> Matrix:
    """Return some vectors."""
    return np.tile(np.array([0.6, 0.8, 0.0], np.float32), (len(texts), 1))


def tell(what: str) -> None:
    """Say something on standard output at once."""
    os.write(1, f"{what}\n".encode())


def _stop() -> None:
    """Wait until strace is there."""
    ctypes.CDLL(None).prctl(_SET_PTRACER, _ANYBODY, 0, 0, 0)
    os.kill(os.getpid(), signal.SIGSTOP)


def _child(folder: str, when: str) -> None:
    """Live one life and end the process, whatever happens."""
    code = 1
    try:
        code = asyncio.run(Life(Home(Path(folder)), when).run())
    finally:
        os._exit(code)


def serve() -> None:
    """Run a life for each line, one after the other."""
    # Often, so that what fails in a checkpoint fails here.
    writer.FIRST = writer.PAGES = 1
    # Not a second, when the disk was full for one call.
    consumer.LEDGER_PAUSE = 0.01
    for line in sys.stdin:
        if (child := os.fork()) == 0:
            _child(*line.split())
        _, status = os.waitpid(child, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            tell(f"stopped {child}")
            _, status = os.waitpid(child, 0)
        tell(f"ended {os.waitstatus_to_exitcode(status)}")


if __name__ == "__main__":
    serve()
