"""The parser over files that people wrote: a corpus where there is one, else our own samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.text.markdown import LineKind, classify_lines, split_lines
from cortex_actors.text.sections import split_fragments, split_sections
from cortex_actors.text.statements import find_statements
from tests.parsers.corpus import SAMPLES, samples

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cortex_actors.domain.project import Fragment

#: Line ends that a file may be saved with.
ENDS = (b"\r\n", b"\r")

#: Bytes of the largest of a thousand instruction files.
LARGEST = 169_000


@pytest.mark.slow
class TestSections:
    def test_bytes_covered(self, real_files: list[Path]) -> None:
        """Every byte of every real file belongs to exactly one section."""
        for path in real_files:
            assert _covered(path.read_bytes())

    def test_other_bytes(self, real_files: list[Path]) -> None:
        """So it is with other line ends, a byte order mark, and bytes that are no UTF-8."""
        for number, path in enumerate(real_files[::3]):
            plain = path.read_bytes().replace(b"\r\n", b"\n")
            middle = len(plain) // 2

            assert _covered(plain.replace(b"\n", ENDS[number % len(ENDS)]))
            assert _covered(b"\xef\xbb\xbf" + plain[:middle] + b"\xff\xc3" + plain[middle:])

    def test_code_is_no_heading(self, real_files: list[Path]) -> None:
        """No section starts at a line inside a fence or a comment."""
        for path in real_files[::3]:
            data = path.read_bytes()
            text = split_lines(data, path=str(path))
            opaque = {
                n for n, kind in enumerate(classify_lines(text), 1) if kind is LineKind.OPAQUE
            }

            assert not opaque & {s.line_start for s in split_sections(data, path=str(path))}


@pytest.mark.slow
class TestStatements:
    def test_in_their_place(self, real_files: list[Path]) -> None:
        """Statements are numbered, and lie in their fragment in its order, each on one line."""
        for fragment in _fragments(real_files[::6]):
            found = find_statements(fragment)

            assert list(range(len(found))) == [each.ordinal for each in found]
            assert all(fragment.byte_start <= e.byte_start < e.byte_end for e in found)
            assert all(e.byte_end <= fragment.byte_end for e in found)
            assert all(e.text == " ".join(e.text.split()) for e in found)
            assert not any({"├", "└", "│"} & set(e.text) for e in found)

    def test_where_they_say(self, real_files: list[Path]) -> None:
        """Every word of a statement stands in its lines or above it; a row's in its table."""
        for fragment in _fragments(real_files[1::6]):
            for each in find_statements(fragment):
                start = each.byte_start - fragment.byte_start
                place = fragment.raw[start : each.byte_end - fragment.byte_start]
                text = (fragment.raw if b"|" in place else place).decode("utf-8", "replace")
                there = _signs(f"{text} {' '.join(each.headings)}")

                assert all(_signs(word) in there for word in each.text.split()), each


class TestSamples:
    def test_projects(self) -> None:
        """There are four sample projects, each with a CLAUDE.md."""
        names = {path.parent.name for path in SAMPLES.glob("*/CLAUDE.md")}

        assert {"atlas-api", "field-notes", "harbor-web", "ledger-cli"} == names

    def test_repeats(self) -> None:
        """Word for word the same section stands in several projects."""
        said: dict[str, set[str]] = {}
        for path in samples():
            project = path.relative_to(SAMPLES).parts[0]
            for fragment in split_fragments(path.read_bytes(), path=str(path), project=project):
                said.setdefault(fragment.content, set()).add(project)

        assert [3, 3] == sorted(len(where) for where in said.values() if len(where) > 1)

    def test_largest(self) -> None:
        """A file of 169 kB, as large as any that was met, is read whole."""
        text = (SAMPLES / "ledger-cli" / "CLAUDE.md").read_bytes()
        data = (text * (LARGEST // len(text) + 1))[:LARGEST]
        found = split_fragments(data, path="/p", project="p")

        assert _covered(data)
        assert 1_000 < sum(len(find_statements(each)) for each in found)

    def test_line_ends_kept(self) -> None:
        """One sample has CRLF line ends, which a checkout must not change."""
        data = (SAMPLES / "field-notes" / "AGENTS.md").read_bytes()

        assert data.count(b"\n") == data.count(b"\r\n") > 0


def _covered(data: bytes) -> bool:
    """Whether the sections of a file are, joined, the file."""
    found = split_sections(data, path="p")
    return data == b"".join(data[s.byte_start : s.byte_end] for s in found)


def _fragments(files: list[Path]) -> Iterator[Fragment]:
    """Yield what some files say."""
    for path in files:
        yield from split_fragments(path.read_bytes(), path=str(path), project="p")


def _signs(text: str) -> str:
    """Return a text's letters and digits alone: marks of Markdown may stand between."""
    return "".join(sign for sign in text if sign.isalnum())
