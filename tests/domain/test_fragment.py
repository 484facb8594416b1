from __future__ import annotations

import hashlib
from dataclasses import FrozenInstanceError, replace

import pytest

from cortex_actors.domain.project import Fragment, hash_file, make_fragment_id

FRAGMENT = Fragment(
    content="Use tabs.",
    source_path="/p/CLAUDE.md",
    source_project="p",
    heading="Style",
    line_start=1,
    line_end=2,
    byte_start=0,
    byte_end=18,
    file_hash="0" * 64,
)


class TestIdentity:
    def test_formula(self) -> None:
        """A fragment's id is the SHA-256 of its path and content, one after the other."""
        assert hashlib.sha256(b"/p/CLAUDE.mdUse tabs.").hexdigest() == FRAGMENT.id

    def test_place_does_not_matter(self) -> None:
        """A section that moves within its file keeps its id."""
        moved = replace(FRAGMENT, heading="Other", line_start=7, line_end=8)

        assert FRAGMENT.id == moved.id

    def test_path_and_content_matter(self) -> None:
        """Another path or another text is another fragment."""
        others = {replace(FRAGMENT, source_path="/q").id, replace(FRAGMENT, content="x").id}

        assert 2 == len(others - {FRAGMENT.id})

    def test_any_file_name(self) -> None:
        """A file name that is not UTF-8 is hashed as the bytes it has on disk."""
        assert hashlib.sha256(b"/p/\xffx").hexdigest() == make_fragment_id("/p/\udcff", "x")

    def test_frozen(self) -> None:
        """A fragment cannot be changed once it travels."""
        with pytest.raises(FrozenInstanceError):
            FRAGMENT.content = "y"  # type: ignore[misc]


class TestFileHash:
    def test_of_bytes(self) -> None:
        """The file hash is the SHA-256 of the bytes as they are."""
        assert hashlib.sha256(b"a\r\n").hexdigest() == hash_file(b"a\r\n")
