from __future__ import annotations

import hashlib

from cortex_actors.domain.insight import (
    Category,
    InsightSource,
    InsightStatus,
    hash_section,
    make_insight_id,
)
from cortex_actors.domain.project import Fragment


class TestIdentity:
    def test_trimmed(self) -> None:
        """White space around a section does not make another insight."""
        assert hash_section("Use tabs.") == hash_section("\n Use tabs. \n\n")

    def test_formula(self) -> None:
        """The content hash is the SHA-256 of the trimmed UTF-8 bytes."""
        assert hashlib.sha256("für".encode()).hexdigest() == hash_section(" für ")

    def test_id(self) -> None:
        """An insight's id is its mark and the first twenty digits of its hash."""
        assert "ins_" + "ab" * 10 == make_insight_id("ab" * 32)


class TestWords:
    def test_categories(self) -> None:
        """There are the seven categories of the documents and no others."""
        words = "convention fact pattern preference principle technique warning"

        assert words.split() == sorted(Category)

    def test_statuses(self) -> None:
        """An insight that no source says any more has a status of its own."""
        words = "active contradicted pending_review superseded withdrawn"

        assert words.split() == sorted(InsightStatus)


class TestSource:
    def test_of_fragment(self) -> None:
        """A source says where the fragment stood."""
        fragment = Fragment("x", "/p/CLAUDE.md", "p", "H", 3, 4, 10, 16, "f" * 64)
        source = InsightSource.from_fragment("ins_1", fragment)

        assert (
            InsightSource("ins_1", fragment.id, "/p/CLAUDE.md", "p", "H", 3, 4, "f" * 64) == source
        )
