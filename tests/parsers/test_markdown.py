from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.domain.project import Fragment, hash_file
from cortex_actors.errors import FileTooLarge, NotText
from cortex_actors.text.sections import Role, split_fragments, split_sections
from cortex_actors.text.statements import find_statements

#: Lines that have a meaning somewhere; put together at random they meet every rule.
PIECES = st.sampled_from(
    [
        *("## A", "##\tB ##", "## ", "##no", "  ## c", "### D", "# T", "text", "", " "),
        *("```", "````", "~~~", "   ```", "    ```", "- ```", "- item", "1. one", "> q"),
        *("<!-- c", "-->", "<!-- d -->", "---", "key: value", "\ufeff", "ä\u2028ö"),
        *("<!-- cortex:begin v1 -->", "<!-- cortex:end -->", "<!-- nx start -->", "<!-- /c -->"),
        *(
            "<!-- nx end -->",
            "> - q",
            "| a | b |",
            "|---|---|",
            "**A:**",
            "Never:",
            "===",
            "$ make",
        ),
        "## Resolved Knowledge from Cerno",
    ]
)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
DOCUMENTS = st.lists(st.tuples(PIECES, ENDS), max_size=12).map(
    lambda parts: "".join(text + end for text, end in parts)
)


def shape(text: str) -> list[tuple[str | None, str, int, int]]:
    """Return heading, content and lines of each section."""
    found = split_sections(text.encode(), path="p")
    return [(s.heading, s.content, s.line_start, s.line_end) for s in found]


def read(text: str) -> list[tuple[str | None, str]]:
    """Return heading and content of each fragment."""
    found = split_fragments(text.encode(), path="/p/CLAUDE.md", project="p")
    return [(f.heading, f.content) for f in found]


class TestVectors:
    def test_preamble_and_sections(self) -> None:
        """Text before the first heading is a section without one; a blank section is kept."""
        expected = [(None, "# T", 1, 2), ("A", "x", 3, 4), ("B", "", 5, 6)]

        assert expected == shape("# T\n\n## A\nx\n## B\n")

    def test_fence(self) -> None:
        """A heading inside a code fence is content."""
        expected = [(None, "a\n```bash\n## not heading\n```", 1, 4), ("Real", "y", 5, 6)]

        assert expected == shape("a\n```bash\n## not heading\n```\n## Real\ny")

    def test_empty_file(self) -> None:
        """An empty file is one empty section and no fragment."""
        assert [(None, "", 1, 1)] == shape("")
        assert [] == read("")

    @pytest.mark.parametrize("line", ["### x", "  ## x", "##NoSpace", "##", "####", "\\## x"])
    def test_no_heading(self, line: str) -> None:
        """What is not two hashes at the line's start and white space is content."""
        assert [("A", f"x\n{line}", 1, 3)] == shape(f"## A\nx\n{line}")

    @pytest.mark.parametrize(
        ("line", "heading"),
        [("##\tx", "x"), ("## ", ""), ("##   x  ", "x"), ("## C#", "C#"), ("## x ##", "x")],
    )
    def test_heading(self, line: str, heading: str) -> None:
        """A heading's text is trimmed, and a closing run of hashes is not part of it."""
        assert [(heading, "y", 1, 2)] == shape(f"{line}\ny")

    def test_same_heading_twice(self) -> None:
        """Two sections of one name stay two."""
        assert [("A", "x"), ("A", "y")] == read("## A\nx\n## A\ny")

    def test_blank_is_no_fragment(self) -> None:
        """A section without text says nothing."""
        assert [("B", "x")] == read("\n\n## A\n \n## B\nx")


class TestLineEnds:
    def test_same_content(self) -> None:
        """A file says the same whichever line ends it is saved with."""
        text = "# T\n\n## A\nx\ny\n"

        assert read(text) == read(text.replace("\n", "\r\n")) == read(text.replace("\n", "\r"))

    def test_no_final_newline(self) -> None:
        """A last line without an end is read to its last byte."""
        assert 8 == split_sections(b"## A\nx y", path="p")[-1].byte_end

    def test_bom(self) -> None:
        """A heading behind a byte order mark is a heading, and the mark is in its range."""
        only = split_sections("\ufeff## A\nx".encode(), path="p")[0]

        assert ("A", 0, 9) == (only.heading, only.byte_start, only.byte_end)


class TestFirstLevelHeadings:
    def test_several(self) -> None:
        """A file without H2 and with several H1 is split at those."""
        assert [("A", "x"), ("B", "y")] == read("# A\nx\n# B\ny")

    def test_one(self) -> None:
        """A single H1 is the file's title, and the file one fragment."""
        assert [(None, "# A\nx")] == read("# A\nx")

    def test_with_second_level(self) -> None:
        """Where there is an H2, an H1 is content."""
        assert [("A", "x\n# B\ny")] == read("## A\nx\n# B\ny")

    def test_ours_does_not_count(self) -> None:
        """Writing our section into a file does not change how the rest is split."""
        human = "# A\nx\n# B\ny\n"
        ours = "## Resolved Knowledge from Cerno\n- z\n"

        assert read(human) == read(human + ours)
        assert read(human) == read(
            f"{human}<!-- cortex:begin v1 sha256=0 -->\n{ours}<!-- cortex:end -->\n"
        )


class TestThirdLevelHeadings:
    def test_split(self) -> None:
        """A file without H2 and with one H1 at most is split at H3."""
        assert [(None, "# T\nx"), ("A", "y\n#### a\nz"), ("B", "q")] == read(
            "# T\nx\n### A\ny\n#### a\nz\n### B\nq"
        )

    def test_ours_does_not_count(self) -> None:
        """The headings in our section, which are H3, do not change how the rest is split."""
        human = "a\n\nb\n"
        ours = "## Resolved Knowledge from Cerno\n\n### Go\n\n- z\n\nq\n"

        assert read(human) == read(human + ours)


class TestParagraphs:
    def test_split(self) -> None:
        """A file without any heading to split at is split where paragraphs begin."""
        assert [(None, "a\nb"), (None, "c")] == read("a\nb\n\nc\n")

    def test_title(self) -> None:
        """A title goes with the paragraph below it."""
        assert [(None, "# T\n\na"), (None, "b")] == read("# T\n\na\n\nb")

    @pytest.mark.parametrize(
        "below", ["- a\n\n- b", "1. a", "> a", "```\na\n\nb\n```", "|a|\n|-|", "    a", "<b>"]
    )
    def test_belongs(self, below: str) -> None:
        """A list, a quotation, code and a table go with the paragraph above them."""
        assert [(None, f"These:\n\n{below}"), (None, "c")] == read(f"These:\n\n{below}\n\nc")

    def test_deep_headings(self) -> None:
        """A heading below H3 begins a part of its own and is its text."""
        assert [(None, "a"), (None, "#### b\n\nc")] == read("a\n\n#### b\n\nc")


class TestAbove:
    def test_of_sections(self) -> None:
        """A section knows the headings it stands under, without its own."""
        found = split_sections(b"# T\n## A\nx\n### a\n## B\n# U\n## C", path="p")

        assert [(), ("T",), ("T",), ("U",)] == [s.above for s in found]

    def test_file_name(self) -> None:
        """A title that is the name of the file says nothing of what is below it."""
        assert ((), ()) == tuple(s.above for s in split_sections(b"# CLAUDE.md\n## A\nx", path="p"))


class TestOurOwnWords:
    def test_unmarked(self) -> None:
        """A resolved section as Cerno wrote it is never a fragment."""
        assert [("A", "x"), ("B", "y")] == read(
            "## A\nx\n## Resolved Knowledge from Cerno\n\n### Go\n- z\n## B\ny"
        )

    def test_marked(self) -> None:
        """Nothing between our marks is a fragment, and the text behind keeps its heading."""
        text = "## A\nx\n<!-- cortex:begin v1 -->\n## R\n- z\n<!-- cortex:end -->\ntail\n"

        assert [("A", "x"), ("A", "tail")] == read(text)

    def test_marked_range(self) -> None:
        """The section between our marks, marks included, has its exact byte range."""
        ours = b"<!-- cortex:begin v1 -->\r\n- z\r\n<!-- cortex:end -->\r\n"
        data = "## Ä\r\n".encode() + ours + b"tail"
        found = [s for s in split_sections(data, path="p") if s.role is Role.RESOLVED]

        assert [ours] == [data[s.byte_start : s.byte_end] for s in found]

    def test_two_in_a_row(self) -> None:
        """Two marked sections, one right behind the other, stay two."""
        ours = "<!-- cortex:begin v1 -->\nz\n<!-- cortex:end -->\n"
        roles = [s.role for s in split_sections((ours + ours).encode(), path="p")]

        assert [Role.RESOLVED, Role.RESOLVED] == roles

    def test_human_title_behind(self) -> None:
        """An H1 ends an unmarked resolved section: we never write one, so a human did."""
        assert [(None, "# Mine\nx")] == read("## Resolved Knowledge from Cerno\n- z\n# Mine\nx")

    def test_front_matter(self) -> None:
        """A file's metadata is a section and not knowledge."""
        assert [("A", "x")] == read("---\nglobs: '*.py'\n---\n## A\nx")


class TestFragments:
    def test_provenance(self) -> None:
        """A fragment knows its file, its project and exactly where it stands."""
        data = b"# T\n## A\nx\n"
        expected = Fragment(
            "x", "/p/CLAUDE.md", "p", "A", 2, 4, 4, 11, hash_file(data), above=("T",)
        )

        assert expected == split_fragments(data, path="/p/CLAUDE.md", project="p")[1]

    def test_errors_name_the_file(self) -> None:
        """A file that is not text is refused by name."""
        with pytest.raises(NotText, match=r"/p/CLAUDE\.md"):
            split_fragments(b"\0", path="/p/CLAUDE.md", project="p")
        with pytest.raises(FileTooLarge, match=r"/p/CLAUDE\.md"):
            split_fragments(b" " * 1_048_577, path="/p/CLAUDE.md", project="p")


class TestEveryFile:
    @given(DOCUMENTS)
    def test_bytes_covered(self, text: str) -> None:
        """Every byte belongs to exactly one section: joined, the sections are the file."""
        data = text.encode()
        found = split_sections(data, path="p")

        assert data == b"".join(data[s.byte_start : s.byte_end] for s in found)
        assert [0, *(s.byte_end for s in found[:-1])] == [s.byte_start for s in found]

    @given(DOCUMENTS)
    def test_lines_covered(self, text: str) -> None:
        """Every line belongs to exactly one section, and each section has one."""
        found = split_sections(text.encode(), path="p")

        assert [1, *(s.line_end + 1 for s in found[:-1])] == [s.line_start for s in found]
        assert all(s.line_start <= s.line_end for s in found)

    @given(DOCUMENTS)
    def test_statements(self, text: str) -> None:
        """Statements lie in their fragment, one behind the other, and are numbered from 0."""
        for fragment in split_fragments(text.encode(), path="/p", project="p"):
            found = find_statements(fragment)

            assert list(range(len(found))) == [each.ordinal for each in found]
            assert all(fragment.byte_start <= each.byte_start for each in found)
            assert all(each.byte_start < each.byte_end <= fragment.byte_end for each in found)
            assert all(each.line_start <= each.line_end <= fragment.line_end for each in found)

    @given(DOCUMENTS)
    def test_read_twice(self, text: str) -> None:
        """The same bytes always give the same sections."""
        assert split_sections(text.encode(), path="p") == split_sections(text.encode(), path="p")

    @given(st.text())
    def test_any_text(self, text: str) -> None:
        """Text of any kind is read, or refused with a typed error."""
        data = text.encode()
        try:
            found = split_sections(data, path="p")
        except NotText:
            assert "\0" in text
        else:
            assert len(data) == found[-1].byte_end

    @given(st.binary())
    def test_any_bytes(self, data: bytes) -> None:
        """Bytes of any kind are read, or refused with a typed error."""
        with suppress(NotText):
            assert len(data) == split_sections(data, path="p")[-1].byte_end
