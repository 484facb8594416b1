"""Somebody saves, moves or deletes the file between two steps of ours: he always wins."""

from __future__ import annotations

import contextlib
import random
import threading
from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.project import hash_file
from cortex_actors.errors import FolderMoved, Missing, Refused
from cortex_actors.files import swap
from cortex_actors.files.place import Place
from cortex_actors.files.swap import Swap, WriteEntry, WriteState, exchange
from cortex_actors.render import fence
from tests.writing.support import BODY, section

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tests.writing.support import Desk

_BASE, _SECOND, _THIRD = b"# One\n", b"# Two, saved\n", b"# Three, saved\n"


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Callable[[Iterable[Callable[[], object]]], None]:
    """Have something done right before each exchange: the first, the second ..."""

    def install(actions: Iterable[Callable[[], object]]) -> None:
        waiting = iter(actions)

        def interrupted(folder: int, one: str, other: str) -> None:
            next(waiting, lambda: None)()
            exchange(folder, one, other)

        monkeypatch.setattr(swap, "exchange", interrupted)

    return install


class TestSavedBetween:
    @pytest.mark.parametrize("renames", [False, True])
    async def test_once(self, desk: Desk, between: Callable[..., None], renames: bool) -> None:
        """A save between our look and the exchange is put back, and then written into."""
        desk.path.write_bytes(_BASE)

        def save() -> None:
            aside = desk.root / "new"
            aside.write_bytes(_SECOND)
            if renames:
                aside.rename(desk.path)
            else:
                aside.unlink()
                desk.path.write_bytes(_SECOND)

        between([save])
        await desk.write()

        assert _SECOND + b"\n" + section() == desk.path.read_bytes()
        assert ["abandoned", "done"] == desk.states
        await desk.quiet()
        assert ["CLAUDE.md"] == desk.names

    async def test_twice(self, desk: Desk, between: Callable[..., None]) -> None:
        """Of two saves, the second while the first is put back, the second stands."""
        desk.path.write_bytes(_BASE)
        between(
            [
                lambda: desk.path.write_bytes(_SECOND),
                lambda: desk.path.write_bytes(_THIRD),
            ]
        )
        await desk.write()
        await desk.quiet()

        assert _THIRD + b"\n" + section() == desk.path.read_bytes()
        assert ("abandoned", "", _SECOND) == desk.rows.rows()[0]

    async def test_many_times(self, desk: Desk, between: Callable[..., None]) -> None:
        """However often saves cross our steps, the last one stands."""
        desk.path.write_bytes(_BASE)
        texts = [b"# Save %d\n" % number for number in range(9)]
        between([lambda each=each: desk.path.write_bytes(each) for each in texts])
        await desk.write()
        await desk.quiet()

        assert texts[-1] + b"\n" + section() == desk.path.read_bytes()
        assert ["CLAUDE.md"] == desk.names

    async def test_moved_away(self, desk: Desk, between: Callable[..., None]) -> None:
        """An editor that moves the file away, to write a new one, finds nothing in its place."""
        desk.path.write_bytes(_BASE)
        backup = desk.path.with_name("CLAUDE.md~")
        between([lambda: desk.path.rename(backup)])

        with pytest.raises(Missing):
            await desk.write()
        assert (["CLAUDE.md~"], _BASE) == (desk.names, backup.read_bytes())

    async def test_moved_away_earlier(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """One that does so while ours is made ready is no failure of the disk."""
        desk.path.write_bytes(_BASE)
        create = Place.create

        def moved(place: Place, name: str) -> int:
            desk.path.rename(desk.path.with_name("CLAUDE.md~"))
            return create(place, name)

        monkeypatch.setattr(Place, "create", moved)
        with pytest.raises(Missing):
            await desk.write()
        assert (["CLAUDE.md~"], ["abandoned"]) == (desk.names, desk.states)

    async def test_moved_away_later(self, desk: Desk, between: Callable[..., None]) -> None:
        """One that moves ours away while his earlier save is put back loses neither."""
        desk.path.write_bytes(_BASE)
        backup = desk.path.with_name("CLAUDE.md~")
        between(
            [
                lambda: desk.path.write_bytes(_SECOND),
                lambda: desk.path.rename(backup),
            ]
        )
        await desk.write()

        assert _SECOND + b"\n" + section() == desk.path.read_bytes()
        assert fence.remove(backup.read_bytes()) == _BASE

    async def test_link_instead(self, desk: Desk, between: Callable[..., None]) -> None:
        """A link that is put in the file's place at the last moment is put back, not followed."""
        desk.path.write_bytes(_BASE)
        secret = desk.root.parent / "secret"
        secret.write_bytes(b"mine")

        def swap_for_link() -> None:
            desk.path.unlink()
            desk.path.symlink_to(secret)

        between([swap_for_link])
        with pytest.raises(Exception, match="symbolic link"):
            await desk.write()

        assert (b"mine", str(secret)) == (secret.read_bytes(), str(desk.path.readlink()))


class _Swapping(threading.Thread):
    """Exchanges a folder for a link to one outside, and back, over and over."""

    def __init__(self, folder: Path, outside: Path) -> None:
        """Remember the two."""
        super().__init__(name="swapping")
        self._folder, self._outside = folder, outside
        self._ends = threading.Event()
        self.swaps = 0

    def run(self) -> None:
        """Swap until it is enough."""
        aside = self._folder.with_name("aside")
        while not self._ends.is_set():
            self._folder.rename(aside)
            self._folder.symlink_to(self._outside)
            self._folder.unlink()
            aside.rename(self._folder)
            self.swaps += 1
            # Long enough that some writes fall between two swaps, and some do not.
            self._ends.wait(random.uniform(0, 0.002))

    def end(self) -> None:
        """Leave the folder where it belongs."""
        self._ends.set()
        self.join()


def _swapped_while_written(root: Path, tries: int) -> list[str]:
    """Write a file so many times while its folder is swapped; return what was written outside."""
    (outside := root.with_name("outside")).mkdir()
    (folder := root / "docs").mkdir()
    for each in (folder, outside):
        (each / "CLAUDE.md").write_bytes(_BASE)
    path, written = str(folder / "CLAUDE.md"), 0
    swapping = _Swapping(folder, outside)
    swapping.start()
    try:
        for number in range(tries):
            with contextlib.suppress(Refused), Place.at(str(root), path) as place:
                seen = place.look()
                assert seen is not None
                after = fence.splice(seen.data, BODY + b"- Rule %d.\n" % number)
                entry = WriteEntry(
                    "", "", str(root), path, "", seen.data, hash_file(after), ".aside", 0
                )
                written += Swap(place, entry).write(after).state is WriteState.DONE
                place.unlink(entry.aside)
    finally:
        swapping.end()
    assert written
    print(f"{tries} tries, {swapping.swaps} swaps, {written} writes")  # noqa: T201 - `-rP`
    assert _BASE == fence.remove((folder / "CLAUDE.md").read_bytes())
    found = {each.name: each.read_bytes() for each in outside.iterdir()}
    return [] if found == {"CLAUDE.md": _BASE} else sorted(found)


class TestMovedFolder:
    @pytest.mark.slow
    def test_swapping(self, tmp_path: Path) -> None:
        """Nothing is written outside the root while a folder is exchanged for a link all along."""
        (root := tmp_path.resolve() / "root").mkdir()
        assert [] == _swapped_while_written(root, 1_000)

    @pytest.mark.soak
    @pytest.mark.slow
    def test_swapping_at_length(self, tmp_path: Path) -> None:
        """That holds for ten thousand tries."""
        (root := tmp_path.resolve() / "root").mkdir()
        assert [] == _swapped_while_written(root, 10_000)

    async def test_before(self, desk: Desk) -> None:
        """A folder that is exchanged for another before the write keeps what it has."""
        folder = desk.root / "docs"
        folder.mkdir()
        path = folder / "CLAUDE.md"
        path.write_bytes(_BASE)

        def make(data: bytes) -> bytes:
            folder.rename(desk.root / "old")
            outside = desk.root.parent / "outside"
            outside.mkdir()
            (outside / "CLAUDE.md").write_bytes(_SECOND)
            folder.symlink_to(outside)
            return fence.splice(data, BODY)

        with pytest.raises(Exception, match="symbolic link"):
            await desk.writer.write(desk.target(path), make)
        assert _SECOND == (desk.root.parent / "outside" / "CLAUDE.md").read_bytes()
        assert _BASE == (desk.root / "old" / "CLAUDE.md").read_bytes()
        assert ["abandoned"] == desk.states

    async def test_meanwhile(self, desk: Desk, between: Callable[..., None]) -> None:
        """A folder that leaves the root in the very moment of the exchange has its file back."""
        folder = desk.root / "docs"
        folder.mkdir()
        path = folder / "CLAUDE.md"
        path.write_bytes(_BASE)
        gone = desk.root.parent / "gone"
        between([lambda: folder.rename(gone)])

        with pytest.raises(FolderMoved):
            await desk.write(path=path)

        assert _BASE == (gone / "CLAUDE.md").read_bytes()
        assert ["abandoned"] == desk.states
