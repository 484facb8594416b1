"""The resolver by itself: whose files it writes, when, and what happens meanwhile."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cortex_actors.domain.event import ResolutionComplete, ResolutionRequested
from cortex_actors.domain.principle import Ending
from cortex_actors.errors import EmbedderDown
from cortex_actors.files.swap import WriteEntry
from cortex_actors.render import fence
from cortex_actors.storage.projects import Writes
from cortex_actors.testing import eventually
from cortex_actors.topics import RESOLUTION_COMPLETE, RESOLUTION_REQUESTED
from tests.pipeline.resolving import EVAL, HUMAN, PYTEST, TABS, Resolving

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.domain.project import Project
    from tests.pipeline.support import Embedder, Office


def completed(office: Office) -> list[tuple[str, str]]:
    """Return which files were said to be resolved, in order, and for whom."""
    payloads = [event.payload for event in office.said if event.topic == RESOLUTION_COMPLETE]
    return [(each.path, each.agent) for each in payloads if isinstance(each, ResolutionComplete)]


def requested(office: Office) -> list[str]:
    """Return which files the resolver asked itself for."""
    events = [event for event in office.said if event.topic == RESOLUTION_REQUESTED]
    payloads = [event.payload for event in events if event.source == "resolver"]
    return [each.path for each in payloads if isinstance(each, ResolutionRequested)]


def entry(project: Project, path: Path) -> WriteEntry:
    """Return the journal's entry of a write that did not come to its end."""
    return WriteEntry(
        run_id="run_1",
        project_id=project.id,
        root=project.root,
        path=str(path),
        agent="claude",
        before=HUMAN.encode(),
        after_sha256="0" * 64,
        aside=".CLAUDE.md.cortex-x",
        began_at=1,
    )


class TestByItself:
    async def test_opted_in(self, desk: Resolving, office: Office) -> None:
        """Only the files of projects that opted in are written by themselves."""
        path, other = await desk.follow("atlas"), await desk.follow("harbor")
        await desk.opt_in(path)
        await desk.organised()

        assert PYTEST in path.read_text()
        assert HUMAN == other.read_text()
        assert [str(path)] == requested(office)

    async def test_only_what_changed(self, desk: Resolving, office: Office) -> None:
        """While nothing changes nothing is asked for; another principle, or text, is looked at."""
        path = await desk.follow("atlas")
        await desk.opt_in(path)
        for _ in range(3):
            await desk.organised()
        assert 1 == len(requested(office))

        path.write_bytes(path.read_bytes().replace(b"# Atlas", b"# The atlas"))
        await desk.organised()
        await desk.know(EVAL)
        await desk.organised()
        assert 3 == len(requested(office))
        assert EVAL in path.read_text()

    async def test_edit_is_noticed(self, desk: Resolving, office: Office) -> None:
        """A human's edit inside our section is noticed once, and nothing is written over it."""
        path = await desk.follow("atlas")
        await desk.opt_in(path)
        await desk.organised()
        path.write_bytes(path.read_bytes().replace(b"- Always", b"- Mine.\n- Always"))
        before = path.read_bytes()
        for _ in range(2):
            await desk.organised()
        row = await desk.row(path)

        assert before == path.read_bytes()
        assert row is not None
        assert Ending.EDITED is row.ending
        assert 2 == len(requested(office))

    async def test_refused_once(self, desk: Resolving, office: Office) -> None:
        """A file that may not be written is not tried again before something changes."""
        path = await desk.follow("atlas")
        await desk.opt_in(path)
        path.chmod(0o444)
        for _ in range(3):
            await desk.organised()

        assert 1 == len(requested(office))

    async def test_passing(self, desk: Resolving, office: Office) -> None:
        """One that somebody has open is tried again the next time."""
        path = await desk.follow("atlas")
        await desk.opt_in(path)
        mark = path.with_name(".CLAUDE.md.swp")
        mark.touch()
        await desk.organised()
        assert HUMAN == path.read_text()

        mark.unlink()
        await desk.organised()
        assert PYTEST in path.read_text()

    async def test_without_model(self, desk: Resolving, office: Office, embed: Embedder) -> None:
        """What was written without vectors is looked at again until there are some."""
        path = await desk.follow("atlas")
        await desk.opt_in(path)
        embed.fails = EmbedderDown("away")
        await desk.organised()
        assert PYTEST in path.read_text()

        embed.fails = None
        for _ in range(3):
            await desk.organised()
        assert 2 == len(requested(office))


class TestRequested:
    async def test_written(self, desk: Resolving) -> None:
        """Who asks for a file has it written, opted in or not; the file says who reads it."""
        path = await desk.follow("atlas", file="AGENTS.md")
        await desk.request(path, "claude")

        assert PYTEST in path.read_text()
        assert await desk.row(path, "agents") is not None

    async def test_dry_run(self, desk: Resolving, office: Office) -> None:
        """A dry run writes nothing and is in the audit."""
        path = await desk.follow("atlas")
        await desk.request(path, dry_run=True)

        assert HUMAN == path.read_text()
        assert [True] == [run.dry_run for run in await office.runs("resolver")]

    async def test_unknown(self, desk: Resolving, office: Office, tmp_path: Path) -> None:
        """A wish that is about nobody's file is a failed run, and the resolver lives."""
        path = await desk.follow("atlas")
        await desk.request(tmp_path / "strange" / "CLAUDE.md")
        await desk.request(path.with_name("README.md"))
        await desk.request(path.parent, "hal")
        await desk.request(path.parent, "gemini")
        runs = await office.runs("resolver")

        assert ["failed"] * 4 == [run.state for run in runs]
        assert all(run.error for run in runs)
        assert 4 == len(completed(office))
        await desk.request(path)
        assert PYTEST in path.read_text()

    async def test_deleted(self, desk: Resolving, office: Office) -> None:
        """A file that is gone by then is a failed run and does not come back."""
        path = await desk.follow("atlas")
        path.unlink()
        await desk.request(path)

        assert not path.exists()
        assert ["failed"] == [run.state for run in await office.runs("resolver")]


class TestSaves:
    async def test_meanwhile(self, desk: Resolving, embed: Embedder) -> None:
        """Who saves while his file is in hand has his text, and what it says then counts."""
        path = await desk.follow("atlas")
        embed.gate.clear()
        asked = asyncio.create_task(desk.one(path))
        await eventually(lambda: embed.busy > 0)
        saved = HUMAN + f"- {PYTEST}\n"
        path.write_text(saved)
        embed.gate.set()
        found = await asked

        assert saved.encode() == fence.remove(path.read_bytes())
        assert [f"- [CONFLICT] {TABS}"] == [each.text for each in found.bullets]

    async def test_two_at_once(self, desk: Resolving) -> None:
        """Two who wish for one file have one section written."""
        path = await desk.follow("atlas")
        found = await asyncio.gather(*(desk.one(path) for _ in range(4)))

        endings = sorted(each.ending for each in found)
        assert [Ending.UNCHANGED] * 3 + [Ending.WRITTEN] == endings
        assert HUMAN.encode() == fence.remove(path.read_bytes())

    async def test_crash(self, desk: Resolving, office: Office, embed: Embedder) -> None:
        """A file that was in hand when the resolver died is written by its next life."""
        path = await desk.follow("atlas")
        embed.gate.clear()
        payload = ResolutionRequested(str(path))
        await office.bus.publish(RESOLUTION_REQUESTED, payload, source="test")
        await eventually(lambda: embed.busy > 0)
        await office.dismiss("resolver")
        assert HUMAN == path.read_text()

        embed.gate.set()
        await desk.hire()
        await office.handled("resolver")
        assert PYTEST in path.read_text()
        assert [(str(path), "claude")] == completed(office)

    async def test_open(self, desk: Resolving) -> None:
        """A file that somebody has open for writing is his; it is not written before he is done."""
        path = await desk.follow("atlas")
        with path.open("r+b"):
            found = await desk.one(path)

        assert (Ending.REFUSED, "being-saved") == (found.ending, found.refusal)
        assert Ending.WRITTEN is (await desk.one(path)).ending

    async def test_too_late(self, desk: Resolving, office: Office) -> None:
        """A file in which a human's text stands again, saved too late, is looked at again."""
        path = await desk.follow("atlas")
        project = await desk.project(path)
        await desk.resolver()._late(entry(project, path))
        await office.handled("resolver")

        assert PYTEST in path.read_text()

    async def test_cut_off(self, desk: Resolving, office: Office) -> None:
        """A write that an earlier life began is brought to its end by the next one."""
        path = await desk.follow("atlas")
        project = await desk.project(path)
        writes = Writes(office.records, office.clock)
        await office.dismiss("resolver")
        await writes.begin(entry(project, path))
        await desk.hire()

        async def ended() -> bool:
            return not await writes.list_unfinished(str(path))

        await eventually(ended)
        assert HUMAN == path.read_text()
