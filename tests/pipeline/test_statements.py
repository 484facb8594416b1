"""Statements: one file becomes what it says, each with its heading, lines, kind and scope."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.event import ScanRequested
from cortex_actors.domain.insight import Granularity, hash_section, hash_statement
from cortex_actors.domain.project import StatementKind
from cortex_actors.pipeline import reading
from cortex_actors.sections import AccumulationSettings
from cortex_actors.storage.pipeline import insights
from cortex_actors.testing import eventually
from cortex_actors.topics import SCAN_REQUESTED
from tests.pipeline.support import TWO, Embedder, Office, write

if TYPE_CHECKING:
    from cortex_actors.domain.project import Project

RULES = """# Atlas

## Style

- Use tabs.
- Never use spaces for indentation.

## Tests

Run the whole suite:

```bash
make test
```
"""

SECTION = AccumulationSettings(granularity="section")


@pytest.mark.usefixtures("accumulator")
class TestStatements:
    async def test_each(self, office: Office, project: Project) -> None:
        """Each item is an insight with its own line, heading and kind."""
        await office.changed(project, write(project, RULES))
        found = {each.content: each for each in await office.insights()}
        (place,) = await office.places(found["Use tabs."].id)

        assert "Never use spaces for indentation." in found
        assert (5, 5, "Atlas > Style") == (place.line_start, place.line_end, place.heading)
        tabs = found["Use tabs."]
        assert (Granularity.STATEMENT, StatementKind.RULE) == (tabs.granularity, tabs.kind)
        assert StatementKind.COMMAND is found["Run the whole suite: `make test`"].kind

    async def test_one_hash(self, office: Office, project: Project, tmp_path: Path) -> None:
        """Neither an accent's spelling nor a line break makes two insights of one."""
        other = await office.follow(tmp_path / "harbor")
        await office.changed(
            project, write(project, "## A\n\n- Open the caf\u00e9 page\n  first.\n")
        )
        await office.changed(other, write(other, "## A\n\n- Open the cafe\u0301 page first.\n"))

        (insight,) = await office.insights()
        assert ("atlas", "harbor") == insight.projects
        assert insight.content_hash == hash_statement("Open  the\ncafe\u0301 page first.")

    async def test_sibling_edited(self, office: Office, project: Project) -> None:
        """A rule keeps what was observed of it when its neighbour in the section changes."""
        await office.changed(project, write(project, RULES))
        office.clock.advance(86_400)
        await office.changed(project, write(project, RULES.replace("spaces", "blanks")))
        found = {each.content: each for each in await office.insights()}

        assert 2 == found["Use tabs."].observation_count
        assert 1 == found["Never use blanks for indentation."].observation_count

    async def test_first_place_decides(self, office: Office, project: Project) -> None:
        """Which heading is shown depends on where it stands, never on what was read first."""
        late = write(project, "## Late\n\n- Use tabs.\n", "z/CLAUDE.md")
        await office.changed(project, late)
        first = await office.insights()
        await office.changed(project, write(project, "## Early\n\n- Use tabs.\n", "a/CLAUDE.md"))
        both = await office.insights()
        Path(project.root, "a/CLAUDE.md").unlink()
        await office.changed(project, Path(project.root, "a/CLAUDE.md"))

        assert ["Late"] == [each.heading for each in first]
        assert ["Early"] == [each.heading for each in both]
        assert ["Late"] == [each.heading for each in await office.insights()]

    async def test_too_many(
        self, office: Office, project: Project, embed: Embedder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A file of more statements than anybody writes is refused."""
        monkeypatch.setattr(reading, "STATEMENTS", 50)
        path = write(project, "## A\n\n" + "".join(f"- Say {n} twice.\n" for n in range(51)))
        await office.changed(project, path)

        assert "may have 50; split it" in ((await office.runs())[0].error or "")
        assert [] == embed.calls


@pytest.mark.usefixtures("accumulator")
class TestScope:
    async def scopes(self, office: Office) -> dict[str, str]:
        """Return where each text holds."""
        return {
            each.content: place.scope
            for each in await office.insights()
            for place in await office.places(each.id)
        }

    async def test_nested(self, office: Office, project: Project) -> None:
        """What a nested file says holds in its folder; a tool's folder is none of its own."""
        await office.changed(
            project,
            write(project, "- Rule of all.\n"),
            write(project, "- Rule of the API.\n", "services/api/CLAUDE.md"),
            write(project, "- Rule of Claude.\n", ".claude/CLAUDE.md"),
        )

        wanted = {"Rule of all.": "", "Rule of the API.": "services/api", "Rule of Claude.": ""}
        assert wanted == await self.scopes(office)

    async def test_globs(self, office: Office, project: Project) -> None:
        """What front matter limits holds for those files, from the folder of the tool's folder."""
        text = "---\nglobs: src/**/*.ts, *.tsx\n---\n\n- Type every component.\n"
        await office.changed(
            project,
            write(project, text, ".cursor/rules/types.mdc"),
            write(project, text.replace("Type", "Name"), "web/.cursor/rules/names.mdc"),
        )

        wanted = {
            "Type every component.": "src/**/*.ts,*.tsx",
            "Name every component.": "web/src/**/*.ts,web/*.tsx",
        }
        assert wanted == await self.scopes(office)

    async def test_moved(self, office: Office, project: Project) -> None:
        """The same words in another folder hold there, and are the same insight."""
        await office.changed(project, write(project, "- Rule of the API.\n", "old/CLAUDE.md"))
        (before,) = await office.insights()
        Path(project.root, "old").rename(Path(project.root, "new"))
        await office.changed(project, *(Path(project.root, n, "CLAUDE.md") for n in ("old", "new")))

        assert {"Rule of the API.": "new"} == await self.scopes(office)
        assert [before.id] == [each.id for each in await office.insights()]


class TestGranularity:
    async def test_section(self, office: Office, project: Project, embed: Embedder) -> None:
        """As sections, whole sections are insights, by the hash of their trimmed bytes."""
        await office.employ("accumulator", office.accumulator(embed, SECTION))
        await office.changed(project, write(project, RULES))
        found = {each.heading: each for each in await office.insights()}

        assert {"Style", "Tests"} == found.keys()
        text = "- Use tabs.\n- Never use spaces for indentation."
        assert (text, hash_section(text)) == (found["Style"].content, found["Style"].content_hash)
        assert (Granularity.SECTION, None) == (found["Style"].granularity, found["Style"].kind)

    async def test_turned(self, office: Office, project: Project, embed: Embedder) -> None:
        """Another granularity reads every file again, and leaves nothing of the other one."""
        path = write(project, TWO.replace("Use tabs.", "- Use tabs.\n- Use ruff."))
        await office.employ("accumulator", office.accumulator(embed, SECTION))
        await office.changed(project, path)
        await office.dismiss("accumulator")
        await office.employ("accumulator", office.accumulator(embed))
        await eventually(lambda: SCAN_REQUESTED in office.topics_said())
        await office.handled("accumulator")
        await office.changed(project, path)

        assert ["Run pytest.", "Use ruff.", "Use tabs."] == await office.contents()
        assert {1} == {each.observation_count for each in await office.insights()}
        kinds = {each.granularity for each in await office.insights()}
        assert {Granularity.STATEMENT} == kinds

    async def test_not_turned(self, office: Office, project: Project, embed: Embedder) -> None:
        """A life that reads as the one before asks for nothing."""
        for _ in range(2):
            await office.employ("accumulator", office.accumulator(embed))
            await office.changed(project, write(project, TWO))
            await office.dismiss("accumulator")

        scans = [each for each in office.said if isinstance(each.payload, ScanRequested)]
        assert [] == scans
        assert 2 == await office.read(insights.count)
