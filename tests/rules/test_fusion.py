from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.rules.ranking.fusion import (
    DENSE_ALONE,
    DOCUMENT,
    MEASURED,
    WORDS_ALONE,
    K,
    fuse,
)
from cortex_actors.storage.search.query import ListedItem, Lists

if TYPE_CHECKING:
    from collections.abc import Sequence

LIST = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=6)
LISTS = st.dictionaries(st.sampled_from(["dense", "text", "graph"]), LIST)


def listed(ids: list[str], *, best: float = 1.0) -> Sequence[ListedItem]:
    """Return a list in order whose scores fall from the best one."""
    return [ListedItem("c", id_, best / rank) for rank, id_ in enumerate(ids, start=1)]


class TestScore:
    def test_first_everywhere(self) -> None:
        """The first place in every list is worth exactly 1."""
        fused = fuse({"dense": list("ab"), "text": list("ac"), "graph": list("a")})

        assert ("a", 1.0) == (fused[0].id, fused[0].score)

    def test_formula(self) -> None:
        """An item is worth its sum of 1 / (k + rank), divided by the best possible sum."""
        fused = fuse({"dense": list("ab"), "text": list("cb")})
        best = 2 / (K + 1)

        assert ["b", "a", "c"] == [item.id for item in fused]
        assert 2 / (K + 2) / best == pytest.approx(fused[0].score)
        assert 1 / (K + 1) / best == pytest.approx(fused[1].score)

    def test_empty_list_counts(self) -> None:
        """A list that was asked and knew nothing lowers what the others can reach."""
        assert 0.5 == pytest.approx(fuse({"dense": list("a"), "text": []})[0].score)

    def test_ranks_kept(self) -> None:
        """Each item says which place it had in which list."""
        fused = fuse({"dense": list("ab"), "text": list("b")})

        assert {"dense": 2, "text": 1} == next(f.ranks for f in fused if f.id == "b")

    def test_twice_in_a_list(self) -> None:
        """An item that a list holds twice has its better place there."""
        assert {"dense": 1} == fuse({"dense": list("aba")})[0].ranks


class TestOrder:
    def test_ties(self) -> None:
        """Equal scores are in the order of the ids."""
        fused = fuse({"dense": list("b"), "text": list("a")})

        assert ["a", "b"] == [item.id for item in fused]

    def test_weights(self) -> None:
        """A heavier list decides between two first places; weight 0 takes no part."""
        lists = {"dense": list("a"), "text": list("b")}

        assert "b" == fuse(lists, weights={"text": 2.0})[0].id
        assert ["a"] == [item.id for item in fuse(lists, weights={"text": 0.0})]

    def test_limit(self) -> None:
        """No more items come back than were asked for."""
        lists = {"dense": list("abc")}

        assert ["a", "b"] == [item.id for item in fuse(lists, limit=2)]
        assert [] == fuse(lists, limit=0)


def by_document(dense: str, words: str) -> dict[str, float]:
    """Return memories fused as the document has it, in order."""
    lists = {DENSE_ALONE: list(dense), WORDS_ALONE: list(words)}
    fused = fuse(
        lists, weights=DOCUMENT.weights, k=DOCUMENT.k, first=DOCUMENT.first, absent=len(dense) + 1
    )
    return {item.id: item.score for item in fused}


class TestDocument:
    def test_no_word(self) -> None:
        """Without a word in common, nearness alone decides, and all stand last by words."""
        found = by_document("54321", "")

        assert ["5", "4", "3", "2", "1"] == list(found)
        assert [0.9615, 0.9533, 0.9454, 0.9377, 0.9303] == pytest.approx(
            [*found.values()], abs=1e-4
        )

    def test_words(self) -> None:
        """With words in all of them, the places of both lists count alike."""
        found = by_document("54321", "41235")
        expected = {"4": 0.9918, "5": 0.9687, "1": 0.9606, "2": 0.9601, "3": 0.9601}

        assert list(expected) == list(found)
        assert expected == pytest.approx(found, abs=1e-4)

    def test_only_one(self) -> None:
        """The only memory, without a word in common, is one place short of the best."""
        assert {"1": 0.9918} == pytest.approx(by_document("1", ""), abs=1e-4)

    def test_best(self) -> None:
        """The first place in both lists is worth exactly 1."""
        assert 1.0 == by_document("12", "1")["1"]


class TestProfiles:
    def test_document(self) -> None:
        """The document fuses two lists, over the plain texts, with equal weights and k = 60."""
        assert (DENSE_ALONE, WORDS_ALONE) == DOCUMENT.lists
        assert (60, {1.0}) == (DOCUMENT.k, set(DOCUMENT.weights.values()))

    def test_measured(self) -> None:
        """What measures best are all four lists, the words with their predecessor twice."""
        lists = ("dense_alone", "words_alone", "dense_paired", "words_paired")

        assert lists == MEASURED.lists
        assert (5, [1, 1, 1, 2]) == (MEASURED.k, [MEASURED.weights[name] for name in lists])


class TestNothing:
    def test_no_lists(self) -> None:
        """Nothing fused is nothing."""
        assert [] == fuse({})
        assert [] == fuse({"dense": list("a")}, weights={"dense": 0.0})


class TestRefusals:
    @pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf])
    def test_weight(self, weight: float) -> None:
        """A weight that means nothing is refused with the list's name."""
        with pytest.raises(ValueError, match="dense"):
            fuse({"dense": list("a")}, weights={"dense": weight})

    def test_negative(self) -> None:
        """A negative k or limit is refused."""
        with pytest.raises(ValueError, match="k=-1"):
            fuse({}, k=-1)
        with pytest.raises(ValueError, match="limit=-1"):
            fuse({}, limit=-1)


class TestProperties:
    @given(LISTS, st.floats(1e-6, 1e6))
    def test_scores_have_no_say(self, lists: dict[str, list[str]], scale: float) -> None:
        """Rescaling the scores of one list changes nothing."""
        given_ = {name: listed(ids) for name, ids in lists.items()}
        scaled = given_ | {"dense": listed(lists.get("dense", []), best=scale)}
        given_.setdefault("dense", [])

        assert Lists(given_).fuse(MEASURED) == Lists(scaled).fuse(MEASURED)

    @given(LISTS)
    def test_order_of_lists(self, lists: dict[str, list[str]]) -> None:
        """The order in which the lists are given changes nothing."""
        reverse = dict(reversed(lists.items()))

        assert fuse(lists) == fuse(reverse)

    @given(LISTS, st.integers(0, 100))
    def test_everything_once(self, lists: dict[str, list[str]], k: int) -> None:
        """Every item comes back once, best first, with a score in (0, 1]."""
        fused = fuse(lists, k=k)
        scores = [item.score for item in fused]

        assert sorted({id_ for ids in lists.values() for id_ in ids}) == sorted(f.id for f in fused)
        assert sorted(scores, reverse=True) == scores
        assert all(0 < score <= 1 for score in scores)
