"""One life of the child process with the index, from its start to its end, on one generation."""

from __future__ import annotations

import asyncio
import itertools
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from cortex_actors.errors import ChildProcessDown, DeadlineExceeded, IndexDown
from cortex_actors.runtime.child import ChildError, ChildProcess
from cortex_actors.storage.endings import Ending, Kind, by_itself

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from cortex_actors.storage.generations import Place

#: Starts a child process: a module's name, then `name` and `on_line`.
Spawn: TypeAlias = "Callable[..., Awaitable[ChildProcess]]"

#: What is run to hold the index.
CHILD = "cortex_actors.storage.vectors_child"

#: Seconds importing Chroma may take: 1 on a quiet machine, many on a cold disk.
LOAD_TIMEOUT = 120.0

#: Seconds a folder may take to open: Chroma replays its log, and a damaged one can hang.
OPEN_TIMEOUT = 30.0

#: Seconds the child may take to close its files, and then to end.
CLOSE_TIMEOUT = 2.0

#: Exceptions of the child that are the asker's fault.
_BLAMES_ASKER = "BadInput"

#: Exceptions that say that what the index needs is away.
_AWAY = frozenset({"ServerAway", "FolderTaken", "ImportError", "ModuleNotFoundError"})


class Phase(StrEnum):
    """What a life is at."""

    STARTING = "starting"
    OPENING = "opening"
    CHECKING = "checking"
    READY = "ready"


class IndexLife:
    """A child process that has one generation open.

    Every request either answers or raises `IndexDown`; whatever goes wrong ends the life, with the
    first reason, and nothing else. A request that overstays its deadline ends it, too, because the
    child would go on with it and keep the next ones waiting.
    """

    def __init__(self, place: Place, *, deadline: float) -> None:
        """Belong to a generation's place; requests may take `deadline` seconds."""
        self.phase = Phase.STARTING
        self.generation = place.generation
        self._place = place
        self._deadline = deadline
        self._process: ChildProcess | None = None
        self._doom: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self._asking: dict[int, bytes | None] = {}
        self._numbers = itertools.count()
        self._question: bytes | None = None
        self._blamed = self._closing = False
        self._watch: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """The process, while there is one."""
        return self._process.pid if self._process else None

    async def open(self, spawn: Spawn, on_line: Callable[[str], None]) -> None:
        """Start the process and open the generation in it; raises `IndexDown`."""
        try:
            self._process = await spawn(CHILD, name="vectors", on_line=on_line)
        except OSError as error:
            message = f"the index's process cannot be started: {error}"
            self.end(Ending(Kind.AWAY, message))
            raise IndexDown(message) from error
        self._watch = asyncio.create_task(self._attend(self._process), name="end of the index")
        if self._closing:  # meanwhile: `close` found no process, and nobody else ends it
            self.kill()
        await self.ask("load", {}, deadline=LOAD_TIMEOUT)
        self.phase = Phase.OPENING
        await self.ask("open", self._place.params(), deadline=OPEN_TIMEOUT)
        self.phase = Phase.CHECKING

    async def ask(
        self,
        op: str,
        params: Mapping[str, object],
        body: bytes = b"",
        *,
        deadline: float | None = None,
        question: bytes | None = None,
    ) -> tuple[dict[str, Any], bytes]:
        """Have the child run an op; raises `IndexDown`. `question` names what may be deadly."""
        if self._process is None or self._doom.done() or self._closing:
            raise self._down(op)
        number = next(self._numbers)
        self._asking[number] = question
        try:
            return await self._process.request(
                op, params, body, deadline=self._deadline if deadline is None else deadline
            )
        except ChildProcessDown as error:
            # The child answers in order: what was asked first is what it died of.
            if not self._blamed:
                self._blamed, self._question = True, self._asking[min(self._asking)]
            raise self._down(op) from error
        except DeadlineExceeded as error:
            self.end(Ending(self._fault, f"it did not {op} in time: {error}"))
            raise self._down(op) from error
        except ChildError as error:
            self._blame(op, error, asked=question is not None)
            raise IndexDown(f"the index cannot {op}: {error}") from error
        finally:
            del self._asking[number]

    def end(self, ending: Ending) -> None:
        """Have the life end for a reason; the first one counts."""
        if not self._doom.done():
            self._doom.set_result(ending)

    async def ended(self) -> Ending:
        """Return why the life ended, once it has; the process may still be there."""
        return await asyncio.shield(self._doom)

    async def gone(self) -> None:
        """End the process, unless it is closing its files, and wait until nothing is left of it."""
        if not self._closing:
            self.kill()
        if self._watch is not None:
            await asyncio.wait({self._watch})

    async def close(self) -> None:
        """Close the files in order, then end the process; kill it when it takes too long."""
        self._closing = True
        if self._process is None:
            return
        if self.phase in (Phase.CHECKING, Phase.READY):
            try:
                await self._process.request("close", {}, deadline=CLOSE_TIMEOUT)
            except (ChildProcessDown, ChildError, DeadlineExceeded):
                self._process.kill()
        await self._process.stop(CLOSE_TIMEOUT)

    def kill(self) -> None:
        """End the process now."""
        if self._process is not None:
            self._process.kill()

    @property
    def _fault(self) -> Kind:
        """What a hang says: of a server that the way to it is broken, of files that they are."""
        outside = self._place.server is not None or self.phase is Phase.STARTING
        return Kind.AWAY if outside else Kind.BROKEN

    async def _attend(self, process: ChildProcess) -> None:
        """Wait for the process's end, which ends the life."""
        await process.exited()
        # Whoever asked is told by then, and has said what the child was at.
        await asyncio.sleep(0)
        self.end(self._death(process.code))

    def _blame(self, op: str, error: ChildError, *, asked: bool) -> None:
        """End the life over an exception in the child, unless whoever asked is to blame."""
        if error.kind == _BLAMES_ASKER and (asked or op == "put"):
            return
        kind = Kind.AWAY if error.kind in _AWAY or self.phase is Phase.STARTING else Kind.BROKEN
        self.end(Ending(kind, f"it could not {op}: {error}"))

    def _death(self, code: int | None) -> Ending:
        """Return how the process ended by itself."""
        reason = f"its process ended {_how(code)}while it was {self.phase}"
        in_files = self.phase in (Phase.OPENING, Phase.CHECKING) and by_itself(code)
        return Ending(Kind.DIED, reason, in_its_files=in_files, question=self._question)

    def _down(self, op: str) -> IndexDown:
        return IndexDown(f"the vector index ended and cannot {op}; it is opened again, ask again")


def _how(code: int | None) -> str:
    """Return an exit code in words."""
    if not code:
        return ""
    return f"with exit code {code} " if code > 0 else f"by signal {-code} "
