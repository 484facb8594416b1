from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.errors import FileTooLarge, NotText
from cortex_actors.text.markdown import MAX_BYTES, Line, require_utf8, split_lines


class TestLines:
    def test_three_line_ends(self) -> None:
        """LF, CR LF and a bare CR end a line, and each may be mixed with the others."""
        assert ["a", "b", "c", ""] == [line.text for line in split_lines(b"a\nb\r\nc\r", path="p")]

    def test_other_separators(self) -> None:
        """Unicode's other separators are part of a line, so that line numbers fit an editor's."""
        assert 1 == len(split_lines("a\u2028b\x0bc\x85d".encode(), path="p"))

    def test_bom(self) -> None:
        """A byte order mark is part of the first line's bytes and not of its text."""
        assert [Line("ä", 0, 5)] == split_lines("\ufeffä".encode(), path="p")

    def test_invalid_utf8(self) -> None:
        """What is no UTF-8 is read as U+FFFD, each line by itself, and its bytes are counted."""
        expected = [Line("a\ufffd", 0, 3), Line("\ufffd", 3, 5), Line("ä", 5, 7)]

        assert expected == split_lines(b"a\xff\n\xc3\n\xc3\xa4", path="p")

    @given(st.text(st.sampled_from("ab\r\n ä\u2028")))
    def test_ranges_join(self, text: str) -> None:
        """The byte ranges of the lines join to the file."""
        data = text.encode()
        found = split_lines(data, path="p")

        assert data == b"".join(data[line.start : line.end] for line in found)


class TestRefusals:
    def test_nul(self) -> None:
        """A file with a NUL byte is not text, and the error says where and which file."""
        with pytest.raises(NotText, match=r"/p/CLAUDE.md.*byte 2 is NUL"):
            split_lines(b"ab\0", path="/p/CLAUDE.md")

    def test_utf16(self) -> None:
        """A file in UTF-16 is not text to us."""
        with pytest.raises(NotText):
            split_lines("## A\n".encode("utf-16"), path="p")

    @pytest.mark.parametrize(("data", "line"), [(b"\xff", 1), (b"a\r\nb\r\xe9 c\n", 3)])
    def test_not_utf8(self, data: bytes, line: int) -> None:
        """What is learned from is UTF-8; the error names the file and the line that is not."""
        require_utf8("\ufeffä\n".encode(), path="p")
        with pytest.raises(NotText, match=rf"/p/CLAUDE.md.*line {line} is not UTF-8"):
            require_utf8(data, path="/p/CLAUDE.md")

    def test_too_large(self) -> None:
        """One byte more than the limit is too much, and the limit itself is not."""
        assert 1 == len(split_lines(b"x" * MAX_BYTES, path="p"))
        with pytest.raises(FileTooLarge, match="1,048,577"):
            split_lines(b"x" * (MAX_BYTES + 1), path="p")
