"""Nearly the same words are one from the start, unless they say otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.sections import AccumulationSettings
from tests.pipeline.support import Embedder, Office, write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cortex_actors.domain.project import Project
    from cortex_actors.storage.embeddings import Matrix


class Alike(Embedder):
    """An embedder to which all texts are the same."""

    async def __call__(self, texts: Sequence[str], *, model: str | None = None) -> Matrix:
        """Return the first text's row for each."""
        return await super().__call__(["the same"] * len(texts), model=model)


@pytest.fixture
async def harbor(office: Office, tmp_path: Path) -> Project:
    """Have an accumulator at work that finds all texts alike, and give another project."""
    await office.employ("accumulator", office.accumulator(Alike()))
    return await office.follow(tmp_path / "harbor")


async def merged(office: Office) -> dict[str, str]:
    """Return which text counts for which."""

    def query(connection: object) -> dict[str, str]:
        return dict(connection.exec_driver_sql(_MERGED).fetchall())  # type: ignore[attr-defined]

    return await office.read(query)


class TestSame:
    async def test_joins(self, office: Office, project: Project, harbor: Project) -> None:
        """A text that says what a known one says counts for it, and both are kept."""
        await office.changed(project, write(project, "- Run the tests before you commit.\n"))
        await office.changed(harbor, write(harbor, "- Run the tests before you commit!\n"))

        (insight,) = await office.insights()
        assert ("atlas", "harbor") == insight.projects
        assert {insight.content: "Run the tests before you commit!"} == {
            other: one for one, other in (await merged(office)).items()
        }
        assert 1 == (await office.runs())[0].counts["merged"]

    async def test_in_one_file(self, office: Office, project: Project, harbor: Project) -> None:
        """Two such texts of one file count for the first of them."""
        text = "- Run the tests before you commit.\n- Run the tests before you commit!\n"
        await office.changed(project, write(project, text))

        assert ["Run the tests before you commit."] == await office.contents(), harbor

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("Always use tabs.", "Never use tabs."),
            ("Wait for 30 seconds.", "Wait for 60 seconds."),
        ],
    )
    async def test_opposite(
        self, office: Office, project: Project, harbor: Project, one: str, other: str
    ) -> None:
        """Texts that disagree stay two, however near they lie."""
        await office.changed(project, write(project, f"- {one}\n"))
        await office.changed(harbor, write(harbor, f"- {other}\n"))

        assert sorted([one, other]) == await office.contents()

    @pytest.mark.parametrize("own", ["CLAUDE.local.md", ".claude/rules/mine.local.md"])
    async def test_private(
        self, office: Office, project: Project, harbor: Project, own: str
    ) -> None:
        """What one person's own file says stays for itself, whichever came first."""
        same = "- Run the tests before you commit{}\n"
        await office.changed(project, write(project, same.format("."), own))
        await office.changed(harbor, write(harbor, same.format("!")))
        await office.changed(harbor, write(harbor, same.format(""), own))

        assert 3 == len(await office.contents())
        assert {} == await merged(office)

    async def test_sections(self, office: Office, project: Project, tmp_path: Path) -> None:
        """Sections are merged by the same threshold and the document's words of denial."""
        settings = AccumulationSettings(granularity="section")
        await office.employ("accumulator", office.accumulator(Alike(), settings))
        harbor = await office.follow(tmp_path / "harbor")
        for where, text in ((project, "Use tabs"), (harbor, "Use tabs!")):
            await office.changed(where, write(where, f"## A\n\n{text}\n"))
        await office.changed(harbor, write(harbor, "## A\n\nNever use tabs\n", "AGENTS.md"))

        assert ["Never use tabs", "Use tabs"] == await office.contents()


_MERGED = (
    "SELECT a.content, b.content FROM insights AS a JOIN insights AS b ON b.id = a.superseded_by"
)
