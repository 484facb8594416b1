"""Whether two memories become one: thresholds, gates, and polarity before either."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cortex_actors.domain.insight import Conflict, Decider, Judgement, Relation
from cortex_actors.domain.memory import Layer
from cortex_actors.rules.contradiction import DEFAULTS
from cortex_actors.rules.merging import (
    MergeGates,
    MergeVerdict,
    Ruled,
    choose_deeper,
    is_faithful,
    judge_answer,
    judge_pair,
    score_neighbours,
)

REDIS, AGAIN = "Redis listens on port 6379 by default", "Redis by default listens on port 6379"


def _pairs() -> list[dict[str, Any]]:
    """Return the labelled pairs of the test data."""
    path = Path(os.environ.get("CORTEX_TEST_DATA") or "/nowhere") / "pairs.jsonl"
    if not path.exists():
        pytest.skip("CORTEX_TEST_DATA names no folder with pairs.jsonl")
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _ruled(text: str, other: str, cosine: float) -> Ruled:
    return judge_pair(text, other, cosine, gates=MergeGates(), thresholds=DEFAULTS)


class TestThresholds:
    @pytest.mark.parametrize(
        ("cosine", "expected"),
        [
            (0.9, MergeVerdict.MERGE),
            (0.8999, MergeVerdict.ASK),
            (0.2, MergeVerdict.ASK),
            (0.1999, MergeVerdict.SKIP),
            (-1, MergeVerdict.SKIP),
        ],
    )
    def test_cosine(self, cosine: float, expected: MergeVerdict) -> None:
        """A threshold itself is reached (M-13)."""
        one = "The nightly build takes ten minutes"
        other = "Some ten minutes are spent by each build on the server"

        assert expected is _ruled(one, other, cosine).verdict


class TestGates:
    def test_faithful(self) -> None:
        """Every cosine counts, and equality passes (M-7)."""
        assert is_faithful((0.6, 0.9), 0.6)
        assert not is_faithful((0.6, 0.9), 0.61)

    def test_neighbours(self) -> None:
        """The mean of the nearest counts; where nobody is, it is 0 (M-6)."""
        assert 0.0 == score_neighbours([], 3)
        assert pytest.approx(0.8) == score_neighbours([0.1, 0.7, 0.9, 0.8], 3)
        assert pytest.approx(0.5) == score_neighbours([0.5], 3)


class TestRuled:
    @pytest.mark.parametrize("cosine", [0.95, 0.6, 0.25])
    def test_same_words(self, cosine: float) -> None:
        """Two wordings of one fact are one from the lowest tier on."""
        assert MergeVerdict.MERGE is _ruled(REDIS, AGAIN, cosine).verdict

    def test_never(self) -> None:
        """Below the lowest tier nothing is, whatever the words."""
        assert MergeVerdict.SKIP is _ruled(REDIS, AGAIN, 0.19).verdict

    @pytest.mark.parametrize(
        ("text", "other"),
        [
            (REDIS, "Redis does not listen on port 6379 by default"),
            ("Never commit to main", "Always commit to main"),
            ("The system has three queues", "The system has two queues"),
            (f"We are in Rome. {REDIS}.", "Redis doesn't listen on port 6379 by default"),
        ],
    )
    @pytest.mark.parametrize("cosine", [0.99, 0.7])
    def test_opposite(self, text: str, other: str, cosine: float) -> None:
        """What cannot both hold is a conflict at every likeness, sentence by sentence."""
        assert MergeVerdict.CONFLICT is _ruled(text, other, cosine).verdict
        assert MergeVerdict.CONFLICT is _ruled(other, text, cosine).verdict

    @pytest.mark.parametrize(
        ("text", "other"),
        [
            ("The staging API listens on 8080", "The staging API listens on 9090"),
            ("Anna owns the parser", "Boris owns the parser"),
        ],
    )
    def test_values(self, text: str, other: str) -> None:
        """What differs in a value or a name is not one claim, at any likeness."""
        assert MergeVerdict.MERGE is not _ruled(text, other, 0.98).verdict

    @pytest.mark.parametrize("label", ["", "Ann: ", "Ann: [1:56 pm on 8 May] "])
    def test_label(self, label: str) -> None:
        """What every turn of a conversation begins with makes none of them alike."""
        one, other = "The choir sang so well!", "I went to the dentist yesterday"
        again = "So well the choir sang!"

        assert MergeVerdict.MERGE is not _ruled(label + one, label + other, 0.93).verdict
        assert MergeVerdict.MERGE is _ruled(label + one, label + again, 0.6).verdict

    def test_another_label(self) -> None:
        """What stands under another name or date is not the same."""
        one, other = "[8 May] The choir sang", "[9 May] The choir sang"

        assert MergeVerdict.MERGE is not _ruled(one, other, 0.97).verdict
        assert MergeVerdict.MERGE is not _ruled("Redis: port 1", "MySQL: port 2", 0.97).verdict

    def test_beginning(self) -> None:
        """Two that begin with the same words are not one claim."""
        one = "Thanks, Mel! Your kind words mean a lot. The class begins on Monday"
        other = "Thanks, Mel! Your kind words mean a lot. My brother sold his boat"

        assert MergeVerdict.MERGE is not _ruled(one, other, 0.8).verdict

    def test_always(self) -> None:
        """From the highest tier on nobody is asked."""
        one, other = "The build takes about ten minutes here", "Here a build lasts some ten minutes"

        assert MergeVerdict.MERGE is _ruled(one, other, 0.93).verdict
        assert MergeVerdict.ASK is _ruled(one, other, 0.45).verdict


class TestPairs:
    def test_labelled(self) -> None:
        """Of statements of real files no contradiction and nothing unrelated is merged."""
        merged: Counter[str] = Counter()
        for each in _pairs():
            said = _ruled(each["a"]["text"], each["b"]["text"], float(each["minilm_cos"]))
            merged[each["label"]] += said.verdict is MergeVerdict.MERGE

        assert (0, 0, 0) == tuple(
            merged[each] for each in ("contradiction", "related", "unrelated")
        )
        # Of 42 duplicates; the others have words of their own, or a name or an exception.
        assert merged["duplicate"] >= 15


class TestBelieved:
    def test_nobody(self) -> None:
        """Where nobody is sure they stay two."""
        assert MergeVerdict.SKIP is judge_answer(None, REDIS, AGAIN).verdict

    def test_same(self) -> None:
        """A model's word makes them one, and it is kept who said so."""
        said = Judgement(Relation.SAME, Decider.LLM, "same claim")

        assert Ruled(MergeVerdict.MERGE, Decider.LLM, "same claim") == judge_answer(
            said, REDIS, AGAIN
        )

    def test_value(self) -> None:
        """A model that overlooks a value is not believed."""
        said = Judgement(Relation.SAME, Decider.LLM, "same claim")
        other = REDIS.replace("6379", "6380")

        assert MergeVerdict.SKIP is judge_answer(said, REDIS, other).verdict

    def test_against(self) -> None:
        """A contradiction that a model sees is a conflict."""
        said = Judgement(Relation.CONTRADICTION, Decider.LLM, "not both", Conflict.DIRECT)

        assert MergeVerdict.CONFLICT is judge_answer(said, REDIS, AGAIN).verdict


class TestLayer:
    def test_deeper(self) -> None:
        """What is made of two lies as deep as the deeper one."""
        assert Layer.LONG_TERM is choose_deeper(Layer.LONG_TERM, Layer.SENSORY)
