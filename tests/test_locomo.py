"""The benchmark of conversations: a small one through a daemon's own verbs, and what is counted."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks import corpora, locomo
from benchmarks.corpora import Question
from benchmarks.locomo import agent, measure
from cortex_actors.home import Home
from tests.flow.support import grown

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from benchmarks.corpora import Conversation
    from cortex_actors.tree import Tree

SAID = [
    ("D1:1", "Ann", "Which pottery class do you like?"),
    ("D1:2", "Bob", "The Monday one."),
    ("D1:3", "Ann", "I swim on Fridays."),
    ("D1:4", "Ann", "I swim on Fridays."),
]
ASKED = [
    {"question": "pottery class", "evidence": ["D1:1"], "category": 4},
    {"question": "swim Fridays", "evidence": ["D1:3", "D1:4"], "category": 1},
    {"question": "zebra", "evidence": ["D1:2"], "category": 5},
]


@pytest.fixture
def conversations(tmp_path: Path) -> list[Conversation]:
    """Give two conversations that say the same."""
    said = [{"dia_id": id_, "speaker": who, "text": text} for id_, who, text in SAID]
    session = {"session_1": said, "session_1_date_time": "8 May, 2023"}
    file = tmp_path / "locomo.json"
    both = [{"sample_id": f"conv-{n}", "conversation": session, "qa": ASKED} for n in (1, 2)]
    file.write_text(json.dumps(both))
    return corpora.locomo(file)


def asking(tree: Tree) -> Callable[..., Any]:
    """Return the way to a tree's verbs."""

    async def ask(verb: str, **params: object) -> dict[str, Any]:
        found: dict[str, Any] = await partial(getattr(tree.cortex, verb), **params)()
        return found

    return ask


class TestCounted:
    @pytest.mark.slow
    async def test_small(self, tmp_home: Path, conversations: list[Conversation]) -> None:
        """Each conversation is asked by itself; what is said twice is found where it was merged."""
        async with grown(tmp_home) as tree:
            report = await measure(asking(tree), Home(tmp_home).ledger, conversations)

        assert (8, 6, 6) == (report.turns, report.memories, report.overall.questions)
        assert {"one turn", "several turns", "misleading"} == set(report.categories)
        for name in ("one turn", "several turns"):
            assert (1.0, 1.0) == (report.categories[name].recall[5], report.categories[name].mrr)
        assert {5, 10, 20} == set(report.overall.recall)

    def test_dates(self, conversations: list[Conversation]) -> None:
        """Turns know when they were said, and questions which kind they are."""
        (first, second) = conversations

        assert {"8 May, 2023"} == {turn.date for turn in first.turns}
        assert [4, 1, 5] == [question.category for question in first.questions]
        assert ("CONV-1", "CONV-2") == (agent(first), agent(second))

    def test_score(self) -> None:
        """Recall is the share of the evidence among the first, MRR of its first turn's place."""
        some = [(Question("", {"a": 1, "b": 1}), [1, 12]), (Question("", {"a": 1}), [0])]
        score = locomo._score(some)

        assert {5: 0.25, 10: 0.25, 20: 0.5} == score.recall
        assert (2, 0.5) == (score.questions, score.mrr)
