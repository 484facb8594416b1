"""One ear for the folders of every project."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.sections import WatchingSettings
from cortex_actors.testing import ManualClock, eventually
from cortex_actors.watching import hints as hints_module
from cortex_actors.watching.hints import Hints, WatchMode

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


class Ears:
    """Projects that listen, and how often each was woken."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = ManualClock()
        self.hints = Hints(self.clock, WatchingSettings(debounce_ms=10))
        self.woken: dict[str, int] = {}

    def listen(self, name: str, *folders: Path) -> Path:
        """Listen to a project's folder, and to more of it."""
        root = self.folder / name
        root.mkdir(exist_ok=True)
        self.woken.setdefault(name, 0)
        told = frozenset(map(str, (root, *folders)))
        self.hints.listen(name, told, lambda: self.wake(name))
        return root

    def wake(self, name: str) -> None:
        """Take down who was woken."""
        self.woken[name] += 1

    async def open(self) -> None:
        """Return once every folder that is there is listened to, with all counts at zero."""
        there = {each for each in self.hints.list_wanted() if Path(each).is_dir()}
        await eventually(lambda: there == self.hints.folders)
        self.woken = dict.fromkeys(self.woken, 0)

    async def heard(self, *names: str) -> None:
        """Return once exactly those were woken."""
        await eventually(lambda: set(names) == {n for n, count in self.woken.items() if count})


@pytest.fixture
async def ears(tmp_path: Path) -> AsyncIterator[Ears]:
    """Give hints that nobody listens to."""
    found = Ears(tmp_path)
    yield found
    found.hints.close()


class TestWakes:
    async def test_whose_it_is(self, ears: Ears) -> None:
        """Who listens to a folder is woken by what happens there, and nobody else."""
        roots = [ears.listen(name) for name in ("a", "b", "c")]
        await ears.open()
        (roots[1] / "x").write_text("x")

        await ears.heard("b")

    async def test_shared_folder(self, ears: Ears) -> None:
        """Two that listen to one folder are both woken."""
        root = ears.listen("a")
        ears.listen("b", root)
        await ears.open()
        (root / "x").write_text("x")

        await ears.heard("a", "b")

    async def test_once_open(self, ears: Ears) -> None:
        """Who begins to listen is woken once it is heard: what happened before nobody has told."""
        ears.listen("a")

        await ears.heard("a")

    async def test_other_folders(self, ears: Ears) -> None:
        """A project that listens anew hears its new folder, and the others go on hearing."""
        roots = [ears.listen(name) for name in ("a", "b")]
        await ears.open()
        (roots[0] / "sub").mkdir()
        ears.listen("a", roots[0] / "sub")
        await ears.open()
        (roots[0] / "sub" / "x").write_text("x")
        await ears.heard("a")
        (roots[1] / "x").write_text("x")

        await ears.heard("a", "b")

    async def test_forgotten(self, ears: Ears) -> None:
        """Who is forgotten is woken no more; when nobody is left nothing runs."""
        roots = [ears.listen(name) for name in ("a", "b")]
        await ears.open()
        ears.hints.forget("a")
        for root in roots:
            (root / "x").write_text("x")
        await ears.heard("b")
        ears.hints.forget("b")
        ears.hints.forget("b")

        await eventually(lambda: ears.hints._task is None)

    async def test_raises(self, ears: Ears, caplog: pytest.LogCaptureFixture) -> None:
        """One that fails when it is woken costs the others nothing."""
        root = ears.listen("b")
        ears.hints.listen("a", frozenset({str(root)}), lambda: ears.wake("nobody"))
        await ears.open()
        (root / "x").write_text("x")

        await ears.heard("b")
        assert "could not be woken" in caplog.text

    async def test_folder_made_again(self, ears: Ears) -> None:
        """A folder that is deleted and made again at once is heard afterwards."""
        root = ears.listen("a")
        await ears.open()
        shutil.rmtree(root)
        root.mkdir()
        path = root / "x"

        async def heard() -> bool:
            # The next round may still be about to open.
            ears.woken["a"] = 0
            path.write_text(os.urandom(4).hex())
            async with asyncio.timeout(0.5):
                await ears.heard("a")
            return True

        await eventually(lambda: not ears.hints._stale)
        await eventually(heard)


class TestMany:
    async def test_one_thread(self, ears: Ears, monkeypatch: pytest.MonkeyPatch) -> None:
        """A hundred projects that start together need few rounds and one thread, and all hear."""
        rounds: list[int] = []
        watch = vars(hints_module)["watch"]

        def counted(*folders: str, **more: object) -> Iterator[object]:
            rounds.append(len(folders))
            yield from watch(*folders, **more)

        monkeypatch.setattr(hints_module, "watch", counted)
        roots = [ears.listen(f"p{n}") for n in range(100)]
        await ears.open()
        assert 2 >= len(rounds)
        await eventually(lambda: 1 == ears.hints._threads.running)
        for root in roots:
            (root / "x").write_text("x")

        await ears.heard(*ears.woken)


class TestTrouble:
    async def test_folder_is_missing(self, ears: Ears) -> None:
        """A folder that is not there costs the others nothing."""
        root = ears.listen("a", ears.folder / "nowhere")
        await ears.open()
        (root / "x").write_text("x")

        await ears.heard("a")

    async def test_name_is_not_utf8(self, ears: Ears) -> None:
        """A name that is not UTF-8 ends a round: all look, and are heard again after a pause."""
        roots = [ears.listen(name) for name in ("a", "b")]
        await ears.open()
        name = os.path.join(os.fsencode(roots[0]), b"caf\xe9")  # noqa: PTH118 - bytes
        Path(os.fsdecode(name)).write_text("x")
        await ears.heard("a", "b")
        await eventually(lambda: 5 == ears.clock.due)
        ears.clock.advance(5)
        await ears.open()
        (roots[1] / "x").write_text("x")

        await ears.heard("b")

    async def test_used_up(
        self, ears: Ears, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """While the kernel refuses, it is asked ever more rarely and the log says so once."""

        def refuse(*_folders: str, **_more: object) -> Iterator[set[object]]:
            raise OSError(28, "No space left on device")

        pauses: list[float] = []
        told: list[int] = []
        with monkeypatch.context() as broken:
            broken.setattr(hints_module, "watch", refuse)
            ears.listen("a")
            for _ in range(8):
                await eventually(lambda: ears.clock.sleepers > 0)
                pauses.append(ears.clock.due)
                assert WatchMode.DEGRADED == ears.hints.find_mode("a")
                told.append(len(ears.hints.describe()["reasons"]))
                ears.clock.advance(pauses[-1])
                await eventually(lambda: ears.woken["a"] > len(pauses))
        await eventually(lambda: ears.clock.sleepers > 0)
        ears.clock.advance(300)
        await ears.open()

        assert WatchMode.EVENTS == ears.hints.find_mode("a")
        assert [5, 10, 20, 40, 80, 160, 300, 300] == pauses
        assert 1 == caplog.text.count("only swept")
        # Once may be one odd name.
        assert [0, 1, 1] == told[:3]
