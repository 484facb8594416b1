"""The log stream, its followers and its filter."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import threading
from typing import TYPE_CHECKING

import pytest

from cortex_actors.clock import SystemClock
from cortex_actors.domain.event import Custom, Event
from cortex_actors.errors import BadInput
from cortex_actors.process.logfile import LEAP, Filter, LogEntry, format_line, make_record
from cortex_actors.process.logs import RING, LogStream, StreamHandler, read_tail
from cortex_actors.tree import make_scribe

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EVERYTHING = Filter()


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[LogStream]:
    """Give a log stream in a folder of its own."""
    stream = LogStream(tmp_path / "cortex.ndjson", SystemClock())
    yield stream
    stream.close()


def _logger(name: str, stream: LogStream) -> logging.Logger:
    """Return a logger that nobody else knows, which speaks to the stream alone."""
    log = logging.Manager(logging.RootLogger(logging.WARNING)).getLogger(name)
    log.addHandler(StreamHandler(stream))
    return log


def _texts(records: object) -> list[str]:
    """Return what records say."""
    assert isinstance(records, list | tuple)
    return [record.text for record in records if isinstance(record, LogEntry)]


class TestFile:
    def test_holds_every_record(self, stream: LogStream) -> None:
        """What was written is in the file, a line of JSON each."""
        stream.write("info", "read", actor="accumulator", topic="file:changed", new=3)
        stream.close()
        found = json.loads(stream.path.read_text().splitlines()[0])

        assert 1 == found["seq"]
        assert ("info", "accumulator", "file:changed", "read", 3) == tuple(
            found[key] for key in ("level", "actor", "topic", "text", "new")
        )

    def test_numbers_go_on(self, stream: LogStream) -> None:
        """A new stream counts on where the file ends; after an end without a word, far above it."""
        stream.write("info", "one", actor="a")
        stream.close()
        second = LogStream(stream.path, SystemClock())
        second.write("info", "two", actor="a")
        second.close()
        with stream.path.open("a") as file:
            file.write('{"seq": 99, "te')
        third = LogStream(stream.path, SystemClock())
        third.write("info", "three", actor="a")
        third.close()

        assert [1, 2, 2 + LEAP + 1] == [r.seq for r in read_tail(stream.path, EVERYTHING, last=9)]

    @pytest.mark.parametrize("text", ["a\nb", "\x1b[31mred", "\u202eleft", "\ud800", "\x85"])
    def test_one_line(self, stream: LogStream, text: str) -> None:
        """No text can break out of its line or move a terminal's cursor."""
        stream.write("info", text, actor="a", more=text)
        stream.close()
        content, closed, _ = stream.path.read_bytes().split(b"\n")

        assert {"closed": 1} == json.loads(closed)
        assert content.isascii()
        assert b"" == bytes(c for c in content if c < 32)
        assert text == json.loads(content)["text"]
        assert format_line(make_record(json.loads(content))).isprintable()

    def test_strange_fields(self, stream: LogStream) -> None:
        """Fields that cannot be written are named, and the record is kept."""

        class Bad:
            def __str__(self) -> str:
                raise ZeroDivisionError

        stream.write("info", "one", actor="a", bad=Bad())
        stream.write("info", "two", actor="a", big="x" * 100_000)
        found = stream.list_recent(EVERYTHING)

        assert ["one", "two"] == _texts(found)
        assert ["bad", "big"] == [record.fields["left_out"] for record in found]


class TestHandler:
    def test_feeds(self, stream: LogStream) -> None:
        """The standard library's logging ends in the stream, with its own names for things."""
        log = _logger("cortex.bus", stream)
        log.warning("lost %d", 3, extra={"topic": "file:changed", "seq": 7})
        (record,) = stream.list_recent(EVERYTHING)

        assert ("warning", "bus", "lost 3", "file:changed") == (
            record.level,
            record.actor,
            record.text,
            record.topic,
        )
        assert {"seq_": 7} == record.fields

    def test_traceback(self, stream: LogStream) -> None:
        """An exception keeps its traceback, and people see it behind a bar."""
        log = _logger("x", stream)
        try:
            _ = 1 // 0
        except ZeroDivisionError:
            log.exception("failed")
        (record,) = stream.list_recent(EVERYTHING)

        assert "ZeroDivisionError" in str(record.fields["traceback"])
        assert "\n    | ZeroDivisionError" in format_line(record)

    def test_wrong_arguments(self, stream: LogStream) -> None:
        """A text that does not fit its arguments is shown as both."""
        log = _logger("x", stream)
        log.error("%d", "three")
        (record,) = stream.list_recent(EVERYTHING)

        assert "'%d' ('three',)" == record.text


class TestFollower:
    async def test_begins_with_the_last(self, stream: LogStream) -> None:
        """A follower gets the last records and then every new one, none twice."""
        for number in range(5):
            stream.write("info", str(number), actor="a")
        follower = stream.follow(EVERYTHING, last=2)
        stream.write("info", "new", actor="a")

        taken = [*(await follower.take()).records, *(await follower.take()).records]
        assert ["3", "4", "new"] == _texts(taken)

    async def test_slow(self, stream: LogStream) -> None:
        """A reader that is slower than memory goes on from the files, and loses nothing."""
        follower = stream.follow(EVERYTHING, last=0)
        for number in range(RING + 7):
            stream.write("info", str(number), actor="a")
        batch = await follower.take()

        assert 0 == batch.dropped
        assert "0" == batch.records[0].text

    async def test_every_record_once_or_counted(self, stream: LogStream) -> None:
        """From four threads at once, every record is either taken or counted as dropped."""
        follower = stream.follow(EVERYTHING, last=0)

        def talk() -> None:
            for number in range(2_000):
                stream.write("info", str(number), actor="a")

        threads = [threading.Thread(target=talk) for _ in range(4)]
        for thread in threads:
            thread.start()
        seen = 0
        async with asyncio.timeout(30):
            while seen < 8_000:
                batch = await follower.take()
                seen += len(batch.records) + batch.dropped
        for thread in threads:
            thread.join()

        assert 8_000 == seen

    async def test_end(self, stream: LogStream) -> None:
        """Closing the stream ends its followers, after what waits for them."""
        follower = stream.follow(EVERYTHING, last=0)
        stream.write("info", "last", actor="a")
        stream.close()

        assert ["last"] == _texts((await follower.take()).records)
        assert () == (await follower.take()).records
        assert 0 == stream.followers

    async def test_filter(self, stream: LogStream) -> None:
        """A follower hears only what its filter lets pass."""
        follower = stream.follow(Filter("warning", "watcher*", "file:*"), last=0)
        for level, actor, topic in (
            ("info", "watcher(a)", "file:changed"),
            ("error", "pool", "file:changed"),
            ("error", "watcher(a)", None),
            ("error", "watcher(a)", "project:added"),
            ("error", "watcher(a)", "file:changed"),
        ):
            stream.write(level, "x", actor=actor, topic=topic)

        assert [5] == [record.seq for record in (await follower.take()).records]


class TestRing:
    def test_is_bounded(self, stream: LogStream) -> None:
        """Memory holds the last 5,000 records and no more."""
        for number in range(RING + 3):
            stream.write("info", str(number), actor="a")
        found = stream.list_recent(EVERYTHING, last=RING * 2)

        assert RING == len(found)
        assert "3" == found[0].text

    def test_none(self, stream: LogStream) -> None:
        """The last zero records are none, not all."""
        stream.write("info", "x", actor="a")

        assert [] == stream.list_recent(EVERYTHING, last=0)

    def test_since(self, stream: LogStream) -> None:
        """Records can be asked for from a number or a time on."""
        for number in range(3):
            stream.write("info", str(number), actor="a")
        at = stream.list_recent(EVERYTHING, last=1)[0].at

        assert ["2"] == _texts(stream.list_recent(Filter(since=2)))
        assert [] == stream.list_recent(Filter(since_at=at + 1))

    def test_countless(self, stream: LogStream) -> None:
        """More than any machine can count are as many as there are."""
        stream.write("info", "x", actor="a")

        assert ["x"] == _texts(stream.list_recent(EVERYTHING, last=10**30))


class TestLine:
    def test_dropped(self) -> None:
        """A gap is shown without a time, since none is known."""
        shown = format_line(make_record({"dropped": 7}))

        assert shown.startswith("-    ")
        assert shown.endswith("log: 7 records were dropped here")

    def test_event(self, stream: LogStream) -> None:
        """An event shows every field that says something: zero and false do, nothing does not."""
        payload = Custom({"n": 0, "ok": False, "none": None, "empty": "", "list": [], "who": "me"})
        make_scribe(stream)(Event("evt_1", "custom:a", payload, 1, "me"))

        assert ["n=0 ok=False who=me"] == _texts(stream.list_recent(EVERYTHING))


class TestEcho:
    def test_shows_lines(self, tmp_path: Path) -> None:
        """A terminal is shown every record as a line."""
        shown = io.StringIO()
        stream = LogStream(tmp_path / "x", SystemClock(), echo=shown)
        stream.write("info", "hello", actor="daemon")
        stream.close()

        assert shown.getvalue().endswith("info     daemon: hello\n")


class TestFilter:
    def test_unknown_level(self) -> None:
        """A level that does not exist is refused, with those that do."""
        with pytest.raises(BadInput, match="the levels are: debug, info"):
            Filter("loud")
