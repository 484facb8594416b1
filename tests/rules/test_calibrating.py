from __future__ import annotations

from dataclasses import replace

import pytest

from cortex_actors.domain.insight import Claim
from cortex_actors.rules.calibration import (
    AS_GOOD,
    LEAST_OF_EACH,
    LEAST_PAIRS,
    Decided,
    Label,
    Score,
    suggest,
)
from cortex_actors.rules.contradiction import DEFAULTS, ThresholdTable

#: Thresholds that merge too late for the pairs below.
LATE = replace(DEFAULTS, merge=0.98, cluster=0.98, judged=0.7)


class TestScore:
    def test_shares(self) -> None:
        """Precision is of what was said, recall of what there is."""
        found = Score(said=4, right=3, wanted=6)

        assert (0.75, 0.5) == (found.precision, found.recall)
        assert pytest.approx(0.6) == found.f1

    def test_nothing(self) -> None:
        """Of nothing there is no share."""
        found = Score()

        assert (None, None, None) == (found.precision, found.recall, found.f1)


class TestMeasure:
    def test_contradiction(self) -> None:
        """A contradiction is found, and is never merged, however alike the two are."""
        pair = _pair("Always use tabs.", "Never use tabs.", 0.99, Label.CONTRADICTION)

        found = suggest([pair], DEFAULTS).now

        assert (Score(1, 1, 1), 0) == (found.contradictions, found.merged)

    def test_harmless(self) -> None:
        """A pair that was dismissed says nothing about merges."""
        found = suggest([_alike(0, 0.99, Label.HARMLESS)], DEFAULTS).now

        assert (Score(), Score()) == (found.merges, found.contradictions)

    def test_never_compared(self) -> None:
        """What the reconciler would not compare is not found."""
        pair = _alike(0, LATE.judged - 0.1, Label.DUPLICATE)

        assert Score(0, 0, 1) == suggest([pair], LATE).now.merges


class TestSuggest:
    def test_better(self) -> None:
        """Thresholds that find more of the right merges, and no wrong one, are suggested."""
        pairs = _some(20, 0.93, Label.DUPLICATE) + _some(10, 0.2, Label.DISTINCT)
        found = suggest(pairs, LATE)

        assert found.suggested.cluster <= 0.93
        assert (0.0, 1.0) == (found.now.merges.recall, found.then.merges.recall)
        assert "" == found.reason

    def test_as_good(self) -> None:
        """Thresholds that are as good as any stay as they are."""
        pairs = _some(20, 0.99, Label.DUPLICATE) + _some(10, 0.2, Label.DISTINCT)
        found = suggest(pairs, DEFAULTS)

        assert (DEFAULTS, AS_GOOD) == (found.suggested, found.reason)

    def test_no_wrong_merges(self) -> None:
        """Finding more is never worth a merge that is wrong beyond one in twenty."""
        pairs = _some(10, 0.95, Label.DUPLICATE) + _some(10, 0.85, Label.DISTINCT)
        found = suggest(pairs, replace(DEFAULTS, merge=0.8, cluster=0.8))

        assert 1.0 == found.then.merges.precision
        assert found.suggested.cluster > 0.85

    @pytest.mark.parametrize(
        ("same", "other", "reason"),
        [
            (LEAST_PAIRS - 2, 1, f"{LEAST_PAIRS - 1} of {LEAST_PAIRS}"),
            (LEAST_OF_EACH - 1, LEAST_PAIRS, "that are one claim"),
            (LEAST_PAIRS, LEAST_OF_EACH - 1, "that are not one claim"),
        ],
    )
    def test_too_few(self, same: int, other: int, reason: str) -> None:
        """With few pairs, or with pairs of one kind, nothing is suggested, and it says why."""
        pairs = _some(same, 0.93, Label.DUPLICATE) + _some(other, 0.2, Label.DISTINCT)
        found = suggest(pairs, LATE)

        assert reason in found.reason
        assert LATE == found.suggested


class TestLimits:
    def test_own(self) -> None:
        """A domain's thresholds hold for two statements of it, and for no other pair."""
        limits = ThresholdTable(DEFAULTS, {"python": LATE})

        assert LATE is limits.choose("python", "python")
        for left, right in (("python", None), (None, None), ("python", "rust"), ("rust", "rust")):
            assert DEFAULTS is limits.choose(left, right)

    def test_least(self) -> None:
        """What any domain compares is compared."""
        early = replace(DEFAULTS, judged=0.2)

        assert 0.2 == ThresholdTable(DEFAULTS, {"python": early, "rust": LATE}).judged


def _some(how_many: int, cosine: float, label: Label) -> list[Decided]:
    """Return pairs that say different things in nearly the same words."""
    return [_alike(number, cosine, label) for number in range(how_many)]


def _alike(number: int, cosine: float, label: Label) -> Decided:
    """Return a pair of which one says more, so that its cosine decides."""
    text = f"Water the garden {'x' * number} at dawn"
    return _pair(text, f"{text}, it cools the soil", cosine, label)


def _pair(left: str, right: str, cosine: float, label: Label) -> Decided:
    """Return a decided pair."""
    return Decided(Claim(left), Claim(right), cosine, label)
