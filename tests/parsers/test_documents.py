"""Documents: what stands under which heading, and in which pieces it is kept."""

from __future__ import annotations

import random

import pytest

from cortex_actors.errors import FileTooLarge, NotText
from cortex_actors.text.documents import (
    LEAST,
    MOST,
    OVERLAP,
    ParsedDocument,
    Piece,
    cut_pieces,
    find_refs,
    parse_document,
)
from cortex_actors.text.markdown import MAX_BYTES

#: A paragraph that is a piece by itself.
LONG = "A paragraph that says enough to stand alone, because it has more than eighty characters."


def read(text: str) -> ParsedDocument:
    """Return a text as a document."""
    return parse_document(text.encode(), path="/notes/ports.md")


def cut(text: str) -> list[Piece]:
    """Return the pieces of a text."""
    return cut_pieces(read(text).passages)


class TestTitle:
    def test_first_heading(self) -> None:
        """The first heading of level 1 is the title, and stands above nothing."""
        found = read(f"# Ports\n\n## Tests\n\n{LONG}\n")

        assert ("Ports", [("Tests",)]) == (found.title, [p.headings for p in found.passages])

    def test_underlined(self) -> None:
        """So is one that is underlined, and its line is no text."""
        found = read(f"Ports\n=====\n\n{LONG}\n")

        assert ("Ports", [LONG]) == (found.title, [p.text for p in found.passages])

    def test_file(self) -> None:
        """Without one it is called like its file."""
        assert "ports" == read(LONG).title

    def test_front_matter(self) -> None:
        """The front matter is no text; its tags are kept, in a list or in lines."""
        flow = read(f"---\ntags: [one, '#two']\ntitle: x\n---\n{LONG}")
        lines = read(f"---\nkeywords:\n  - one\n  - two\nother:\n  - three\n---\n{LONG}")

        assert [("one", "two"), ("one", "two")] == [flow.tags, lines.tags]
        assert [LONG] == [p.text for p in flow.passages]


class TestPassages:
    def test_levels(self) -> None:
        """Headings of the levels 1 to 4 begin a passage; deeper ones are text."""
        found = cut(f"# T\n\n## A\n{LONG}\n### B\n{LONG}\n#### C\n{LONG}\n##### D\n{LONG}\n")

        assert [("A",), ("A", "B"), ("A", "B", "C")] == [piece.headings for piece in found]
        assert found[-1].text.endswith(f"##### D\n{LONG}")

    def test_code(self) -> None:
        """A block of code is a piece of its own, in its language; a heading in it is none."""
        code = "# no heading\n" + "port = 5433  # the tests' own\n" * 4
        found = cut(f"# T\n\n{LONG}\n\n```python\n{code}```\n\n{LONG}\n")

        assert [False, True, False] == [piece.is_code for piece in found]
        assert ("python", code.strip()) == (found[1].language, found[1].text)

    def test_not_said(self) -> None:
        """Comments, and the section that we write ourselves, are left out."""
        ours = "<!-- cortex:begin v1 -->\n## Ours\nUse tabs.\n<!-- cortex:end -->"
        found = cut(f"{LONG}\n\n<!-- ignore all of this -->\n<!--\nand\nthis\n-->\n\n{ours}\n")

        assert [LONG] == [piece.text for piece in found]

    @pytest.mark.parametrize("text", ["", "\n\n", "# Title", "---\na: b\n---\n", "<!-- x -->"])
    def test_nothing(self, text: str) -> None:
        """What says nothing has no pieces."""
        assert [] == cut(text)

    def test_too_large(self) -> None:
        """A document has a size, and says so when it is larger."""
        with pytest.raises(FileTooLarge, match="a document may have 1,048,576"):
            parse_document(b"x" * (MAX_BYTES + 1), path="x")

    def test_no_text(self) -> None:
        """What is no text is refused."""
        with pytest.raises(NotText, match="NUL"):
            parse_document(b"a\0b", path="x")


class TestPieces:
    def test_short(self) -> None:
        """What is too short goes into its neighbour, with the heading it loses."""
        (piece,) = cut(f"# T\n\n{LONG}\n\n## Port\n\n5433\n")

        assert ((), f"{LONG}\n\nPort\n5433") == (piece.headings, piece.text)

    def test_alone(self) -> None:
        """A document that is short as a whole is a piece all the same."""
        assert ["Use 5433."] == [piece.text for piece in cut("# T\n\nUse 5433.\n")]

    def test_long(self) -> None:
        """What is too long is split between paragraphs, and a short last one begins the next."""
        short = "The last paragraph of the first piece is a short one."
        text = "\n\n".join([*[LONG] * 15, short, *[LONG] * 10])
        first, second, *_ = cut(text)

        assert len(first.text) <= MOST
        assert second.text.split("\n\n")[0] == first.text.split("\n\n")[-1]

    def test_one_paragraph(self) -> None:
        """A paragraph that alone is too long is cut where a sentence or a word ends."""
        found = cut("This is a sentence of a wall of text. " * 200)

        assert all(len(piece.text) <= MOST for piece in found)
        assert all(piece.text.endswith(".") for piece in found)

    def test_refs(self) -> None:
        """What a text points at is kept: documents, addresses, and the names of wiki links."""
        text = (
            "See [the guide](guide.md#ports), [[Runbook|it]], https://example.org/a. and "
            "![a picture](x.png).\n\n[site]: <https://example.org/b>\n"
        )

        assert (
            "guide.md",
            "Runbook",
            "https://example.org/a",
            "https://example.org/b",
        ) == find_refs(text)

    def test_by_chance(self) -> None:
        """Of whatever text, each word is in a piece, no piece is too long, few are short."""
        seed = random.randrange(1_000_000)
        draw = random.Random(seed)
        words = [f"w{n}" for n in range(2_000)]
        text = "".join(
            word + draw.choice([" ", " ", " ", "\n", "\n\n", "\n## h\n", "\n### h\n", "\n```\n"])
            for word in words
        )
        found = cut(text)
        said = {word for piece in found for word in piece.text.replace("`", " ").split()}

        assert set() == set(words) - said, f"seed {seed}"
        assert max(len(piece.text) for piece in found) <= MOST + OVERLAP + LEAST, f"seed {seed}"
