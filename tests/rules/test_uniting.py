"""Two texts as one: everything that either says, once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.rules.merging import Prefer, covers, says, unite_texts
from cortex_actors.text.summary import split_sentences

REDIS, AGAIN = "Redis listens on port 6379 by default", "Redis by default listens on port 6379"

#: Sentences as agents say them: few words, so that they overlap often.
_WORD = st.sampled_from("redis listens on port 6379 by default not only the api never Bob".split())
_SENTENCE = st.builds(
    lambda words, end: f"{' '.join(words).capitalize()}{end}",
    st.lists(_WORD, min_size=1, max_size=6),
    st.sampled_from([".", "!", "?", ""]),
)
_TEXT = st.lists(_SENTENCE, min_size=1, max_size=4).map(" ".join)


class TestCovers:
    @pytest.mark.parametrize(
        ("sentence", "other"),
        [
            (REDIS, AGAIN),
            ("The API uses JWT with RS256 keys.", "the api uses jwt"),
            ("We use `uv`.", "We use uv"),
        ],
    )
    def test_more(self, sentence: str, other: str) -> None:
        """A sentence says what has fewer words of it, or one stretch of them elsewhere."""
        assert covers(sentence, other)

    @pytest.mark.parametrize(
        ("sentence", "other"),
        [
            ("Alice reports to Bob", "Bob reports to Alice"),
            ("Only admins can edit posts", "Admins can only edit posts"),
            ("It is not true that the API uses JWT", "The API uses JWT"),
            ("The API uses JWT except for health", "The API uses JWT"),
            ("Does Redis listen here?", "Does Redis listen here"),
            ("Tom Jones", "Jones Tom"),
            ("Use -1", "Use 1"),
            ("The API uses JWT", "The API uses JWT with RS256"),
        ],
    )
    def test_other(self, sentence: str, other: str) -> None:
        """What turns, limits, asks or swaps says something else."""
        assert not covers(sentence, other)


class TestUnited:
    def test_richer(self) -> None:
        """Where one says all that the other does, it stays as it is."""
        assert "Use uv for packages." == unite_texts("Use uv for packages.", "Use uv")
        assert "Use uv for packages." == unite_texts("Use uv", "Use uv for packages.")

    def test_both(self) -> None:
        """Else every sentence of both is there once, the older first."""
        assert "Run ruff. Use uv. Ship it." == unite_texts("Use uv. Ship it.", "Run ruff. Use uv.")

    def test_prefer(self) -> None:
        """Whose words are preferred, its wording and its order count (M-16)."""
        assert AGAIN == unite_texts(AGAIN, REDIS, prefer=Prefer.A)
        assert REDIS == unite_texts(AGAIN, REDIS, prefer=Prefer.B)
        assert "Ship it. Run ruff." == unite_texts("Ship it.", "Run ruff.", prefer=Prefer.A)

    def test_equal(self) -> None:
        """Where nobody's are, the order decides nothing."""
        assert unite_texts(AGAIN, REDIS) == unite_texts(REDIS, AGAIN)

    def test_lines(self) -> None:
        """What would not be told apart on one line is on lines of its own."""
        assert "use uv\nrun ruff" == unite_texts("run ruff", "use uv")

    @given(a=_TEXT, b=_TEXT, prefer=st.sampled_from(Prefer))
    def test_nothing_lost(self, a: str, b: str, prefer: Prefer) -> None:
        """No merge loses a sentence, and none says what neither text does."""
        found = unite_texts(a, b, prefer=prefer)

        assert says(found, a)
        assert says(found, b)
        assert set(split_sentences(found)) <= {*split_sentences(a), *split_sentences(b)}

    @given(a=_TEXT, b=_TEXT)
    def test_again(self, a: str, b: str) -> None:
        """A text that is in already changes nothing any more."""
        found = unite_texts(a, b)

        assert found == unite_texts(a, found) == unite_texts(b, found)
