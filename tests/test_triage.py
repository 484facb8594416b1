"""The queue of a whole tree, and what becomes of what a person says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.errors import BadInput, NotFound
from cortex_actors.pipeline import relations
from cortex_actors.rules.proposals import Proposal, ProposalKind
from cortex_actors.testing import settled
from tests.flow.support import follow, grown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.domain.insight import Claim
    from cortex_actors.tree import Tree

pytestmark = pytest.mark.slow

CLAUDE = """# Atlas

## House

- Always indent with tabs.
- Deploy the service from the release branch on Friday.
- Audits of the queue cover the checkout and the account pages.
"""
AGENTS = """# Agents

## House

- Never indent with tabs.
- Deploy the service from the release branch when the tests are quiet.
- Audits of the queue and the checkout are paid by marketing.
"""


def propose(left: Claim, right: Claim, **_: object) -> Proposal | None:
    """Return what the planted score makes of two texts."""
    first = min(left.text, right.text)
    if first.startswith("Deploy") and max(left.text, right.text).startswith("Deploy"):
        return Proposal(ProposalKind.CONTRADICTION, 0.6, "Friday, quiet")
    if first.startswith("Audits") and max(left.text, right.text).startswith("Audits"):
        return Proposal(ProposalKind.DUPLICATE, 0.8, "they share queue")
    return None


@pytest.fixture
async def tree(
    tmp_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Tree]:
    """Give a tree that has compared two files."""
    monkeypatch.setattr(relations, "propose", propose)
    root = tmp_path / "atlas"
    root.mkdir()
    (root / "CLAUDE.md").write_text(CLAUDE)
    (root / "AGENTS.md").write_text(AGENTS)
    async with grown(tmp_home, reconciliation={"cluster": 1.0, "judged": 0.4}) as found:
        await follow(found, root)
        await settled(found)
        yield found


async def queue(tree: Tree, **params: Any) -> dict[str, dict[str, Any]]:
    """Return the pairs of the queue by kind."""
    await settled(tree)
    found = await tree.cortex.triage(**params)
    return {each["kind"]: each for each in found["items"]}


class TestQueue:
    async def test_decided(self, tree: Tree) -> None:
        """What is possible waits without effect; a decision takes effect and leaves the queue."""
        cortex = tree.cortex
        found = await queue(tree)
        assert {"contradiction", "possible", "duplicate"} <= set(found)
        possible, double = found["possible"], found["duplicate"]
        assert {"active"} == {possible[side]["status"] for side in "ab"}
        assert 1 == (await cortex.contradictions())["total"]

        keep = "a" if "Friday" in possible["a"]["content"] else "b"
        done = await cortex.resolve_contradiction(possible["id"][:9], keep)
        assert ("resolved", "person") == (done["status"], done["decided_by"])
        await cortex.decide(double["id"], "same")
        after = await queue(tree)
        assert {"possible", "duplicate"}.isdisjoint(after)
        quiet = (await cortex.insights(search="quiet", status="all"))["insights"]
        assert ["contradicted"] == [each["status"] for each in quiet]
        merged = (await cortex.insights(search="queue", status="superseded"))["insights"]
        assert 1 == len(merged)

        for name in (possible["id"], double["id"]):
            await cortex.decide(name, "open")
        again = await queue(tree)
        assert {possible["id"], double["id"]} <= {each["id"] for each in again.values()}
        said = (await cortex.insights(search="queue", status="active"))["insights"]
        assert 2 == len(said)

    async def test_apart(self, tree: Tree, tmp_path: Path) -> None:
        """What is apart is never proposed again, also when its texts were gone for a while."""
        double = (await queue(tree, kind="duplicate"))["duplicate"]
        await tree.cortex.decide(double["id"], "apart")
        path = tmp_path / "atlas" / "AGENTS.md"
        for text in ("# Agents\n", AGENTS):
            path.write_text(text)
            await tree.cortex.scan()
            await settled(tree)

        assert "duplicate" not in await queue(tree)

    async def test_wrong(self, tree: Tree) -> None:
        """What names no pair, verdict or kind is refused."""
        double = (await queue(tree))["duplicate"]
        with pytest.raises(NotFound, match="cortex triage"):
            await tree.cortex.decide("dup_none", "same")
        with pytest.raises(NotFound, match="nothing was decided"):
            await tree.cortex.decide(double["id"], "open")
        with pytest.raises(BadInput, match="apart"):
            await tree.cortex.decide(double["id"], "never")
        with pytest.raises(BadInput, match="duplicate"):
            await tree.cortex.triage(kind="odd")


class TestOrder:
    async def test_nearest_first(self, tmp_home: Path, tmp_path: Path) -> None:
        """Contradictions of one file come first, then those of one project."""
        root = tmp_path / "atlas"
        root.mkdir()
        (root / "CLAUDE.md").write_text("# A\n\n## House\n\n- Use npm for packages.\n")
        (root / "AGENTS.md").write_text(
            "# A\n\n## House\n\n- Use pnpm for packages.\n\n## Style\n\n"
            "- Always indent with tabs.\n\n## Layout\n\n- Never indent with tabs.\n"
        )
        async with grown(tmp_home) as tree:
            await follow(tree, root)
            await settled(tree)
            found = (await tree.cortex.contradictions())["contradictions"]

        files = [{each[side]["sources"][0]["path"] for side in "ab"} for each in found]
        assert [1, 2] == [len(each) for each in files]


class TestRemoved:
    async def test_no_difference(self, tmp_home: Path, tmp_path: Path) -> None:
        """Two projects differ as long as both are followed, and again when one comes back."""
        roots = [tmp_path / name for name in ("atlas", "harbor")]
        for root, rule in zip(roots, ("Always indent", "Never indent"), strict=True):
            root.mkdir()
            (root / "CLAUDE.md").write_text(f"# A\n\n## House\n\n- {rule} with tabs.\n")
        async with grown(tmp_home) as tree:
            await follow(tree, *roots)
            counts = []
            for verb in ("", "remove_project", "add_project"):
                if verb:
                    await getattr(tree.cortex, verb)(str(roots[1]))
                await settled(tree)
                found = await tree.cortex.contradictions(kind="contextual")
                counts.append((found["total"], found["open"]))

        assert [(1, 0), (0, 0), (1, 0)] == counts
