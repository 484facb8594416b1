"""The benchmark of retrieval runs from files as they were published, through the product itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from benchmarks import corpora, retrieval
from benchmarks.corpora import Question

if TYPE_CHECKING:
    from pathlib import Path

TURNS = [("D1:1", "Ann", "Which pottery class do you like?"), ("D1:2", "Bob", "The Monday one.")]


@pytest.fixture
def locomo(tmp_path: Path) -> Path:
    """Give a conversation of two turns and three questions, one of which cannot be answered."""
    said = [{"dia_id": id_, "speaker": who, "text": text} for id_, who, text in TURNS]
    asked = [
        {"question": "When is pottery?", "evidence": ["D1:1; D1:2"]},
        {"question": "Who likes it?", "evidence": ["D9:9"]},
        {"question": "Nobody knows", "evidence": []},
    ]
    file = tmp_path / "locomo.json"
    file.write_text(json.dumps([{"conversation": {"session_1": said}, "qa": asked}]))
    return file


@pytest.fixture
def cranfield(tmp_path: Path) -> Path:
    """Give two abstracts, and a query whose number is not its place."""
    (tmp_path / "cran.all.1400").write_text(
        ".I 1\n.T\nwings\n.A\nx\n.B\ny\n.W\nlift of a\nwing\n"
        ".I 2\n.T\nheat\n.A\n.B\n.W\nhot plates\n"
    )
    (tmp_path / "cran.qry").write_text(".I 001\n.W\nwhat of wings\n.I 004\n.W\nhot things\n")
    (tmp_path / "QRelsCorrectedforTRECeval").write_text("2 0 2 3\n2 0 1 -1\n")
    return tmp_path


class TestCorpora:
    def test_locomo(self, locomo: Path) -> None:
        """Questions are asked whose evidence is there, however it is written."""
        (conversation,) = corpora.locomo(locomo)

        assert [id_ for id_, *_ in TURNS] == [turn.id for turn in conversation.turns]
        assert (Question("When is pottery?", {"D1:1": 1, "D1:2": 1}),) == conversation.questions

    def test_cranfield(self, cranfield: Path) -> None:
        """Judgements name a query by its place in the file; what is not relevant has no grade."""
        documents, questions = corpora.cranfield(cranfield)

        assert [("1", "wings", "lift of a wing"), ("2", "heat", "hot plates")] == [
            (each.id, each.title, each.text) for each in documents
        ]
        assert [Question("hot things", {"2": 3})] == questions


class TestScores:
    def test_recall(self) -> None:
        """Recall is the share of the evidence that was found."""
        assert 0.5 == retrieval.recall(["a", "x"], Question("", {"a": 1, "b": 1}))

    def test_ndcg(self) -> None:
        """The gain of a list is that of the best possible one at most, and less further down."""
        question = Question("", {"a": 3, "b": 1})

        assert 1.0 == retrieval.ndcg(["a", "b"], question)
        assert (1 + 3 / 1.5849625) / (3 + 1 / 1.5849625) == pytest.approx(
            retrieval.ndcg(["b", "a"], question)
        )


class TestRun:
    @pytest.mark.slow
    def test_json(self, locomo: Path, cranfield: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Every ranking is measured, and goals that are met exit with 0."""
        words = ["--locomo", str(locomo), "--cranfield", str(cranfield), "--json"]
        code = retrieval.main([*words, "--provider", "hashing"])
        found = json.loads(capsys.readouterr().out)

        assert set(retrieval.RANKINGS) == set(found["locomo"]) == set(found["cranfield"])
        assert 0.5 == found["locomo"]["words alone"]
        assert 1.0 == found["locomo"]["shipped"] == found["cranfield"]["shipped"]
        assert 0 == code
