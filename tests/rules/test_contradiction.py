from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.rules.contradiction import Opposition, contradicts, find_opposition

WORDS = st.lists(
    st.sampled_from(
        "always never use avoid should not must prefer enable disable don't do tabs".split()
    ),
    max_size=8,
).map(" ".join)


class TestVectors:
    @pytest.mark.parametrize(
        ("left", "right"),
        [
            ("Always indent with tabs.", "Never indent with tabs."),
            ("use spaces", "because we avoid spaces"),
            ("You must log it.", "You must not log it."),
            ("You SHOULD test", "you should\nnot test"),
            ("prefer pnpm", "avoid pnpm"),
            ("enable the cache", "disable the cache"),
        ],
    )
    def test_opposite(self, left: str, right: str) -> None:
        """Texts of which one negates the other contradict each other, either way round."""
        assert contradicts(left, right)
        assert contradicts(right, left)

    @pytest.mark.parametrize(
        ("left", "right"),
        [
            ("Users focus", "avoid"),
            ("should test", "should test"),
            ("You should not test", "You should not log"),
            ("the domain", "don't"),
            ("", ""),
        ],
    )
    def test_not_opposite(self, left: str, right: str) -> None:
        """A word inside another, or inside its own negation, is not that word."""
        assert not contradicts(left, right)


class TestNegatedWords:
    @pytest.mark.parametrize("right", ["Do not use tabs", "Don't use tabs", "don\u2019t use tabs"])
    def test_against_the_word(self, right: str) -> None:
        """A negated word says the opposite of the word."""
        assert Opposition("use", "not use") == find_opposition("Use tabs", right)

    @pytest.mark.parametrize(
        "right", ["Do not use tabs", "Never use tabs", "Avoid the use of tabs"]
    )
    def test_with_its_like(self, right: str) -> None:
        """Two ways to forbid one thing agree."""
        assert not contradicts("Avoid tabs", right)


class TestAgreement:
    @given(WORDS)
    def test_with_itself(self, text: str) -> None:
        """No text contradicts itself, even one that says both sides."""
        assert not contradicts(text, text)

    @given(WORDS, WORDS)
    def test_order(self, left: str, right: str) -> None:
        """Who speaks first does not matter."""
        assert contradicts(left, right) is contradicts(right, left)

    def test_one_side_of_two(self) -> None:
        """A text that says both sides contradicts one that says only the other."""
        assert contradicts("Use tabs. Avoid spaces.", "Avoid tabs.")
