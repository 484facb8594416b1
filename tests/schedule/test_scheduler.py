"""The table of jobs: what was missed is done once, what is asked for now, what failed is told."""

from __future__ import annotations

import asyncio
import random
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from cortex_actors.clock import SECOND
from cortex_actors.errors import DiskFault, LedgerDown, NotFound
from cortex_actors.schedule.jobs import RETRY, SOON
from cortex_actors.schedule.scheduler import JobPreparer
from cortex_actors.storage.ledger import backups, faults
from cortex_actors.testing import EPOCH
from cortex_actors.topics import ORGANISATION_REQUESTED, RECONCILIATION_REQUESTED, SCAN_REQUESTED
from tests.schedule.support import DAY, JOBS, Watched, scheduled
from tests.storage.support import opened

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.schedule.jobs import JobResult


class TestDaily:
    async def test_new_home(self, tmp_path: Path) -> None:
        """A home's first start notes every job and has none of the daily ones done at once."""
        async with scheduled(tmp_path) as watched:
            await watched.turn(SOON)
            rows = await watched.store.read(backups.load_jobs)

            assert 0 == await watched.said(SCAN_REQUESTED)
            assert sorted(JOBS) == sorted(rows)
            assert {EPOCH + DAY * SECOND} == {rows[name].due_at for name in JOBS[:5]}

    async def test_every_day(self, tmp_path: Path) -> None:
        """Files are read, insights weighed and principles distilled once a day."""
        async with scheduled(tmp_path) as watched:
            for _ in range(3):
                await watched.turn(DAY)
            topics = (SCAN_REQUESTED, RECONCILIATION_REQUESTED, ORGANISATION_REQUESTED)

            assert [3, 3, 3] == [await watched.said(topic) for topic in topics]

    @pytest.mark.parametrize("jump", [-100 * DAY, -3_600, 3_600, 100 * DAY])
    async def test_clock_jumps(self, tmp_path: Path, jump: float) -> None:
        """A wall clock that jumps makes nothing run twice or too late, here or after a restart."""
        async with scheduled(tmp_path) as watched:
            await watched.turn(DAY)
            watched.clock.jump(jump)
            await watched.turn(DAY)
            before = await watched.said(SCAN_REQUESTED)
            await watched.restart()
            await watched.turn(DAY)

            assert (2, 3) == (before, await watched.said(SCAN_REQUESTED))

    async def test_clock_jumps_while_it_is_down(self, tmp_path: Path) -> None:
        """A row of a time that lies far ahead puts its job off by one interval and no longer."""
        async with scheduled(tmp_path) as watched:
            watched.clock.jump(100 * DAY)
            await watched.turn(DAY)
            await watched.handle.stop(10)
            watched.clock.jump(-100 * DAY)
            await watched.start()
            await watched.turn(DAY)

            assert 2 == await watched.said(SCAN_REQUESTED)

    async def test_chance(self, tmp_path: Path) -> None:
        """Chance puts the daily jobs off by `jitter_s` at most, and never the backup."""
        async with scheduled(tmp_path, chance=0.5, jitter_s=600) as watched:
            due = [(await watched.job(name))["due_in_s"] for name in ("scan", "backup")]

        assert [DAY + 300, SOON] == due


class TestMissed:
    async def test_once(self, tmp_path: Path) -> None:
        """What was missed in many days without a daemon is done once, soon after the start."""
        async with scheduled(tmp_path) as watched:
            await watched.restart(away=10 * DAY)
            await watched.turn(SOON)
            soon = await watched.said(SCAN_REQUESTED)
            await watched.turn(DAY - SOON - 1)

            assert (1, 1) == (soon, await watched.said(SCAN_REQUESTED))

    async def test_short_lives(self, tmp_path: Path) -> None:
        """A daemon that never lives for a day still has its daily jobs done once a day."""
        async with scheduled(tmp_path) as watched:
            for _ in range(10):
                await watched.turn(3_600)
                await watched.restart(away=7 * 3_600)

            assert 3 == await watched.said(SCAN_REQUESTED)

    async def test_cut_off(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A job that a kill cuts off is done by the next life, and once."""
        going = asyncio.Event()

        async def hang(*_: object) -> JobResult:
            going.set()
            await asyncio.Event().wait()
            raise AssertionError

        async with scheduled(tmp_path) as watched:
            with monkeypatch.context() as patch:
                patch.setattr(JobPreparer, "request", hang)
                await watched.restart(away=DAY)
                watched.clock.advance(SOON)
                await going.wait()
                watched.handle.kill()
                await watched.handle.exited()
            await watched.start()
            await watched.turn(SOON)

            assert 1 == await watched.said(SCAN_REQUESTED)

    @pytest.mark.slow
    async def test_any_lives(self, tmp_path: Path) -> None:
        """However long a daemon lives and is away, two scans are a day apart and never two days."""
        seed = random.randrange(10**6)
        chance = random.Random(seed)
        async with scheduled(tmp_path) as watched:
            for _ in range(12):
                for _ in range(chance.randrange(1, 9)):
                    await watched.turn(10_800)
                await watched.restart(away=chance.uniform(0, 6 * 3_600))
            at = await watched.said_at(SCAN_REQUESTED)
        gaps = [(later - sooner) / SECOND for sooner, later in pairwise(at)]

        assert gaps, f"seed {seed}"
        assert all(DAY <= gap < DAY + 9.1 * 3_600 for gap in gaps), f"seed {seed}: {gaps}"


class TestQuiet:
    async def test_writes_nothing(self, tmp_path: Path) -> None:
        """A run that changes nothing writes no row: an idle ledger is not copied every hour."""
        async with scheduled(tmp_path) as watched:
            await watched.turn(SOON)
            rows = await watched.store.read(backups.load_jobs)
            for _ in range(5):
                await watched.turn(3_600)

            assert rows == await watched.store.read(backups.load_jobs)
            assert [30] == watched.copies()
            assert "done" == (await watched.job("prune"))["state"]

    async def test_by_the_disk(self, tmp_path: Path) -> None:
        """Of a backup and a check the disk says when they were done, where a row was lost."""
        async with scheduled(tmp_path) as watched:
            await watched.turn(SOON)
            await watched.restart(away=60)
            done = [(await watched.job(name))["finished_at"] for name in ("backup", "check")]

            assert [EPOCH + 30 * SECOND] * 2 == done

    async def test_with_the_next(self, tmp_path: Path) -> None:
        """The rows of quiet runs come into the ledger with the next that writes anyway."""
        async with scheduled(tmp_path) as watched:
            await watched.turn(SOON)
            await watched.turn(DAY)
            rows = await watched.store.read(backups.load_jobs)

            assert {"done"} == {rows[name].state for name in ("scan", "backup", "check")}
            assert "every page of the ledger is sound" == rows["check"].said


class TestAskedFor:
    async def test_now(self, tmp_path: Path) -> None:
        """Somebody who asks for a job has it done at once, and its timer begins again."""
        async with scheduled(tmp_path) as watched:
            await watched.turn(3_600)
            done: JobResult = await watched.ask("scan")
            await watched.turn(DAY - 3_600)
            early = await watched.said(SCAN_REQUESTED)
            await watched.turn(3_600)

            assert "all files are read again" == done.said
            assert (1, 2) == (early, await watched.said(SCAN_REQUESTED))

    async def test_in_hand(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A job that is in hand is waited for and not done twice."""
        going, gate = asyncio.Event(), asyncio.Event()
        request = JobPreparer.request

        async def slowly(self: JobPreparer, *args: object) -> JobResult:
            going.set()
            await gate.wait()
            return await request(self, *args)  # type: ignore[arg-type]

        monkeypatch.setattr(JobPreparer, "request", slowly)
        async with scheduled(tmp_path) as watched:
            asked = [asyncio.ensure_future(watched.ask("scan"))]
            await going.wait()
            running = (await watched.job("scan"))["running_s"]
            asked.append(asyncio.ensure_future(watched.ask("scan")))
            await watched.job("scan")  # asked later, so the other one has been heard
            gate.set()
            await asyncio.gather(*asked)

            assert (0.0, 1) == (running, await watched.said(SCAN_REQUESTED))

    async def test_unknown(self, tmp_path: Path) -> None:
        """A job that is none is refused with the names of those there are."""
        async with scheduled(tmp_path) as watched:
            with pytest.raises(NotFound, match="cannot run tea: .* scan, reconcile, organise"):
                await watched.ask("tea")

    async def test_fails(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Who asks for a job that fails is told why, and it is tried again by itself."""

        def refused(*_: object) -> None:
            raise LedgerDown("no disk today")

        async with scheduled(tmp_path) as watched:
            with monkeypatch.context() as patch:
                patch.setattr(faults, "check_whole", refused)
                with pytest.raises(LedgerDown, match="no disk today"):
                    await watched.ask("check")
            failing = await watched.failing()
            await watched.turn(RETRY)

            assert {"check": "no disk today"} == failing
            assert {} == await watched.failing()

    async def test_damage(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Damage that a check finds ends the daemon, whoever asked for it."""

        def damaged(*_: object) -> None:
            raise DiskFault("a page is gone")

        async with scheduled(tmp_path) as watched:
            monkeypatch.setattr(faults, "check_whole", damaged)
            asked = asyncio.ensure_future(watched.ask("check"))
            reason = await watched.handle.exited()
            await asyncio.gather(asked, return_exceptions=True)

        assert isinstance(reason, DiskFault)


class TestLedgerAway:
    async def test_not_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Rows that cannot be read are told, count from now on, and are not written over."""

        def refused(*_: object) -> None:
            raise LedgerDown("not now")

        async with opened(tmp_path) as store:
            watched = Watched(store)
            await watched.start()
            await watched.turn(DAY)
            rows = await store.read(backups.load_jobs)
            await watched.handle.stop(10)
            with monkeypatch.context() as patch:
                patch.setattr(backups, "load_jobs", refused)
                await watched.start()
            await watched.turn(60)
            await watched.ask("scan")
            after = await store.read(backups.load_jobs)
            await watched.handle.stop(10)

        assert "cannot read when jobs were done last" in caplog.text
        assert rows["digest"] == after["digest"]
        assert rows["scan"] != after["scan"]
