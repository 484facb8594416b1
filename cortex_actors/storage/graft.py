"""A damaged ledger whose list of tables cannot be read gets that of its backup, in a copy.

Without `sqlite_schema` SQLite finds no table, however many of their pages are whole; and with some
forty tables and indexes it takes up a good part of a small ledger. The backup was made of the same
file, so its tables begin on the same pages as long as no migration came between. Those pages, and
the header, are put into a copy that is only read from.

The layout is that of https://www.sqlite.org/fileformat2.html, sections 1.3, 1.5 and 1.6.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from cortex_actors.storage.copying import make_private, refuse_without_room
from cortex_actors.storage.files import beside

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Bytes of the header before the first page's tree.
HEADER = 100

#: Where the header counts the pages; 0 lets SQLite look at the file's size.
_COUNT = slice(28, 32)

#: First byte of a page of a table's tree that holds rows, and of one that holds pages.
_LEAF, _INNER = 0x0D, 0x05

#: Bytes of the first and of the later kind of page before the pointers to its cells.
_LEAF_HEAD, _INNER_HEAD = 8, 12


def graft(damaged: Path, backup: Path, scratch: Path) -> None:
    """Copy a damaged ledger and its WAL, with the header and the list of tables of a backup.

    Raises `StorageFull` without room for it, `OSError`, and `ValueError` where the two cannot be of
    the same kind.
    """
    refuse_without_room(damaged, scratch.parent)
    for source, target in zip(
        (damaged, *beside(damaged)), (scratch, *beside(scratch)), strict=True
    ):
        if source.exists() and not source.name.endswith(("-shm", "-journal")):
            make_private(target)
            shutil.copyfile(source, target)
    with backup.open("rb") as good, scratch.open("r+b") as torn:
        pages = _Pages(good.read())
        for number in pages.of_schema():
            content = bytearray(pages[number])
            if number == 1:
                content[_COUNT] = bytes(4)
            torn.seek((number - 1) * pages.size)
            torn.write(content)


class _Pages:
    """The pages of a database file that is whole."""

    def __init__(self, content: bytes) -> None:
        size = int.from_bytes(content[16:18], "big")
        #: Bytes of a page; 1 stands for what two bytes cannot hold.
        self.size = 65_536 if size == 1 else size
        #: Bytes at the end of each page that are not used.
        self._reserved = content[20]
        self._content = content
        if self.size < 512 or len(content) % self.size:  # noqa: PLR2004 - SQLite's least
            raise ValueError("it is no database file")

    def __getitem__(self, number: int) -> bytes:
        """Return a page; the first is 1."""
        return self._content[(number - 1) * self.size : number * self.size]

    def of_schema(self) -> Iterator[int]:
        """Yield the numbers of the pages that list the tables; the first page is their root."""
        waiting = [1]
        while waiting:
            number = waiting.pop()
            yield number
            page, start = self[number], HEADER if number == 1 else 0
            kind, cells = page[start], int.from_bytes(page[start + 3 : start + 5], "big")
            head = _LEAF_HEAD if kind == _LEAF else _INNER_HEAD
            if kind not in (_LEAF, _INNER):
                raise ValueError("it is no page of a table")
            pointers = [start + head + 2 * each for each in range(cells)]
            places = [int.from_bytes(page[each : each + 2], "big") for each in pointers]
            if kind == _INNER:
                waiting.append(_number(page, start + 8))
                waiting += [_number(page, place) for place in places]
            else:
                for place in places:
                    yield from self._overflow(page, place)

    def _overflow(self, page: bytes, place: int) -> Iterator[int]:
        """Yield the pages on which a row goes on that is too long for its own."""
        length, place = _varint(page, place)
        _, place = _varint(page, place)
        usable = self.size - self._reserved
        most = usable - 35
        if length <= most:
            return
        least = (usable - 12) * 32 // 255 - 23
        local = least + (length - least) % (usable - 4)
        number = _number(page, place + (local if local <= most else least))
        while number:
            yield number
            number = _number(self[number], 0)


def _number(page: bytes, place: int) -> int:
    """Return the number of a page that stands there."""
    return int.from_bytes(page[place : place + 4], "big")


def _varint(page: bytes, place: int) -> tuple[int, int]:
    """Return a number of one to nine bytes, and where it ends."""
    value = 0
    for length in range(1, 9):
        byte = page[place + length - 1]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:  # noqa: PLR2004 - the highest bit says that more follows
            return value, place + length
    return value << 8 | page[place + 8], place + 9
