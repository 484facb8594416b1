"""The fence: our section comes and goes, and a human's bytes never notice."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cortex_actors.errors import (
    BrokenSection,
    EditedSection,
    InternalError,
    NewerSection,
    NotWritten,
    OpenBlock,
    Oversized,
    TwoSections,
    UnfencedSection,
    Unreadable,
)
from cortex_actors.render import fence
from cortex_actors.text import sections

_BODY = b"## Resolved Knowledge from Cortex\n\n- Use pnpm.\n"

_MARKED = fence.splice(b"", _BODY)

_PIECES = (
    *(b"text", b"\n", b"\r\n", b"\r", b"\n\n", b"   ", b"# One\n", b"## Two\n", b"- item\n"),
    *(b"\xff\xfe", b"\xef\xbb\xbf", "é—".encode(), b"\t- deep\n", b"> said\n", b"\x0c", b"\x1c"),
    *(b"```\n", b"~~~\n", b"<!-- c -->", b"<!--", b"-->", b"---\n", b"name: x\n"),
    *(b"<!-- nx configuration start-->\n", b"<!-- nx configuration end-->\n", _MARKED),
    *(
        b"<!-- cortex:begin v1 -->\n",
        b"<!-- cortex:end -->\n",
        b"## Resolved Knowledge from Cerno\n",
    ),
)

#: Files of all kinds, most of them odd.
_FILES = st.lists(st.sampled_from(_PIECES), max_size=14).map(b"".join)

_BODIES = st.lists(
    st.sampled_from((b"## R\n", b"\n", b"- a\n", "- é\n".encode(), b"> note\n")), max_size=6
).map(b"".join)


class TestRoundTrip:
    @given(_FILES, _BODIES, _BODIES)
    def test_any_file(self, data: bytes, body: bytes, later: bytes) -> None:
        """A section that is put in can be taken out without a trace, however often it changes."""
        try:
            first = fence.splice(data, body)
        except NotWritten:
            return
        second = fence.splice(first, later)

        assert fence.remove(data) == fence.remove(first) == fence.remove(second)
        assert (
            fence.hash_human_part(data)
            == fence.hash_human_part(first)
            == fence.hash_human_part(second)
        )
        assert first == fence.splice(first, body) == fence.splice(second, body)
        found = fence.find(second)
        assert found is not None
        assert (later, True) == (found.body, found.intact)

    @given(_FILES, _BODIES)
    def test_reader(self, data: bytes, body: bytes) -> None:
        """What a human says is read the same with our section and without, if it parts nothing."""
        try:
            written = fence.splice(data, body)
        except NotWritten:
            return
        # One that was moved into the midst of a paragraph of his parts it in two.
        found = fence.find(written)
        behind = b"" if found is None else written[found.end :].lstrip()
        assume(not behind or behind.startswith(b"## "))
        without, with_it = (
            [
                (each.heading, each.content)
                for each in sections.split_fragments(d, path="p", project="q")
            ]
            for d in (fence.remove(data), written)
        )
        assert without == with_it

    @pytest.mark.parametrize("eol", [b"\n", b"\r\n", b"\r"])
    @pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
    @pytest.mark.parametrize("end", [b"", b"1", b"11"])
    def test_style(self, eol: bytes, bom: bytes, end: bytes) -> None:
        """The section has the file's line ends, and a final one if the file has one."""
        data = bom + b"# One" + eol + b"text" + end.replace(b"1", eol)
        written = fence.splice(data, _BODY)

        assert written.startswith(data + (eol if end else eol * 2) + b"<!-- cortex:begin")
        assert written.endswith(b"<!-- cortex:end -->" + (eol if end else b""))
        assert eol == fence.find_eol(written)
        assert data == fence.remove(written)

    def test_empty(self) -> None:
        """In an empty file the section stands alone, behind a byte order mark if there is one."""
        assert _MARKED == fence.splice(b"", _BODY)
        assert b"" == fence.remove(_MARKED)
        assert b"\xef\xbb\xbf" == fence.remove(fence.splice(b"\xef\xbb\xbf", _BODY))

    def test_hash(self) -> None:
        """The mark carries the hash of what stands between, whatever the line ends are made to."""
        found = fence.find(_MARKED.replace(b"\n", b"\r\n"))

        assert found is not None
        assert hashlib.sha256(_BODY).hexdigest() == found.declared
        assert found.intact

    def test_words_around(self) -> None:
        """What stands above, below and between the file's other sections is not touched."""
        data = b"# One\n\n" + _MARKED + b"\n# Two\n\xff"
        written = fence.splice(data, _BODY + b"- Use uv.\n")
        assert written.startswith(b"# One\n\n<!--")
        assert written.endswith(b"-->\n\n# Two\n\xff")


class TestRevision:
    def test_without_section(self) -> None:
        """Of a file without a section of ours it is the hash of all of it."""
        assert hashlib.sha256(b"# One\n").hexdigest() == fence.hash_human_part(b"# One\n")

    @pytest.mark.parametrize("data", [_MARKED * 2, _MARKED[:-5], b"cortex:begin\0", b"\0"])
    def test_broken(self, data: bytes) -> None:
        """Of one whose marks are broken, too, and it is never refused."""
        assert hashlib.sha256(data).hexdigest() == fence.hash_human_part(data)

    def test_human_words(self) -> None:
        """It changes with every byte of a human's."""
        assert fence.hash_human_part(b"# One\n" + _MARKED) != fence.hash_human_part(
            b"# Two\n" + _MARKED
        )


class TestRefusing:
    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            (_MARKED + _MARKED, TwoSections),
            (_MARKED.replace(b"<!-- cortex:end -->", b""), BrokenSection),
            (b"<!-- cortex:end -->\n", BrokenSection),
            (_MARKED + b"<!-- cortex:begin v1 -->\n", BrokenSection),
            (b"<!-- BEGIN X -->\n" + _MARKED + b"<!-- END X -->\n", BrokenSection),
            (_MARKED.replace(b"v1", b"v7"), NewerSection),
            (_MARKED.replace(b"pnpm", b"npm"), EditedSection),
            (_MARKED.replace(b" -->\n##", b" --> mine\n##"), EditedSection),
            (_MARKED.replace(b"sha256=", b"sha="), EditedSection),
            (b"# One\n\n```\ncode\n", OpenBlock),
            (b"# One\n\n<!-- not closed\n", OpenBlock),
            (b"## Resolved Knowledge from Cerno\n\n- x\n", UnfencedSection),
            (b"# One\n" + b"x" * 1_048_500, Oversized),
            (_MARKED + b"\0", Unreadable),
        ],
    )
    def test_reasons(self, data: bytes, reason: type[NotWritten]) -> None:
        """What cannot be written for certain is refused, naming the file."""
        with pytest.raises(reason, match="/atlas/CLAUDE.md"):
            fence.splice(data, _BODY, path="/atlas/CLAUDE.md")

    def test_lines(self) -> None:
        """A refusal says the line that it is about."""
        with pytest.raises(OpenBlock, match="line 3"):
            fence.splice(b"# One\n\n```\ncode\n", _BODY)
        with pytest.raises(BrokenSection, match="line 2"):
            fence.splice(b"# One\n<!-- cortex:end -->\n", _BODY)

    def test_mark_in_body(self) -> None:
        """A section that holds a mark of ours is a fault of this program."""
        with pytest.raises(InternalError):
            fence.splice(b"", b"- x\n<!-- cortex:end -->\n")


class TestOtherSections:
    def test_in_code(self) -> None:
        """Marks in a code block are a human's text."""
        data = b"# One\n\n```\n" + _MARKED + b"```\n"

        assert fence.find(data) is None
        assert data == fence.remove(fence.splice(data, _BODY))

    def test_adopted(self) -> None:
        """A section without marks is replaced where it stands, up to the next heading."""
        old = b"## Resolved Knowledge from Cerno\n\n- old\n\n### Go\n\n- older\n\n"
        data = b"# One\n\n" + old + b"## Mine\n\ntext"

        written = fence.splice(data, _BODY, adopt=True)

        assert b"# One\n\n" + _MARKED + b"\n## Mine\n\ntext" == written
        assert b"# One\n\n" + _MARKED == fence.splice(b"# One\n\n" + old, _BODY, adopt=True)

    def test_discarded(self) -> None:
        """An edited section is written over for whoever says so."""
        edited = _MARKED.replace(b"pnpm", b"npm")
        assert _MARKED == fence.splice(edited, _BODY, discard=True)
