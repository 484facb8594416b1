"""Knowledge: a document's pieces, and the passages by which they are found."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.project import Chunk, chunk_id
from cortex_actors.storage import documents
from cortex_actors.testing import EPOCH
from tests.storage.things import document, found_by

if TYPE_CHECKING:
    from tests.storage.things import Tables

BOOK = "/docs/book.md"


def learn(tables: Tables, *texts: str, source: str = BOOK) -> list[str]:
    """Let a document say that; return the ids of its pieces."""
    pieces = document(source, *texts)
    tables.write(partial(documents.learn_chunks, source=source, some=pieces))
    return [each.id for each in pieces]


class TestRows:
    def test_comes_back(self, tables: Tables) -> None:
        """A piece comes back from the ledger as it was read."""
        piece = Chunk(
            id=chunk_id(BOOK, 3, text="x = 1"),
            source=BOOK,
            ordinal=3,
            topic="python",
            title="A book",
            text="x = 1",
            read_at=EPOCH,
            headings=("One", "Two"),
            is_code=True,
            language="python",
            tags=("a",),
            cross_refs=("other.md",),
        )
        tables.write(lambda c: documents.learn_chunks(c, BOOK, [piece]))

        assert {piece.id: piece} == tables.read(lambda c: documents.load_chunks(c, [piece.id]))

    def test_counts(self, tables: Tables) -> None:
        """What documents say now is counted."""
        learn(tables, "one", "two")
        learn(tables, "three", source="/docs/other.md")
        tables.write(lambda c: documents.learn_chunks(c, BOOK, ()))

        assert 1 == tables.read(documents.count_chunks)

    def test_ids(self) -> None:
        """The same place saying the same has the same id; anything else has another."""
        one = chunk_id(BOOK, 1, text="x")

        assert one == chunk_id(BOOK, 1, text="x")
        assert 4 == len({one, chunk_id(BOOK, 2, text="x"), chunk_id("y", 1, text="x"), "kb_"})


class TestPassages:
    def test_with_headings(self, tables: Tables) -> None:
        """A piece is found by its title and headings, too."""
        (piece,) = document(BOOK, "said", title="Title", headings=("One", "Two"))
        tables.write(lambda c: documents.learn_chunks(c, BOOK, [piece]))

        assert {"both": "Title\nOne > Two\nsaid"} == found_by(tables, piece.id)

    def test_predecessor(self, tables: Tables) -> None:
        """A piece is found alone, and with the piece before it; the first one has none."""
        first, second = learn(tables, "one", "two")

        assert {"both": "one"} == found_by(tables, first)
        assert {"alone": "two", "paired": "one\ntwo"} == found_by(tables, second)

    def test_gap(self, tables: Tables) -> None:
        """Before a piece stands whatever the document says there now."""
        pieces = document(BOOK, "one", "two", "three")
        tables.write(lambda c: documents.learn_chunks(c, BOOK, [pieces[0], pieces[2]]))

        assert "one\nthree" == (found_by(tables, pieces[2].id))["paired"]

    def test_documents_apart(self, tables: Tables) -> None:
        """The end of one document is not before the beginning of another."""
        learn(tables, "end", source="/docs/a.md")
        (begin,) = learn(tables, "begin", source="/docs/b.md")

        assert {"both": "begin"} == found_by(tables, begin)


class TestAgain:
    def test_changed(self, tables: Tables) -> None:
        """A piece that says something else is another one, and what follows is paired with it."""
        old, *_ = learn(tables, "old", "stays", "last")
        new, stays, last = learn(tables, "new", "stays", "last")

        assert {} == found_by(tables, old)
        assert {"both": "new"} == found_by(tables, new)
        assert "new\nstays" == (found_by(tables, stays))["paired"]
        assert "stays\nlast" == (found_by(tables, last))["paired"]

    def test_unchanged(self, tables: Tables) -> None:
        """What stays as it was is written nowhere again."""
        learn(tables, "one", "two")
        before = tables.rows("SELECT id, text FROM passages")
        learn(tables, "one", "two")

        assert before == tables.rows("SELECT id, text FROM passages")

    def test_comes_back(self, tables: Tables) -> None:
        """What a document says again is found again, under its old id."""
        before = learn(tables, "one", "two")
        tables.write(lambda c: documents.learn_chunks(c, BOOK, ()))
        assert [] == tables.rows("SELECT * FROM passages")

        assert before == learn(tables, "one", "two")
        assert "one\ntwo" == (found_by(tables, before[1]))["paired"]

    def test_remade(self, tables: Tables) -> None:
        """The passages can be made of the rows alone."""
        ids = learn(tables, "one", "two")
        before = tables.rows("SELECT item_id, place, text FROM passages ORDER BY 1, 2")
        tables.write(lambda c: c.exec_driver_sql("DELETE FROM passages"))

        assert ids == sorted(ids, key=ids.index)
        assert 2 == tables.write(lambda c: documents.remake(c, [*ids, "kb_unknown"]))
        assert before == tables.rows("SELECT item_id, place, text FROM passages ORDER BY 1, 2")


class TestRefused:
    def test_of_another(self, tables: Tables) -> None:
        """A piece of another document is refused."""
        pieces = document("/docs/other.md", "x")

        with pytest.raises(ValueError, match=r"other\.md"):
            tables.write(lambda c: documents.learn_chunks(c, BOOK, pieces))

    def test_same_place(self, tables: Tables) -> None:
        """So are two pieces in one place."""
        pieces = document(BOOK, "x") + document(BOOK, "y")

        with pytest.raises(ValueError, match="same place"):
            tables.write(lambda c: documents.learn_chunks(c, BOOK, pieces))
