"""Revocations: what counts no more, who is asked about it, and that it can be lifted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.project import Project, SourceKind
from cortex_actors.storage import projects
from cortex_actors.storage.pipeline import reviews

if TYPE_CHECKING:
    from tests.storage.things import Tables

PATH = "/atlas/docs/CLAUDE.md"


class TestBegin:
    def test_once(self, tables: Tables) -> None:
        """A source is taken back once, and again after it was lifted."""
        connection = tables.connection
        said = [
            reviews.begin(connection, SourceKind.PROJECT, "prj_a", at=1, note="why"),
            reviews.begin(connection, SourceKind.PROJECT, "prj_a", at=2),
            reviews.end(connection, SourceKind.PROJECT, "prj_a", at=3),
            reviews.end(connection, SourceKind.PROJECT, "prj_a", at=4),
            reviews.begin(connection, SourceKind.PROJECT, "prj_a", at=5),
        ]

        assert [True, False, True, False, True] == said
        assert [("why", 3), (None, None)] == tables.rows("SELECT note, ended_at FROM revocations")

    def test_standing(self, tables: Tables) -> None:
        """What stands is listed newest first, without what was lifted."""
        connection = tables.connection
        for at, key in enumerate(("ins_a", "ins_b", "ins_c")):
            reviews.begin(connection, SourceKind.INSIGHT, key, at=at)
        reviews.end(connection, SourceKind.INSIGHT, "ins_b", at=9)

        found = reviews.list_revocations(connection)
        assert ["ins_c", "ins_a"] == [each.key for each in found]
        assert {"ins_a"} == reviews.load_revoked_insights(connection, ["ins_a", "ins_b", "ins_x"])
        assert set() == reviews.load_revoked_principles(connection)


class TestBars:
    @pytest.mark.parametrize(
        ("kind", "key", "is_barred"),
        [
            (SourceKind.PROJECT, "prj_a", True),
            (SourceKind.PATH, PATH, True),
            (SourceKind.PATH, "/atlas/docs", True),
            (SourceKind.PATH, "/", True),
            (SourceKind.PROJECT, "prj_b", False),
            (SourceKind.PATH, "/atlas/doc", False),
            (SourceKind.PATH, "/atlas/docs/CLAUDE.md.old", False),
            (SourceKind.INSIGHT, "prj_a", False),
            (SourceKind.PATH, "prj_a", False),
        ],
    )
    def test_named(self, tables: Tables, kind: SourceKind, key: str, is_barred: bool) -> None:
        """A file is barred with its project, by its own name, and with a folder that holds it."""
        reviews.begin(tables.connection, kind, key, at=1)

        found = reviews.find_bar(tables.connection, "prj_a", PATH)
        assert is_barred == (found is not None)

    def test_around(self, tables: Tables) -> None:
        """Following the folder around a project does not let its files in again, only others."""
        connection = tables.connection
        inner, outer = Project.from_root("/atlas/docs", 1), Project.from_root("/atlas", 2)
        for each in (inner, outer):
            projects.add(connection, each)
        reviews.begin(connection, SourceKind.PROJECT, inner.id, at=1)
        projects.remove(connection, inner.id)

        assert reviews.find_bar(connection, outer.id, PATH) is not None
        assert reviews.find_bar(connection, outer.id, "/atlas/CLAUDE.md") is None

    def test_lifted(self, tables: Tables) -> None:
        """What was lifted bars nothing."""
        reviews.begin(tables.connection, SourceKind.PROJECT, "prj_a", at=1)
        reviews.end(tables.connection, SourceKind.PROJECT, "prj_a", at=2)

        assert reviews.find_bar(tables.connection, "prj_a", PATH) is None

    def test_odd_names(self, tables: Tables) -> None:
        """A path whose bytes are no UTF-8 is found as it was given."""
        odd = "/atlas/\udcff/CLAUDE.md"
        reviews.begin(tables.connection, SourceKind.PATH, odd, at=1)

        assert reviews.find_bar(tables.connection, "prj_a", odd) is not None
