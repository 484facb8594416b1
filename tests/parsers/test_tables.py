from __future__ import annotations

import pytest

from cortex_actors.text.outline import MOST_ROWS, read_rows


def said(*lines: str) -> list[str]:
    """Return what the rows of a table say."""
    return [text for _, text in read_rows(lines)]


class TestRows:
    def test_two_columns(self) -> None:
        """A name and what it is for are one sentence."""
        assert ["`src/`: the library"] == said(
            "| Path | Purpose |", "|-|-|", "| `src/` | the library |"
        )

    def test_named_column(self) -> None:
        """A column that does not only explain keeps its name."""
        assert ["`net` - Owner: platform"] == said(
            "| Module | Owner |", "|-|-|", "| `net` | platform |"
        )

    def test_more_columns(self) -> None:
        """With more columns each cell has the name of its own, and empty ones are left out."""
        assert ["`PORT` - Default: 3000; About: where it listens"] == said(
            "Key | Default | Unit | About", "--|--|--|--", "`PORT` | 3000 | | where it listens"
        )

    def test_do_and_do_not(self) -> None:
        """A table of what to do and what not to do says which is which."""
        assert ["✅ Do: const; ❌ Don't: var"] == said("|✅ Do|❌ Don't|", "|-|-|", "|const|var|")

    def test_escaped_pipe(self) -> None:
        """A pipe that is escaped is a part of its cell."""
        assert ["a|b: either one"] == said("| x | Meaning |", "|-|-|", r"| a\|b | either one |")

    @pytest.mark.parametrize(
        "lines",
        [
            ("| Date | What |", "|-|-|", "| 2024-01-01 | Moved to uv |"),
            ("| Run | ms |", "|-|-|", "| first | 12 |", "| second | 13 |"),
            ("| Path | What |", "|-|-|", "| ├─ src | the code |"),
            ("| A | B |", "|-|-|"),
            ("| Name | Tool |", "|-|-|", *(f"| a{n} | some tool |" for n in range(MOST_ROWS + 1))),
        ],
    )
    def test_no_statement(self, lines: tuple[str, ...]) -> None:
        """Histories, figures, trees and tables longer than people keep say nothing."""
        assert [] == said(*lines)
