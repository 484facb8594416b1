"""The answers of several stores as one list: formulas, vectors, ties, and what has no say."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex_actors.errors import BadInput
from cortex_actors.rules.ranking.fusion import (
    Listed,
    Mode,
    base_relevance,
    fuse,
    fuse_stores,
    rank_single,
    read_mode,
)
from tests.rules.answering import answers, hit, ids, listed, theirs

if TYPE_CHECKING:
    from random import Random

    from cortex_actors.domain.hit import RankedHit
    from cortex_actors.rules.ranking.fusion import FusedHit

MODES = st.sampled_from(Mode)


class TestBaseRelevance:
    @pytest.mark.parametrize(
        ("expected", "distance"),
        [(1.0, 0.0), (0.5, 1.0), (0.531575, 0.881202), (1.0, -0.3), (1.0, None), (0.0, math.inf)],
    )
    def test_vectors(self, expected: float, distance: float | None) -> None:
        """It is 1 / (1 + distance); below zero, or none, is no distance at all."""
        assert expected == pytest.approx(base_relevance(distance), abs=1e-6)

    def test_no_number(self) -> None:
        """A distance that is no number makes a hit related to nothing."""
        assert 0.0 == base_relevance(math.nan)


class TestOrder:
    def test_equal_stores(self) -> None:
        """Stores of equal weight take turns, the earlier one first."""
        fused = fuse_stores([listed("A", "a1 a2 a3"), listed("B", "b1 b2")])

        assert ["a1", "b1", "a2", "b2", "a3"] == ids(fused)
        assert [1, 1, 2, 2, 3] == [one.rank for one in fused]

    def test_heavier_store(self) -> None:
        """A store of twice the weight comes first."""
        fused = fuse_stores([listed("A", "a1 a2 a3"), listed("B", "b1 b2", weight=2)])

        assert ["b1", "b2", "a1", "a2", "a3"] == ids(fused)

    def test_formula(self) -> None:
        """A hit is worth weight / (k + rank), to the last digit."""
        fused = fuse_stores([listed("A", "a1 a2", weight=3)], k=60)

        assert [3 / 61, 3 / 62] == [one.score for one in fused]

    def test_k_zero(self) -> None:
        """A k of 0 makes the second place half of the first."""
        assert [1.0, 0.5] == [one.score for one in fuse_stores([listed("A", "a1 a2")], k=0)]

    def test_list_is_rank(self) -> None:
        """The order that a store gave is kept, whatever its relevances say."""
        fused = fuse_stores([listed("A", "a1 a2 a3", 0.1, 0.9, 0.5)], authority_margin=0)

        assert ["a1", "a2", "a3"] == ids(fused)

    def test_ties_of_one_measure(self) -> None:
        """Equal scores keep the configured order, however far apart the relevances are."""
        fused = fuse_stores([listed("A", "a1", 0.1), listed("B", "b1", 0.9)], authority_margin=0)

        assert ["a1", "b1"] == ids(fused)

    def test_same_id(self) -> None:
        """Two stores may use one id for two things."""
        fused = fuse_stores([listed("A", "1"), listed("B", "1")])

        assert [("A", "1"), ("B", "1")] == [(one.store, one.hit.id) for one in fused]

    def test_weight_zero(self) -> None:
        """What a store of weight 0 says is worth nothing, and comes last."""
        fused = fuse_stores([listed("A", "a1 a2", weight=0), listed("B", "b1")])

        assert [("b1", 1 / 61), ("a1", 0.0), ("a2", 0.0)] == [(o.hit.id, o.score) for o in fused]

    def test_nobody(self) -> None:
        """No stores, and stores that know nothing, make an empty list."""
        assert [] == fuse_stores([])
        assert [] == fuse_stores([listed("A", ""), listed("B", "")])


class TestFloor:
    def test_below(self) -> None:
        """What is below its store's floor is left out; what is at it stays; places close up."""
        fused = fuse_stores([listed("A", "a1 a2 a3", 0.2, 0.9, 0.3, floor=0.3)])

        assert [("a2", 1), ("a3", 2)] == [(one.hit.id, one.rank) for one in fused]

    @pytest.mark.parametrize("floor", [0.0, -1.0])
    def test_none(self, floor: float) -> None:
        """A floor of 0 or less leaves nothing out, not even what is worth nothing."""
        assert ["a1"] == ids(fuse_stores([listed("A", "a1", 0.0, floor=floor)]))

    def test_of_each(self) -> None:
        """One store's floor is nothing to another."""
        fused = fuse_stores([listed("A", "a1", 0.2, floor=0.3), listed("B", "b1", 0.2)])

        assert ["b1"] == ids(fused)


class TestModes:
    def test_percentile(self) -> None:
        """A place counts by how many of its list are not before it."""
        of_four = fuse_stores([listed("A", "a1 a2 a3 a4", weight=2)], mode="percentile")
        of_two = fuse_stores([listed("A", "a1 a2")], mode="percentile")

        assert [200.0, 150.0, 100.0, 50.0] == [one.score for one in of_four]
        assert [100.0, 50.0] == [one.score for one in of_two]
        assert [100.0, 75.0, 50.0, 25.0] == [one.percentile for one in of_four]

    def test_long_and_short(self) -> None:
        """The second of two stands before the second of four by place, and behind by percentile."""
        lists = [listed("SML", "s1 s2"), listed("BIG", "x1 x2 x3 x4")]

        assert ["s1", "x1", "s2", "x2"] == ids(fuse_stores(lists))[:4]
        assert ["s1", "x1", "x2"] == ids(fuse_stores(lists, mode="percentile"))[:3]

    def test_no_rounding(self) -> None:
        """Three times two thirds of 100 are twice 100: rounding decides no tie."""
        lists = [listed("A", "a1 a2 a3", weight=3), listed("B", "b1", weight=2)]

        assert ["a1", "a2", "b1", "a3"] == ids(fuse_stores(lists, mode="percentile"))

    def test_rrf_pct(self) -> None:
        """By place first, and of equal places the one that more of its list stand behind."""
        lists = [listed("A", "a0 a1"), listed("B", "b0 b1 b2 b3")]
        fused = fuse_stores(lists, mode="rrf_pct")

        assert ["a0", "b0", "b1", "a1", "b2", "b3"] == ids(fused)
        assert 1 / 62 == fused[2].score

    @pytest.mark.parametrize("mode", ["", "RRF", "rrf ", "cosine"])
    def test_unknown(self, mode: str) -> None:
        """A mode there is none of is refused, with those there are."""
        with pytest.raises(BadInput, match=r"valid: \['percentile', 'rrf', 'rrf_pct'\]"):
            read_mode(mode)
        with pytest.raises(BadInput, match=f"unknown fusion_mode '{mode}'"):
            fuse_stores([listed("A", "a1")], mode=mode)


class TestShown:
    def test_hit(self) -> None:
        """A hit that is shown says its place, its score and what that is of the best possible."""
        found = [
            one.shown for one in fuse_stores([theirs("A", "a1 a2", weight=2), theirs("B", "b1")])
        ]

        assert [("a1", 1), ("a2", 2), ("b1", 1)] == [(h.id, h.store_rank) for h in found]
        assert [2 / 61, 2 / 62, 1 / 61] == [each.fused_score for each in found]
        assert [1.0, 61 / 62, 0.5] == pytest.approx([each.score for each in found])

    @pytest.mark.parametrize("mode", list(Mode))
    def test_weights_of_any_size(self, mode: Mode) -> None:
        """However heavy the stores are, scores lie between 0 and 1 and keep their order."""
        fused = fuse_stores(
            [theirs("A", "a1 a2", weight=500), theirs("B", "b1", weight=7)], mode=mode
        )
        scores = [one.shown.score for one in fused]

        assert 1.0 == scores[0]
        assert sorted(set(scores), reverse=True) == scores

    def test_only_nothing(self) -> None:
        """Stores that are worth nothing have hits that are worth nothing."""
        assert [0.0] == [one.shown.score for one in fuse_stores([theirs("A", "a1", weight=0)])]

    def test_ours(self) -> None:
        """What is known here keeps its own score beside other stores, wherever it stands."""
        ours = Listed("A", [hit("a1", 0.5, score=0.7)], weight=0.5)
        found = [one.shown for one in fuse_stores([ours, theirs("B", "b1")])]

        assert [("b1", 1.0), ("a1", 0.7)] == [(each.id, each.score) for each in found]

    def test_alone(self) -> None:
        """The only store there is keeps its order and its scores, above any floor or below."""
        hits = [hit("a1", 0.0, score=0.7), hit("a2", 1.0, score=0.9)]
        found = rank_single(Listed("A", hits, weight=3, floor=0.5))

        assert [("a1", 0.7, 1), ("a2", 0.9, 2)] == [
            (o.hit.id, o.shown.score, o.rank) for o in found
        ]


class TestRefusals:
    @pytest.mark.parametrize("weight", [-0.1, math.nan, math.inf])
    def test_weight(self, weight: float) -> None:
        """A weight that means nothing is refused with its store's name."""
        with pytest.raises(ValueError, match="'A'"):
            fuse_stores([listed("A", "a1", weight=weight)])

    @pytest.mark.parametrize("k", [-1, math.nan, math.inf])
    def test_k(self, k: float) -> None:
        """So is a k that would divide by nothing."""
        with pytest.raises(ValueError, match=f"k={k}"):
            fuse_stores([], k=k)


class TestProperties:
    @settings(max_examples=50)
    @given(answers(), MODES, st.floats(1e-6, 1e6), st.floats(-5, 5))
    def test_embedder_has_no_say(
        self, lists: list[Listed], mode: Mode, scale: float, shift: float
    ) -> None:
        """One store's measures may be stretched and moved: places and scores stay what they are."""
        for number, one in enumerate(lists):
            other = replace(one, hits=[_measured(each, scale, shift) for each in one.hits])
            changed = [*lists[:number], other, *lists[number + 1 :]]

            assert _worths(fuse_stores(lists, mode=mode, authority_margin=0)) == _worths(
                fuse_stores(changed, mode=mode, authority_margin=0)
            )

    @settings(max_examples=50)
    @given(answers(), MODES, st.floats(0.001, 1))
    def test_authority_moves_one(self, lists: list[Listed], mode: Mode, margin: float) -> None:
        """Authority moves one hit at most, and only among those that are worth the same."""
        plain = fuse_stores(lists, mode=mode, authority_margin=0)
        found = fuse_stores(lists, mode=mode, authority_margin=margin)

        assert [one.score for one in plain] == pytest.approx([one.score for one in found])
        if ids(plain) != ids(found):
            first = plain.index(found[0])
            assert [found[0], *plain[:first], *plain[first + 1 :]] == found
            assert 1 == found[0].rank

    @settings(max_examples=50)
    @given(answers(), MODES, st.randoms(use_true_random=False))
    def test_order_of_stores(self, lists: list[Listed], mode: Mode, chance: Random) -> None:
        """Another order of the stores changes no score, and nothing but the order of equal ones."""
        other = list(lists)
        chance.shuffle(other)
        one, another = (fuse_stores(each, mode=mode, authority_margin=0) for each in (lists, other))

        assert sorted(_worths(one)) == sorted(_worths(another))
        assert [each.score for each in one] == [each.score for each in another]

    @settings(max_examples=50)
    @given(answers(), MODES, st.sampled_from([0.25, 2, 8]))
    def test_only_ratios(self, lists: list[Listed], mode: Mode, factor: float) -> None:
        """All weights times the same is the same order, and the same shares."""
        heavier = [replace(each, weight=each.weight * factor) for each in lists]
        one, another = fuse_stores(lists, mode=mode), fuse_stores(heavier, mode=mode)

        assert ids(one) == ids(another)
        assert [each.share for each in one] == [each.share for each in another]

    @settings(max_examples=50)
    @given(answers(least=1), MODES)
    def test_weight_helps(self, lists: list[Listed], mode: Mode) -> None:
        """A store that is made heavier has no hit further back than before."""
        heavier = [replace(lists[0], weight=lists[0].weight * 2), *lists[1:]]
        before = ids(fuse_stores(lists, mode=mode, authority_margin=0))
        after = ids(fuse_stores(heavier, mode=mode, authority_margin=0))

        assert all(after.index(each.id) <= before.index(each.id) for each in lists[0].hits)

    @settings(max_examples=50)
    @given(answers(), MODES)
    def test_everything_once(self, lists: list[Listed], mode: Mode) -> None:
        """Every hit is there once, best first, and each store's own hits stay in their order."""
        fused = fuse_stores(lists, mode=mode)

        assert sorted(hit.id for each in lists for hit in each.hits) == sorted(ids(fused))
        assert sorted((one.score for one in fused), reverse=True) == pytest.approx(
            [one.score for one in fused]
        )
        for each in lists:
            assert [hit.id for hit in each.hits] == ids([o for o in fused if o.store == each.store])

    @settings(max_examples=50)
    @given(st.integers(0, 30), st.integers(0, 100))
    def test_one_formula(self, count: int, k: int) -> None:
        """A list of one search and the answer of one store are worth the same, place by place."""
        inside = fuse({"words": [f"{n:02}" for n in range(count)]}, k=k)
        found = fuse_stores([listed("A", " ".join(f"{n:02}" for n in range(count)))], k=k)

        assert [each.id for each in inside] == ids(found)
        assert [each.score for each in inside] == pytest.approx([one.share for one in found])


def _measured(given_: RankedHit, scale: float, shift: float) -> RankedHit:
    """Return a hit as a store with another embedder would measure it, wherever it stands."""
    return replace(given_, base_relevance=given_.base_relevance * scale + shift)


def _worths(fused: list[FusedHit]) -> list[tuple[str, float]]:
    """Return what each hit is worth, in order."""
    return [(one.hit.id, one.score) for one in fused]
