"""Lines on their way to the disk."""

from __future__ import annotations

import threading
from io import FileIO
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.process import logfile
from cortex_actors.process.logfile import LineWriter, RotatingFile, find_last_number, read_objects

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Gate:
    """A sink that takes nothing until it is opened, and can fail."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.entered = threading.Event()
        self.failing = False
        self.taken: list[tuple[list[str], int]] = []

    def write(self, lines: Sequence[str], lost: int) -> None:
        self.entered.set()
        self.open.wait(10)
        if self.failing:
            self.failing = False
            raise OSError(28, "No space left on device")
        self.taken.append((list(lines), lost))

    def close(self) -> None:
        self.taken.append((["closed"], 0))


class Full(FileIO):
    """A file on a disk that has room for a line and a half."""

    def write(self, data: Any, /) -> int:
        return super().write(data[:16])


class TestWriter:
    def test_never_blocks(self) -> None:
        """A disk that hangs costs lines, never the caller; the number lost is told."""
        gate = Gate()
        writer = LineWriter(gate, limit=2)
        writer.put("0")
        assert gate.entered.wait(10)
        for number in range(1, 6):
            writer.put(str(number))
        gate.open.set()
        writer.close()

        assert [(["0"], 0), (["1", "2"], 3), (["closed"], 0)] == gate.taken

    def test_full_disk(self) -> None:
        """Lines that a full disk refused are counted and told with the next ones."""
        gate = Gate()
        gate.failing = True
        writer = LineWriter(gate)
        writer.put("0")
        assert gate.entered.wait(10)
        writer.put("1")
        gate.open.set()
        writer.close()

        assert (["1"], 1) == gate.taken[0]

    def test_gathers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Lines that come in a burst are written together; closing does not wait for more."""
        monkeypatch.setattr(logfile, "GATHER", 60.0)
        gate = Gate()
        gate.open.set()
        writer = LineWriter(gate)
        for number in range(100):
            writer.put(str(number))

        assert writer.close(10)
        assert [([str(number) for number in range(100)], 0)] == gate.taken[:1]

    def test_close_in_time(self) -> None:
        """Closing does not wait for ever for a disk that hangs."""
        gate = Gate()
        writer = LineWriter(gate)
        writer.put("0")
        assert gate.entered.wait(10)

        assert not writer.close(0.01)
        gate.open.set()
        assert writer.close(10)


class TestRotation:
    def test_keeps_few_files(self, tmp_path: Path) -> None:
        """Files are put aside at their limit, and only so many are kept."""
        path = tmp_path / "log"
        file = RotatingFile(path, limit=30, files=3)
        for number in range(20):
            file.write([f'{{"seq": {number:06}}}'.replace("0" * 5, "")], 0)
        file.close()

        assert ["log", "log.1", "log.2"] == sorted(p.name for p in tmp_path.iterdir())
        assert all(30 >= p.stat().st_size for p in tmp_path.iterdir())

    def test_reads_in_order(self, tmp_path: Path) -> None:
        """All files are read as one log, oldest first; the last number is found in any."""
        path = tmp_path / "log"
        file = RotatingFile(path, limit=30, files=3)
        for number in range(1, 6):
            file.write([f'{{"seq": {number}}}'], 0)
        file.close()
        path.write_bytes(b"")

        found = [entry["seq"] for entry in read_objects(path, 3)]
        assert sorted(map(str, found)) == list(map(str, found))
        assert found[-1] == find_last_number(path)

    def test_says_what_is_lost(self, tmp_path: Path) -> None:
        """The file says how many lines did not reach it."""
        file = RotatingFile(tmp_path / "log")
        file.write(["{}"], 7)
        file.close()

        assert '{"dropped": 7}\n{}\n' == (tmp_path / "log").read_text()

    def test_part_of_a_write(self, tmp_path: Path) -> None:
        """Of lines that a full disk takes a part of, none is left: all are counted as lost."""
        file = RotatingFile(tmp_path / "log")
        file.write(['{"seq": 1}'], 0)
        file._file.close()
        file._file = Full(tmp_path / "log", "a+")
        with pytest.raises(OSError, match="only a part"):
            file.write(['{"seq": 2}', '{"seq": 3}'], 0)
        file.write(['{"seq": 4}'], 2)
        file.close()

        assert '{"seq": 1}\n{"dropped": 2}\n{"seq": 4}\n' == (tmp_path / "log").read_text()

    def test_garbage(self, tmp_path: Path) -> None:
        """Lines that are no JSON are skipped."""
        (tmp_path / "log").write_bytes(b'\xff\n[]\n{"seq": "x"}\n{"seq": 4}\n' + b"[" * 10_000)

        assert [{"seq": "x"}, {"seq": 4}] == list(read_objects(tmp_path / "log"))
        assert 4 == find_last_number(tmp_path / "log")
