"""The accumulator: what files say becomes insights, once, with every place that says it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.event import AccumulationComplete, ScanRequested
from cortex_actors.pipeline.accumulator import Accumulator
from cortex_actors.sections import EmbeddingSettings
from cortex_actors.storage import projects
from cortex_actors.topics import ACCUMULATION_COMPLETE, SCAN_REQUESTED
from tests.pipeline.support import TWO, Office, write

if TYPE_CHECKING:
    from cortex_actors.domain.project import Project


def completed(office: Office) -> list[AccumulationComplete]:
    """Return what was said at the end of each run."""
    payloads = [event.payload for event in office.said if event.topic == ACCUMULATION_COMPLETE]
    return [payload for payload in payloads if isinstance(payload, AccumulationComplete)]


@pytest.mark.usefixtures("accumulator")
class TestReading:
    async def test_provenance(self, office: Office, project: Project) -> None:
        """An insight knows the file, the lines, the project and the heading it was read under."""
        path = write(project, TWO)
        await office.changed(project, path)

        first, second = await office.insights()
        (place,) = await office.places(second.id)
        assert ["Run pytest.", "Use tabs."] == [first.content, second.content]
        assert ("atlas",) == second.projects
        assert (str(path), 3, 3) == (place.path, place.line_start, place.line_end)
        assert ("atlas", "Style") == (place.project, place.heading)

    async def test_run(self, office: Office, project: Project) -> None:
        """The audit tells how much a run read, how much of it is new, and what it embedded."""
        await office.changed(project, write(project, TWO))

        (run,) = await office.runs()
        counts = {"fragments": 2, "insights": 2, "new": 2, "embedded": 2}
        assert ("completed", counts) == (run.state, dict(run.counts))

    async def test_shared_section(self, office: Office, project: Project, tmp_path: Path) -> None:
        """A rule that two projects share word for word is one insight with two sources."""
        other = await office.follow(tmp_path / "harbor")
        await office.changed(project, write(project, "## Style\n\nUse tabs.\n"))
        await office.changed(other, write(other, "## How we write\n\nUse tabs.\n"))

        (insight,) = await office.insights()
        assert ("atlas", "harbor") == insight.projects
        assert ["Style", "How we write"] == [p.heading for p in await office.places(insight.id)]

    async def test_repeated_section(self, office: Office, project: Project) -> None:
        """What stands under two headings of one file is one insight with two places, one voice."""
        await office.changed(
            project, write(project, "## A\n\nIt is same.\n\n## B\n\nIt is same.\n")
        )

        (insight,) = await office.insights()
        assert ["A", "B"] == [each.heading for each in await office.places(insight.id)]
        assert 1 == insight.observation_count

    async def test_under_a_ban(self, office: Office, project: Project) -> None:
        """The same words under a heading that forbids them are another insight."""
        text = "## Do\n\n- Push to main\n\n## Never\n\n- Push to main\n"
        await office.changed(project, write(project, text))

        assert ["Never: Push to main", "Push to main"] == await office.contents()

    async def test_empty_file(self, office: Office, project: Project) -> None:
        """An empty file is read and says nothing."""
        await office.changed(project, write(project, ""))

        (run,) = await office.runs()
        assert ("completed", []) == (run.state, await office.contents())

    async def test_project_not_followed(self, office: Office, project: Project) -> None:
        """A file of a project that nobody follows is a failed run that says how to follow it."""
        path = write(project, TWO)
        await office.write(lambda c: projects.remove(c, project.id))
        await office.changed(project, path)

        (run,) = await office.runs()
        assert "failed" == run.state
        assert run.error is not None
        assert "cortex init" in run.error
        assert [] == await office.contents()


class TestManyFiles:
    def test_batches(self) -> None:
        """Files that say one thing each fill a batch of the embedder, and do not wait for more."""
        assert Accumulator.concurrency > EmbeddingSettings().batch_items


@pytest.mark.usefixtures("accumulator")
class TestChange:
    async def test_unchanged(self, office: Office, project: Project) -> None:
        """A file that says the same again costs a hash and adds no observation."""
        path = write(project, TWO)
        await office.changed(project, path)
        before = await office.evidence()
        await office.changed(project, path)

        assert "unchanged" == (await office.runs())[0].state
        assert before == await office.evidence()

    async def test_touched(self, office: Office, project: Project) -> None:
        """A file written anew with the same bytes is unchanged, and its new look is remembered."""
        path = write(project, TWO)
        await office.changed(project, path)
        path.unlink()
        write(project, TWO)
        await office.changed(project, path)

        state = await office.read(lambda c: projects.load_file(c, str(path)))
        assert "unchanged" == (await office.runs())[0].state
        assert state is not None
        assert path.stat().st_mtime_ns == state.mtime_ns

    async def test_edited(self, office: Office, project: Project) -> None:
        """An edit withdraws what the file no longer says and learns what it says now."""
        path = write(project, TWO)
        await office.changed(project, path)
        await office.changed(project, write(project, TWO.replace("tabs", "spaces")))

        assert ["Run pytest.", "Use spaces."] == await office.contents()

    async def test_confirmed(self, office: Office, project: Project) -> None:
        """A section that a revision of another day still says has been observed once more."""
        path = write(project, TWO)
        await office.changed(project, path)
        office.clock.advance(86_400)
        await office.changed(project, write(project, TWO.replace("tabs", "spaces")))

        assert [2, 1] == [each.observation_count for each in await office.insights()]

    async def test_moved_lines(self, office: Office, project: Project) -> None:
        """A section that moved down the file is the same source on other lines."""
        path = write(project, TWO)
        await office.changed(project, path)
        await office.changed(project, write(project, "intro\n\n" + TWO))

        style = (await office.insights())[1]
        (place,) = await office.places(style.id)
        assert ("Use tabs.", 5) == (style.content, place.line_start)

    async def test_said_again(self, office: Office, project: Project) -> None:
        """Text that was withdrawn and comes back is the same insight, active again."""
        path = write(project, TWO)
        await office.changed(project, path)
        before = await office.insights()
        await office.changed(project, write(project, "nothing\n"))
        await office.changed(project, write(project, TWO))

        assert [each.id for each in before] == [each.id for each in await office.insights()]

    async def test_one_of_two_places(
        self, office: Office, project: Project, tmp_path: Path
    ) -> None:
        """An insight that another file still says stays when one place withdraws it."""
        other = await office.follow(tmp_path / "harbor")
        await office.changed(project, write(project, "## A\n\nIt is same.\n"))
        await office.changed(other, write(other, "## A\n\nIt is same.\n"))
        await office.changed(project, write(project, "## A\n\nIt is different.\n"))

        assert ["It is different.", "It is same."] == await office.contents()
        assert ("harbor",) == (await office.insights())[1].projects

    async def test_vanished(self, office: Office, project: Project) -> None:
        """What a file said is withdrawn when the file is gone."""
        path = write(project, TWO)
        await office.changed(project, path)
        path.unlink()
        await office.changed(project, path)

        (newest, _) = await office.runs()
        assert [] == await office.contents()
        assert ("completed", {"vanished": 1}) == (newest.state, dict(newest.counts))

    async def test_folder_vanished(self, office: Office, project: Project) -> None:
        """A file whose folder has become a file is gone, too."""
        path = write(project, TWO, "sub/CLAUDE.md")
        await office.changed(project, path)
        path.unlink()
        path.parent.rmdir()
        path.parent.write_text("no folder any more")
        await office.changed(project, path)

        assert [] == await office.contents()

    async def test_link_to_known_file(self, office: Office, project: Project) -> None:
        """A link to an instruction file that is known by its own name is not counted again."""
        path = write(project, TWO, "AGENTS.md")
        link = Path(project.root, "CLAUDE.md")
        link.symlink_to("AGENTS.md")
        await office.changed(project, path)
        before = await office.evidence()
        await office.changed(project, link)

        assert before == await office.evidence()


@pytest.mark.usefixtures("accumulator")
class TestScan:
    async def test_gone(self, office: Office, project: Project) -> None:
        """A scan withdraws what files said that are no longer there."""
        gone, stays = (
            write(project, "## A\n\nThis is one.\n"),
            write(project, "## B\n\nThis is two.\n", "AGENTS.md"),
        )
        await office.changed(project, gone, stays)
        gone.unlink()
        await office.bus.publish(SCAN_REQUESTED, ScanRequested(project.id), source="test")
        await office.handled("accumulator")

        assert ["This is two."] == await office.contents()

    async def test_of_another_project(
        self, office: Office, project: Project, tmp_path: Path
    ) -> None:
        """A scan of one project leaves the others alone."""
        other = await office.follow(tmp_path / "harbor")
        path = write(project, TWO)
        await office.changed(project, path)
        path.unlink()
        await office.bus.publish(SCAN_REQUESTED, ScanRequested(other.id), source="test")
        await office.handled("accumulator")

        assert 2 == len(await office.contents())


@pytest.mark.usefixtures("accumulator")
class TestComplete:
    async def test_ids(self, office: Office, project: Project) -> None:
        """A run says which insights the file speaks of."""
        await office.changed(project, write(project, TWO))

        (said,) = completed(office)
        assert project.id == said.project_id
        assert {each.id for each in await office.insights()} == set(said.changed_ids)

    async def test_evidence(self, office: Office, project: Project) -> None:
        """Of a file that was edited, what is new, gone, or confirmed once more has changed."""
        path = write(project, TWO)
        await office.changed(project, path)
        before = {each.content: each.id for each in await office.insights()}
        await office.changed(project, write(project, TWO.replace("tabs", "spaces")))
        after = {each.content: each.id for each in await office.insights()}

        said = set(completed(office)[-1].changed_ids)
        assert {*before.values(), *after.values()} == said
        assert 3 == len(said)

    async def test_lines_alone(self, office: Office, project: Project) -> None:
        """Sections that only moved to other lines of a new revision are confirmed by it."""
        await office.changed(project, write(project, TWO))
        await office.changed(project, write(project, "\n\n" + TWO))

        assert "completed" == (await office.runs())[0].state
        assert {each.id for each in await office.insights()} == set(
            completed(office)[-1].changed_ids
        )

    async def test_vanished(self, office: Office, project: Project) -> None:
        """What a vanished file said has changed."""
        path = write(project, TWO)
        await office.changed(project, path)
        before = {each.id for each in await office.insights()}
        path.unlink()
        await office.changed(project, path)

        assert before == set(completed(office)[-1].changed_ids)

    async def test_nothing_changed(self, office: Office, project: Project) -> None:
        """A run is said to be complete, with no ids, when it failed or there was nothing to do."""
        path = write(project, TWO)
        await office.changed(project, path)
        await office.changed(project, path)
        path.write_bytes(b"\x00\x01")
        await office.changed(project, path)

        assert ["failed", "unchanged", "completed"] == [r.state for r in await office.runs()]
        assert [2, 0, 0] == [len(said.changed_ids) for said in completed(office)]

    async def test_run_is_named(self, office: Office, project: Project) -> None:
        """The event names the run of the audit that it ends."""
        await office.changed(project, write(project, TWO))

        assert [run.id for run in await office.runs()] == [s.run_id for s in completed(office)]
