"""Vectors: the actor that owns the child process with the vector index.

hears   -
says    -
asks    ledger (which generation of the index is in use)
keeps   the child process (when it dies the actor crashes with it, and both come back)
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from cortex_actors.errors import ChildProcessDown, CortexError, IndexDown, LedgerDown
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.child import ChildProcess
from cortex_actors.runtime.overflow import Overflow
from cortex_actors.storage import indexing
from cortex_actors.storage.insights import COLLECTION

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from cortex_actors.clock import Clock
    from cortex_actors.settings import StorageSettings
    from cortex_actors.storage.indexing import Matrix
    from cortex_actors.storage.records import Records

log = logging.getLogger("cortex.vectors")

#: Every collection of the index.
COLLECTIONS = (
    "cortex_insights",
    "cortex_principles",
    "cortex_knowledge",
    "cortex_private",
    "cortex_village",
    "cortex_bridges",
    "cortex_crumbs",
)

#: Starts a child process: a module's name, then `name` and `on_line`.
Spawn: TypeAlias = "Callable[..., Awaitable[ChildProcess]]"

#: Seconds a folder may take to open: Chroma replays its log, and a damaged one can hang.
OPEN_TIMEOUT = 60.0

#: Seconds between tries to open an index that does not open; the last one for ever.
PAUSES = (0.2, 1.0, 5.0, 30.0, 60.0)

#: Seconds the child may take to close its files when it is asked to end.
CLOSE_TIMEOUT = 2.0


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """What `status` tells of the index."""

    state: str
    generation: int
    reason: str = ""


class Vectors(AsyncioActor):
    """Tells the index what to hold and asks it for neighbours.

    The child starts in the background: the daemon is ready before Chroma has been imported, and a
    question that comes earlier is answered by exact search. A folder that does not open is given
    up for a new generation; nothing in it is ever repaired.
    """

    #: Questions and changes not yet passed to the child, of which the indexer has one at a time
    #: and everybody who recalls another; they wait rather than fail.
    mailbox_limit = 1_000
    overflow = Overflow.BACK_PRESSURE

    def __init__(
        self,
        folder: Path,
        records: Records,
        *,
        settings: StorageSettings,
        model: str,
        clock: Clock,
        on_line: Callable[[str], None],
        spawn: Spawn = ChildProcess.spawn,
    ) -> None:
        """Remember where generations live; `model` names whose vectors they hold."""
        super().__init__()
        self._folder = folder
        self._records = records
        self._settings = settings
        self._model = model
        self._clock = clock
        self._on_line = on_line
        self._spawn = spawn
        self._child: ChildProcess | None = None
        self._generation = 0
        self._ready = self._stopping = False
        self._reason = ""
        self._used: Path | None = None

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Begin to open the index."""
        self.spawn(self._run(), name="vectors-child")

    async def on_stop(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Let the child close its files."""
        self._stopping = True
        if self._child is not None:
            await self._child.stop(CLOSE_TIMEOUT)

    def describe(self) -> IndexInfo:
        """Return how the index is."""
        if self._ready:
            return IndexInfo("ready", self._generation)
        return IndexInfo("opening", self._generation, self._reason)

    def generation(self) -> int:
        """Return the generation that is open; raises `IndexDown` while none is."""
        self._opened()
        return self._generation

    def put(self, collection: str, ids: Sequence[str], rows: Matrix) -> asyncio.Task[None]:
        """Insert or replace vectors. Raises `IndexDown` while the index is not open."""
        params = {"collection": collection, "ids": list(ids), "dimension": rows.shape[1]}
        return self._send("put", params, rows.tobytes())

    def drop(self, collection: str, ids: Sequence[str]) -> asyncio.Task[None]:
        """Remove vectors. Raises `IndexDown` while the index is not open."""
        return self._send("drop", {"collection": collection, "ids": list(ids)}, b"")

    def query(
        self, collection: str, vector: Matrix, limit: int
    ) -> asyncio.Task[list[tuple[str, float]]]:
        """Return the nearest (id, cosine), best first. Raises `IndexDown` when it cannot."""
        return self.spawn(self._query(collection, vector, limit), name="query")

    def _send(self, op: str, params: dict[str, Any], body: bytes) -> asyncio.Task[None]:
        """Send one change to the child."""
        return self.spawn(self._change(op, params, body), name=op)

    async def _change(self, op: str, params: dict[str, Any], body: bytes) -> None:
        """Wait until the child has made a change."""
        await self._ask(op, params, body)

    async def _query(self, collection: str, vector: Matrix, limit: int) -> list[tuple[str, float]]:
        """Ask the child for neighbours."""
        params = {"collection": collection, "dimension": vector.shape[-1], "limit": limit}
        answer = await self._ask("query", params, vector.tobytes())
        return list(zip(answer["ids"], answer["cosines"], strict=True))

    async def _ask(self, op: str, params: dict[str, Any], body: bytes) -> dict[str, Any]:
        """Send a request to the open index."""
        child = self._opened()
        try:
            answer, _ = await child.request(
                op, params, body, deadline=self._settings.index_timeout_s
            )
        except ChildProcessDown as error:
            message = f"the vector index ended while it was asked to {op}: {error}"
            raise IndexDown(message) from error
        return answer

    def _opened(self) -> ChildProcess:
        """Return the child; raises `IndexDown` while no index is open in it."""
        if self._child is None or not self._ready:
            message = "the vector index does not answer yet: it is being opened; ask again"
            raise IndexDown(message)
        return self._child

    async def _run(self) -> None:
        """Open the index and stay with the child; its end is this actor's end."""
        pauses = itertools.chain(PAUSES, itertools.repeat(PAUSES[-1]))
        while (child := await self._try_to_open()) is None:
            await self._clock.sleep(next(pauses))
        self._ready = True
        await asyncio.to_thread(self._sweep)
        await child.exited()
        if self._stopping:
            return
        message = "the child process with the vector index ended"
        raise ChildProcessDown(message)

    async def _try_to_open(self) -> ChildProcess | None:
        """Return a child that has the current generation open.

        When it does not open, begin a new generation for the next try and return None: without an
        index the daemon is slower, and no reason to end.
        """
        try:
            return await self._open_current()
        except LedgerDown as error:
            log.warning("the index waits for the ledger: %s", error)
            self._reason = str(error)
            await self._discard()
        return None

    async def _open_current(self) -> ChildProcess | None:
        """Do so; raises `LedgerDown` while the ledger cannot be read or written."""
        state = await self._records.read(indexing.state)
        if state is None or state.model != self._model:
            state = await self._records.write(lambda c: indexing.rebuild(c, self._model))
        try:
            return await self._open(state)
        except OSError as error:
            log.warning("the index has no folder for now: %s", error)
            self._reason = str(error)
        except (ChildProcessDown, IndexDown) as error:
            await self._give_up(state, error)
        return None

    async def _give_up(self, state: indexing.State, error: CortexError) -> None:
        """Begin a new generation instead of one that did not open, unless we are only stopping."""
        if self._stopping:
            return
        log.warning("generation %d of the index is given up: %s", state.generation, error)
        self._reason = str(error)
        await self._discard()
        await self._records.write(lambda c: indexing.rebuild(c, self._model))

    async def _open(self, state: indexing.State) -> ChildProcess:
        """Start a child on one generation's folder; raises `IndexDown` when it has lost rows."""
        self._generation = state.generation
        folder = self._folder / state.folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._child = await self._spawn(
            "cortex_actors.storage.vectors_child", name="vectors", on_line=self._on_line
        )
        self.actor_ref.on_end(self._child.kill)
        params = {"path": str(folder), "collections": list(COLLECTIONS)}
        try:
            answer, _ = await self._child.request("open", params, deadline=OPEN_TIMEOUT)
        except ChildProcessDown:
            raise
        except Exception as error:
            message = f"the folder {folder} cannot be opened: {error}"
            raise IndexDown(message) from error
        told, unsure = await self._records.read(lambda c: (indexing.told(c), indexing.unsure(c)))
        held = answer["counts"][COLLECTION] - await self._held(self._child, unsure)
        if held < told:
            message = f"the folder {folder} holds {held} of the {told} insights it was given"
            raise IndexDown(message)
        self._used = folder
        return self._child

    async def _held(self, child: ChildProcess, ids: Sequence[str]) -> int:
        """Return how many of those a child's index holds; they would hide others that are lost."""
        if not ids:
            return 0
        params = {"collection": COLLECTION, "ids": list(ids)}
        try:
            answer, _ = await child.request("holds", params, deadline=OPEN_TIMEOUT)
        except ChildProcessDown:
            raise
        except CortexError as error:
            message = f"the index cannot tell what it holds: {error}"
            raise IndexDown(message) from error
        return int(answer["count"])

    async def _discard(self) -> None:
        """End a child that could not open its folder."""
        if self._child is not None:
            self._child.kill()
            await self._child.exited()

    def _sweep(self) -> None:
        """Delete the folders of other generations (on a thread)."""
        for folder in self._folder.glob("gen-*"):
            if folder != self._used:
                shutil.rmtree(folder, ignore_errors=True)
