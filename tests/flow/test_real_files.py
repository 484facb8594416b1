"""A hundred real instruction files through the whole tree.

`CORTEX_TEST_DATA` may name a folder with an archive of files that people wrote. They are data: they
are unpacked to a temporary folder for the program to read, whatever they say.
"""

from __future__ import annotations

import os
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.parsers.dialect import dialect_of
from cortex_actors.testing import settled
from tests.flow.support import SAMPLES, follow, grown

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Files that are read at least.
WANTED = 100

#: Projects of the archive that are followed: all would take minutes.
PROJECTS = 60


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    """Give the roots of projects with a hundred files between them."""
    folder = os.environ.get("CORTEX_TEST_DATA")
    archive = Path(folder) / "instructions.tar.xz" if folder else None
    if archive is None or not archive.is_file():
        return multiplied(tmp_path)
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    return sorted(path for path in (tmp_path / "instructions").iterdir() if path.is_dir())[
        :PROJECTS
    ]


def multiplied(folder: Path) -> list[Path]:
    """Write the samples many times, each time with another text."""
    roots = []
    for n in range(10):
        for sample in instructions([SAMPLES / name.name for name in SAMPLES.iterdir()]):
            relative = sample.relative_to(SAMPLES)
            path = folder / f"copy-{n}" / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            text = sample.read_bytes().replace(b"\n## ", b"\n## Copy %d: " % n)
            path.write_bytes(text + b"\nThis is copy %d.\n" % n)
        roots += sorted((folder / f"copy-{n}").iterdir())
    return roots


def instructions(roots: Iterable[Path]) -> list[Path]:
    """Return the instruction files of projects; of a link and its target only one."""
    files = [
        path
        for root in roots
        for path in sorted(root.rglob("*"))
        if path.is_file() and dialect_of(str(path.relative_to(root)))
    ]
    return list({path.resolve(): path for path in files}.values())


class TestRealFiles:
    @pytest.mark.slow
    async def test_all_read(self, roots: list[Path], tmp_home: Path) -> None:
        """Every file is read or listed as broken, and nothing waits or is set aside."""
        files = instructions(roots)
        assert len(files) >= WANTED
        async with grown(tmp_home, watching={"sweep_s": 5}) as tree:
            await follow(tree, *roots, within=90)
            await settled(tree)
            status = await tree.cortex.status()
            found = await tree.cortex.projects()

        assert len(files) == sum(each["files"] for each in found["projects"])
        assert [] == found["broken"]
        # Some tell an agent to pipe a download into a shell, which is for a person to look at.
        reasons = [each for each in status["reasons"] if "--status pending_review" not in each]
        assert (0, 0, []) == (status["waiting"], status["dead"], reasons)
        assert (0, 0) == (status["unembedded"], status["unindexed"])
        assert status["insights"] >= WANTED
