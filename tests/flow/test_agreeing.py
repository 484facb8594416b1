"""Agreement of projects in a whole tree: offered at once, and a principle within a week."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.clock import DAY, SystemClock
from cortex_actors.testing import settled
from tests.flow.support import follow, grown

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.tree import Tree

pytestmark = pytest.mark.slow

#: What two projects say, each in its words, and what only the first of them says.
RULE, REWORDED = (
    "Write a migration for every change of the schema.",
    "Always write a migration for every change of the schema.",
)
OWN = "Label the oak barrel after the harvest."

#: Two rules about one thing; the second names what its own project has.
NEAR, NEAR_OF_ONE = (
    "Keep commit messages short and in the imperative mood.",
    "Keep commit messages short and in the style of `bin/ticket`.",
)

#: What the same project says about that thing, too.
NEAR_TOO = "Keep all commit messages short and in the order of `bin/release`."

#: What a third one says that chooses otherwise.
OTHERWISE = "Never write a migration for a change of the schema."


class Ahead(SystemClock):
    """The machine's clocks, with a wall clock that the test puts forward by days."""

    days = 0

    def now(self) -> int:
        """Return the wall-clock time in UTC microseconds."""
        return super().now() + self.days * DAY


def project(folder: Path, name: str, *rules: str) -> Path:
    """Make a project that says rules."""
    root = folder.resolve() / name
    root.mkdir()
    said = "".join(f"- {each}\n" for each in rules)
    (root / "CLAUDE.md").write_text(f"# {name}\n\n## Database\n\n{said}")
    return root


async def day(tree: Tree, clock: Ahead, number: int) -> None:
    """Let the jobs of a day run."""
    clock.days = number
    for job in ("scan", "reconcile", "organise"):
        await tree.cortex.run_job(job)
        await settled(tree, 60)


async def offers(tree: Tree) -> dict[str, dict[str, Any]]:
    """Return what a person could make a principle, by its text."""
    found = (await tree.cortex.reviews())["reviews"]
    return {each["content"]: each for each in found if each["asks"] == "promotion"}


async def principles(tree: Tree) -> list[str]:
    """Return what every principle says."""
    return [each["content"] for each in (await tree.cortex.principles())["principles"]]


async def differences(tree: Tree) -> list[set[str]]:
    """Return what two projects choose differently, both texts of each."""
    found = (await tree.cortex.contradictions(kind="contextual"))["contradictions"]
    return [{each["a"]["content"], each["b"]["content"]} for each in found]


class TestAgreeing:
    async def test_week(self, tmp_path: Path, tmp_home: Path) -> None:
        """What two projects say is offered on day 0 and promoted in a week without an edit."""
        clock = Ahead()
        roots = [
            project(tmp_path, "atlas", RULE, OWN),
            project(tmp_path, "harbor", REWORDED),
            project(tmp_path, "delta", "Keep the database small."),
        ]
        async with grown(tmp_home, clock=clock) as tree:
            await follow(tree, *roots, within=60)
            await day(tree, clock, 0)
            ((text, offered),) = (await offers(tree)).items()
            assert text in {RULE, REWORDED}
            assert "2 independent projects say it" == offered["because"]
            assert {"atlas", "harbor"} == set(offered["projects"])
            whole = await tree.cortex.review(offered["id"])
            assert [str(roots[2] / "CLAUDE.md")] == [each["path"] for each in whole["files"]]
            assert f"+- {text}" in whole["files"][0]["diff"]
            assert [] == await principles(tree)

            for number in range(1, 8):
                await day(tree, clock, number)
            assert [text] == await principles(tree)
            (told,) = (await tree.cortex.insights(search="oak barrel"))["insights"]
            assert (8, 1) == (told["observations"], len(told["projects"]))
            (told,) = (await tree.cortex.insights(search="migration"))["insights"]
            assert 16 == told["observations"]
            assert 0.7 <= told["confidence"]

            for number in range(8, 60, 3):
                await day(tree, clock, number)
            assert [text] == await principles(tree), "one project alone waits for a person"

    async def test_differing(self, tmp_path: Path, tmp_home: Path) -> None:
        """What a third project chooses differently becomes no principle before a person says so."""
        clock = Ahead()
        third = project(tmp_path, "delta", OTHERWISE)
        roots = [project(tmp_path, "atlas", RULE), project(tmp_path, "harbor", REWORDED)]
        async with grown(tmp_home, clock=clock) as tree:
            await follow(tree, *roots, within=60)
            await day(tree, clock, 0)
            assert 1 == len(await offers(tree))
            await follow(tree, third, within=60)
            for number in range(1, 10):
                await day(tree, clock, number)
            (offered,) = (await offers(tree)).values()
            assert offered["because"] == (
                "2 independent projects say it; another project chooses differently: "
                "cortex contradictions --between-projects"
            )
            assert [{offered["content"], OTHERWISE}] == await differences(tree)
            assert [] == await principles(tree)
            await tree.cortex.approve(offered["id"])
            await settled(tree, 60)
            assert [offered["content"]] == await principles(tree)

    async def test_two(self, tmp_path: Path, tmp_home: Path) -> None:
        """What one project says and the only other one forbids is a difference, and no offer."""
        clock = Ahead()
        roots = [project(tmp_path, "atlas", RULE), project(tmp_path, "delta", OTHERWISE)]
        async with grown(tmp_home, clock=clock) as tree:
            await follow(tree, *roots, within=60)
            for number in (0, 1, 8):
                await day(tree, clock, number)
                assert {} == await offers(tree)
            assert [{RULE, OTHERWISE}] == await differences(tree)
            assert 0 == (await tree.cortex.contradictions())["total"]
            assert [] == await principles(tree)


class TestNear:
    async def test_offered(self, tmp_path: Path, tmp_home: Path) -> None:
        """Of near rules of two projects the one that others can use is offered, and the nearest."""
        said = (NEAR_OF_ONE, NEAR_TOO, OWN)
        roots = [project(tmp_path, "atlas", *said), project(tmp_path, "harbor", NEAR)]
        async with grown(tmp_home) as tree:
            await follow(tree, *roots, within=60)
            await day(tree, Ahead(), 0)
            ((text, offered),) = (await offers(tree)).items()
            assert (NEAR, ["harbor"]) == (text, offered["projects"])
            assert "2 projects say nearly the same" == offered["because"]
            assert [NEAR_OF_ONE] == [each["content"] for each in offered["others"]]
            assert offered["others"][0]["sources"][0]["path"] == str(roots[0] / "CLAUDE.md")
            (listed,) = (await tree.cortex.reviews(project=str(roots[0])))["reviews"]
            assert offered["id"] == listed["id"]

            await tree.cortex.reject(offered["id"])
            await settled(tree, 60)
            assert {} == await offers(tree), "neither is asked about once more"
            await tree.cortex.approve(offered["id"])
            await settled(tree, 60)
            assert [NEAR] == await principles(tree)
            assert {} == await offers(tree)

    async def test_third(self, tmp_path: Path, tmp_home: Path) -> None:
        """Of three near rules one is asked about, and after that none of the others."""
        names = {"atlas": NEAR_OF_ONE, "harbor": NEAR, "delta": NEAR.replace("mood", "form")}
        roots = [project(tmp_path, name, rule) for name, rule in names.items()]
        async with grown(tmp_home) as tree:
            await follow(tree, *roots, within=60)
            await day(tree, Ahead(), 0)
            ((_, offered),) = (await offers(tree)).items()
            assert 2 == len(offered["others"])

            await tree.cortex.approve(offered["id"])
            await settled(tree, 60)
            assert {} == await offers(tree)

    async def test_gone(self, tmp_path: Path, tmp_home: Path) -> None:
        """What is no longer said by two projects is offered no longer."""
        roots = [project(tmp_path, "atlas", NEAR_OF_ONE), project(tmp_path, "harbor", NEAR)]
        async with grown(tmp_home) as tree:
            await follow(tree, *roots, within=60)
            await day(tree, Ahead(), 0)
            assert [NEAR] == list(await offers(tree))
            (roots[0] / "CLAUDE.md").write_text("# Atlas\n\nNothing is left.\n")
            await day(tree, Ahead(), 0)
            assert {} == await offers(tree)

    async def test_folder(self, tmp_path: Path, tmp_home: Path) -> None:
        """What a project says for one of its folders alone is not offered to others."""
        roots = [project(tmp_path, "atlas", NEAR_OF_ONE), project(tmp_path, "harbor", OWN)]
        (roots[1] / "tests").mkdir()
        (roots[1] / "tests" / "CLAUDE.md").write_text(f"# Tests\n\n## Database\n\n- {NEAR}\n")
        async with grown(tmp_home) as tree:
            await follow(tree, *roots, within=60)
            await day(tree, Ahead(), 0)
            assert {} == await offers(tree)
