"""A whole tree with a language model: what the rules leave open is put to it, and kept."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.errors import BadInput, ConfigurationError
from cortex_actors.storage.tables.columns import count_rows
from cortex_actors.storage.tables.schema import verdicts
from cortex_actors.testing import settled
from tests.flow.support import follow, grown
from tests.judging.support import SAME, chatting, quotes, says

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.tree import Tree
    from tests.endpoint.server import Reply, Request
    from tests.judging.support import FakeChat

pytestmark = pytest.mark.slow

#: Two statements that share most of their words, and of which the rules make nothing.
FRIDAY = "Deploy the service from the release branch on Friday."
QUIET = "Deploy the service from the release branch when the tests are quiet."

AGAINST = {**SAME, "relation": "contradiction", "conflict": "partial", "reason": "on Friday, when"}


def answer(request: Request) -> Reply:
    """Say that those two contradict each other, and that any others are the same."""
    asked = str(quotes(request))
    return says(AGAINST if FRIDAY in asked and QUIET in asked else SAME)


@asynccontextmanager
async def judged_by(chat: FakeChat, home: Path, **settings: Any) -> AsyncIterator[Tree]:
    """Run a tree whose judge asks an endpoint."""
    chat.rule = answer
    judging = {"model": "m", "base_url": chat.url, "retries": 0, **settings}
    async with grown(home, judging=judging) as tree:
        yield tree


async def open_pairs(tree: Tree) -> list[dict[str, Any]]:
    """Return the contradictions that nobody has decided."""
    found: list[dict[str, Any]] = (await tree.cortex.contradictions())["contradictions"]
    return found


class TestReconciled:
    async def test_contradiction(self, tmp_home: Path, tmp_path: Path) -> None:
        """A contradiction that only the model sees is found, with who says so and why, once."""
        root = tmp_path / "atlas"
        root.mkdir()
        (root / "CLAUDE.md").write_text(f"# Atlas\n\n## Deploying\n\n- {FRIDAY}\n")
        (root / "AGENTS.md").write_text(f"# Atlas\n\n## Deploying\n\n- {QUIET}\n")
        async with chatting() as chat, judged_by(chat, tmp_home) as tree:
            await follow(tree, root)
            await tree.cortex.reconcile()
            await settled(tree)
            found = await open_pairs(tree)
            asked = len(chat.requests)
            await tree.cortex.reconcile(full=True)
            await settled(tree)

            assert asked == len(chat.requests)
            assert asked == await tree.parts.records.read(lambda c: count_rows(c, verdicts))

        assert [("llm", "partial", "on Friday, when")] == [
            (each["decided_by"], each["type"], each["reason"]) for each in found
        ]


class TestVerbs:
    async def test_judge(self, tmp_home: Path) -> None:
        """What rules and model say of two texts is told apart, and the rules' word is the last."""
        async with chatting() as chat, judged_by(chat, tmp_home) as tree:
            found = await tree.cortex.judge(FRIDAY, QUIET)
            clear = await tree.cortex.judge("Indent with tabs.", "Indent with 4 spaces.")
            with pytest.raises(BadInput, match="a text of nothing"):
                await tree.cortex.judge(" ", QUIET)
            with pytest.raises(BadInput, match="the limit is 8,000"):
                await tree.cortex.judge("x" * 8_001, QUIET)

        assert ["related", "contradiction", "contradiction"] == [
            found[which]["relation"] for which in ("rules", "model", "judgement")
        ]
        assert ["contradiction", "same", "contradiction"] == [
            clear[which]["relation"] for which in ("rules", "model", "judgement")
        ]
        assert 0.5 < found["cosine"] < 0.9

    async def test_rules(self, tmp_home: Path) -> None:
        """Own rules that cannot be read are said here, where one tries them."""
        async with grown(tmp_home) as tree:
            (tmp_home / "rules.toml").write_text("[")
            with pytest.raises(ConfigurationError, match=r"rules\.toml"):
                await tree.cortex.judge(FRIDAY, QUIET)

    async def test_status(self, tmp_home: Path) -> None:
        """A model that cannot be asked is a reason, and the rules go on alone."""
        async with chatting() as chat, judged_by(chat, tmp_home, breaker_failures=1) as tree:
            before = await tree.cortex.status()
            await chat.close()
            found = await tree.cortex.judge(FRIDAY, QUIET)
            after = await tree.cortex.status()
            await chat.open()

        assert ["idle"] == [each["state"] for each in before["judge"]["layers"]]
        assert ("related", None) == (found["judgement"]["relation"], found["model"])
        assert 1 == len([each for each in after["reasons"] if "the rules decide alone" in each])

    async def test_without(self, tmp_home: Path) -> None:
        """Without a model the rules decide, and nobody misses one."""
        async with grown(tmp_home) as tree:
            found = await tree.cortex.judge(FRIDAY, QUIET)
            status = await tree.cortex.status()

        assert ("related", None, {}) == (
            found["judgement"]["relation"],
            found["model"],
            found["judge"],
        )
        assert {} == status["judge"]
        assert not [each for each in status["reasons"] if each.startswith("judge")]
