"""Documents: one row each, taken out and brought back with what they say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cortex_actors.domain.project import Document
from cortex_actors.storage import documents
from cortex_actors.testing import EPOCH
from tests.storage.things import document as pieces
from tests.storage.things import found_by

if TYPE_CHECKING:
    from tests.storage.things import Tables

BOOK = "/docs/book.md"


def learn(tables: Tables, *texts: str, source: str = BOOK, topic: str = "topic") -> list[str]:
    """Let a document say that; return the ids of its pieces."""
    made = Document(source, bytes(32), 1, topic, "Title", size=10, read_at=EPOCH, tags=("a",))
    some = pieces(source, *texts)
    tables.write(lambda c: documents.learn(c, made, some))
    return [each.id for each in some]


class TestRows:
    def test_comes_back(self, tables: Tables) -> None:
        """A document comes back from the ledger as it was read."""
        learn(tables, "one")

        (found,) = tables.read(lambda c: documents.load_documents(c, [BOOK, "/docs/x"])).values()
        assert ("Title", ("a",), None) == (found.title, found.tags, found.withdrawn_at)

    def test_topics(self, tables: Tables) -> None:
        """Topics are counted, with what of them is taken out."""
        learn(tables, "one", "two")
        learn(tables, "three", source="/docs/other.md")
        tables.write(lambda c: documents.withdraw(c, [BOOK], at=EPOCH))
        (found,) = tables.read(documents.list_topics)

        assert ("topic", 1, 1, 1) == tuple(
            found[name] for name in ("topic", "documents", "withdrawn", "pieces")
        )
        assert (1, 1) == (
            tables.read(documents.count_totals)["documents"],
            tables.read(documents.count_totals)["pieces"],
        )

    def test_below(self, tables: Tables) -> None:
        """A folder's documents are those below it, and none of a folder called much the same."""
        for source in ("/docs/a.md", "/docs/x/b.md", "/docs2/c.md", "/docs"):
            learn(tables, "one", source=source)

        assert ["/docs/a.md", "/docs/x/b.md"] == tables.read(
            lambda c: documents.list_below(c, "/docs")
        )


class TestTakenOut:
    def test_and_back(self, tables: Tables) -> None:
        """What is taken out is found no more, and comes back as it was last read."""
        old, stays = learn(tables, "old", "stays")
        later = Document(BOOK, bytes(32), 1, "topic", "Title", size=10, read_at=EPOCH + 1)
        now = [replace(each, read_at=EPOCH + 1) for each in pieces(BOOK, "new", "stays")]
        tables.write(lambda c: documents.learn(c, later, now))
        assert [BOOK] == tables.write(lambda c: documents.withdraw(c, [BOOK], at=EPOCH + 2))
        assert {} == found_by(tables, now[0].id)

        assert [BOOK] == tables.write(lambda c: documents.withdraw(c, [BOOK], at=None))
        assert {} == found_by(tables, old)
        assert {"both": "new"} == found_by(tables, now[0].id)
        assert "new\nstays" == found_by(tables, stays)["paired"]

    def test_twice(self, tables: Tables) -> None:
        """Taking out what is taken out, or bringing back what is there, does nothing."""
        learn(tables, "one")

        assert [] == tables.write(lambda c: documents.withdraw(c, [BOOK], at=None))
        assert [BOOK] == tables.write(lambda c: documents.withdraw(c, [BOOK], at=EPOCH))
        assert [] == tables.write(lambda c: documents.withdraw(c, [BOOK], at=EPOCH))
        assert 0 == tables.read(documents.count_chunks)
