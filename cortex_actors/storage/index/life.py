"""One life of the child process with the index, from its start to its end, on one generation.

Endings: why lives of the index's child end, and what that means for the next one.

A death alone means little: a person killed the process, or memory ran out. Dying three times in a
minute, or while looking at its own files, means that the files are bad, and then they are given up
for a new generation and never repaired. Pauses grow with the number of bad endings in the
last ten minutes, so that no fault, however fast it comes back, costs more than a start now and
then.

Generations: where each one lies, and what becomes of those that are not in use any more.

The ledger says which generation is in use. One that is given up is replaced in one write, by
compare-and-set: a caller that gives it up a second time, because the first answer was lost, finds
the new one and begins none. A folder is never used again after that, so it is deleted before the
new one is opened: on a full disk that is what makes room.

Suspicion: what the sizes of a generation's files say before any process opens them.

Each of these was seen in folders that could not be opened, ended the process that did, or had
swallowed a disk. Only names and sizes are read; nothing here opens a file.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import signal
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from cortex_actors.errors import ChildProcessDown, DeadlineExceeded, IndexDown
from cortex_actors.home import write_private
from cortex_actors.runtime.child import ChildHandlerError, ChildProcess
from cortex_actors.storage.index import pending
from cortex_actors.storage.index.chroma import Server

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping
    from pathlib import Path

    from sqlalchemy import Connection

    from cortex_actors.sections import StorageSettings


#: Seconds until the next life, by the number of bad endings within `MEMORY`.
PAUSES = (0.2, 1.0, 5.0, 30.0, 60.0, 120.0)

#: Seconds for which a bad ending counts towards the next pause.
MEMORY = 600.0

#: Seconds until the next try when what the index needs is away, by the number of tries in a row.
AWAY_PAUSES = (0.2, 1.0, 5.0, 15.0, 30.0)

#: Deaths within `WINDOW` seconds that are one too many for a generation.
DEATHS, WINDOW = 3, 60.0

#: Seconds until the next try after two generations in a row were looked at and found bad, and no
#: good one between: then it is not the files, and building a third would only heat the room.
REST = 3_600.0

#: Signals that come from outside the process: it did not die of what it read.
_SENT = {-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP}


class LifeEndKind(StrEnum):
    """What a life ended of."""

    #: What it needs is not there: the ledger, the folder's disk, the server, the library.
    AWAY = "away"
    #: The process ended.
    DIED = "died"
    #: It runs, and what it has or says cannot be trusted.
    BROKEN = "broken"
    #: It was checked, and does not hold what it should, or does not find what it holds.
    UNSOUND = "unsound"


@dataclass(frozen=True, slots=True)
class LifeEnding:
    """How one life ended."""

    kind: LifeEndKind
    reason: str
    #: It died of itself while it opened or checked its files.
    in_its_files: bool = False


class LifeRecord:
    """The endings so far, of which follow when to try again and with what; kept in memory."""

    def __init__(self) -> None:
        """Begin with no deaths."""
        self.deaths = self.given_up = 0
        self._bad: deque[float] = deque()
        self._died: deque[float] = deque(maxlen=DEATHS)
        self._away = 0
        self._unsound = self._resting = False

    def note_ending(self, ending: LifeEnding, now: float) -> bool:
        """Note an ending at a monotonic time; tell whether its generation is to be given up."""
        self._resting = False
        if ending.kind is LifeEndKind.AWAY:
            self._away += 1
            return False
        self._away = 0
        self._bad.append(now)
        if ending.kind is not LifeEndKind.DIED:
            again = ending.kind is LifeEndKind.UNSOUND
            self._resting = self._unsound and again
            self._unsound = self._unsound or again
            return self._give_up()
        self.deaths += 1
        self._died.append(now)
        often = len(self._died) == DEATHS and now - self._died[0] <= WINDOW
        return self._give_up() if often or ending.in_its_files else False

    def note_good(self, *, proven: bool) -> None:
        """Note that an index was looked at and is good; an empty one has `proven` nothing."""
        self._away = 0
        self._unsound = self._unsound and not proven

    def choose_pause(self, now: float) -> float:
        """Return the seconds until the next life may begin."""
        while self._bad and now - self._bad[0] > MEMORY:
            self._bad.popleft()
        if self._away:
            return AWAY_PAUSES[min(self._away, len(AWAY_PAUSES)) - 1]
        if self._resting:
            return REST
        return PAUSES[min(len(self._bad), len(PAUSES)) - 1] if self._bad else 0.0

    def _give_up(self) -> bool:
        """Begin to count a new generation's deaths."""
        self.given_up += 1
        self._died.clear()
        return True


def is_own_death(code: int | None) -> bool:
    """Tell whether an exit code says that a process fell over something, and was not killed."""
    return bool(code) and code not in _SENT


#: Starts a child process: a module's name, then `name` and `on_line`.
Spawn: TypeAlias = "Callable[..., Awaitable[ChildProcess]]"

#: What is run to hold the index.
CHILD = "cortex_actors.storage.index.child"

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

    def __init__(self, place: GenerationPlace, *, deadline: float) -> None:
        """Belong to a generation's place; requests may take `deadline` seconds."""
        self.phase = Phase.STARTING
        self.generation = place.generation
        self._place = place
        self._deadline = deadline
        self._process: ChildProcess | None = None
        self._doom: asyncio.Future[LifeEnding] = asyncio.get_running_loop().create_future()
        self._closing = False
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
            self.end(LifeEnding(LifeEndKind.AWAY, message))
            raise IndexDown(message) from error
        self._watch = asyncio.create_task(self._attend(self._process), name="end of the index")
        if self._closing:  # meanwhile: `close` found no process, so it must end here
            self.kill()
        await self.ask("load", {}, deadline=LOAD_TIMEOUT)
        self.phase = Phase.OPENING
        await self.ask("open", self._place.as_params(), deadline=OPEN_TIMEOUT)
        self.phase = Phase.CHECKING

    async def ask(
        self,
        op: str,
        params: Mapping[str, object],
        body: bytes = b"",
        *,
        deadline: float | None = None,
    ) -> tuple[dict[str, Any], bytes]:
        """Have the child run an op; raises `IndexDown`."""
        if self._process is None or self._doom.done() or self._closing:
            raise self._down(op)
        try:
            return await self._process.request(
                op, params, body, deadline=deadline or self._deadline
            )
        except ChildProcessDown as error:
            raise self._down(op) from error
        except DeadlineExceeded as error:
            self.end(LifeEnding(self._fault, f"it did not {op} in time: {error}"))
            raise self._down(op) from error
        except ChildHandlerError as error:
            # Before it is ready, a vector of another length is the fault of what the index holds.
            asks = op == "put" or (op == "query" and self.phase is Phase.READY)
            is_askers = error.kind == _BLAMES_ASKER and asks
            is_away = error.kind in _AWAY or self.phase is Phase.STARTING
            if not is_askers:
                kind = LifeEndKind.AWAY if is_away else LifeEndKind.BROKEN
                self.end(LifeEnding(kind, f"it could not {op}: {error}"))
            raise IndexDown(f"the index cannot {op}: {error}") from error

    def end(self, ending: LifeEnding) -> None:
        """Have the life end for a reason; the first one counts."""
        if not self._doom.done():
            self._doom.set_result(ending)

    async def wait_ended(self) -> LifeEnding:
        """Return why the life ended, once it has; the process may still be there."""
        return await asyncio.shield(self._doom)

    async def wait_gone(self) -> None:
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
        try:
            if self.phase in (Phase.CHECKING, Phase.READY):
                try:
                    await self._process.request("close", {}, deadline=CLOSE_TIMEOUT)
                except (ChildProcessDown, ChildHandlerError, DeadlineExceeded):
                    self._process.kill()
            await self._process.stop(CLOSE_TIMEOUT)
        except asyncio.CancelledError:  # a kill: `wait_gone` leaves the end of the process to us
            self._process.kill()
            raise

    def kill(self) -> None:
        """End the process now."""
        if self._process is not None:
            self._process.kill()

    @property
    def _fault(self) -> LifeEndKind:
        """What a hang says: of a server that the way to it is broken, of files that they are."""
        outside = self._place.server is not None or self.phase is Phase.STARTING
        return LifeEndKind.AWAY if outside else LifeEndKind.BROKEN

    async def _attend(self, process: ChildProcess) -> None:
        """Wait for the process's end, which ends the life."""
        await process.exited()
        how, code = "", process.code
        if code:
            how = f"with exit code {code} " if code > 0 else f"by signal {-code} "
        reason = f"its process ended {how}while it was {self.phase}"
        in_files = self.phase in (Phase.OPENING, Phase.CHECKING) and is_own_death(code)
        self.end(LifeEnding(LifeEndKind.DIED, reason, in_its_files=in_files))

    def _down(self, op: str) -> IndexDown:
        return IndexDown(f"the vector index ended and cannot {op}; it is opened again, ask again")


log = logging.getLogger("cortex.vectors")

#: In the folder of a generation that lies on a server: where. So the server can be asked to delete
#: it even after a crash between its making and any other note of it.
MARKER = "server.json"


@dataclass(frozen=True, slots=True)
class GenerationPlace:
    """Where one generation lies: in a folder, or on a server under names that end in `suffix`."""

    generation: int
    folder: Path
    suffix: str
    server: Server | None
    collections: tuple[str, ...]

    def as_params(self) -> dict[str, Any]:
        """Return the parameters of `open`."""
        where: dict[str, Any] = {"path": str(self.folder), "server": None}
        if self.server is not None:
            where = {"path": "", "server": self.server.as_params()}
        return {**where, "suffix": self.suffix, "collections": list(self.collections)}


@dataclass
class Generations:
    """The folder that holds one folder for each generation, or the server that settings name."""

    _folder: Path
    _settings: StorageSettings
    collections: tuple[str, ...]

    def find_place(self, state: pending.IndexState) -> GenerationPlace:
        """Return where a generation lies; raises `ConfigurationError` for a server's address."""
        folder = self._folder / state.folder
        if self._settings.index == "embedded":
            return GenerationPlace(state.generation, folder, "", None, self.collections)
        settings = self._settings
        server = Server.from_address(settings.index_url, system_store=settings.trust_system_store)
        suffix = _suffix(state.folder)
        return GenerationPlace(state.generation, folder, suffix, server, self.collections)

    def prepare(self, place: GenerationPlace) -> None:
        """Make a generation's folder, and the note of its server; raises `OSError`."""
        place.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if place.server is not None:
            write_private(place.folder / MARKER, json.dumps({"url": place.server.url}))

    def list_others(self, place: GenerationPlace) -> list[Path]:
        """Return the folders of generations that are not in use."""
        return [path for path in self._folder.glob("gen-*") if path != place.folder]

    def list_remote(self, place: GenerationPlace) -> dict[str, Path]:
        """Return the old generations on the same server: what their names end in, and a folder."""
        if place.server is None:
            return {}
        wanted = place.server.url
        return {
            _suffix(path.name): path for path in self.list_others(place) if _url(path) == wanted
        }

    def sweep(self, place: GenerationPlace) -> None:
        """Delete the folders of other generations; those on our server wait until it has them."""
        keep = self.list_remote(place).values()
        for folder in self.list_others(place):
            if folder in keep:
                continue
            if url := _url(folder):
                log.warning("collections that end in %s stay on %s", _suffix(folder.name), url)
            discard(folder)


def discard(folder: Path) -> None:
    """Delete a folder; what cannot be deleted now is deleted another time."""
    shutil.rmtree(folder, ignore_errors=True)


def find_usable(
    connection: Connection, model: str, broken: pending.IndexState | None
) -> pending.IndexState | None:
    """Return the generation in use; None where it is `broken`, or there is none for the model."""
    now = pending.load_state(connection)
    is_bad = now is None or now.model != model or (broken and now.folder == broken.folder)
    return None if is_bad else now


def renew_state(
    connection: Connection, model: str, broken: pending.IndexState | None
) -> pending.IndexState:
    """Return the generation to use, a new one when need be; doing it twice begins one."""
    return find_usable(connection, model, broken) or pending.rebuild(connection, model)


def _suffix(folder: str) -> str:
    """Return what the names of a generation's collections end in: gen-3-1a2b -> -g3-1a2b."""
    return "-g" + folder.removeprefix("gen-")


def _url(folder: Path) -> str | None:
    """Return the server that a generation lies on; None for one in its folder."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        return str(json.loads((folder / MARKER).read_text())["url"])
    return None


#: How many times larger than the vectors the links between them may be; sound is a hundredth.
LINKS = 10

#: How many times larger than expected a folder may be.
BLOAT = 4

#: Bytes a row has in Chroma's files beside its vector: its links, its label, its id twice in
#: SQLite and its place in the log. Measured at 10,000 rows of 384 numbers: 618.
ROW = 1_024

#: Bytes below which no folder is too large: an empty one has 0.2 MB, and what Chroma's log holds
#: until it is purged does not grow with the rows.
FLOOR = 64 * 2**20


def find_suspicion(folder: Path, *, rows: int, vector_bytes: int) -> str:
    """Return what is wrong with a generation's files, in words; nothing when they look sound.

    `rows` is how many vectors of `vector_bytes` bytes it may hold. Raises `OSError` when the folder
    cannot be looked into.
    """
    sizes = dict(_files(folder))
    for path, size in sizes.items():
        name = os.path.basename(path)  # noqa: PTH119 - thousands of strings, not paths
        if name.endswith(".pickle") and size == 0:
            return f"{name} is empty: it was being written when the process or the machine ended"
        if name == "link_lists.bin":
            vectors = sizes.get(path.removesuffix(name) + "data_level0.bin", 0)
            if size > LINKS * max(vectors, 4_096):
                return f"{name} has {size:,} bytes for {vectors:,} bytes of vectors"
    total, limit = sum(sizes.values()), FLOOR + BLOAT * rows * (vector_bytes + ROW)
    if total > limit:
        return f"its files have {total:,} bytes, and {rows:,} vectors need no more than {limit:,}"
    return ""


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield every file below a folder with its size; links are not followed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path)  # type: ignore[arg-type]  # a name does, too
            else:
                yield entry.path, entry.stat(follow_symlinks=False).st_size
