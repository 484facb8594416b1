"""The journal of writes: what a file held before we wrote into it, and how far a write is."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import update

from cortex_actors.domain.project import hash_file
from cortex_actors.errors import BeingWritten, LedgerDown
from cortex_actors.files.swap import WriteEntry, WriteState, insist
from cortex_actors.storage import projects
from cortex_actors.storage.projects import Writes
from cortex_actors.storage.tables.schema import file_writes
from cortex_actors.testing import EPOCH, ManualClock, eventually
from tests.storage.support import ATLAS

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tests.storage.support import Store
    from tests.storage.things import Tables

_ENTRY = WriteEntry(
    run_id="run_1",
    project_id=ATLAS.id,
    root=ATLAS.root,
    path=f"{ATLAS.root}/CLAUDE.md",
    agent="claude",
    before=b"# One\n",
    after_sha256=hash_file(b"# One\n- x\n"),
    aside=".CLAUDE.md.cortex-1",
    began_at=EPOCH,
)


@pytest.fixture
def journal(tables: Tables) -> Tables:
    """Give tables with a project."""
    tables.write(lambda c: projects.add(c, ATLAS))
    return tables


def _begun(journal: Tables, **given: object) -> WriteEntry:
    """Begin a write, and return it."""
    return journal.write(lambda c: projects.begin(c, replace(_ENTRY, **given)))  # type: ignore[arg-type]


def _ended(
    journal: Tables, at: int, *, aside: str = "", state: WriteState = WriteState.DONE
) -> WriteEntry:
    """Begin a write and end it."""
    entry = _begun(journal)
    journal.write(lambda c: projects.end(c, entry.seq, state, at=at, aside=aside))
    return entry


class TestRows:
    def test_as_given(self, journal: Tables) -> None:
        """What is noted is what comes back, the bytes and the project's root, too."""
        begun = _begun(journal)

        assert [begun] == journal.read(projects.list_unfinished)
        assert begun == replace(_ENTRY, seq=begun.seq)

    def test_one_at_a_time(self, journal: Tables) -> None:
        """Nobody begins a write into a file where another has not ended."""
        begun = _begun(journal)
        with pytest.raises(BeingWritten, match="CLAUDE.md"):
            _begun(journal)
        _begun(journal, path=f"{ATLAS.root}/AGENTS.md")
        journal.write(lambda c: projects.end(c, begun.seq, WriteState.ABANDONED, at=EPOCH))

        assert begun.seq < _begun(journal).seq

    def test_unfinished(self, journal: Tables) -> None:
        """What has ended and left something aside is unfinished until that is gone."""
        entry = _ended(journal, EPOCH, aside=".x")
        assert [entry.seq] == [each.seq for each in journal.read(projects.list_unfinished)]
        assert [] == journal.read(lambda c: projects.list_unfinished(c, "/other"))

        journal.write(lambda c: projects.end(c, entry.seq, WriteState.DONE, at=EPOCH))
        assert [] == journal.read(projects.list_unfinished)

    def test_last(self, journal: Tables) -> None:
        """The newest write that stands is the one to undo."""
        first, second = (_ended(journal, EPOCH) for _ in range(2))
        _ended(journal, EPOCH, state=WriteState.ABANDONED)
        last = partial(projects.find_last, path=_ENTRY.path)

        assert second.seq == (journal.read(last) or _ENTRY).seq
        journal.write(lambda c: projects.end(c, second.seq, WriteState.UNDONE, at=EPOCH))
        assert first.seq == (journal.read(last) or _ENTRY).seq
        assert journal.read(lambda c: projects.find_last(c, "/other")) is None

    def test_displaced(self, journal: Tables) -> None:
        """A human's text that no file holds any more is kept as it was."""
        entry = _begun(journal)
        mine = update(file_writes).where(file_writes.c.seq == entry.seq)
        journal.write(lambda c: c.execute(mine.values(displaced=b"\xff\0 mine")))

        (found,) = journal.read(lambda c: projects.list_writes(c, _ENTRY.path))
        assert b"\xff\0 mine" == found.displaced


class TestPruning:
    def test_old_and_ended(self, journal: Tables) -> None:
        """Only what has ended long ago goes, and nothing of which something lies in a folder."""
        _ended(journal, EPOCH)
        kept = [
            _ended(journal, EPOCH, aside=".x").seq,
            _ended(journal, EPOCH + 2).seq,
            _begun(journal).seq,
        ]
        prune = partial(projects.prune, before=EPOCH + 1, limit=10)

        assert (1, 0) == (journal.write(prune), journal.write(prune))
        found = journal.read(lambda c: projects.list_writes(c, _ENTRY.path))
        assert kept == sorted(each.seq for each in found)

    def test_little_at_a_time(self, journal: Tables) -> None:
        """No more goes at once than is allowed, the oldest first."""
        seqs = [_ended(journal, EPOCH).seq for _ in range(3)]

        assert 2 == journal.write(lambda c: projects.prune(c, EPOCH + 1, 2))
        found = journal.read(lambda c: projects.list_writes(c, _ENTRY.path))
        assert seqs[2:] == [each.seq for each in found]


class TestInTheLedger:
    async def test_committed(self, store: Store) -> None:
        """What the journal answers has been committed, and an undo is one transaction."""
        await store.write(lambda c: projects.add(c, ATLAS))
        journal = Writes(store.records, store.clock)
        first = await journal.begin(_ENTRY)
        await journal.end(first.seq, WriteState.DONE, aside=".x")
        second = await journal.begin(_ENTRY)
        await journal.end(second.seq, WriteState.UNDONE, undone=first.seq)
        await journal.keep(second.seq, b"mine")

        sql = "SELECT state, aside, displaced FROM file_writes ORDER BY seq"
        assert [("undone", ".x", None), ("undone", "", b"mine")] == await store.rows(sql)
        assert await journal.find_last(_ENTRY.path) is None
        await journal.clear(first.seq)
        assert [] == await journal.list_unfinished()

    async def test_queued(self, store: Store) -> None:
        """A write that was begun before a crash is found, though its row is not committed yet."""
        await store.write(lambda c: projects.add(c, ATLAS))
        journal = Writes(store.records, store.clock)
        held, taken = threading.Event(), threading.Event()

        def hold(_connection: Connection) -> None:
            taken.set()
            held.wait(10)

        holding = asyncio.create_task(store.records.write(hold))
        await eventually(taken.is_set)
        beginning = asyncio.create_task(journal.begin(_ENTRY))
        looking = asyncio.create_task(journal.list_unfinished())
        try:
            # During the first read both are asked; the others are answered after a look that
            # does not wait in the queue.
            for _ in range(10):
                await store.records.read(projects.list_unfinished)
            beginning.cancel()
        finally:
            held.set()
        await holding

        assert [_ENTRY.path] == [each.path for each in await looking]


class TestInsisting:
    async def test_until_it_answers(self) -> None:
        """A journal that is away is asked again, less and less often."""
        clock, answers = ManualClock(), [LedgerDown("away")] * 3

        async def ask() -> str:
            if answers:
                raise answers.pop()
            return "noted"

        asked = asyncio.ensure_future(insist(ask, clock))
        rests = []
        for _ in range(3):
            await eventually(lambda: clock.sleepers == 1)
            rests.append(clock.due)
            clock.advance(clock.due)
        assert "noted" == await asked
        assert rests == sorted(set(rests))
