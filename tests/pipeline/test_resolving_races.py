"""What happens to a file while something else happens to what stands in it, or to the program."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import delete

from cortex_actors.domain.principle import Edits, Ending
from cortex_actors.pipeline import selection
from cortex_actors.pipeline.resolver import FileUpdater
from cortex_actors.pipeline.selection import find_present
from cortex_actors.render import fence
from cortex_actors.storage.pipeline import resolutions
from cortex_actors.storage.tables import schema
from cortex_actors.testing import eventually
from tests.pipeline.resolving import EVAL, HUMAN, PYTEST, Resolving
from tests.pipeline.support import MODEL

if TYPE_CHECKING:
    from cortex_actors.pipeline.resolution import Finished
    from cortex_actors.pipeline.selection import Assignment, Offer
    from tests.pipeline.support import Embedder, Office


class TestTakenBackMeanwhile:
    async def test_late_writer(self, desk: Resolving, office: Office, embed: Embedder) -> None:
        """What is taken back while a file is in hand does not stay in it, though it is written."""
        path = await desk.follow("atlas")
        (made,) = await desk.know(EVAL)
        embed.gate.clear()
        asked = asyncio.create_task(desk.one(path))
        await eventually(lambda: embed.busy > 0)
        await desk.forget(made)
        embed.gate.set()
        await asked
        await office.handled("resolver")

        assert EVAL not in path.read_text()
        assert PYTEST in path.read_text()
        assert made.id not in {
            each.principle_id
            for each in await office.read(
                lambda c: resolutions.load_bullets(c, str(path), "claude")
            )
        }


class TestCutOff:
    async def test_nobody_knew(self, desk: Resolving, office: Office) -> None:
        """A file that was written before the end, and not noted, is known to the next life."""
        path = await desk.follow("atlas")
        await desk.resolve(path)
        await office.write(lambda c: c.execute(delete(schema.resolved_bullets)))
        await office.write(lambda c: c.execute(delete(schema.resolutions)))
        await office.dismiss("resolver")
        await desk.hire()

        async def known() -> bool:
            return bool(await desk.bullets(path))

        await eventually(known)
        row = await desk.row(path)
        assert row is not None
        assert Ending.UNCHANGED is row.ending

    async def test_one_of_many(self, desk: Resolving, monkeypatch: pytest.MonkeyPatch) -> None:
        """What was written of many files is known, though another of them failed for good."""
        good, bad = await desk.follow("atlas"), await desk.follow("harbor")
        run = FileUpdater.run

        async def failing(self: FileUpdater, job: Assignment, given: Offer) -> Finished:
            if job.path == str(bad):
                raise MemoryError
            return await run(self, job, given)

        monkeypatch.setattr(FileUpdater, "run", failing)
        with pytest.raises(MemoryError):
            await desk.resolve_all([good, bad])

        assert [f"- {PYTEST}"] == [each for each in await desk.bullets(good) if PYTEST in each]


class TestUndone:
    async def test_older_bullets(self, desk: Resolving) -> None:
        """The bullets of a section that came back are known, so that they can be taken back."""
        path = await desk.follow("atlas")
        await desk.resolve(path)
        first = await desk.bullets(path)
        path.write_text(path.read_text().replace("# Atlas\n", f"# Atlas\n\n- {PYTEST}\n"))
        await desk.resolve(path)
        assert first != await desk.bullets(path)
        await desk.undo(path)

        assert first == await desk.bullets(path)

    async def test_discarded_then_kept(self, desk: Resolving) -> None:
        """An edit that was discarded, brought back and then kept is kept."""
        path = await desk.follow("atlas")
        await desk.resolve(path)
        path.write_bytes(path.read_bytes().replace(b"- Always", b"- Mine.\n- Always"))
        await desk.resolve(path, edits=Edits.DISCARD)
        await desk.undo(path)
        await desk.resolve(path, edits=Edits.KEEP)

        human = fence.remove(path.read_bytes()).decode()
        assert f"{HUMAN}\n- Mine.\n" == human


class TestOffer:
    async def test_name(self, desk: Resolving, office: Office) -> None:
        """The name of an offer is known without reading it, and is another for another offer."""
        before = await office.read(lambda c: selection.hash_offer(c, MODEL))
        assert before == (await office.read(lambda c: selection.load_offer(c, MODEL))).name

        (made,) = await desk.know(EVAL)
        after = await office.read(lambda c: selection.hash_offer(c, MODEL))
        await desk.forget(made)
        assert before == await office.read(lambda c: selection.hash_offer(c, MODEL)) != after


class TestPresence:
    def test_folder_that_cannot_be_entered(self) -> None:
        """A root that cannot be looked into has no files, and holds up no other project."""
        assert () == find_present("/" + 300 * "a")
