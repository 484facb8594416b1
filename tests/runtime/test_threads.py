from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import BadInput, BlockingInLoopError, InternalError
from cortex_actors.runtime.threads import Threads, read_file
from cortex_actors.testing import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future


@pytest.fixture
def threads() -> Iterator[Threads]:
    """Give two threads."""
    threads = Threads("worker", 2)
    yield threads
    threads.close(wait=True)


class TestRun:
    async def test_result(self, threads: Threads) -> None:
        """A call runs on a thread with the pool's name and its result comes back."""

        def call(number: int, *, plus: int) -> tuple[int, str]:
            return number + plus, threading.current_thread().name

        result, name = await threads.run(call, 1, plus=2)

        assert 3 == result
        assert name.startswith("worker")

    async def test_raises(self, threads: Threads) -> None:
        """What the call raised is raised."""
        with pytest.raises(ValueError, match="invalid literal"):
            await threads.run(int, "no number")

    async def test_counts(self, threads: Threads) -> None:
        """At most `limit` calls run; the others are counted as waiting."""
        started, release = threading.Semaphore(0), threading.Event()

        def call() -> bool:
            started.release()
            return release.wait(5)

        calls = [asyncio.ensure_future(threads.run(call)) for _ in range(5)]
        await asyncio.to_thread(lambda: [started.acquire(timeout=5) for _ in range(2)])
        during = threads.running, threads.waiting
        calls[-1].cancel()
        await asyncio.wait({calls[-1]})
        cancelled = threads.running, threads.waiting
        release.set()
        await asyncio.gather(*calls[:-1])

        assert (2, 3) == during
        assert (2, 2) == cancelled
        assert (0, 0) == (threads.running, threads.waiting)

    async def test_cancelled_as_it_begins(
        self, threads: Threads, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A call that is cancelled just as its thread begins is counted once."""
        there, release = threading.Event(), threading.Event()
        pool = threads.pool
        submit = pool.submit

        def submit_slow(counted: Callable[[], int]) -> Future[int]:
            def slowly() -> int:
                there.set()
                release.wait(5)
                return counted()

            return submit(slowly)

        monkeypatch.setattr(pool, "submit", submit_slow)
        call = asyncio.ensure_future(threads.run(int))
        await asyncio.to_thread(there.wait, 5)
        call.cancel()
        await asyncio.wait({call})
        release.set()
        await asyncio.to_thread(threads.close, wait=True)

        assert (0, 0) == (threads.running, threads.waiting)


class TestClose:
    async def test_refuses(self, threads: Threads) -> None:
        """Closed threads run nothing more."""
        threads.close()
        with pytest.raises(InternalError, match="worker"):
            await threads.run(int)

    async def test_blocking(self, threads: Threads) -> None:
        """Waiting for the threads to end is refused on the loop."""
        with pytest.raises(BlockingInLoopError):
            threads.close(wait=True)

        assert 0 == await threads.run(int)

    async def test_drops_waiting(self) -> None:
        """Calls that have not begun are dropped, and their awaiters are told."""
        threads = Threads("worker", 1)
        started, release = threading.Event(), threading.Event()

        def call() -> None:
            started.set()
            release.wait(5)

        calls = [asyncio.ensure_future(threads.run(call)) for _ in range(2)]
        await asyncio.to_thread(started.wait, 5)
        threads.close()
        release.set()
        await asyncio.wait(calls)

        assert not calls[0].cancelled()
        assert calls[1].cancelled()
        assert (0, 0) == (threads.running, threads.waiting)


class TestReadFile:
    async def test_bytes(self, tmp_path: Path) -> None:
        """A file is read up to a limit and one byte more, and its whole size is known."""
        path = tmp_path / "a.md"
        path.write_bytes(b"0123456789")

        assert (b"0123456789", 10) == await read_file(str(path), limit=10)
        assert (b"0123", 10) == await read_file(str(path), limit=3)

    async def test_no_regular_file(self, tmp_path: Path) -> None:
        """A pipe without a writer, and a folder, are refused at once."""
        os.mkfifo(tmp_path / "pipe")
        for each in (tmp_path / "pipe", tmp_path):
            with pytest.raises((BadInput, IsADirectoryError)):
                await read_file(str(each), limit=10)

    async def test_cancelled(self, tmp_path: Path) -> None:
        """A reader that is cancelled leaves no file open."""
        path = tmp_path / "a.md"
        path.write_bytes(b"x" * 1_000)
        for turns in range(12):
            reading = asyncio.ensure_future(read_file(str(path), limit=2_000))
            for _ in range(turns):
                await asyncio.wait([reading], timeout=0)
            reading.cancel()
            await asyncio.wait([reading])

        await eventually(lambda: str(path) not in _open_files())


def _open_files() -> set[str]:
    """Return the paths of what this process has open."""
    found = set()
    for each in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found.add(str(each.readlink()))
    return found
