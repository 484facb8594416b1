from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.text.statements import ITEM, split_sentences


class TestSentences:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (
                "Indent with two spaces, never tabs. Quote every variable in a script.",
                ["Indent with two spaces, never tabs.", "Quote every variable in a script."],
            ),
            (
                "Always rebase your branch first. It keeps the history readable for all.",
                ["Always rebase your branch first. It keeps the history readable for all."],
            ),
            (
                "Use a manager, e.g. Poetry, for it. Run `uv sync. Then go` in the folder once.",
                [
                    "Use a manager, e.g. Poetry, for it.",
                    "Run `uv sync. Then go` in the folder once.",
                ],
            ),
            (
                "Pin Node 20.17.0 (see notes. They say why) for all. Never use version 18 again.",
                [
                    "Pin Node 20.17.0 (see notes. They say why) for all.",
                    "Never use version 18 again.",
                ],
            ),
            ("Tests are written first, before the code. No.", None),
            (
                "テストを先に書いてください、必ず最初にお願いします。コミットは小さくしてください。",
                2,
            ),
        ],
    )
    def test_cut(self, text: str, expected: list[str] | int | None) -> None:
        """A sentence that can stand alone is cut off; code, brackets and short words end none."""
        found = split_sentences(text, whole=0)

        if isinstance(expected, int):
            assert expected == len(found)
        else:
            assert tuple(expected or [text]) == found

    def test_short(self) -> None:
        """A short text is left whole, however many sentences it has."""
        text = "Always use uv for packages here. Never use pip directly."

        assert (text,) == split_sentences(text)
        assert ITEM > len(text)

    @given(st.text(st.sampled_from("ab A.!?。`()* ")))
    def test_nothing_lost(self, text: str) -> None:
        """Joined, the sentences are the text but for white space."""
        found = split_sentences(" ".join(text.split()), whole=0)

        assert "".join(text.split()) == "".join("".join(found).split())

    @pytest.mark.parametrize("text", ["A. B", "....", "a ` ", "((("])
    def test_linear(self, text: str) -> None:
        """A text of a hundred thousand signs without a sentence costs what its letters cost."""
        assert 1 == len(split_sentences(text * 25_000))
