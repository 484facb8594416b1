"""A watcher and the ledger: what was read, what belongs to whom."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cortex_actors.clock import DAY
from cortex_actors.storage import projects
from cortex_actors.watching.sweep import sweep
from cortex_actors.watching.watcher import AGAIN
from tests.pipeline.support import Embedder
from tests.watching.support import SWEEP

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

    from cortex_actors.domain.event import Event, Payload
    from tests.watching.support import Watch


class TestLedger:
    """The ledger's word counts, not what the watcher remembers."""

    async def test_scanned(self, watch: Watch) -> None:
        """The first complete look of a day is noted, and none of a root that is away."""

        async def days() -> list[int]:
            query = "SELECT day FROM scans ORDER BY day"
            return await watch.office.read(lambda c: list(c.exec_driver_sql(query).scalars()))

        today = watch.office.clock.now() // DAY
        await watch.begin()
        await watch.sweep()
        assert [today] == await days()
        away = watch.root.rename(watch.root.with_name("away"))
        watch.office.clock.jump(86_400)
        await watch.sweep()
        assert [today] == await days()
        away.rename(watch.root)
        await watch.sweep()
        assert [today, today + 1] == await days()

    async def test_forgotten(self, watch: Watch) -> None:
        """A file that the ledger has lost is told of by the next sweep, though it never changed."""
        watch.write("CLAUDE.md")
        await watch.read()
        await watch.begin()
        await watch.office.write(lambda c: projects.forget(c, str(watch.root / "CLAUDE.md")))
        await watch.sweep()

        await watch.told("CLAUDE.md")

    async def test_said_again(self, watch: Watch) -> None:
        """What is told of, heard, and stays unknown is told of again, ever more rarely."""
        watch.write("CLAUDE.md")
        await watch.begin()
        await watch.heard()
        counts = []
        for _ in range(3 * AGAIN + 1):
            await watch.turn(SWEEP)
            await watch.heard()
            counts.append(len(watch.said))

        assert [1] * (AGAIN - 1) + [2] * 2 * AGAIN + [3, 3] == counts

    async def test_waits(self, watch: Watch) -> None:
        """What waits to be read is not told of again, however long that takes."""
        watch.write("CLAUDE.md")
        await watch.begin()
        for _ in range(3 * AGAIN):
            await watch.sweep()

        assert ["CLAUDE.md"] == watch.said

    async def test_waits_after_restart(self, watch: Watch) -> None:
        """What an earlier life told of and nobody has read yet is not told of by the next one."""
        watch.write("CLAUDE.md")
        watch.write("sub/CLAUDE.md")
        await watch.begin()
        await watch.told("CLAUDE.md", "sub/CLAUDE.md")
        watch.forget()
        await watch.office.dismiss("watcher")
        watch.write("AGENTS.md")
        await watch.begin()

        await watch.told("AGENTS.md")

    async def test_changes_while_it_waits(self, watch: Watch) -> None:
        """A change of what waits is told of: the reader may have it in hand, and read it before."""
        watch.write("CLAUDE.md")
        await watch.begin()
        await watch.told("CLAUDE.md")
        watch.forget()
        watch.write("CLAUDE.md", "anew\n")

        await watch.told("CLAUDE.md")

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

    async def test_inner_root_left_a_file(self, watch: Watch) -> None:
        """What was read as the inner project's, and is gone since, is the outer one's to miss."""
        inner = await watch.office.follow(watch.root / "in")
        left = watch.write("in/CLAUDE.md")
        state = sweep(inner.root, inner.id, max_depth=3).files[str(left)]
        await watch.office.write(lambda c: projects.note_file(c, state, 1))
        await watch.office.write(lambda c: projects.remove(c, inner.id))
        left.unlink()
        await watch.begin()
        for _ in range(3):
            await watch.sweep()

        await watch.told("in/CLAUDE.md")
