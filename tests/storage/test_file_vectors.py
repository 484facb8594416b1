"""The vectors by which files were compared: as many as they need, and no longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import update

from cortex_actors.domain.project import Project
from cortex_actors.storage import models, projects
from cortex_actors.storage.embeddings import FileVectors, find_vectors
from cortex_actors.storage.tables.schema import file_vectors
from tests.storage.support import text_hash, unit
from tests.storage.test_embedding_models import OLD

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tests.storage.things import Tables

ATLAS = Project.from_root("/atlas", 1)
PATH = "/atlas/CLAUDE.md"


@pytest.fixture
def home(tables: Tables) -> Connection:
    """Give tables with a file that was read, and two texts that it was compared by."""
    projects.add(tables.connection, ATLAS)
    state = projects.FileState(PATH, ATLAS.id, 1, 1, 1, 1, "a")
    projects.note_file(tables.connection, state, 1)
    keep(tables.connection, "a", "b")
    return tables.connection


def keep(connection: Connection, *texts: str, path: str = PATH) -> None:
    """Keep what a file is compared by."""
    FileVectors(path, OLD.model_id, {each: unit(1, 2, 3) for each in texts}).keep(connection)


def known(connection: Connection) -> list[str]:
    """Return the texts that have a vector."""
    some = {text_hash(each): each for each in ("a", "b", "c")}
    return sorted(some[each] for each in find_vectors(connection, OLD.model_id, digests=list(some)))


class TestFileVectors:
    def test_others(self, home: Connection) -> None:
        """What a file says no more is dropped; without a model what is there stays."""
        keep(home, "b", "c")
        keep(home)

        assert ["b", "c"] == known(home)

    def test_damaged(self, home: Connection) -> None:
        """A vector that was damaged, and made again, takes its place."""
        spoilt = {"vector": bytes(12)}
        home.execute(update(file_vectors).where(file_vectors.c.digest == text_hash("a")), spoilt)
        assert ["b"] == known(home)
        keep(home, "a", "b")

        assert ["a", "b"] == known(home)

    @pytest.mark.parametrize(("path", "left"), [(PATH, ["a", "b"]), ("/gone/AGENTS.md", [])])
    def test_gone(self, home: Connection, path: str, left: list[str]) -> None:
        """Pruning drops what belongs to files that are read no more, and nothing else."""
        keep(home, "c", path="/gone/CLAUDE.md")
        if path != PATH:
            projects.forget(home, PATH)
        projects.prune(home, 1, 1)

        assert left == known(home)

    def test_other_model(self, home: Connection) -> None:
        """With the last vector of a model these go, too."""
        models.forget(home, OLD.model_id, 1)

        assert [] == known(home)
