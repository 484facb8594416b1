"""A section that a person removed: nobody but him brings it back, and nobody says it is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.testing import eventually, settled
from tests.flow.downward import AGREED, organised, section
from tests.flow.support import follow, grown

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cortex_actors.tree import Tree

pytestmark = pytest.mark.slow

ONE, OTHER = "Clean the copper kettle with vinegar.", "Label the oak barrel after the harvest."
HUMAN = "# d\n\n## Rules\n\n- Sweep the yard.\n"


def houses(folder: Path) -> Path:
    """Make two projects that agree, and one that may be given what they say; return its file."""
    for name in "ab":
        (root := folder.resolve() / name).mkdir()
        (root / "CLAUDE.md").write_text(f"# {name}\n\n## Rules\n\n- {ONE}\n- {OTHER}\n")
    (root := folder.resolve() / "d").mkdir()
    (root / "CLAUDE.md").write_text(HUMAN)
    return root / "CLAUDE.md"


async def written(tree: Tree, path: Path) -> dict[str, str]:
    """Have the section written on a person's word; return the id of each principle."""
    await follow(tree, *(path.parents[1] / name for name in "abd"), within=60)
    await organised(tree)
    await tree.cortex.resolve(str(path))
    assert ONE in section(path)
    assert OTHER in section(path)
    found = (await tree.cortex.principles())["principles"]
    assert [1, 1] == [each["resolved"] for each in found]
    return {each["content"]: each["id"] for each in found}


async def said_of(tree: Tree, principle: str) -> dict[str, Any]:
    """Return all that is said of where a principle stands."""
    listed = (await tree.cortex.principles(status="all"))["principles"]
    history = await tree.cortex.history(principle)
    status = await tree.cortex.status()
    return {
        "status": (status["resolved_files"], status["unresolved"]),
        "principles": sum(each["resolved"] for each in listed if each["id"] == principle),
        "principle": len((await tree.cortex.principle(principle))["files"]),
        "history": len(history["files"]),
    }


def _states(count: int, unresolved: list[Any] | None = None) -> dict[str, Any]:
    """Return what is said of a principle that stands in so many files."""
    names = ("principles", "principle", "history")
    return {
        "status": (count, unresolved or []),
        **dict.fromkeys(names, count),
    }


def _checked_out(path: Path) -> None:
    """Put the file back as git does: another file in its place."""
    path.unlink()
    path.write_text(HUMAN)


def _cut(path: Path) -> None:
    """Delete the section in an editor that saves into the file."""
    path.write_text(HUMAN + "- Feed the cat.\n")


def _renamed(path: Path) -> None:
    """Call the file otherwise."""
    path.rename(path.with_name("NOTES.md"))


#: Each way in which a section goes from a file.
GONE = [_checked_out, _cut, _renamed, lambda path: path.unlink()]


class TestRemoved:
    @pytest.mark.parametrize("remove", GONE, ids=["checkout", "cut", "renamed", "deleted"])
    async def test_stays_away(
        self, tmp_path: Path, tmp_home: Path, remove: Callable[[Path], None]
    ) -> None:
        """No revocation and no new life writes it again, and nobody says that it is there."""
        path = houses(tmp_path)
        async with grown(tmp_home, **AGREED) as tree:
            known = await written(tree, path)
            assert _states(1) == await said_of(tree, known[OTHER])
            remove(path)
            left = {each.name: each.read_bytes() for each in path.parent.iterdir()}
            assert _states(0) == await said_of(tree, known[OTHER])

            told = await tree.cortex.revoke(known[ONE])
            assert [] == told["files"]
            await settled(tree, 60)
            await tree.cortex.lift(known[ONE])
            await organised(tree)
            assert _states(0) == await said_of(tree, known[OTHER])
        async with grown(tmp_home, **AGREED) as tree:
            await organised(tree)
            assert left == {each.name: each.read_bytes() for each in path.parent.iterdir()}
            assert _states(0) == await said_of(tree, known[OTHER])

            path.write_text(HUMAN)
            await tree.cortex.resolve(str(path))
            assert OTHER in section(path)

    async def test_between(self, tmp_path: Path, tmp_home: Path) -> None:
        """One that goes after it was asked to be brought up to date is not written either."""
        path = houses(tmp_path)
        async with grown(tmp_home, **AGREED) as tree:
            await written(tree, path)
            _checked_out(path)
            asked = {"path": str(path), "agent": "claude", "refresh": True}
            await tree.cortex.publish("resolution:requested", asked)
            await settled(tree, 60)
            assert HUMAN == path.read_text()

            # Whoever asks for the file itself gets it.
            await tree.cortex.publish("resolution:requested", {**asked, "refresh": False})
            await settled(tree, 60)
            assert OTHER in section(path)

    async def test_another_branch(self, tmp_path: Path, tmp_home: Path) -> None:
        """A section that comes back with its branch is known again, and brought up to date."""
        path = houses(tmp_path)
        async with grown(tmp_home, **AGREED) as tree:
            known = await written(tree, path)
            ours = path.read_bytes()
            _checked_out(path)
            # Until it was read again, a file that lost half of its bytes may be half saved.
            await tree.cortex.scan(str(path.parent))
            await settled(tree, 60)
            await tree.cortex.publish(
                "resolution:requested", {"path": str(path), "agent": "claude", "refresh": True}
            )
            await settled(tree, 60)
            path.write_bytes(ours)
            assert _states(1) == await said_of(tree, known[ONE])

            told = await tree.cortex.revoke(known[ONE])
            assert [str(path)] == [each["path"] for each in told["files"]]
            await eventually(lambda: ONE not in section(path))
            assert OTHER in section(path)

    async def test_in_part(self, tmp_path: Path, tmp_home: Path) -> None:
        """A bullet that a person deleted stands nowhere; what he left of the section is his."""
        path = houses(tmp_path)
        async with grown(tmp_home, **AGREED) as tree:
            known = await written(tree, path)
            edited = path.read_text().replace(f"- {ONE}\n", "")
            path.write_text(edited)
            assert 0 == (await said_of(tree, known[ONE]))["history"]
            assert 1 == (await said_of(tree, known[OTHER]))["history"]

            await tree.cortex.revoke(known[OTHER])
            await settled(tree, 60)
            assert edited == path.read_text()
            (trouble,) = (await tree.cortex.status())["unresolved"]
            assert (str(path), "edited") == (trouble["path"], trouble["state"])
            _checked_out(path)
            assert [] == (await tree.cortex.status())["unresolved"]


class TestAutomatic:
    async def test_comes_back(self, tmp_path: Path, tmp_home: Path) -> None:
        """A project that opted in gets it again as soon as it would say something else."""
        path = houses(tmp_path)
        async with grown(tmp_home, **AGREED) as tree:
            known = await written(tree, path)
            await tree.cortex.set_auto(str(path.parent), on=True)
            await settled(tree, 60)
            _checked_out(path)
            await organised(tree)
            assert HUMAN == path.read_text()

            await tree.cortex.revoke(known[ONE])
            await settled(tree, 60)
            assert OTHER in section(path)

    async def test_nothing_beside_it(self, tmp_path: Path, tmp_home: Path) -> None:
        """When a file was written by itself, nothing but it lies there, however long we watch."""
        path = houses(tmp_path)
        watched = {**AGREED, "resolution": {**AGREED["resolution"], "grace_s": 60}}
        async with grown(tmp_home, **watched) as tree:
            await follow(tree, *(path.parents[1] / name for name in "abd"), within=60)
            await tree.cortex.set_auto(str(path.parent), on=True)
            await organised(tree)
            assert OTHER in section(path)
            assert ["CLAUDE.md"] == [each.name for each in path.parent.iterdir()]
