"""The watcher: what may have changed is said, whoever changed it and however."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.runtime.threads import Threads
from cortex_actors.storage import projects
from cortex_actors.testing import eventually
from cortex_actors.watching import watcher as watcher_module
from cortex_actors.watching.pending import AGAIN
from cortex_actors.watching.sweep import Swept, sweep
from tests.pipeline.support import Embedder
from tests.watching.support import SWEEP, Watch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from cortex_actors.domain.event import Event
    from cortex_actors.domain.payload import Payload
    from cortex_actors.domain.project import Project
    from tests.pipeline.support import Office


@pytest.fixture
def threads() -> Iterator[Threads]:
    """Give the threads that look at files."""
    found = Threads("files", 2)
    yield found
    found.close()


@pytest.fixture
async def watch(office: Office, project: Project, threads: Threads) -> AsyncIterator[Watch]:
    """Give a watcher that has not begun."""
    found = Watch(office, project, threads)
    yield found
    found.hints.close()


def failing(*_args: object, **_more: object) -> Swept:
    """Fail as a fault of ours would."""
    raise ValueError("on purpose")


class TestStart:
    async def test_new(self, watch: Watch) -> None:
        """What the ledger does not know is told of at the start."""
        watch.write("CLAUDE.md")
        watch.write("sub/AGENTS.md")
        await watch.begin()

        await watch.told("CLAUDE.md", "sub/AGENTS.md")

    async def test_known(self, watch: Watch) -> None:
        """What looks as it did when it was read is not told of again."""
        watch.write("CLAUDE.md")
        await watch.read()
        await watch.begin()
        await watch.sweep()

        assert [] == watch.said

    async def test_changed_meanwhile(self, watch: Watch) -> None:
        """A change from a time when nobody watched is noticed at the start."""
        watch.write("CLAUDE.md")
        watch.write("AGENTS.md")
        await watch.read()
        watch.write("CLAUDE.md", "## A\n\nanother text\n")
        await watch.begin()

        await watch.told("CLAUDE.md")

    async def test_deleted_meanwhile(self, watch: Watch) -> None:
        """A file that vanished while nobody watched is noticed after the first sweeps."""
        path = watch.write("CLAUDE.md")
        await watch.read()
        path.unlink()
        await watch.begin()
        await watch.sweep()

        await watch.told("CLAUDE.md")


class TestHints:
    """The clock stands still: only the kernel can have told."""

    async def test_new(self, watch: Watch) -> None:
        """A new file is told of without waiting for a sweep."""
        await watch.begin()
        watch.write("CLAUDE.md")

        await watch.told("CLAUDE.md")

    async def test_changed(self, watch: Watch) -> None:
        """A change is told of without waiting for a sweep."""
        watch.write("sub/CLAUDE.md")
        await watch.begin()
        await watch.told("sub/CLAUDE.md")
        watch.forget()
        watch.write("sub/CLAUDE.md", "more text\n")

        await watch.told("sub/CLAUDE.md")

    async def test_atomic_save(self, watch: Watch) -> None:
        """A save by writing beside the file and renaming over it is a change."""
        path = watch.write("CLAUDE.md")
        await watch.begin()
        await watch.told("CLAUDE.md")
        watch.forget()
        watch.write("CLAUDE.md.tmp", "## A\n\nc\n").replace(path)

        await watch.told("CLAUDE.md")

    async def test_save_by_deleting(self, watch: Watch) -> None:
        """A file that is deleted and written anew was never gone, however many hints come."""
        path = watch.write("CLAUDE.md")
        await watch.begin()
        await watch.told("CLAUDE.md")
        await watch.read()
        watch.forget()
        path.unlink()
        for n in range(3):
            handled = watch.watcher.actor_ref.life.handled
            watch.write(f"other-{n}.txt")
            await eventually(lambda h=handled: watch.watcher.actor_ref.life.handled > h)
        await watch.watcher.actor_ref.ask_async(None, timeout=10)
        assert [] == watch.said

        watch.write("CLAUDE.md", "anew\n")
        await watch.told("CLAUDE.md")


class TestSweeps:
    async def test_deleted(self, watch: Watch) -> None:
        """A file that stays away is told of after two sweeps."""
        path = watch.write("CLAUDE.md")
        await watch.begin()
        await watch.told("CLAUDE.md")
        await watch.read()
        watch.forget()
        path.unlink()
        await watch.sweep()
        await watch.sweep()

        await watch.told("CLAUDE.md")

    async def test_deleted_once(self, watch: Watch) -> None:
        """A file that is gone is told of once."""
        path = watch.write("CLAUDE.md")
        await watch.begin()
        await watch.told("CLAUDE.md")
        await watch.read()
        watch.forget()
        path.unlink()
        for _ in range(5):
            await watch.sweep()

        assert ["CLAUDE.md"] == watch.said

    async def test_nested(self, watch: Watch) -> None:
        """A file in a folder that was made with it is found by the next sweep at the latest."""
        await watch.begin()
        watch.write("new/deep/CLAUDE.md")
        await watch.sweep()

        await watch.told("new/deep/CLAUDE.md")

    async def test_listens_to_new_folder(self, watch: Watch) -> None:
        """A folder that has got an instruction file is listened to from then on."""
        await watch.begin()
        watch.write("new/CLAUDE.md")
        await watch.sweep()
        await watch.told("new/CLAUDE.md")
        watch.forget()
        await eventually(lambda: str(watch.root / "new") in watch.hints.folders)
        watch.write("new/CLAUDE.md", "another text\n")

        await watch.told("new/CLAUDE.md")

    async def test_folder_renamed(self, watch: Watch) -> None:
        """Files of a renamed folder are gone from the old place and new in the other."""
        watch.write("old/CLAUDE.md")
        await watch.begin()
        await watch.told("old/CLAUDE.md")
        await watch.read()
        watch.forget()
        (watch.root / "old").rename(watch.root / "new")
        await watch.sweep()
        await watch.sweep()

        await watch.told("old/CLAUDE.md", "new/CLAUDE.md")

    async def test_nothing_new(self, watch: Watch) -> None:
        """Sweeps over files that stay as they are say nothing."""
        watch.write("CLAUDE.md")
        await watch.begin()
        await watch.told("CLAUDE.md")
        watch.forget()
        for _ in range(3):
            await watch.sweep()

        assert [] == watch.said


class TestLedger:
    """The ledger's word counts, not what the watcher remembers."""

    async def test_forgotten(self, watch: Watch) -> None:
        """A file that the ledger has lost is told of by the next sweep, though it never changed."""
        watch.write("CLAUDE.md")
        await watch.read()
        await watch.begin()
        await watch.office.write(lambda c: projects.forget(c, str(watch.root / "CLAUDE.md")))
        await watch.sweep()

        await watch.told("CLAUDE.md")

    async def test_said_again(self, watch: Watch) -> None:
        """What is told of and stays unknown is told of again, ever more rarely."""
        watch.write("CLAUDE.md")
        await watch.begin()
        counts = []
        for _ in range(3 * AGAIN + 1):
            await watch.sweep()
            counts.append(len(watch.said))

        assert [1] * (AGAIN - 1) + [2] * 2 * AGAIN + [3, 3] == counts

    async def test_touched(self, watch: Watch) -> None:
        """A file that is only touched is told of once: then the ledger has its new look."""
        office = watch.office
        path = watch.write("CLAUDE.md")
        await office.employ("accumulator", office.accumulator(Embedder()))
        await watch.begin()
        await watch.told("CLAUDE.md")
        await office.handled("accumulator")
        watch.forget()
        os.utime(path, (1, 1))
        await watch.sweep()
        await watch.told("CLAUDE.md")
        await office.handled("accumulator")
        for _ in range(AGAIN + 1):
            await watch.sweep()

        assert ["CLAUDE.md"] == watch.said
        assert {} == watch.watcher._pending._notes

    async def test_one_commit(self, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
        """However many files differ, they are told of in one commit."""
        for n in range(50):
            watch.write(f"{n}/CLAUDE.md")
        sizes = []
        append = watch.office.journal.append

        async def counted(said: Sequence[Event[Payload]]) -> list[Event[Payload]]:
            sizes.append(len(said))
            return await append(said)

        monkeypatch.setattr(watch.office.journal, "append", counted)
        await watch.begin()

        assert [50] == sizes


class TestNested:
    async def test_inner_root(self, watch: Watch) -> None:
        """Files of a project below are its own watcher's to tell of, even those it took over."""
        watch.write("CLAUDE.md")
        watch.write("in/CLAUDE.md")
        await watch.read()
        await watch.office.follow(watch.root / "in")
        await watch.begin()
        watch.write("CLAUDE.md", "x")
        watch.write("in/CLAUDE.md", "x")
        watch.write("in/deep/AGENTS.md")
        for _ in range(3):
            await watch.sweep()

        await watch.told("CLAUDE.md")

    async def test_inner_root_leaves(self, watch: Watch) -> None:
        """When the project below is followed no longer its files are the outer one's."""
        inner = await watch.office.follow(watch.root / "in")
        watch.write("in/CLAUDE.md")
        await watch.begin()
        assert [] == watch.said
        await watch.office.write(lambda c: projects.remove(c, inner.id))
        await watch.sweep()

        await watch.told("in/CLAUDE.md")


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
