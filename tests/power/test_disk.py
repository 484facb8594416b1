"""The model of a disk keeps what was synced, and may lose or tear everything else."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from tests.power.disk import ROOT, SECTOR, Disk, Named, Sized, Synced, Told, Wrote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.power.disk import Operation

#: A file, its name, and a folder it may lie in.
FILE, FOLDER = 1, 2
MADE = Named((ROOT, "a"), FILE)

#: Two sectors, in two ways.
OLD, NEW = b"o" * 2 * SECTOR, b"n" * 2 * SECTOR

#: As if a sync came after everything.
LAST = 99


def _cuts(*operations: Operation, count: int = 200) -> set[tuple[tuple[str, bytes], ...]]:
    """Return the different states that many cuts after these operations leave."""
    disk = _played(operations)
    return {tuple(disk.cut(Random(seed)).items()) for seed in range(count)}


def _played(operations: Sequence[Operation]) -> Disk:
    disk = Disk()
    for operation in operations:
        disk.play(operation)
    return disk


def _contents(*operations: Operation) -> set[bytes]:
    """Return what the one file may hold whose name is safe."""
    found = _cuts(MADE, Synced(ROOT, LAST), *operations)
    assert {("a",)} == {tuple(name for name, _ in each) for each in found}
    return {content for each in found for _, content in each}


class TestContent:
    def test_synced(self) -> None:
        """What was synced is there."""
        assert {OLD} == _contents(Wrote(FILE, 0, OLD), Synced(FILE, LAST))

    def test_not_synced(self) -> None:
        """What was not may be there, or not, or in part, or be a size without content."""
        found = _contents(Wrote(FILE, 0, OLD))
        half = OLD[:SECTOR]

        assert {b"", OLD, half, bytes(2 * SECTOR), half + bytes(SECTOR)} <= found

    def test_torn(self) -> None:
        """A write over what was synced leaves each sector as it was, or as it was to be."""
        found = _contents(Wrote(FILE, 0, OLD), Synced(FILE, LAST), Wrote(FILE, 0, NEW))
        sectors = {each[:SECTOR] + each[SECTOR:] for each in (OLD, NEW)}
        mixed = {OLD[:SECTOR] + NEW[SECTOR:], NEW[:SECTOR] + OLD[SECTOR:]}

        assert sectors | mixed == found

    def test_odd_offset(self) -> None:
        """Tearing keeps to the sectors of the file, wherever a write begins."""
        found = _contents(Wrote(FILE, SECTOR - 1, b"abc"))

        assert bytes(SECTOR - 1) + b"a" in found
        assert bytes(SECTOR) + b"bc" in found
        assert bytes(SECTOR - 1) + b"ab" not in found

    def test_reordered(self) -> None:
        """The second of two writes may be there without the first."""
        assert b"\0x" in _contents(Wrote(FILE, 0, b"y"), Wrote(FILE, 1, b"x"))

    def test_while_syncing(self) -> None:
        """A write that came after a sync had begun is not covered by it."""
        write = Wrote(FILE, 0, OLD)

        assert b"" in _contents(write, Synced(FILE, 2))
        assert {OLD} == _contents(write, Synced(FILE, 3))

    def test_cut_short(self) -> None:
        """A file that was made shorter may still be as long as it was."""
        found = _contents(Wrote(FILE, 0, OLD), Synced(FILE, LAST), Sized(FILE, SECTOR))

        assert {OLD, OLD[:SECTOR]} == found


class TestNames:
    def test_new(self) -> None:
        """A file may have no name until its folder is synced; syncing the file is not enough."""
        made = (MADE, Wrote(FILE, 0, b"x"), Synced(FILE, LAST))

        assert {(), (("a", b"x"),)} == _cuts(*made)
        assert {(("a", b"x"),)} == _cuts(*made, Synced(ROOT, LAST))

    def test_renamed(self) -> None:
        """A rename over a file leaves the old one or the new one, never none."""
        other = Named((ROOT, "b"), 3)
        ready = (MADE, other, Wrote(3, 0, b"x"), Synced(3, LAST), Synced(ROOT, LAST))
        found = _cuts(*ready, Named((ROOT, "a"), 3, of=(ROOT, "b")))

        assert {(("a", b""), ("b", b"x")), (("a", b"x"),)} == found

    def test_renamed_too_early(self) -> None:
        """The new file may be empty if it was not synced before."""
        other = Named((ROOT, "b"), 3)
        ready = (MADE, other, Synced(ROOT, LAST), Wrote(3, 0, b"x"))
        found = _cuts(*ready, Named((ROOT, "a"), 3, of=(ROOT, "b")))

        assert (("a", b""),) in found

    def test_removed(self) -> None:
        """A file that was removed may be there again."""
        ready = (MADE, Synced(ROOT, LAST), Named((ROOT, "a"), None))

        assert {(), (("a", b""),)} == _cuts(*ready)
        assert {()} == _cuts(*ready, Synced(ROOT, LAST))

    def test_folder(self) -> None:
        """What lies in a folder is lost with the folder's own name."""
        folder = Named((ROOT, "f"), FOLDER, folder=True)
        made = (folder, Named((FOLDER, "a"), FILE), Synced(FOLDER, LAST))

        assert {(), (("f/a", b""),)} == _cuts(*made)
        assert {(("f/a", b""),)} == _cuts(*made, Synced(ROOT, LAST))


class TestTold:
    def test_remembered(self) -> None:
        """What was told is known, whatever is lost."""
        assert {"unit 1"} == _played([Told("unit 1")]).told

    def test_repeats(self) -> None:
        """The same seed leaves the same files."""
        disk = _played([MADE, Wrote(FILE, 0, OLD)])

        assert disk.cut(Random(7)) == disk.cut(Random(7))
