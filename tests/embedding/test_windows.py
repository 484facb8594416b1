from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.embedding.tokens import Window, cut_windows, pool_rows, split_text

#: Texts of words, line ends, sentences and letters of several bytes.
TEXTS = st.text(alphabet="ab é東.。!\n\r\t ", max_size=300)


def tokens(text: str) -> list[tuple[int, int]]:
    """Return the places of a tokeniser's tokens: two letters at most, and no white space."""
    return [match.span() for match in re.finditer(r"[^\s]{1,2}", text)]


def halved(text: str) -> list[tuple[int, int]]:
    """Return the places of a byte-level tokeniser's tokens: `é` and `東` are two or three each."""
    sizes = {"é": 2, "東": 3}
    return [(i, i + 1) for i, letter in enumerate(text) for _ in range(sizes.get(letter, 1))]


class TestNothingLost:
    @given(text=TEXTS, room=st.integers(1, 40))
    def test_letters(self, text: str, room: int) -> None:
        """The windows follow one another without a gap, from the first letter to the last."""
        found = cut_windows(text, tokens(text), room)

        assert text == "".join(text[each.start : each.end] for each in found)
        assert [0, *(each.end for each in found[:-1])] == [each.start for each in found]

    @given(text=TEXTS, room=st.integers(1, 40))
    def test_tokens(self, text: str, room: int) -> None:
        """Every token is in exactly one window, whole, and no window has more than fit."""
        places = tokens(text)
        found = cut_windows(text, places, room)
        held = [
            sum(each.start <= start and end <= each.end for start, end in places) for each in found
        ]

        assert held == [each.tokens for each in found]
        assert len(places) == sum(held)
        assert max(held) <= room

    @given(text=TEXTS, room=st.integers(4, 40))
    def test_shared_letters(self, text: str, room: int) -> None:
        """Tokens that share a letter stay together."""
        found = cut_windows(text, halved(text), room)

        assert text == "".join(text[each.start : each.end] for each in found)
        assert len(halved(text)) == sum(each.tokens for each in found)
        assert max(each.tokens for each in found) <= room

    @given(text=TEXTS, limit=st.integers(1, 40))
    def test_counted(self, text: str, limit: int) -> None:
        """Pieces that are cut by counting join to the text, and each fits."""
        pieces = split_text(text, limit, len)

        assert text == "".join(pieces)
        assert all(len(piece) <= limit for piece in pieces)


class TestPlaces:
    def test_short(self) -> None:
        """A text that fits is one window."""
        assert [Window(0, 7, 4)] == cut_windows("aa bb c", [*tokens("aa bb c"), (6, 7)], 4)

    @pytest.mark.parametrize(
        ("text", "first"),
        [
            ("a a a a a a a\na a a a", "a a a a a a a\n"),
            ("a a a a a a. a a a a a", "a a a a a a. "),
            ("a a a a a a。a a a a a", "a a a a a a。"),
            ("a a a. a a a a a a a a", "a a a. a a a a a "),
            ("aabbccddeeffgghhiijjkk", "aabbccddeeffgghh"),
        ],
        ids=["line", "sentence", "wide", "too far back", "one word"],
    )
    def test_end(self, text: str, first: str) -> None:
        """A window ends after a line, else a sentence, else a word, not far from its limit."""
        window, *_ = cut_windows(text, tokens(text), 8)

        assert first == text[: window.end]

    def test_counted_end(self) -> None:
        """A piece that is cut by counting ends at as good a place."""
        text = "One two three. Four five six seven"

        assert "One two three. " == split_text(text, 18, len)[0]
        assert "One two three. Four " == split_text(text, 23, len)[0]

    def test_long(self) -> None:
        """A megabyte is cut by counting without counting it all for each piece."""
        counted = 0

        def count(text: str) -> int:
            nonlocal counted
            counted += len(text)
            return len(text) // 4

        text = "word " * 200_000
        pieces = split_text(text, 500, count)

        assert text == "".join(pieces)
        assert counted < 60 * len(text)


class TestPooled:
    def test_single(self) -> None:
        """The row of a text with one window is that row scaled, to the bit."""
        rows = np.random.default_rng(7).normal(size=(3, 384)).astype(np.float32)
        together = pool_rows(rows, [0, 1, 1], [5, 5, 5], texts=2)

        assert (pool_rows(rows[:1], [0], [9], texts=1)[0] == together[0]).all()

    def test_weights(self) -> None:
        """A window counts by its tokens, whatever the length of its row."""
        rows = np.array([[8.0, 0.0], [0.0, 0.5]], dtype=np.float32)

        assert np.allclose([[0.6, 0.8]], pool_rows(rows, [0, 0], [3, 4], texts=1))

    def test_unit(self) -> None:
        """Every row has length 1, in the order of the texts."""
        rows = np.array([[0.0, 2.0], [3.0, 0.0], [1.0, 0.0]], dtype=np.float32)
        made = pool_rows(rows, [1, 0, 0], [1, 1, 1], texts=2)

        assert np.allclose([[1.0, 0.0], [0.0, 1.0]], made)
