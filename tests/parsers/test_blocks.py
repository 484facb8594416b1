from __future__ import annotations

import pytest

from cortex_actors.text.markdown import LineKind, classify_lines, split_lines


def headings(text: str) -> list[int]:
    """Return the numbers, from 1, of the lines `## H` that are headings."""
    found = split_lines(text.encode(), path="p")
    pairs = zip(found, classify_lines(found), strict=True)
    return [
        number
        for number, (line, kind) in enumerate(pairs, start=1)
        if kind is LineKind.TEXT and line.text == "## H"
    ]


class TestFences:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("```\n## H\n```\n## H", [4]),
            ("~~~ sh\n## H\n~~~\n## H", [4]),
            ("````\n```\n## H\n```\n## H\n````\n## H", [7]),
            ("~~~\n```\n## H\n~~~\n## H", [5]),
            ("```\n## H\n``` x\n## H\n````  \n## H", [6]),
            ("   ```\n## H\n   ```\n## H", [4]),
            ("```\n## H\n    ```\n## H", []),
            ("    ```\n## H", [2]),
            ("``\n## H", [2]),
            ("```a`b\n## H", [2]),
            ("text\n```\n## H", []),
        ],
    )
    def test_rules(self, text: str, expected: list[int]) -> None:
        """A fence ends at its own kind, at least as long; without an end it runs to the file's."""
        assert expected == headings(text)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("1. do\n\n   ```\n   ## H\n   ```\n## H", [6]),
            ("- a\n  - b\n    ```\n    x\n    ```\n## H", [6]),
            ("- a\n\n      ```\n## H", [4]),
            ("- ```\n  ## H\n  ```\n## H", [4]),
            ("- a\n  ```\n  never closed\n## H", [4]),
            ("- a\n\tb\n\t```\n\tx\n## H", [5]),
            ("- a\nlazy\n  ```\n  x\n  ```\n## H", [6]),
            ("- a\n* * *\n  ```\n  x\n## H\n```\n## H", [7]),
            ("text\n-\n  ```\n## H\n```\n## H", [6]),
            ("-     code\n\n  ```\n  x\n## H", [5]),
            ("10) a\n    ```\n    x\n    ```\n## H", [5]),
        ],
    )
    def test_in_lists(self, text: str, expected: list[int]) -> None:
        """A fence in a list item is measured from the item's text and ends with the item."""
        assert expected == headings(text)

    def test_deep_nesting(self) -> None:
        """A line of half a million list markers costs what any line costs."""
        assert [2] == headings("- " * 500_000 + "\n## H")


class TestComments:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("<!-- a\n## H\n-->\n## H", [4]),
            ("<!-- a -->\n## H", [2]),
            ("<!-- a\n## H\nb --> c\n## H", [4]),
            ("<!-- open\n## H", []),
            ("text <!-- a\n## H\n-->", [2]),
            ("    <!-- a\n## H", [2]),
            ("```\n<!--\n```\n## H", [4]),
            ("<!--\n```\n-->\n## H", [4]),
        ],
    )
    def test_rules(self, text: str, expected: list[int]) -> None:
        """A comment that starts a line hides headings until it ends, and only then."""
        assert expected == headings(text)


class TestFrontMatter:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("---\na: 1\n## H\n---\n## H", [5]),
            ("\ufeff---\n# note\nglobs: '*'\n...\n## H", [5]),
            ("---\n---\n## H", [3]),
            ("---\n\n## H\ntext\n---\n## H", [3, 6]),
            ("---\na: 1\n## H", [3]),
            ("\n---\na: 1\n## H\n---", [4]),
        ],
    )
    def test_rules(self, text: str, expected: list[int]) -> None:
        """Front matter starts on the first line, holds YAML and is closed; else it is a rule."""
        assert expected == headings(text)


class TestOurs:
    def test_from_mark_to_mark(self) -> None:
        """Everything between our marks is ours, even a fence that was never closed."""
        text = "## H\n<!-- cortex:begin v1 sha256=0 -->\n## H\n```\n<!-- cortex:end -->\n## H"

        assert [1, 6] == headings(text)

    def test_half_a_section(self) -> None:
        """A begin mark whose end was deleted hides nothing that follows."""
        text = "<!-- cortex:begin v1 -->\n## H\n<!-- cortex:begin v1 -->\n## H\n<!-- cortex:end -->"

        assert [2] == headings(text)

    def test_quoted_in_a_fence(self) -> None:
        """Marks shown as an example in a human's code fence are the human's."""
        text = "```\n<!-- cortex:begin v1 -->\n```\n## H\n<!-- cortex:end -->"

        assert [4] == headings(text)
