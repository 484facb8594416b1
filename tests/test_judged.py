"""A whole tree with a language model: what the rules leave open is put to it, and kept."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.domain.insight import Claim
from cortex_actors.judging.judge import QuietJudge
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


#: Statements of two files and what each two are to each other: the rules leave them open.
_PAIRS = """\
contradiction
  Ship the payroll service after the nightly report is green.
  Ship the payroll service after the auditors were heard.
contradiction
  Invoices are archived by the ledger team every quarter.
  Invoices are archived by the finance desk every quarter.
contradiction
  The search page loads its results from the replica database.
  The search page loads its results from the warm cache.
contradiction
  Ask the platform group before changing a queue name.
  Ask the release captain before changing a queue name.
contradiction
  Mobile builds are signed on the build farm in Oslo.
  Mobile builds are signed on a laptop of the lead.
contradiction
  Customer mails are drafted in the shared folder of support.
  Customer mails are drafted in the ticket itself.
contradiction
  Schema reviews happen in the Thursday design meeting.
  Schema reviews happen in the pull request thread.
contradiction
  Feature toggles are owned by the squad that added them.
  Feature toggles are owned by one person of the core crew.
contradiction
  Load tests run against the shadow cluster of the week.
  Load tests run against the region with the least users.
same
  Explain each migration in a note for the operators on call.
  For the operators on call, each migration has a note that explains it.
same
  Translations come from the vendor portal, reviewed by a native speaker.
  A native speaker reviews translations, which come from the vendor portal.
same
  Metrics dashboards carry the name of the team that watches them.
  The team that watches metrics dashboards is named on them.
same
  Long tasks report their progress to the status channel hourly.
  Hourly, progress of long tasks is reported in the status channel.
same
  Sample data for demos lives beside the fixtures of the suite.
  Beside the fixtures of the suite lives the sample data for demos.
same
  Errors shown to buyers are worded by the content designers.
  Content designers word the errors that buyers are shown.
same
  Batch exports are split by tenant and by calendar month.
  By tenant and calendar month: so are batch exports split.
same
  Pictures in the catalogue are resized while they are uploaded.
  While they are uploaded, pictures in the catalogue get resized.
same
  Rate limits of partners are agreed on in the yearly contract.
  In the yearly contract, partners agree on their rate limits.
related
  Accessibility audits cover the checkout and the account pages.
  Accessibility audits of the checkout are paid by marketing.
related
  Cron jobs log to the audit stream with their owner.
  Cron jobs that log to the audit stream start at night.
"""
_LINES = [line.strip() for line in _PAIRS.splitlines()]
LABELLED = list(zip(_LINES[1::3], _LINES[2::3], _LINES[::3], strict=True))
LABELS = {frozenset(two[:2]): two[2] for two in LABELLED}


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


class TestLabelled:
    async def test_answers_count(self, tmp_home: Path, tmp_path: Path) -> None:
        """What a language model says of pairs is what is merged and shown: both at least 95 %."""
        root, asked = tmp_path / "atlas", set[frozenset[str]]()
        root.mkdir()
        for number, name in enumerate(("CLAUDE.md", "AGENTS.md")):
            said = "".join(f"- {two[number]}\n" for two in LABELLED)
            (root / name).write_text(f"# Atlas\n\n## Rules\n\n{said}", encoding="utf-8")

        def answer_labels(request: Request) -> Reply:
            found = quotes(request)
            two = frozenset((found["one"]["text"], found["other"]["text"]))
            asked.add(two)
            label = LABELS.get(two, "unrelated")
            return says({**SAME, "relation": label, "reason": "by its label"})

        async with chatting() as chat, judged_by(chat, tmp_home, budget=50) as tree:
            chat.rule = answer_labels
            await follow(tree, root)
            await tree.cortex.reconcile(full=True)
            await settled(tree)
            shown = {_texts(each["a"], each["b"]) for each in await open_pairs(tree)}
            every = (await tree.cortex.insights(status="superseded", limit=200))["insights"]
            merged = {_texts(each, each["represented_by"]) for each in every}

        assert len(asked) <= 50
        for found, label in ((shown, "contradiction"), (merged, "same")):
            wanted = {two for two, said in LABELS.items() if said == label}
            told = wanted & asked
            assert len(told) >= 5
            assert len(found & told) >= 0.95 * len(told)
            assert len(found & told) >= 0.95 * len(found & asked)


def _texts(one: dict[str, Any], other: dict[str, Any]) -> frozenset[str]:
    """Return the texts of two insights."""
    return frozenset((one["content"], other["content"]))


class TestVerbs:
    async def test_status(self, tmp_home: Path) -> None:
        """A model that cannot be asked is a reason, and the rules go on alone."""
        async with chatting() as chat, judged_by(chat, tmp_home, breaker_failures=1) as tree:
            before = await tree.cortex.status()
            await chat.close()
            judge = QuietJudge(tree.parts.actors.judge, tree.cortex.settings.judging)
            found = await judge.compare([(Claim(FRIDAY), Claim(QUIET), None)])
            after = await tree.cortex.status()
            await chat.open()

        assert ["idle"] == [each["state"] for each in before["judge"]["layers"]]
        assert [None] == found
        assert 1 == len([each for each in after["reasons"] if "the rules decide alone" in each])

    async def test_without(self, tmp_home: Path) -> None:
        """Without a model the rules decide, and nobody misses one."""
        async with grown(tmp_home) as tree:
            status = await tree.cortex.status()

        assert {} == status["judge"]
        assert not [each for each in status["reasons"] if each.startswith("judge")]
