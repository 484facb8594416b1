from __future__ import annotations

import pytest

from cortex_actors.domain.insight import Conflict, Decider, Relation
from cortex_actors.judging.nli import Row, make_judgement, read_rows

#: Rows of a model that is sure: contradiction, entailment, neutral.
AGAINST, FOLLOWS, NEITHER = (0.9, 0.06, 0.04), (0.05, 0.9, 0.05), (0.02, 0.08, 0.9)
UNSURE = (0.4, 0.3, 0.3)


class TestJudgement:
    @pytest.mark.parametrize(
        ("forth", "back", "relation"),
        [
            (AGAINST, AGAINST, Relation.CONTRADICTION),
            (FOLLOWS, FOLLOWS, Relation.SAME),
            (FOLLOWS, NEITHER, Relation.RELATED),
            (FOLLOWS, AGAINST, Relation.RELATED),
            (NEITHER, NEITHER, Relation.RELATED),
            (AGAINST, NEITHER, None),
            (AGAINST, UNSURE, None),
            (UNSURE, UNSURE, None),
        ],
    )
    def test_relation(self, forth: Row, back: Row, relation: Relation | None) -> None:
        """Contradiction, and being the same, must hold in both directions."""
        for rows in ((forth, back), (back, forth)):
            found = make_judgement(rows, 0.8)

            assert relation is (found and found.relation)

    def test_told(self) -> None:
        """A judgement says who decided, how far the two contradict, and how sure that is."""
        found = make_judgement((AGAINST, (0.85, 0.1, 0.05)), 0.8)

        assert found is not None
        assert (Decider.NLI, Conflict.DIRECT, 0.85) == (
            found.decider,
            found.conflict,
            found.confidence,
        )
        assert "0.85" in found.reason


class TestRows:
    def test_kept(self) -> None:
        """Probabilities come back as they were kept."""
        assert (AGAINST, NEITHER) == read_rows({"rows": [list(AGAINST), list(NEITHER)]})

    @pytest.mark.parametrize(
        "answer",
        [
            None,
            [],
            {},
            {"rows": None},
            {"rows": [[1, 0, 0]]},
            {"rows": [[1, 0], [1, 0]]},
            {"rows": [[1, 0, 0], [0.5, 0, 0]]},
            {"rows": [[1, 0, 0], ["1", 0, 0]]},
            {"rows": [[1, 0, 0], [1, 1, -1]]},
            {"rows": [[1, 0, 0], [float("nan"), 0, 0]]},
        ],
    )
    def test_damaged(self, answer: object) -> None:
        """What is no pair of rows of probabilities is none."""
        assert read_rows(answer) is None
