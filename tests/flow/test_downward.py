"""From what two projects say into the file of a third, and out of it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.testing import eventually
from tests.flow.downward import ASKED, held, organised, section, theirs
from tests.flow.support import follow, grown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from cortex_actors.tree import Tree

#: What two projects say.
SAYING = "Always feed the quokka twice before you touch the harvest calendar."

#: A file whose bytes are not to be tidied: a byte order mark, CRLF, no final line end, no UTF-8.
ODD = b"\xef\xbb\xbf# Zebra\r\n\r\nAsk the zebra, na\xefvely.\r\n\r\n\tIndented  \r\nNo end"

pytestmark = pytest.mark.slow


@pytest.fixture
async def tree(tmp_path: Path, tmp_home: Path) -> AsyncIterator[Tree]:
    """Give a tree that has learned what two projects say, and follows a third."""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "CLAUDE.md").write_text(f"# Rules\n\n- {SAYING}\n")
    (tmp_path / "third" / ".git").mkdir(parents=True)
    (tmp_path / "third" / "AGENTS.md").write_bytes(ODD)
    async with grown(tmp_home, **ASKED) as found:
        await follow(found, *(tmp_path / name for name in ("one", "other", "third")))
        await organised(found)
        yield found


async def becomes(path: Path, what: Callable[[bytes], bool]) -> None:
    """Return once a file is what it is to be."""
    await eventually(lambda: what(path.read_bytes()))


async def approved(tree: Tree) -> None:
    """Approve what the projects say, as a person does in the review."""
    for each in (await tree.cortex.reviews())["reviews"]:
        await tree.cortex.approve(each["id"])


async def only(answer: Awaitable[dict[str, Any]]) -> dict[str, Any]:
    """Return what came of the one file that a resolution was about."""
    (found,) = (await answer)["files"]
    assert isinstance(found, dict)
    return found


class TestThird:
    async def test_receives(self, tree: Tree, tmp_path: Path) -> None:
        """It gets the statement in the file it has, its bytes stay, and an undo takes it out."""
        third = tmp_path / "third"
        before = held(third)
        shown = await only(tree.cortex.resolve(str(third), dry_run=True))
        assert before == held(third)
        some = [each["id"] for each in shown["bullets"]]
        done = await only(tree.cortex.resolve(str(third), approve=some))
        # For a moment what was displaced lies beside it.
        await eventually(lambda: before == theirs(held(third)))

        assert ("shown", "written") == (shown["state"], done["state"])
        assert shown["diff"] == done["diff"]
        assert f"+- {SAYING}" in done["diff"]
        assert SAYING in section(third / "AGENTS.md")
        await tree.cortex.undo_resolution(str(third / "AGENTS.md"))
        await eventually(lambda: before == held(third))

    async def test_follows(self, tree: Tree, tmp_path: Path) -> None:
        """A project that wants it gets it by itself, and is rid of it once nobody says it more."""
        path = tmp_path / "third" / "AGENTS.md"
        await tree.cortex.set_auto(str(path.parent), on=True)
        await approved(tree)
        await becomes(path, lambda data: SAYING.encode() in data)
        for name in ("one", "other"):
            (tmp_path / name / "CLAUDE.md").write_text("# Rules\n\n- Ask the zebra.\n")
        await becomes(path, ODD.__eq__)

    async def test_edited(self, tree: Tree, tmp_path: Path) -> None:
        """What a person changed within our marks is kept, shown, and named by the status."""
        path = tmp_path / "third" / "AGENTS.md"
        await approved(tree)
        await tree.cortex.resolve(str(path))
        path.write_bytes(path.read_bytes().replace(b"twice", b"three times"))
        edited = path.read_bytes()
        done = await only(tree.cortex.resolve(str(path)))
        status = await tree.cortex.status()

        assert "edited" == done["state"]
        assert "three times" in done["diff"]
        assert edited == path.read_bytes()
        assert ["edited"] == [each["state"] for each in status["unresolved"]], status

    async def test_revoked(self, tree: Tree, tmp_path: Path) -> None:
        """A source that is revoked takes what came of it out of the files that have it."""
        path = tmp_path / "third" / "AGENTS.md"
        await approved(tree)
        await tree.cortex.resolve(str(path))
        assert SAYING in section(path)
        await tree.cortex.revoke(str(tmp_path / "one"))
        await tree.cortex.revoke(str(tmp_path / "other"))
        await becomes(path, ODD.__eq__)


#: Two projects say this: a rule of Python, one that needs its heading, one that needs nothing, one
#: that names what they have, and a fact.
RULES = """# Rules

## Commit messages

- Say why in the body.

## Code

- Always run mypy before you push.
- Never swallow an error.
- Always call `load_tenant_rows()` first.
- The port of the service is 8080.
"""


class TestStandingAlone:
    @pytest.mark.parametrize(("manifest", "number"), [("package.json", 2), ("pyproject.toml", 3)])
    async def test_by_stack(
        self, tmp_path: Path, tmp_home: Path, *, manifest: str, number: int
    ) -> None:
        """A project gets the rules that can be read in it, of technologies that it has."""
        for name in ("one", "other"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "CLAUDE.md").write_text(RULES)
        third = tmp_path / "third"
        third.mkdir()
        (third / manifest).touch()
        (third / "AGENTS.md").write_text("# Third\n")
        chosen = {**ASKED, "resolution": {**ASKED["resolution"], "least": 1.0}}
        async with grown(tmp_home, **chosen) as tree:
            await follow(tree, tmp_path / "one", tmp_path / "other", third)
            await organised(tree)
            await approved(tree)
            done = await only(tree.cortex.resolve(str(third / "AGENTS.md")))
            given = [await tree.cortex.principle(each["id"]) for each in done["bullets"]]
            (kept,) = (await tree.cortex.principles(search="load_tenant_rows"))["principles"]
            unfit = await tree.cortex.principle(kept["id"])

        assert [each["text"] for each in done["bullets"]] == [f"- {e['bullet']}" for e in given]
        assert unfit["no_bullet"].startswith("it names `load_tenant_rows()`")
        some = [
            *("### Commits", "- Commit messages: Say why in the body."),
            *("### Errors", "- Never swallow an error."),
            *("### Workflow", "- Always run mypy before you push."),
        ]
        assert number * 2 == len(set(some) & set(done["section"].splitlines()))
        assert number == len(done["bullets"])
        assert 3 - number == done["counts"]["other_stack"]
