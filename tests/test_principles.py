"""The verbs by which people look at principles, suppose one, and follow it back to its lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.errors import BadInput, NotFound
from cortex_actors.testing import settled
from tests.flow.support import follow, grown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.api.desk import FrontDesk
    from cortex_actors.tree import Tree

#: What two projects say, and what one of them says alone.
SHARED = "Never commit a password to the repository."
ALONE = "Always indent python code with four spaces."

#: So little is asked for that two files are enough.
EASY: dict[str, float] = {
    "promotion_confidence": 0.4,
    "promotion_observations": 2,
    "promotion_age_days": 0,
}


@pytest.fixture
async def tree(tmp_home: Path, tmp_path: Path) -> AsyncIterator[Tree]:
    """Give a tree that has read two projects and distilled what both of them say."""
    roots = [tmp_path / name for name in ("atlas", "harbor")]
    for root, said in zip(roots, ([SHARED, ALONE], [SHARED]), strict=True):
        root.mkdir()
        lines = [f"- {each}" for each in said]
        (root / "CLAUDE.md").write_text("\n".join(["# House", "", "## Rules", "", *lines, ""]))
    async with grown(tmp_home, reconciliation=EASY) as found:
        await follow(found, *roots)
        await found.cortex.reconcile()
        await settled(found)
        yield found


async def _insight(cortex: FrontDesk, text: str) -> str:
    """Return the id of the one insight that says a text."""
    (found,) = (await cortex.insights(search=text, status="all"))["insights"]
    return str(found["id"])


async def _listed(cortex: FrontDesk, **asked: Any) -> list[str]:
    """Return what principles say."""
    return [each["content"] for each in (await cortex.principles(**asked))["principles"]]


async def _refused(cortex: FrontDesk) -> None:
    """Hold that what names nothing is refused, with what there is."""
    for asked, text in (
        ({"status": "alive"}, "live, all, active, decaying, pruned"),
        ({"category": "rule"}, "anti_pattern"),
        ({"sort": "best"}, "linked"),
        ({"least": 2}, "the least rank must be a number from 0 to 1"),
        ({"limit": 0}, "1 or more"),
        ({"skip": -1}, "0 or more"),
    ):
        with pytest.raises(BadInput, match=text):
            await cortex.principles(**asked)
    with pytest.raises(BadInput, match="ready, not_promoted"):
        await cortex.promotions(reason="luck")
    for verb in (cortex.principle, cortex.what_if, cortex.history):
        with pytest.raises(NotFound):
            await verb("nobody")
    with pytest.raises(NotFound, match="nothing was learned from line 7 of /nowhere"):
        await cortex.history("/nowhere/CLAUDE.md:7")


async def _supposed(tree: Tree) -> None:
    """Hold that what is foretold of a promotion comes of it, once a person approves."""
    cortex = tree.cortex
    name = await _insight(cortex, "four spaces")
    overview = await cortex.promotions()
    assert (1, 1) == (overview["reasons"]["not_promoted"], overview["reasons"]["observations"])
    assert [name] == [each["id"] for each in overview["insights"]]
    assert 1 == len((await cortex.promotions(reason="not_promoted"))["insights"])

    found = await cortex.what_if(name)
    assert ("would_promote", None, ["observations", "projects"]) == (
        found["would"],
        found["same_as"],
        found["missing"],
    )
    assert 1 == (await cortex.principles())["total"]

    await cortex.approve(name)
    await settled(tree)
    await cortex.organise()
    await settled(tree)
    made = await cortex.principle(found["preview"]["id"])
    same = ("content", "category", "tags", "domains", "observations", "origin", "projects")
    assert {key: found["preview"][key] for key in same} == {key: made[key] for key in same}
    assert found["preview"]["confidence"] == pytest.approx(made["confidence"])
    # An approval is worth something: the sources count as better.
    assert found["preview"]["rank"] <= made["rank"] <= found["preview"]["rank"] + 0.1
    assert "already_promoted" == (await cortex.what_if(name))["would"]


@pytest.mark.slow
class TestLooking:
    async def test_everything(self, tree: Tree, tmp_path: Path) -> None:
        """A principle says what it came of and why it ranks so, and what-if foretells another."""
        cortex = tree.cortex
        (found,) = (await cortex.principles())["principles"]
        assert (SHARED, "anti_pattern", 2, ["atlas", "harbor"]) == tuple(
            found[key] for key in ("content", "category", "observations", "projects")
        )
        whole = await cortex.principle(found["id"][:12])
        assert whole["why"]["rank"] == pytest.approx(found["rank"])
        assert whole["why"]["rank"] == pytest.approx(
            sum(each["points"] for each in whole["why"]["parts"])
        )
        assert [SHARED] == [each["content"] for each in whole["made_of"]]
        for sort in ("sure", "seen", "linked", "newest", "oldest"):
            assert [SHARED] == await _listed(cortex, sort=sort)
        assert [] == await _listed(cortex, project=str(tmp_path / "atlas"), tag="nothing")
        assert [SHARED] == await _listed(cortex, project=str(tmp_path / "harbor"))

        line = f"{tmp_path.resolve()}/harbor/CLAUDE.md:5"
        for thing in (found["id"], line):
            chain = await cortex.history(thing)
            assert [5, 5] == [e["line_start"] for e in chain["insights"][0]["lines"]]
            assert [found["id"]] == [each["id"] for each in chain["principles"]]

        told = await cortex.insight(await _insight(cortex, "password"))
        assert [found["id"]] == [each["id"] for each in told["principles"]]
        status = await cortex.status()
        assert {"active": 1, "decaying": 0, "pruned": 0} == status["principles_by_status"]
        await _refused(cortex)
        await _supposed(tree)
