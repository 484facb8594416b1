"""Chances that hits answer a question, and what a question is about."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex_actors.rules.ranking import relevance
from cortex_actors.rules.ranking.relevance import (
    PIECES,
    find_subject,
    flatten_rises,
    rarity,
    score,
    weigh_shares,
    weigh_telling,
)
from cortex_actors.rules.ranking.rerank import Pieces

#: Followed projects: id, folder, repository.
PROJECTS = (
    ("p1", "tide-router", "github.com/harbor/tide-router"),
    ("p2", "tide", "github.com/harbor/tide"),
    ("p3", "core", "github.com/lighthouse/core"),
    ("p4", "Buoy_Public", None),
)


class TestScore:
    @settings(max_examples=50)
    @given(st.floats(-1, 1), st.floats(0, 1), st.integers(0, 20), st.booleans())
    def test_chance(self, cosine: float, held: float, words: int, is_meant: bool) -> None:
        """A score is a chance, and no part of what speaks for a hit lowers it."""
        found = score(cosine, held, words=words, meant=float(is_meant))

        assert 0 < found < 1
        assert found <= score(min(cosine + 0.1, 1), held, words=words, meant=float(is_meant))
        assert found <= score(cosine, min(held + 0.1, 1), words=words, meant=float(is_meant))
        assert found <= score(cosine, held, words=words, meant=1.0)

    def test_clear_cases(self) -> None:
        """What is near and holds the words is an answer; what shares neither is weak."""
        assert score(0.7, 0.9, words=5, meant=1.0) > 0.8
        assert score(0.2, 0.0, words=5, meant=0.0) < relevance.WEAK

    def test_led(self) -> None:
        """What leads the list of words is likelier, unless the same words alone are held."""
        places = [1, 2, 10, 1e9]
        found = [score(0.5, 0.5, words=5, meant=1.0, led=1 / n, odds=PIECES) for n in places]
        plain = {score(0.5, 0.5, words=5, meant=1.0, led=1 / n) for n in places}

        assert sorted(found, reverse=True) == found
        assert 1 == len(plain)

    def test_about_none(self) -> None:
        """Without a project that is meant, each of few is as likely as that; each of many half."""
        shares = [relevance.weigh_unaimed(count) for count in (0, 1, 2, 18, 1_000)]

        assert [1.0, 1.0] == shares[:2]
        assert relevance.ANYONES < shares[2] < 1.0
        assert [relevance.ANYONES] * 2 == shares[3:]

    def test_cosines_that_tell(self) -> None:
        """Cosines of a model that counts words say nothing of the meaning."""
        assert not relevance.tells("hashing-v1-384")
        assert relevance.tells("all-MiniLM-L6-v2+int8")

    def test_bare_word(self) -> None:
        """A word that is looked for by itself is found where it stands, however far the meaning."""
        words = relevance.count_telling("zebra crossing", {"zebra": 1.0, "crossing": 1.0})

        assert score(0.1, 1.0, words=words, meant=0.0) > relevance.WEAK
        assert 1 == relevance.count_telling("what is a zebra", {"zebra": 1.0})

    def test_preference_has_bounds(self) -> None:
        """A good hit of another project stands before a poor one of the project that is meant."""
        other = score(0.75, 1.0, words=5, meant=0.0)

        assert other > score(0.3, 0.2, words=5, meant=1.0)


class TestShares:
    def test_weights(self) -> None:
        """A text holds the share of the words by weight, in whatever form they stand."""
        found = weigh_shares(
            {"deploy": 3.0, "monday": 1.0}, ["We deployed it.", "On Mondays.", "Never."]
        )

        assert [0.75, 0.25, 0.0] == pytest.approx([share for share, _ in found])
        assert [True, True, False] == [is_held for _, is_held in found]

    def test_near_words(self) -> None:
        """With the pieces of a model a word that means nearly the same counts as far as it does."""
        numbers = {"port": 0, "socket": 1, "apple": 2}
        rows = np.rint(127 * np.array([[1, 0], [0.8, 0.6], [0, 1]])).astype(np.int8)
        pieces = Pieces(rows, lambda word: np.array([numbers[word]]))
        (near, is_near), (far, _) = weigh_shares({"port": 1.0}, ["socket", "apple"], pieces=pieces)

        assert 0.8 == pytest.approx(near, abs=0.01)
        assert (False, 0.0) == (is_near, far)

    def test_called_by_name(self) -> None:
        """What a question calls by name is held by a text that has the name, not by one like it."""
        rows = np.rint(127 * np.array([[1, 0], [0.8, 0.6]])).astype(np.int8)
        pieces = Pieces(rows, lambda word: np.array([int(word == "harborbase")]))
        ask = partial(weigh_shares, {"tidebase": 1.0}, ["harborbase", "tidebase"], pieces=pieces)
        loose, strict = ask(question="What is a tidebase?"), ask(question="What reads TideBase?")

        assert [0.8, 1.0] == pytest.approx([share for share, _ in loose], abs=0.02)
        assert [0.0, 1.0] == pytest.approx([share for share, _ in strict], abs=0.02)

    @pytest.mark.parametrize(
        ("question", "lacks"),
        [
            ("which test port is free?", [True, False, False]),
            ("how many ports are free?", [True, False, False]),
            ("how do I port it?", [False, False, False]),
        ],
    )
    def test_number(self, question: str, lacks: list[bool]) -> None:
        """Where a number is asked for, a text without one holds less of the question."""
        texts = ["The port is free.", "The port is 80.", "The port is one of three."]
        found = weigh_shares({"port": 1.0}, texts, question=question)

        assert lacks == [share < 1 for share, _ in found]

    def test_nothing(self) -> None:
        """Without words, or without a word in a text, nothing is held."""
        assert [(0.0, False)] == weigh_shares({}, ["text"])
        assert [(0.0, False)] == weigh_shares({"text": 1.0}, ["?!"])
        assert [] == weigh_shares({"text": 1.0}, [])

    def test_rarity(self) -> None:
        """A rare word weighs more than a common one, and none less than nothing."""
        assert rarity(0, 5_000) > rarity(10, 5_000) > rarity(2_500, 5_000) > rarity(5_000, 5_000)
        assert rarity(5_000, 5_000) > 0

    def test_asking_words(self) -> None:
        """That a question asks for a project says nothing of what for, unless nothing else does."""
        assert {"lint": 2.0} == weigh_telling({"project": 1.0, "lint": 2.0})
        assert {"project": 1.0} == weigh_telling({"project": 1.0})


class TestFalling:
    @settings(max_examples=50)
    @given(st.lists(st.floats(0, 1), max_size=20))
    def test_never_rises(self, chances: list[float]) -> None:
        """Chances in an order of their own never rise, and keep their sum."""
        found = flatten_rises(chances)

        assert all(one >= other - 1e-9 for one, other in pairwise(found))
        assert sum(chances) == pytest.approx(sum(found))

    def test_falling_already(self) -> None:
        """Chances that fall stay what they are."""
        assert [0.9, 0.5, 0.5, 0.1] == flatten_rises([0.9, 0.5, 0.5, 0.1])


class TestSubject:
    @pytest.mark.parametrize(
        ("question", "text", "named"),
        [
            ("how do I build tide router?", "how do I build ?", {"p1"}),
            ("how do I build Tide-Router?", "how do I build ?", {"p1"}),
            ("is tide slower than tiderouter", "is slower than", {"p1", "p2"}),
            ("who tests the core of it?", "who tests the core of it?", set()),
            ("who tests lighthouse core?", "who tests ?", {"p3"}),
            ("what does buoy listen on", "what does listen on", {"p4"}),
            ("tide", "tide", {"p2"}),
            ("which tides are high", "which tides are high", set()),
        ],
    )
    def test_names(self, question: str, text: str, named: set[str]) -> None:
        """A project is named as people write it; what is left says what is asked for."""
        found = find_subject(question, PROJECTS)

        assert (text, named) == (found.text, set(found.named))

    def test_no_projects(self) -> None:
        """Without projects a question is about itself."""
        assert ("how are you?", frozenset()) == (
            find_subject("how are you?", ()).text,
            find_subject("how are you?", ()).named,
        )
