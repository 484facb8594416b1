"""A hundred real instruction files through the whole tree, and what they lack into fifty of them.

`CORTEX_TEST_DATA` may name a folder with an archive of files that people wrote. They are data: they
are unpacked to a temporary folder for the program to read, whatever they say.
"""

from __future__ import annotations

import os
import re
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.testing import eventually, settled
from cortex_actors.text.sections import find_dialect
from tests.flow.downward import AGREED, held, section, theirs
from tests.flow.support import SAMPLES, follow, grown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cortex_actors.tree import Tree

#: Files that are read at least.
WANTED = 100

#: Projects of the archive that are followed: all would take minutes.
PROJECTS = 60

#: Projects whose files are written at least; of the samples, which are fewer, all.
WRITTEN = 50

#: Notes that a section has at most.
FULL = 20

#: What as many more projects agree on as are asked for here, and nobody else says. Of what real
#: ones share, three seldom share the same.
AGREE = 3
SAYING = "Always feed the quokka twice before you touch the harvest calendar."


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    """Give the roots of projects with a hundred files between them."""
    folder = os.environ.get("CORTEX_TEST_DATA")
    archive = Path(folder) / "instructions.tar.xz" if folder else None
    if archive is None or not archive.is_file():
        return multiplied(tmp_path)
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    found = sorted(path for path in (tmp_path / "instructions").iterdir() if path.is_dir())
    for root in found[:PROJECTS]:
        # The archive has instruction files alone. Without sources no rule about code is written.
        (root / "package.json").touch()
    return found[:PROJECTS]


def multiplied(folder: Path) -> list[Path]:
    """Write the samples many times, each time with another text."""
    roots = []
    for n in range(10):
        for sample in instructions([SAMPLES / name.name for name in SAMPLES.iterdir()]):
            relative = sample.relative_to(SAMPLES)
            path = folder / f"copy-{n}" / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            text = sample.read_bytes().replace(b"\n## ", b"\n## Copy %d: " % n)
            # They are to agree on little, as real projects do.
            text = re.sub(rb"(?m)^(- .*?|[A-Z].*?)(\.?)$", rb"\1, in copy %d\2" % n, text)
            path.write_bytes(text + b"\nThis is copy %d.\n" % n)
        roots += sorted((folder / f"copy-{n}").iterdir())
    return roots


def instructions(roots: Iterable[Path]) -> list[Path]:
    """Return the instruction files of projects; of a link and its target only one."""
    files = [
        path
        for root in roots
        for path in sorted(root.rglob("*"))
        if path.is_file() and find_dialect(str(path.relative_to(root)))
    ]
    return list({path.resolve(): path for path in files}.values())


def agreeing(folder: Path) -> list[Path]:
    """Write projects that say the same."""
    roots = [folder / "agree" / str(number) for number in range(AGREE)]
    for root in roots:
        root.mkdir(parents=True)
        (root / "CLAUDE.md").write_text(f"# Rules\n\n- {SAYING}\n")
    return roots


class TestRealFiles:
    @pytest.mark.slow
    async def test_all_read(self, roots: list[Path], tmp_path: Path, tmp_home: Path) -> None:
        """Every file is read or listed as broken; what others agree on is all that is added."""
        files = instructions(roots)
        assert len(files) >= WANTED
        more = agreeing(tmp_path)
        asked = {**AGREED["reconciliation"], "promotion_projects": AGREE}
        sections = {**AGREED, "reconciliation": asked, "watching": {"sweep_s": 5}}
        async with grown(tmp_home, **sections) as tree:
            await follow(tree, *roots, *more, within=90)
            await settled(tree)
            status = await tree.cortex.status()
            found = await tree.cortex.projects()
            before = held(*roots)
            await self.resolved(tree, more, roots)
            # For a moment what was displaced lies beside each.
            await eventually(lambda: before == theirs(held(*roots)), 30)
            after = held(*roots)
            await settled(tree, 90)
            again = await tree.cortex.resolve(everything=True)
            last = await tree.cortex.status()

        assert len(files) + len(more) == sum(each["files"] for each in found["projects"])
        assert [] == found["broken"]
        # Some tell an agent to pipe a download into a shell, which is for a person to look at.
        reasons = [each for each in status["reasons"] if "cortex review" not in each]
        assert (0, 0, []) == (status["waiting"], status["dead"], reasons)
        assert (0, 0) == (status["unembedded"], status["unindexed"])
        assert status["insights"] >= WANTED
        assert after == held(*roots)
        assert {"unchanged", "refused"} >= {each["state"] for each in again["files"]}
        assert status["insights"] == last["insights"]

    async def resolved(self, tree: Tree, agreed: list[Path], roots: list[Path]) -> None:
        """Write every project's files, and see that each received what others agree on."""
        done = await tree.cortex.resolve(everything=True)
        written = {Path(each["path"]) for each in done["files"] if each["state"] == "written"}
        reached = sum(any(path.is_relative_to(root) for path in written) for root in roots)
        assert reached >= min(WRITTEN, len(roots))
        # What those say themselves they are not given, but real projects may share something, too.
        said = {path for path in written if any(path.is_relative_to(root) for root in agreed)}
        # A section that is full has others in its place.
        assert all(
            (SAYING in section(path)) == (path not in said) or section(path).count("\n- ") >= FULL
            for path in written
        )
        # What is refused is said, and nothing else is left out in silence.
        assert all(each["reason"] for each in done["files"] if each["state"] == "refused")
