"""Files that people wrote: a corpus and its histories where there are some, else our samples."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

from cortex_actors.text.sections import find_dialect

SAMPLES = Path(__file__).parents[2] / "data" / "projects"

#: Archives below `CORTEX_TEST_DATA`; unpacked into a temporary folder, never read in place.
ARCHIVES = ("instructions.tar.xz", "history.tar.xz")


def samples() -> list[Path]:
    """Return the instruction files of the sample projects."""
    found = [path for path in sorted(SAMPLES.rglob("*")) if path.is_file()]
    return [path for path in found if find_dialect(str(path.relative_to(SAMPLES)))]


def unpacked(folder: Path) -> list[Path]:
    """Return every real file there is, each content once, and our samples."""
    data = os.environ.get("CORTEX_TEST_DATA")
    for archive in (Path(data, name) for name in ARCHIVES if data):
        if archive.is_file():
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    contents = {path.read_bytes(): path for path in found if path.name != "index.jsonl"}
    return [*contents.values(), *samples()]
