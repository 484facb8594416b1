"""Earning: what may count as one claim, and what a cluster has earned together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cortex_actors.clock import DAY
from cortex_actors.domain.insight import Granularity
from cortex_actors.domain.principle import Origin
from cortex_actors.domain.project import Decision, StatementKind
from cortex_actors.pipeline.evidence import Scales, has_earned
from cortex_actors.pipeline.promotion import TOGETHER, PromotionUnit, agree, load_pools
from cortex_actors.rules.promotion import PromotionThresholds
from cortex_actors.storage.pipeline.insight_evidence import SpokenText

NOW = 1_000 * DAY
SCALES = Scales(NOW, PromotionThresholds(confidence=0.5, observations=2, age=0), (), ())


def text(name: str, content: str, *, by: str = "a") -> SpokenText:
    """Return a rule that one project says."""
    path = f"/{by}/CLAUDE.md"
    return SpokenText(
        name,
        content,
        None,
        Granularity.STATEMENT,
        None,
        None,
        is_free=True,
        category="convention",
        status="active",
        confidence=0.5,
        kind=StatementKind.RULE,
        projects={by},
        voices={by},
        paths={path},
        scopes={""},
        revisions={(path, by, NOW // DAY): (NOW, NOW)},
    )


SMALL = text("a", "Keep pull requests small and easy to review.")
SPLIT = text("b", "Split large changes into reviewable pieces.", by="b")


def pooled(*others: SpokenText, cosine: float = TOGETHER) -> list[PromotionUnit]:
    """Return what a cluster around the first text earns, whose members have that cosine with it."""
    some = [SMALL, *others]
    rows = {SMALL.id: np.array([1.0, 0.0], np.float32)}
    near = np.array([cosine, (1 - cosine**2) ** 0.5], np.float32)
    rows |= {each.id: near for each in others}
    texts = {each.id: [each] for each in some}
    return load_pools([(SMALL.id, [each.id for each in some])], texts, SCALES, rows=rows)


class TestAgree:
    @pytest.mark.parametrize(
        "other",
        [
            "Never keep pull requests small and easy to review.",
            "Keep pull requests small, below 400 lines, and easy to review.",
        ],
    )
    def test_at_odds(self, other: str) -> None:
        """What contradicts or gives another value is another claim, however near."""
        one = replace(SMALL, content="Keep pull requests small, below 200 lines, easy to review.")
        assert not agree(one, replace(SPLIT, content=other))

    def test_place(self) -> None:
        """What holds elsewhere is another claim."""
        one = replace(SMALL, content="In tests, keep functions small.")
        assert not agree(one, replace(SPLIT, content="In production, keep functions small."))

    def test_script(self) -> None:
        """Texts in a script that no model knows are one only if their letters are."""
        one = replace(SMALL, content="\u53ea\u5728\u5fc5\u8981\u65f6\u624d\u4f18\u5316\u4ee3\u7801")
        other = "\u6240\u6709\u6d4b\u8bd5\u5fc5\u987b\u901a\u8fc7\u624d\u80fd\u5408\u5e76"
        assert not agree(one, replace(SPLIT, content=other))

    def test_sections(self) -> None:
        """Sections are compared by the document's words, and never with a statement."""
        one = replace(SMALL, content="Always use tabs.", granularity=Granularity.SECTION)
        other = replace(one, id="c", content="Never use tabs.")

        assert not agree(one, other)
        assert not agree(one, SPLIT)
        assert agree(one, replace(one, id="d", content="Use tabs always and everywhere."))


class TestPools:
    def test_together(self) -> None:
        """What two projects say in two ways has been earned together, and by neither alone."""
        assert [PromotionUnit("b", ("a", "b"), Origin.CLUSTER)] == pooled(SPLIT)
        assert not any(has_earned([each], SCALES) for each in (SMALL, SPLIT))

    def test_rider(self) -> None:
        """However many wordings one project has, what it adds to another's words is not spread."""
        more = "Keep pull requests small and easy to review by mallory."
        some = [text(each, f"{more[:-1]} {each}.", by="evil") for each in ("x", "y", "z")]
        rows = {each: np.array([1.0, 0.0], np.float32) for each in ("a", "x", "y", "z")}
        texts = {each.id: [each] for each in (SMALL, *some)}

        found = load_pools([("x", ["a", "x", "y", "z"])], texts, SCALES, rows=rows)
        assert ["a"] == [each.voice for each in found]

    def test_far(self) -> None:
        """What is only about the same thing counts for nobody."""
        assert [] == pooled(SPLIT, cosine=TOGETHER - 0.01)

    @pytest.mark.parametrize(
        "kind", [StatementKind.FACT, StatementKind.COMMAND, StatementKind.EXAMPLE]
    )
    def test_asks_nothing(self, kind: StatementKind) -> None:
        """What projects tell of themselves claims nothing together."""
        assert [] == pooled(replace(SPLIT, kind=kind))

    def test_one_voice(self) -> None:
        """Two checkouts of one repository have earned nothing together."""
        assert [] == pooled(replace(SPLIT, voices=SMALL.voices))

    def test_not_said(self) -> None:
        """What no file says any more counts for nobody, whoever approved it."""
        gone = replace(SPLIT, paths=set(), projects=set(), voices=set())
        approved = replace(SCALES, decisions={gone.id: Decision.APPROVED})

        assert [] == pooled(gone)
        assert not has_earned([gone], approved)
