"""What strace prints is read as what happened to the files of a folder."""

from __future__ import annotations

import re

import pytest

from tests.power.disk import ROOT, Named, Sized, Synced, Told, Wrote
from tests.power.recording import UnknownCallError, read

#: The folder that is recorded.
FOLDER = "/here"


def _lines(text: str) -> list[str]:
    """Return lines as strace prints them with `-xx`, from lines that people can read."""
    return [
        re.sub(r'"([^"]*)"', lambda found: f'"{_hex(found[1])}"', line.strip())
        for line in text.strip().splitlines()
    ]


def _hex(text: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in text.encode())


class TestRead:
    def test_file(self) -> None:
        """Making, writing, cutting, syncing and removing a file are operations on one inode."""
        lines = _lines("""
            7  openat(AT_FDCWD<x>, "/here/a", O_RDWR|O_CREAT, 0644) = 3<x>
            7  pwrite64(3<x>, "hello", 5, 10) = 5
            7  ftruncate(3<x>, 12) = 0
            7  fdatasync(3<x>) = 0
            7  close(3<x>) = 0
            7  unlink("/here/a") = 0
        """)

        assert [
            Named((ROOT, "a"), 1),
            Wrote(1, 10, b"hello"),
            Sized(1, 12),
            Synced(1, 3),
            Named((ROOT, "a"), None),
        ] == read(lines, FOLDER)

    def test_told(self) -> None:
        """Lines on standard output are what was acknowledged."""
        lines = _lines('7  write(1<pipe:[1]>, "unit 1", 7) = 7')

        assert [Told("unit 1")] == read(lines, FOLDER)

    def test_elsewhere(self) -> None:
        """Other files, and calls that failed, are nothing to us."""
        lines = _lines("""
            7  openat(AT_FDCWD<x>, "/there/a", O_RDWR|O_CREAT, 0644) = 3<x>
            7  pwrite64(3<x>, "hello", 5, 10) = 5
            7  unlink("/here/a") = -1 ENOENT (No such file or directory)
        """)

        assert [] == read(lines, FOLDER)

    def test_threads(self) -> None:
        """A sync covers what was written before it began, not what came while it ran."""
        lines = _lines("""
            7  openat(AT_FDCWD<x>, "/here/a", O_RDWR|O_CREAT, 0644) = 3<x>
            7  fdatasync(3<x> <unfinished ...>
            8  pwrite64(3<x>, "x", 1, 0) = 1
            7  <... fdatasync resumed>) = 0
        """)

        assert [Named((ROOT, "a"), 1), Wrote(1, 0, b"x"), Synced(1, 1)] == read(lines, FOLDER)

    def test_renamed(self) -> None:
        """A renamed file keeps its inode; writes go on where they were."""
        lines = _lines("""
            7  mkdir("/here/f", 0700) = 0
            7  openat(AT_FDCWD<x>, "/here/f/a", O_WRONLY|O_CREAT, 0644) = 3<x>
            7  write(3<x>, "x", 1) = 1
            7  rename("/here/f/a", "/here/f/b") = 0
            7  write(3<x>, "y", 1) = 1
        """)

        assert [
            Named((ROOT, "f"), 1, folder=True),
            Named((1, "a"), 2),
            Wrote(2, 0, b"x"),
            Named((1, "b"), 2, of=(1, "a")),
            Wrote(2, 1, b"y"),
        ] == read(lines, FOLDER)

    @pytest.mark.parametrize(
        "call",
        ['symlink("/there", "/here/b") = 0', "fallocate(3<x>, 0, 0, 9) = 0", "dup(3<x>) = 4<x>"],
    )
    def test_unknown(self, call: str) -> None:
        """A call that cannot be expressed and hits one of our files is an error."""
        made = '7  openat(AT_FDCWD<x>, "/here/a", O_RDWR|O_CREAT, 0644) = 3<x>\n'

        with pytest.raises(UnknownCallError):
            read(_lines(f"{made}7  {call}"), FOLDER)
