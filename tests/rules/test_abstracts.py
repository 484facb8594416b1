"""A text in short, without a model."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.text.summary import (
    ABSTRACT,
    LONGEST,
    make_abstract,
    make_summary,
    split_sentences,
)


class TestSentences:
    def test_ends(self) -> None:
        """A sentence ends where people end it, and not in code or behind an abbreviation."""
        text = "Use e.g. uv. Never `a. B` pip! Is it so? Yes\n- a list\n- of two"

        assert (
            "Use e.g. uv.",
            "Never `a. B` pip!",
            "Is it so?",
            "Yes",
            "- a list",
            "- of two",
        ) == split_sentences(text)

    @given(st.text(max_size=200))
    def test_whole(self, text: str) -> None:
        """Together they are the text."""
        assert "".join(text.split()) == "".join("".join(split_sentences(text)).split())


class TestAbstract:
    def test_first(self) -> None:
        """It is the first sentence."""
        assert "Redis is here." == make_abstract("Redis is here. It listens.")

    def test_long(self) -> None:
        """A longer one ends at a word."""
        found = make_abstract("word " * 60)

        assert len(found) <= ABSTRACT
        assert found.endswith("word\u2026")

    @given(st.text(max_size=400))
    def test_limit(self, text: str) -> None:
        """It is one line of at most 120 letters, of any text."""
        found = make_abstract(text)

        assert len(found) <= ABSTRACT
        assert "\n" not in found


class TestSummary:
    def test_telling(self) -> None:
        """It is the two sentences that share most words with the rest, in their order."""
        text = "Hello there. Redis keeps the queue. Lunch was nice. The queue of Redis is small."

        assert "Redis keeps the queue. The queue of Redis is small." == make_summary(text)

    def test_limit(self) -> None:
        """It is short, however long the sentences are."""
        assert len(make_summary("word " * 1_000)) <= LONGEST
