"""Suspicion: what the sizes of a generation's files say before anybody opens them.

Each of these was seen in folders that could not be opened, ended the process that did, or had
swallowed a disk. Only names and sizes are read; nothing here opens a file.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: How many times larger than the vectors the links between them may be; sound is a hundredth.
LINKS = 10

#: How many times larger than expected a folder may be.
BLOAT = 4

#: Bytes a row has in Chroma's files beside its vector: its links, its label, its id twice in
#: SQLite and its place in the log. Measured at 10,000 rows of 384 numbers: 618.
ROW = 1_024

#: Bytes below which no folder is too large: an empty one has 0.2 MB, and what Chroma's log holds
#: until it is purged does not grow with the rows.
FLOOR = 64 * 2**20


def suspicion(folder: Path, *, rows: int, vector_bytes: int) -> str:
    """Return what is wrong with a generation's files, in words; nothing when they look sound.

    `rows` is how many vectors of `vector_bytes` bytes it may hold. Raises `OSError` when the folder
    cannot be looked into.
    """
    sizes = dict(_files(folder))
    for path, size in sizes.items():
        name = os.path.basename(path)  # noqa: PTH119 - thousands of strings, not paths
        if name.endswith(".pickle") and size == 0:
            return f"{name} is empty: it was being written when the process or the machine ended"
        if name == "link_lists.bin":
            vectors = sizes.get(path.removesuffix(name) + "data_level0.bin", 0)
            if size > LINKS * max(vectors, 4_096):
                return f"{name} has {size:,} bytes for {vectors:,} bytes of vectors"
    total, limit = sum(sizes.values()), FLOOR + BLOAT * rows * (vector_bytes + ROW)
    if total > limit:
        return f"its files have {total:,} bytes, and {rows:,} vectors need no more than {limit:,}"
    return ""


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield every file below a folder with its size; links are not followed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path)  # type: ignore[arg-type]  # a name does, too
            else:
                yield entry.path, entry.stat(follow_symlinks=False).st_size
