"""A watcher in trouble: folders that go away, odd names, faults, a huge root."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from cortex_actors.testing import eventually
from cortex_actors.watching import watcher as watcher_module
from cortex_actors.watching.sweep import Swept, sweep
from tests.watching.support import SWEEP, Watch


def failing(*_args: object, **_more: object) -> Swept:
    """Fail as a fault of ours would."""
    raise ValueError("on purpose")


class TestHugeRoot:
    """A sweep of it takes three seconds."""

    @pytest.fixture(autouse=True)
    def slow(self, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let time pass on the thread that sweeps."""

        def dawdling(*args: Any, **more: Any) -> Swept:
            watch.office.clock._elapsed += 3
            return sweep(*args, **more)

        monkeypatch.setattr(watcher_module, "sweep", dawdling)

    async def test_rests(self, watch: Watch) -> None:
        """Between two sweeps by the clock there is at least ten times what one takes."""
        await watch.begin()
        await eventually(lambda: watch.office.clock.sleepers > 0)

        assert watch.office.clock.due == pytest.approx(30)

    async def test_hints(self, watch: Watch) -> None:
        """Hints that come meanwhile cause no sweep; the one by the clock finds what they meant."""
        await watch.begin()
        handled = watch.watcher.actor_ref.life.handled
        watch.write("CLAUDE.md")
        watch.watcher._hinted()
        await watch.watcher.actor_ref.ask_async(None, timeout=10)
        assert handled + 1 == watch.watcher.actor_ref.life.handled

        await watch.turn(30)
        await watch.told("CLAUDE.md")


class TestTrouble:
    async def test_root_vanishes(self, watch: Watch, caplog: pytest.LogCaptureFixture) -> None:
        """When the project's folder goes away no file counts as gone, and the log says so once."""
        path = watch.write("CLAUDE.md")
        await watch.read()
        await watch.begin()
        watch.root.rename(watch.root.with_name("moved"))
        for _ in range(4):
            await watch.sweep()
        assert [] == watch.said
        assert 1 == caplog.text.count("cannot be listed")

        watch.root.with_name("moved").rename(watch.root)
        path.write_text("## A\n\nback again\n")
        await watch.sweep()

        await watch.told("CLAUDE.md")

    async def test_withdrawn_meanwhile(self, watch: Watch) -> None:
        """What was withdrawn while the folder was away is told of when it is back as it was."""
        watch.write("CLAUDE.md")
        await watch.begin()
        await watch.told("CLAUDE.md")
        await watch.read()
        watch.root.rename(watch.root.with_name("moved"))
        await watch.read()
        await watch.sweep()
        watch.forget()
        watch.root.with_name("moved").rename(watch.root)
        await watch.sweep()

        await watch.told("CLAUDE.md")

    async def test_fault(
        self, watch: Watch, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A look that fails whatever it is ends no watcher, which rests ever longer and goes on."""
        rests: list[float] = []
        with monkeypatch.context() as broken:
            broken.setattr(watcher_module, "sweep", failing)
            await watch.office.employ("watcher", watch.make)
            for _ in range(8):
                await eventually(lambda: watch.office.clock.sleepers > 0)
                rests.append(watch.office.clock.due)
                await watch.turn(rests[-1])
        watch.write("CLAUDE.md")
        await eventually(lambda: watch.office.clock.sleepers > 0)
        await watch.turn(60)
        await watch.told("CLAUDE.md")
        await eventually(lambda: watch.office.clock.sleepers > 0)

        assert [1, 2, 4, 8, 16, 32, 60, 60] == rests
        assert SWEEP == watch.office.clock.due
        assert 1 == caplog.text.count("Traceback")

    async def test_no_root_at_start(self, watch: Watch) -> None:
        """A watcher whose folder is not there yet lives, and finds what comes."""
        watch.root.rmdir()
        await watch.begin()
        watch.write("CLAUDE.md")
        await watch.sweep()

        await watch.told("CLAUDE.md")

    async def test_name_is_not_utf8(self, watch: Watch) -> None:
        """A name that is not UTF-8 in a watched folder costs no other file anything."""
        await watch.begin()
        name = os.path.join(os.fsencode(watch.root), b"caf\xe9")  # noqa: PTH118 - bytes
        Path(os.fsdecode(name)).write_text("x")
        folder = Path(os.fsdecode(name + b"-folder"))
        folder.mkdir()
        (folder / "CLAUDE.md").write_text("x")
        watch.write("CLAUDE.md")
        await watch.sweep()

        await watch.told("CLAUDE.md")
        assert watch.watcher.actor_ref.is_alive()

    async def test_ledger_away(self, watch: Watch) -> None:
        """A change that could not be told of, because the ledger was away, is told of later."""
        await watch.begin()
        await watch.office.dismiss("ledger")
        watch.write("CLAUDE.md")
        await watch.office.hire_ledger()
        await watch.sweep()

        await watch.told("CLAUDE.md")
        assert watch.watcher.actor_ref.is_alive()

    async def test_link_counted_once(self, watch: Watch) -> None:
        """A link to another instruction file is not told of."""
        watch.write("AGENTS.md")
        (watch.root / "CLAUDE.md").symlink_to("AGENTS.md")
        await watch.begin()
        await watch.sweep()

        await watch.told("AGENTS.md")
