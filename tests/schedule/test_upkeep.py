"""What keeps the ledger is done by the clock: backups, pruning, the daily check."""

from __future__ import annotations

import asyncio
import logging
import os
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.api.status import load_backups
from cortex_actors.clock import SECOND
from cortex_actors.errors import BadInput, DiskFault, LedgerDown
from cortex_actors.rules.decay import BACKUP_HOUR
from cortex_actors.runtime.names import NamedActor
from cortex_actors.schedule import scheduler
from cortex_actors.schedule.jobs import RETRY, SOON
from cortex_actors.schedule.scheduler import Scheduler
from cortex_actors.storage import memory_records
from cortex_actors.storage.ledger import backups, faults, files
from cortex_actors.storage.memory import memory_delete
from cortex_actors.testing import EPOCH, eventually
from tests.schedule.support import Ask, Watched, scheduled
from tests.storage.support import opened
from tests.storage.things import mem, memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cortex_actors.storage.ledger.actor import Connection


def _without_log(path: Path) -> None:
    path.unlink()
    for each in files.list_beside(path):
        each.unlink(missing_ok=True)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


#: How a ledger's file is lost.
LOST: dict[str, Callable[[Path], object]] = {
    "gone": _without_log,
    "gone, with its log": lambda path: path.unlink(),
    "empty": lambda path: os.truncate(path, 0),
    "half": lambda path: os.truncate(path, path.stat().st_size // 2),
    "folder": _folder,
}


class TestBackups:
    async def test_hourly(self, tmp_path: Path) -> None:
        """A ledger that is written is copied soon after the start; each hour's newest is kept."""
        async with scheduled(tmp_path) as watched:
            for seconds in (SOON, 3_600, 3_600):
                await watched.store.rows("SELECT 1")
                await watched.store.says("/projects/atlas/CLAUDE.md", f"Say {seconds}.")
                await watched.turn(seconds)

            assert [30, 3_630, 7_230] == watched.copies()

    async def test_not_written(self, tmp_path: Path) -> None:
        """One that nobody writes is copied once."""
        async with scheduled(tmp_path) as watched:
            await watched.turn(SOON)
            before = watched.copies()
            for _ in range(5):
                await watched.turn(3_600)

            assert [30] == before == watched.copies()

    async def test_kept(self, tmp_path: Path) -> None:
        """What is no longer kept goes as new ones come."""
        async with scheduled(tmp_path, keep_hourly=2, keep_daily=0) as watched:
            for seconds in (SOON, 3_600, 3_600, 3_600):
                await watched.store.says("/projects/atlas/CLAUDE.md", f"Say {seconds}.")
                await watched.written()
                await watched.turn(seconds)

            assert [7_230, 10_830] == watched.copies()

    async def test_after_a_restart(self, tmp_path: Path) -> None:
        """A scheduler that comes back does not begin again: the disk says what is due."""
        async with scheduled(tmp_path) as watched:
            await watched.turn(SOON)
            await watched.handle.stop(10)
            await watched.store.says("/projects/atlas/CLAUDE.md", "Say more.")
            watched.clock.advance(0)
            await watched.start()
            await watched.turn(200)
            early = watched.copies()
            await watched.turn(40)

            assert ([30], [270]) == (early, watched.copies())

    @pytest.mark.parametrize("jump", [-86_400, 86_400])
    async def test_clock_jumps(self, tmp_path: Path, jump: float) -> None:
        """A wall clock that jumps makes nothing run twice, and stops nothing."""
        async with scheduled(tmp_path) as watched:
            await watched.turn(SOON)
            watched.clock.jump(jump)
            counts = []
            for _ in range(3):
                await watched.written()
                await watched.turn(3_600)
                counts.append(len(watched.copies()))

            assert [2, 3, 4] == counts

    async def test_asked_for(self, tmp_path: Path) -> None:
        """Somebody who asks for a backup gets one at once, here or elsewhere."""
        async with scheduled(tmp_path) as watched:
            ask: Ask = partial(
                NamedActor[Any]("scheduler", watched.store.names, timeout=None).ask,
                Scheduler.backup,
            )
            made = [await ask(), await ask(str(tmp_path / "mine.db"))]
            with pytest.raises(BadInput, match="give a new name"):
                await ask(str(tmp_path / "mine.db"))

            assert [
                str(tmp_path / "backups" / "manual-20260101T000000Z.db"),
                str(tmp_path / "mine.db"),
            ] == [each["path"] for each in made]


class TestLost:
    @pytest.mark.parametrize("how", LOST)
    async def test_window(self, tmp_path: Path, how: str) -> None:
        """What was acknowledged five minutes before the file is lost comes back."""
        async with scheduled(tmp_path) as watched:
            for n in range(12):
                await watched.store.says("/projects/atlas/CLAUDE.md", *map(str, range(n + 1)))
                await watched.turn(100)
            acknowledged = watched.clock.now()
            await watched.store.says("/projects/atlas/CLAUDE.md", *map(str, range(50)))
            while watched.clock.now() < acknowledged + 300 * SECOND:
                await watched.turn(60)
            copies = len(watched.copies())
        LOST[how](watched.store.home.ledger)
        async with opened(tmp_path) as store:
            found = await store.rows("SELECT count(*) FROM insights")

        assert [(50,)] == found
        assert 1 == copies  # all are of one hour, of which the newest is kept

    @pytest.mark.parametrize("how", ["gone", "empty", "half"])
    async def test_while_open(self, tmp_path: Path, how: str) -> None:
        """Nothing is acknowledged any more once the file is gone or cut off below the daemon."""
        async with opened(tmp_path) as store:
            await store.says("/projects/atlas/CLAUDE.md", "first")
            LOST[how](store.home.ledger)
            with pytest.raises(DiskFault, match="moved away|cut off"):
                await store.says("/projects/atlas/CLAUDE.md", "second")


class TestFailures:
    async def test_no_folder(self, tmp_path: Path) -> None:
        """Backups that nobody can look at cost the backups, not the daemon."""
        async with opened(tmp_path) as store:
            store.home.backups.write_bytes(b"no folder")
        async with scheduled(tmp_path) as watched:
            await watched.turn(SOON)
            failing = await NamedActor[Any]("scheduler", watched.store.names).ask(
                Scheduler.describe
            )
            known = load_backups(watched.store.home, EPOCH)

        assert "cannot list the backups" in failing["backup"]
        assert {"backup": None, "checked_at": None, "recovery": None} == known

    async def test_tried_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A job that fails is logged, shown, and tried again a little later; nothing crashes."""

        def refused(*_: object, **__: object) -> None:
            raise LedgerDown("no disk today")

        async with scheduled(tmp_path) as watched:
            with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
                patch.setattr(backups, "take", refused)
                await watched.turn(SOON)
            describe = partial(
                NamedActor[Any]("scheduler", watched.store.names).ask, Scheduler.describe
            )
            failing = await describe()
            await watched.turn(RETRY)

            assert {"backup": "no disk today"} == failing
            assert "backup failed and is tried again in 240 s" in caplog.text
            assert [330] == watched.copies()
            assert {} == await describe()

    @pytest.mark.parametrize("job", ["backup", "check"])
    async def test_damage(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: str) -> None:
        """A ledger that is found damaged, by the check or because its copy is, ends the daemon."""

        def damaged(*_: object) -> None:
            raise DiskFault("a page is gone")

        def refused(*_: object, **__: object) -> None:
            raise LedgerDown("cannot keep the copy")

        async with scheduled(tmp_path) as watched:
            if job == "backup":
                backups.note_check(tmp_path / "backups", EPOCH)
                monkeypatch.setattr(backups, "take", refused)
            monkeypatch.setattr(faults, "check_whole", damaged)
            watched.clock.advance(SOON)
            reason = await watched.handle.exited()

            assert isinstance(reason, DiskFault)


class TestCheck:
    async def test_daily(self, tmp_path: Path) -> None:
        """The whole ledger is checked once a day, however often the daemon starts."""
        async with scheduled(tmp_path) as watched:
            await watched.turn(SOON)
            ages = [backups.read_checked(tmp_path / "backups")]
            await watched.turn(23 * 3_600)
            ages.append(backups.read_checked(tmp_path / "backups"))
            await watched.turn(3_600)
            ages.append(backups.read_checked(tmp_path / "backups"))

        assert [30, 30, 30 + 24 * 3_600] == [((each or 0) - EPOCH) // SECOND for each in ages]

    async def test_nobody_waits(self, tmp_path: Path) -> None:
        """While the whole ledger is read and found sound, nobody who writes waits for it."""
        async with scheduled(tmp_path) as watched:
            await watched.store.says("/projects/atlas/CLAUDE.md", "Say it.")
            written: list[object] = []
            submit = watched.store.records.write

            async def noted(unit: Any, **how: Any) -> Any:
                written.append(unit)
                return await submit(unit, **how)

            watched.store.records.write = noted  # type: ignore[method-assign]  # looked at
            done = await watched.ask("check")
            shown = load_backups(watched.store.home, EPOCH)["checked_at"]

        assert "every page of the ledger is sound" == done.said
        assert [] == written
        assert EPOCH == shown

    async def test_suspected(self, tmp_path: Path) -> None:
        """A ledger under suspicion is checked soon."""
        async with opened(tmp_path) as store:
            backups.note_check(store.home.backups, EPOCH)
            faults.suspect(store.home.ledger, "an error while reading")
            watched = Watched(store)
            await watched.start()
            await watched.turn(SOON)
            await watched.handle.stop(10)

            assert not faults.name_marker(store.home.ledger).exists()

    async def test_words(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """Words that are not those of the texts are made anew, and the ledger is not given up."""
        async with scheduled(tmp_path) as watched:
            sql = "INSERT INTO words_alone (rowid, text) VALUES (9, 'ghost')"
            await watched.store.write(lambda c: c.exec_driver_sql(sql).rowcount)
            await watched.turn(SOON)
            query = "SELECT rowid FROM words_alone WHERE words_alone MATCH 'ghost'"

            # It is said after it is written, and other jobs may be the ones that rest already.
            said = "words_alone were not the words of the texts"
            await eventually(lambda: said in caplog.text)
            assert [] == await watched.store.rows(query)


#: Two writes into a file of a project: one that has ended, and one that has not.
_WRITES = """
INSERT INTO projects (id, name, root, added_at) VALUES ('prj_a', 'a', '/a', 1);
INSERT INTO file_writes
(run_id, project_id, path, agent, after_sha256, aside, state, began_at, ended_at) VALUES
('run_1', 'prj_a', '/a/CLAUDE.md', 'claude', '', '', 'done', 1, 2),
('run_1', 'prj_a', '/a/CLAUDE.md', 'claude', '', '.x', 'pending', 1, NULL)
"""


def _run(connection: Connection, sql: str) -> int:
    """Run a statement."""
    return connection.exec_driver_sql(sql).rowcount


class TestPrune:
    async def test_until_nothing_is_left(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What was handled long ago is deleted in small units of work, with pauses for others."""
        units = [3, 2, 1, 0]
        monkeypatch.setattr(backups, "prune", lambda *_: units.pop(0))
        async with scheduled(tmp_path) as watched:
            watched.clock.advance(BACKUP_HOUR / SECOND)
            for _ in range(3):
                await eventually(lambda: 0 < watched.clock.due < 2 * scheduler.PAUSE)
                watched.clock.advance(scheduler.PAUSE)
            await eventually(lambda: not units)
            # The next that is done is a copy of the ledger, every 240 s.
            await eventually(lambda: watched.clock.due > 240 - 4 * scheduler.PAUSE - 2 * SOON)

    async def test_writes(self, tmp_path: Path) -> None:
        """What files held before we wrote into them is kept for its time, and no longer."""
        async with scheduled(tmp_path) as watched:
            for sql in _WRITES.split(";"):
                await watched.store.write(partial(_run, sql=sql))
            asked = asyncio.ensure_future(watched.ask("prune"))
            await eventually(lambda: 0 < watched.clock.due < 2 * scheduler.PAUSE)
            watched.clock.advance(scheduler.PAUSE)
            await asked

            assert [(2,)] == await watched.store.rows("SELECT seq FROM file_writes")
            assert "1 writes into files" in (await watched.job("prune"))["said"]

    async def test_words(self, tmp_path: Path) -> None:
        """Words of what was forgotten are written over by the clock where a crash cut that off."""
        async with scheduled(tmp_path) as watched:
            write = watched.store.write
            await write(partial(memory_records.save, some=[memory("zanzibar", id="a")]))
            await write(partial(memory_delete.forget, ids=[mem("a")], by="owner", at=EPOCH))
            await watched.ask("prune")

            assert "words of forgotten memories" in (await watched.job("prune"))["said"]
            assert not await watched.store.read(memory_delete.is_due)
            await watched.ask("prune")
            assert not (await watched.job("prune"))["said"]
