from __future__ import annotations

import json
from typing import Any

import pytest

from cortex_actors.domain.insight import Conflict, Decider, Judgement, Relation
from cortex_actors.errors import BadInput
from cortex_actors.judging import chat
from cortex_actors.judging.layer import QuestionKind

#: What a careful model says to a comparison.
SAID = {"reason": "tabs, spaces", "relation": "contradiction", "conflict": None, "confidence": 0.9}


def compared(**changes: Any) -> Judgement | None:
    """Return what is made of a comparison."""
    return chat.make_judgement(chat.read(QuestionKind.COMPARE, json.dumps({**SAID, **changes})))


class TestRead:
    @pytest.mark.parametrize(
        "content",
        [
            json.dumps(SAID),
            f"```json\n{json.dumps(SAID)}\n```",
            f"<think>Tabs? {{}} Spaces?</think>\n{json.dumps(SAID)}",
            json.dumps({"result": json.dumps(SAID)}),
            json.dumps({"result": SAID}),
            json.dumps({**SAID, "more": "than was asked"}),
        ],
    )
    def test_forgiven(self, content: str) -> None:
        """Fences, thoughts, wrappers and further keys around an answer cost nothing."""
        assert SAID == chat.read(QuestionKind.COMPARE, content)

    @pytest.mark.parametrize(
        "content",
        [
            "",
            "They are the same.",
            "null",
            "[]",
            "{}",
            json.dumps({**SAID, "relation": "identical"}),
            json.dumps({**SAID, "confidence": 2}),
            '{"reason": "", "relation": "same", "confidence": NaN}',
            json.dumps({"relation": "same"}),
            f"{json.dumps(SAID)}\n{json.dumps(SAID)}",
            '{"result": ' * 2_000,
        ],
    )
    def test_refused(self, content: str) -> None:
        """Anything else is no answer, and the error does not repeat it."""
        with pytest.raises(BadInput, match="another shape") as caught:
            chat.read(QuestionKind.COMPARE, content)

        assert "identical" not in str(caught.value)
        assert len(str(caught.value)) < 200

    def test_kept(self) -> None:
        """An answer that was kept is an answer of its kind only."""
        assert chat.accepts(QuestionKind.COMPARE, SAID)
        assert not chat.accepts(QuestionKind.MERGE, SAID)
        assert not chat.accepts(QuestionKind.COMPARE, None)


class TestJudgement:
    def test_contradiction(self) -> None:
        """A contradiction without a type is a direct one."""
        assert Judgement(
            Relation.CONTRADICTION,
            Decider.LLM,
            "tabs, spaces",
            conflict=Conflict.DIRECT,
            confidence=0.9,
        ) == (compared())

    def test_no_contradiction(self) -> None:
        """What is no contradiction has no type of one, whatever the model says."""
        found = compared(relation="same", conflict="partial")

        assert found is not None
        assert (Relation.SAME, None) == (found.relation, found.conflict)

    def test_guess(self) -> None:
        """A model that is not sure has not decided."""
        assert compared(confidence=0.49) is None

    def test_long_reason(self) -> None:
        """A reason is one line of at most 300 letters."""
        found = compared(reason="why\n" * 1_000)

        assert found is not None
        assert chat.REASON == len(found.reason)
        assert "\n" not in found.reason


class TestSchema:
    @pytest.mark.parametrize("kind", list(QuestionKind))
    def test_strict(self, kind: QuestionKind) -> None:
        """Every object of a schema names all its fields as required and allows no other."""

        def check(node: Any) -> int:
            if isinstance(node, list):
                return sum(map(check, node))
            if not isinstance(node, dict):
                return 0
            if node.get("type") == "object":
                assert node["additionalProperties"] is False
                assert set(node["properties"]) == set(node["required"])
            return (node.get("type") == "object") + sum(map(check, node.values()))

        assert check(chat.make_schema(kind)) > 0

    def test_names(self) -> None:
        """Fields that are called like words of the schema language are fields."""
        assert {"text"} == set(chat.make_schema(QuestionKind.MERGE)["properties"])
