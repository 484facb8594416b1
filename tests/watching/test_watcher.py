"""The watcher: what may have changed is said, whoever changed it and however."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cortex_actors.domain.project import hash_file
from cortex_actors.testing import eventually
from cortex_actors.watching import watcher as watcher_module
from cortex_actors.watching.hints import WatchMode
from cortex_actors.watching.watcher import RARELY
from tests.watching.support import SWEEP

if TYPE_CHECKING:
    import pytest

    from tests.watching.support import Watch


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

    async def test_target_of_a_link(self, watch: Watch) -> None:
        """A change of the file that a link leads to is told of under the link's name."""
        target = watch.write("docs/agents.txt")
        (watch.root / "CLAUDE.md").symlink_to(target)
        await watch.begin()
        await watch.told("CLAUDE.md")
        watch.forget()
        target.write_text("## A\n\nanother text\n")

        await watch.told("CLAUDE.md")


class TestQuiet:
    async def test_rarely(self, watch: Watch) -> None:
        """Looks that find nothing come ever more rarely; one that finds something ends that."""
        await watch.begin()
        pauses = [await watch.pause() for _ in range(5)]
        watch.write("new/CLAUDE.md")
        await watch.turn(pauses[-1])
        await watch.told("new/CLAUDE.md")

        assert sorted(pauses) == pauses
        assert RARELY * SWEEP == pauses[-1]
        assert SWEEP == await watch.pause()

    async def test_polled(self, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the kernel tells of nothing, every look comes after the same time."""
        monkeypatch.setattr(watcher_module, "read_mounts", lambda: {"/": "nfs4"})
        await watch.begin()

        assert {SWEEP} == {await watch.pause() for _ in range(4)}


class TestModes:
    async def test_events(self, watch: Watch) -> None:
        """A project on a disk of this machine is watched by the kernel's events."""
        await watch.begin()

        assert WatchMode.EVENTS == watch.hints.find_mode(watch.project.id)
        assert {"events"} == set(watch.hints.describe()["modes"].values())

    async def test_share(self, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
        """Folders on a share are swept and not listened to; the others of the project are."""
        share = str(watch.root / "share")
        monkeypatch.setattr(watcher_module, "read_mounts", lambda: {"/": "ext4", share: "nfs4"})
        watch.write("CLAUDE.md")
        watch.write("share/CLAUDE.md")
        await watch.begin()
        await watch.told("CLAUDE.md", "share/CLAUDE.md")
        watch.forget()
        watch.write("share/CLAUDE.md", "another text\n")
        await watch.sweep()
        await watch.told("share/CLAUDE.md")

        assert {str(watch.root)} == watch.hints.folders
        assert ("poll", []) == tuple(map(watch.hints.describe().get, ("mode", "reasons")))

    async def test_wanted(self, watch: Watch) -> None:
        """Whoever wants no events gets none, and every change all the same."""
        watch.parts = replace(
            watch.parts, settings=watch.parts.settings.model_copy(update={"mode": "poll"})
        )
        await watch.begin()
        watch.write("CLAUDE.md")
        await watch.sweep()
        await watch.told("CLAUDE.md")

        assert frozenset() == watch.hints.folders
        assert WatchMode.POLL == watch.hints.find_mode(watch.project.id)


class TestContent:
    async def test_unseen(self, watch: Watch) -> None:
        """A change that left the file's look as it was is told of, because its bytes differ."""
        path = watch.write("CLAUDE.md", "Use tabs.\n")
        before = hash_file(path.read_bytes())
        path.write_text("Use eels.\n")
        await watch.read(sha256=before)
        await watch.begin()
        await watch.told("CLAUDE.md")
        for _ in range(3):
            await watch.sweep()

        assert ["CLAUDE.md"] == watch.said

    async def test_ignored(self, watch: Watch) -> None:
        """A file whose folder git ignores from now on is told of, so that it is let go."""
        watch.write("out/CLAUDE.md")
        await watch.begin()
        await watch.told("out/CLAUDE.md")
        await watch.read()
        watch.forget()
        watch.write(".gitignore", "out/\n")
        await watch.sweep()
        await watch.sweep()

        await watch.told("out/CLAUDE.md")


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
