"""How many tokens a text has: by the shipped tokeniser, or estimated where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.embedding import tokens
from cortex_actors.embedding.tokens import Counter, estimate_tokens
from cortex_actors.errors import ModelMissing

if TYPE_CHECKING:
    import pytest

RULE = "- Never use eval in production code."


class TestEstimate:
    def test_four_characters(self) -> None:
        """Four characters are a token, and one that is begun counts."""
        assert [0, 1, 1, 2] == [estimate_tokens("a" * length) for length in (0, 1, 4, 5)]

    def test_beyond_ascii(self) -> None:
        """A character beyond ASCII is a token by itself."""
        assert 1 + 3 == estimate_tokens("abcd" + "規則一")

    def test_hashing(self) -> None:
        """A home without a model estimates."""
        assert estimate_tokens(RULE) == Counter("hashing")(RULE)


class TestCounter:
    def test_shipped(self) -> None:
        """The shipped tokeniser counts words and signs, and no marks around the text."""
        counter = Counter("sentence-transformers")

        assert 0 == counter("")
        assert len("- never use eval in production code .".split()) == counter(RULE) - 1

    def test_half_a_pair(self) -> None:
        """A text that no tokeniser takes is estimated."""
        assert estimate_tokens("\ud800 a") == Counter("openai")("\ud800 a")

    def test_not_installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without the model's package tokens are estimated."""

        def missing(_: str) -> None:
            raise ModelMissing("not here")

        monkeypatch.setattr(tokens, "locate", missing)

        assert estimate_tokens(RULE) == Counter("sentence-transformers")(RULE)
