"""A reader goes on where it stopped: from the files, from memory, and over the seam between."""

from __future__ import annotations

import random
import threading
import tracemalloc
from functools import partial
from typing import TYPE_CHECKING

import pytest

from cortex_actors.clock import SystemClock
from cortex_actors.process import logfile, logs
from cortex_actors.process.logfile import LEAP, Filter, RotatingFile, make_record
from cortex_actors.process.logs import LogStream
from cortex_actors.testing import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from cortex_actors.process.logs import Follower, LogBatch


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], LogStream]]:
    """Give a way to open a log with a small memory and small files, which are closed afterwards."""
    monkeypatch.setattr(logs, "RING", 50)
    monkeypatch.setattr(logs, "STEP", 20)
    monkeypatch.setattr(logfile, "PAGE_RECORDS", 30)
    monkeypatch.setattr(logfile, "RotatingFile", partial(RotatingFile, limit=20_000))
    found: list[LogStream] = []

    def opens() -> LogStream:
        found.append(LogStream(tmp_path / "cortex.ndjson", SystemClock()))
        return found[-1]

    yield opens
    for stream in found:
        stream.close()


def say(stream: LogStream, count: int, actor: str = "a") -> None:
    """Write so many records."""
    for _ in range(count):
        stream.write("info", "x" * 20, actor=actor)


async def told(follower: Follower, upto: int) -> list[LogBatch]:
    """Return the batches until the one that holds a record of that number."""
    found = []
    async for batch in follower:
        found.append(batch)
        if batch.id is not None and batch.id >= upto:
            break
    return found


def numbers(batches: list[LogBatch]) -> list[int]:
    """Return the numbers of all records, in the order they came."""
    return [record.seq for batch in batches for record in batch.records]


def dropped(batches: list[LogBatch]) -> int:
    """Return how many records were said to be gone."""
    return sum(batch.dropped for batch in batches)


class TestSince:
    async def test_older_than_memory(self, opened: Callable[[], LogStream]) -> None:
        """What memory has no more comes from the files, then memory, then what happens."""
        stream = opened()
        say(stream, 180)
        follower = stream.follow(Filter(since=7), last=None)
        say(stream, 5)
        found = await told(follower, 185)

        assert list(range(8, 186)) == numbers(found)
        assert 0 == dropped(found)

    async def test_in_memory(self, opened: Callable[[], LogStream]) -> None:
        """What memory holds is not looked for in the files, nor doubled."""
        stream = opened()
        say(stream, 180)
        stream.path.unlink()

        found = await told(stream.follow(Filter(since=140), last=None), 180)
        assert list(range(141, 181)) == numbers(found)

    async def test_after_a_restart(self, opened: Callable[[], LogStream]) -> None:
        """An empty memory is no gap: the files of the life before are read."""
        stream = opened()
        say(stream, 100)
        stream.close()
        after = opened()
        say(after, 3)

        found = await told(after.follow(Filter(since=90), last=None), 103)
        assert list(range(91, 104)) == numbers(found)

    async def test_after_a_crash(self, opened: Callable[[], LogStream]) -> None:
        """No number is given twice after a kill, and the ones left out are not told as gone."""
        stream = opened()
        say(stream, 100)
        stream._file.settle()
        after = opened()
        say(after, 3)
        lost = await told(after.follow(Filter(since=104), last=None), LEAP)
        kept = await told(after.follow(Filter(since=98), last=None), LEAP)
        begin = 100 + LEAP

        assert [begin + 1, begin + 2, begin + 3] == numbers(lost)
        assert [99, 100, begin + 1, begin + 2, begin + 3] == numbers(kept)
        assert 0 == dropped(lost + kept)

    async def test_files_are_gone(self, opened: Callable[[], LogStream]) -> None:
        """What nobody has any more is counted, once."""
        stream = opened()
        for _ in range(100):
            say(stream, 20)
            stream._file.settle()
        found = await told(stream.follow(Filter(since=10), last=None), 2_000)

        assert 0 < found[0].dropped
        assert 1_990 == dropped(found) + len(numbers(found))
        assert numbers(found) == list(range(numbers(found)[0], 2_001))

    async def test_folder_was_emptied(self, opened: Callable[[], LogStream]) -> None:
        """A gap that has nothing behind it is told, too."""
        stream = opened()
        say(stream, 100)
        stream._file.settle()
        stream.path.unlink()
        stream.close()
        after = opened()
        after._before = after._begin = after._seq = 100
        batch = await after.follow(Filter(since=40), last=None).take()

        assert ((), 60, None) == (batch.records, batch.dropped, batch.id)

    async def test_other_log(self, opened: Callable[[], LogStream]) -> None:
        """A number that was never given is another log's: everything of this life is shown."""
        stream = opened()
        say(stream, 3)

        assert [1, 2, 3] == numbers(await told(stream.follow(Filter(since=99), last=None), 3))

    async def test_filtered(self, opened: Callable[[], LogStream]) -> None:
        """What does not pass is passed over, however much of it there is."""
        stream = opened()
        for _ in range(5):
            say(stream, 60)
            say(stream, 1, "b")
        follower = stream.follow(Filter(actor="b", since=100), last=None)

        assert [122, 183, 244, 305] == numbers(await told(follower, 305))

    async def test_since_a_time(self, opened: Callable[[], LogStream]) -> None:
        """A time is looked up in the files as well."""
        stream = opened()
        say(stream, 120)
        at = stream.list_recent(Filter(), last=1)[0].at
        say(stream, 100)
        found = numbers(await told(stream.follow(Filter(since_at=at), last=None), 220))

        assert list(range(120, 221)) == found

    async def test_last(self, opened: Callable[[], LogStream]) -> None:
        """Of all that there is since then, the last few can be asked for."""
        stream = opened()
        say(stream, 180)
        follower = stream.follow(Filter(since=7), last=40)
        say(stream, 150)

        assert list(range(141, 331)) == numbers(await told(follower, 330))

    async def test_without_following(self, opened: Callable[[], LogStream]) -> None:
        """Who does not follow reads the same, to the end of it."""
        stream = opened()
        say(stream, 180)
        follower = stream.follow(Filter(since=7), last=None, go_on=False)

        assert list(range(8, 181)) == [r.seq async for batch in follower for r in batch.records]
        assert 0 == stream.followers


class TestSeam:
    @pytest.mark.slow
    async def test_any_moment(self, opened: Callable[[], LogStream]) -> None:
        """Whenever a reader begins and whatever it missed, each record is shown once or counted."""
        seed = random.randrange(2**32)
        chance = random.Random(seed)
        stream = opened()
        going = threading.Event()
        going.set()

        def talk() -> None:
            while going.is_set():
                say(stream, chance.choice([1, 5, 60, 300]))
                stream._file.settle()

        talker = threading.Thread(target=talk)
        talker.start()
        try:
            for _ in range(15):
                since = max(1, stream._seq - chance.choice([0, 30, 50, 80, 150, 900]))
                found = await told(stream.follow(Filter(since=since), last=None), since + 400)
                seen = numbers(found)
                assert seen == sorted(set(seen)), f"seed {seed}"
                assert seen[-1] - since == len(seen) + dropped(found), f"seed {seed}"
        finally:
            going.clear()
            talker.join()

    def test_put_aside_meanwhile(self, tmp_path: Path) -> None:
        """Files that are put aside while they are opened are neither missed nor read twice."""
        path = tmp_path / "log"
        file = RotatingFile(path, limit=400)
        for number in range(1, 31):
            file.write([f'{{"seq": {number}, "at": 1, "text": "{"x" * 40}"}}'], 0)
        file.close()
        (tmp_path / "log.1").unlink()
        (tmp_path / "log.1").hardlink_to(path)
        page = logfile.read_page(path, Filter(), after=0, before=99)
        seen = [record.seq for record in page.records]

        assert seen == sorted(set(seen))
        assert 30 == seen[-1]

    def test_lost_in_the_file(self, tmp_path: Path) -> None:
        """What did not reach the file is told where it is missing, whatever page that is on."""
        path = tmp_path / "log"
        file = RotatingFile(path)
        file.write(['{"seq": 1, "at": 1}', '{"seq": 2, "at": 1}'], 0)
        file.write(['{"seq": 6, "at": 1}'], 3)
        file.close()
        first = logfile.read_page(path, Filter(), after=1, before=99)
        second = logfile.read_page(path, Filter(), after=2, before=99)

        assert ([2], 2, 0) == ([r.seq for r in first.records], first.last, first.dropped)
        assert ([6], 6, 3) == ([r.seq for r in second.records], second.last, second.dropped)

    def test_garbage(self, tmp_path: Path) -> None:
        """Lines that are no records are passed over."""
        path = tmp_path / "log"
        path.write_bytes(
            b'\xff\n[]\n{"seq": 1, "at": 1}\n{"seq": 2, "at": 1, nonsense\n{"dropped":'
        )

        page = logfile.read_page(path, Filter(), after=0, before=99)
        assert ((make_record({"seq": 1, "at": 1}),), 2, 0) == (
            page.records,
            page.last,
            page.dropped,
        )


class TestSlow:
    async def test_many_who_never_read(self, tmp_path: Path) -> None:
        """Ten readers who read nothing cost little memory, and miss nothing that the files have."""
        stream = LogStream(tmp_path / "cortex.ndjson", SystemClock())
        say(stream, logs.RING)
        followers = [stream.follow(Filter(), last=0) for _ in range(9)]
        followers.append(stream.follow(Filter(since=1), last=None))
        tracemalloc.start()
        say(stream, 10_000)
        stream._file.settle()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        # The ring's records, 1 KB each at most.
        assert 2 * logs.RING * 1_024 > held
        for follower in followers[:2]:
            assert list(range(logs.RING + 1, logs.RING + 10_001)) == numbers(
                await told(follower, logs.RING + 10_000)
            )
        stream.close()

    async def test_behind_at_the_end(self, opened: Callable[[], LogStream]) -> None:
        """A reader who is still behind when the stream ends finds the end."""
        stream = opened()
        say(stream, 180)
        follower = stream.follow(Filter(since=7), last=None)
        stream.close()

        assert not await follower.take()
        await eventually(lambda: 0 == stream.followers)
