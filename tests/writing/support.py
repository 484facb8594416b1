"""What the tests of writing share: a registered folder, a journal of rows, a quick writer."""

from __future__ import annotations

import asyncio
import functools
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import StaticPool, create_engine

from cortex_actors.clock import SystemClock
from cortex_actors.domain.project import Project
from cortex_actors.files.place import Pace
from cortex_actors.files.writer import FileWriter, WriteTarget
from cortex_actors.render import fence
from cortex_actors.runtime.threads import Threads
from cortex_actors.storage.ledger.connection import find_driver_of, open_writing
from cortex_actors.storage.projects import Writes
from cortex_actors.storage.tables.schema import metadata
from cortex_actors.testing import EPOCH, eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from pathlib import Path

    from sqlalchemy import Connection, Engine

    from cortex_actors.files.swap import WriteEntry
    from cortex_actors.files.writer import WriteResult

T = TypeVar("T")

#: What a section says in these tests.
BODY = b"## Resolved Knowledge from Cortex\n\n- Use pnpm.\n"

#: As quick as a test may be; the product waits much longer.
QUICK = Pace(settle=0.002, limit=0.3, grace=0.05, look=0.005, longest=5.0)

_PROJECT = "INSERT INTO projects (id, name, root, added_at) VALUES (?, ?, ?, ?)"


class Rows:
    """The ledger's tables in a file, in place of its actor; each call is one transaction."""

    def __init__(self, file: Path) -> None:
        """Open the file, which may have been there."""
        self.engine = open_writing(file)

    async def write(self, unit: Callable[[Connection], T], *, vital: bool = False) -> T:
        """Run a unit of work."""
        with self.engine.begin() as connection:
            return unit(connection)

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Run a query."""
        with self.engine.begin() as connection:
            return query(connection)

    def rows(self) -> list[tuple[str, str, bytes | None]]:
        """Return the state of each write, what it left aside, and what it keeps."""
        with self.engine.begin() as connection:
            query = "SELECT state, aside, displaced FROM file_writes ORDER BY seq"
            return [tuple(row) for row in connection.exec_driver_sql(query)]


class Desk:
    """A registered folder with one file, and a writer that may write it."""

    def __init__(self, folder: Path, pace: Pace = QUICK) -> None:
        """Make the folder and the tables."""
        self.root = folder / "project"
        self.root.mkdir(parents=True, exist_ok=True)
        self.path = self.root / "CLAUDE.md"
        file = folder / "writes.db"
        if not file.exists():
            file.write_bytes(_empty(self.root))
        self.rows = Rows(file)
        self.journal = Writes(self.rows, SystemClock())  # type: ignore[arg-type]
        self.late: list[WriteEntry] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._threads = Threads("writing", 8)
        self.writer = FileWriter(
            self.journal,
            SystemClock(),
            spawn=self._spawn,
            pace=pace,
            threads=self._threads,
            late=self._on_late,
        )

    def target(self, path: Path | None = None, **given: object) -> WriteTarget:
        """Return what is to be written: the file, unless another is named."""
        project = Project.from_root(str(self.root), EPOCH).id
        return WriteTarget(
            str(self.root),
            str(path or self.path),
            project,
            "claude",
            "run_1",
            **given,  # type: ignore[arg-type]
        )

    async def write(self, body: bytes = BODY, **given: object) -> WriteResult:
        """Write a section."""
        path = given.get("path")
        named = str(path or self.path)
        return await self.writer.write(
            self.target(**given),  # type: ignore[arg-type]
            lambda data: fence.splice(data, body, path=named),
        )

    async def quiet(self) -> None:
        """Return once nothing that was displaced is watched any more."""
        await eventually(lambda: not self._tasks)

    @property
    def names(self) -> list[str]:
        """What lies in the folder."""
        return sorted(each.name for each in self.root.iterdir())

    @property
    def states(self) -> list[str]:
        """How each write ended."""
        return [state for state, _, _ in self.rows.rows()]

    async def close(self) -> None:
        """Call off what is watched, and close the tables."""
        await self.cancel()
        self._threads.close()
        self.rows.engine.dispose()

    async def cancel(self) -> None:
        """Call off what is watched."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _on_late(self, entry: WriteEntry) -> None:
        self.late.append(entry)


@asynccontextmanager
async def desk_in(folder: Path, pace: Pace = QUICK) -> AsyncIterator[Desk]:
    """Give a desk; close it afterwards."""
    desk = Desk(folder, pace)
    try:
        yield desk
    finally:
        await desk.close()


def section(body: bytes = BODY) -> bytes:
    """Return a section with its marks, as it stands in a file."""
    return fence.splice(b"", body)


def _empty(root: Path) -> bytes:
    """Return a database with the ledger's tables and one project."""
    engine: Engine = create_engine("sqlite://", poolclass=StaticPool)
    with engine.connect() as connection:
        driver = find_driver_of(connection)
        driver.deserialize(_tables())
        project = Project.from_root(str(root), EPOCH)
        driver.execute(_PROJECT, (project.id, project.name, project.root, EPOCH))
        driver.commit()
        made = driver.serialize()
    engine.dispose()
    return made


@functools.cache
def _tables() -> bytes:
    """Return a database with the ledger's tables: copying one is quicker than making them."""
    engine = create_engine("sqlite://", poolclass=StaticPool)
    with engine.connect() as connection:
        metadata.create_all(connection)
        connection.commit()
        made = find_driver_of(connection).serialize()
    engine.dispose()
    return made
