"""What a project's files say together: a contradiction holds for all, what is said for one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.principle import Ending
from cortex_actors.errors import BadInput, EmbedderDown
from cortex_actors.pipeline.selection import Shared
from cortex_actors.render import fence
from tests.pipeline.resolving import HUMAN, PYTEST, TABS, Resolving
from tests.pipeline.support import MODEL, Embedder

if TYPE_CHECKING:
    from tests.pipeline.support import Office

#: Has nothing to do with any principle.
BRIEF = "# Agents\n\n- Answer in short sentences.\n"

MARKED = f"- [CONFLICT] {TABS}"


async def both(desk: Resolving, *, claude: str = HUMAN, agents: str = BRIEF) -> tuple[Path, Path]:
    """Follow a project with two files."""
    path = await desk.follow("atlas", claude)
    return path, await desk.follow("atlas", agents, file="AGENTS.md")


class TestContradicted:
    async def test_everywhere(self, desk: Resolving) -> None:
        """What one file of a project contradicts is marked in each, with where that is said."""
        path, other = await both(desk)
        report = await desk.resolve(path.parent)

        assert [True, True] == [MARKED in each.read_text().splitlines() for each in (path, other)]
        assert {str(path): ["Atlas > Style"], str(other): ["CLAUDE.md", "Atlas > Style"]} == {
            each.path: bullet.conflict.split(": ")[:-1]
            for each in report.files
            for bullet in each.bullets
            if bullet.conflict
        }

    async def test_said(self, desk: Resolving) -> None:
        """What one file says already comes into the other all the same."""
        path, other = await both(desk, claude=f"# Atlas\n\n- {PYTEST}\n")
        await desk.resolve(path.parent)

        assert [0, 1] == [
            fence_text(each).splitlines().count(f"- {PYTEST}") for each in (path, other)
        ]

    async def test_at_rest(self, desk: Resolving, office: Office) -> None:
        """What is written into one file is no reason to look at the other again."""
        path, other = await both(desk)
        await desk.opt_in(path)
        await desk.organised()
        before = [each.read_bytes() for each in (path, other)]
        for _ in range(2):
            await desk.organised()

        assert 2 == len(await office.runs("resolver"))
        assert before == [each.read_bytes() for each in (path, other)]

    async def test_changed_there(self, desk: Resolving) -> None:
        """Where a human no longer says it, the mark is taken out of the other file by itself."""
        path, other = await both(desk)
        await desk.opt_in(path)
        await desk.organised()
        assert MARKED in other.read_text().splitlines()

        path.write_bytes(path.read_bytes().replace(b"- Use spaces for indentation.", b"- Smile."))
        await desk.organised()
        assert f"- {TABS}" in other.read_text().splitlines()

    async def test_unreadable(self, desk: Resolving, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file that says too much to be read holds up none but itself."""
        monkeypatch.setattr("cortex_actors.pipeline.reading.STATEMENTS", 3)
        much = "".join(f"- Keep rule {n} in mind.\n" for n in range(4))
        path, other = await both(desk, claude=HUMAN + much)

        assert Ending.WRITTEN is (await desk.one(other)).ending
        assert MARKED not in other.read_text()
        assert f"- {TABS}" in other.read_text().splitlines()
        assert Ending.REFUSED is (await desk.one(path)).ending

    async def test_embedded_once(self, desk: Resolving, embed: Embedder) -> None:
        """The statements of a project are embedded once for all its files."""
        path, _ = await both(desk)
        await desk.resolve(path.parent)
        texts = [text for call in embed.calls for text in call]

        assert len(set(texts)) == len(texts) > 0


class TestSilent:
    @pytest.mark.parametrize("fails", [None, EmbedderDown("away")])
    async def test_nothing(
        self, desk: Resolving, embed: Embedder, fails: EmbedderDown | None
    ) -> None:
        """Where no human says anything yet nothing is near, nor is it known what he has."""
        embed.fails = fails
        del desk.settings["least"]
        await desk.office.dismiss("resolver")
        await desk.hire()
        path = await desk.follow("atlas", "")
        found = await desk.one(path)

        assert () == found.bullets
        assert (1, 1) == (found.counts["not_near"], found.counts["other_stack"])
        assert b"" == path.read_bytes()

    @pytest.mark.parametrize("dry_run", [False, True])
    async def test_not_made(self, desk: Resolving, *, dry_run: bool) -> None:
        """A file that would say nothing is not made."""
        del desk.settings["least"]
        await desk.office.dismiss("resolver")
        await desk.hire()
        project = await desk.office.follow(desk.folder / "atlas")
        found = await desk.one(Path(project.root), create=True, dry_run=dry_run)

        assert (Ending.SHOWN if dry_run else Ending.UNCHANGED) is found.ending
        assert [] == list(Path(project.root).iterdir())


class TestShared:
    async def test_once(self, embed: Embedder) -> None:
        """Who asks while the same text is in the making gets that row."""
        shared = Shared(embed)
        found = await asyncio.gather(*(shared(["a", each], model=MODEL) for each in "bbc"))

        assert [["a", "b"], ["c"]] == embed.calls
        assert {(2, found[0].shape[1])} == {each.shape for each in found}
        assert (found[0] == found[1]).all()

    async def test_away(self, embed: Embedder) -> None:
        """An embedder that is away is waited for once."""
        shared, embed.fails = Shared(embed), EmbedderDown("away")
        for _ in range(2):
            with pytest.raises(EmbedderDown):
                await shared(["a"], model=MODEL)

        assert 1 == len(embed.calls)

    async def test_refused(self, embed: Embedder) -> None:
        """A text that cannot be embedded says nothing about other texts."""
        shared, embed.fails = Shared(embed), BadInput("no text")
        with pytest.raises(BadInput):
            await shared(["a"], model=MODEL)
        embed.fails = None

        assert 1 == len(await shared(["b"], model=MODEL))


def fence_text(path: Path) -> str:
    """Return what we wrote into a file."""
    found = fence.find(path.read_bytes())
    return "" if found is None else found.body.decode()
