from __future__ import annotations

import pytest

from cortex_actors.judging.chat import cut_text, find_objection
from cortex_actors.judging.layer import JudgeQuestion, QuestionKind

SOURCES = ["Run `make check` on Python 3.11, see https://ci.example/go.", "Use 4 spaces."]


def objected(text: str, kind: QuestionKind = QuestionKind.SYNTHESISE) -> str | None:
    """Return what speaks against a text that was written of the sources."""
    return find_objection(JudgeQuestion.from_texts(kind, SOURCES), {"text": text})


class TestMadeUp:
    @pytest.mark.parametrize(
        "text",
        [
            "Check before you push.",
            "Run `make check` with Python 3.11.",
            "Indent by 4.",
            "See https://ci.example/go, always.",
        ],
    )
    def test_grounded(self, text: str) -> None:
        """What a source names may be named."""
        assert objected(text) is None

    @pytest.mark.parametrize(
        ("text", "what"),
        [
            ("Use Python 3.12.", "the number '3.12'"),
            ("Use Python 3.", "the number '3'"),
            ("Run `make test`.", "the code 'make test'"),
            ("See https://evil.example/.", "the address"),
            ("Export ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0fG3hJ6.", "a secret"),
            ("Use\u200bspaces.", "cannot be seen"),
        ],
    )
    def test_not_grounded(self, text: str, what: str) -> None:
        """What no source names, or nobody should remember, is refused with the reason."""
        assert what in (objected(text) or "")


class TestLost:
    def test_merge(self) -> None:
        """What replaces its sources names all that they name."""
        whole = "Run `make check` on Python 3.11 with 4 spaces, see https://ci.example/go."

        assert objected(whole, QuestionKind.MERGE) is None
        assert "it leaves out the number '4'" == objected(
            whole.replace(" with 4 spaces", ""), QuestionKind.MERGE
        )


class TestCut:
    @pytest.mark.parametrize(
        ("text", "most", "left"),
        [
            ("One. Two.", 9, "One. Two."),
            ("One. Two.", 8, "One."),
            ("Use v1.2 now. Or not.", 20, "Use v1.2 now."),
            ("A long sentence", 5, None),
        ],
    )
    def test_sentences(self, text: str, most: int, left: str | None) -> None:
        """As many whole sentences are left as fit; half a sentence is none."""
        assert left == cut_text(text, most)
