from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.text.outline import TextRun, join_lines, split_runs, spread

WIDE = "This line goes on until there is no room left for any other word of this"


class TestRuns:
    @pytest.mark.parametrize(
        ("lines", "expected"),
        [
            (["never mock.", "tests use pytest."], ["never mock.", "tests use pytest."]),
            (["Use tabs", "Use pnpm"], ["Use tabs", "Use pnpm"]),
            ([WIDE, "sentence."], [f"{WIDE} sentence."]),
            ([WIDE, "Sentence of a name."], [f"{WIDE} Sentence of a name."]),
            (["a  ", "b"], ["a", "b"]),
            (["a\\", "b"], ["a", "b"]),
            (["a<br>", "b"], ["a", "b"]),
            (["**One**: a", "**Two**: b"], ["**One**: a", "**Two**: b"]),
            (["✅ do", "❌ do not"], ["✅ do", "❌ do not"]),
            (["a <!-- b", "c --> d"], ["a d"]),
            (["<!-- b -->"], []),
            ([], []),
        ],
    )
    def test_broken(self, lines: list[str], expected: list[str]) -> None:
        """Lines that were wrapped are joined; those that end where a rule ends stay apart."""
        assert expected == [run.text for run in split_runs(lines)]

    def test_whole(self) -> None:
        """A list item is one text, however its lines end."""
        assert [TextRun(0, 1, "a. b.")] == list(split_runs(["a.", "b."], broken=False))

    def test_task(self) -> None:
        """The box of a task is no part of the text."""
        assert "write tests" == join_lines(["[x] write", "tests"])


class TestSpread:
    def test_over_lines(self) -> None:
        """Each piece of a text stands on the lines that its words are on."""
        assert [(0, 1), (1, 2)] == list(
            spread(["One", "two. Three", "four."], ["One two.", "Three four."])
        )

    def test_of_changed_text(self) -> None:
        """Where the text is not that of the lines, each piece stands on all of them."""
        assert [(0, 1), (0, 1)] == list(spread(["a", "b"], ["a", "c d"]))

    @given(st.lists(st.text("ab ", min_size=1), min_size=1, max_size=5), st.integers(0, 20))
    def test_in_order(self, lines: list[str], cut: int) -> None:
        """Pieces of a text stand one behind the other, from its first line to its last."""
        words = " ".join(lines).split()
        pieces = [" ".join(words[:cut]), " ".join(words[cut:])]
        found = list(spread(lines, pieces))

        assert sorted(found) == found
        assert all(
            first <= last or not piece for (first, last), piece in zip(found, pieces, strict=True)
        )
