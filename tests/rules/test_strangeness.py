"""Strangeness: what a person is told of hits that only a vector has found."""

from __future__ import annotations

import pytest

from cortex_actors.rules.sameness import (
    NO_WORDS,
    NOT_KNOWN,
    UNRELATED,
    explain_wordless,
    is_gap,
    is_strange,
)


class TestStrange:
    @pytest.mark.parametrize(
        ("named", "nearest", "strange"),
        [
            (0, UNRELATED - 0.01, True),
            (0, -1.0, True),
            (0, UNRELATED, False),
            (1, 0.0, False),
            (0, None, False),
        ],
    )
    def test_either(self, named: int, nearest: float | None, *, strange: bool) -> None:
        """One text that holds a word, or is near enough, makes a question no stranger."""
        assert strange is is_strange(named=named, nearest=nearest)

    def test_without_words(self) -> None:
        """A question without a word is told what its hits are worth, where there are any."""
        assert NO_WORDS == explain_wordless(nearest=None)
        assert "nearest in meaning only" in explain_wordless(nearest=0.9)

    @pytest.mark.parametrize(
        "said", [NOT_KNOWN, explain_wordless(nearest=None), explain_wordless(nearest=0.9)]
    )
    def test_no_gap(self, said: str) -> None:
        """What is said of a question's strangeness means that nothing was left out."""
        assert not is_gap(said)
        assert is_gap("what is near in meaning was not looked for: the embedder is down")
