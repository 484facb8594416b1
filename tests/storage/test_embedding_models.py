"""Which embedding model answers, as rows of the ledger."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import NotFound, Refused
from cortex_actors.storage import embeddings, memory_records, models, passages
from cortex_actors.storage.embeddings import Progress
from cortex_actors.storage.index import pending
from cortex_actors.storage.memory import memory_states
from cortex_actors.storage.models import ChosenModel, Retired
from tests.storage.support import opened, text_hash, unit
from tests.storage.things import mem, memory, put_passages

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

    from tests.storage.things import Tables

OLD = ChosenModel("old/3", "hashing", "old/3", 3)
NEW = ChosenModel("new/2", "hashing", "new/2", 2)
FORM = ChosenModel("new/2+int8-00000000", "hashing", "new/2", 2)


def says(connection: Connection, *texts: str) -> None:
    """Let items be found by these texts, each item by its own."""
    for text in texts:
        found = passages.make_passages(text, collection="cortex_insights", item_id=f"i-{text}")
        put_passages(connection, found)


def embeds(connection: Connection, model: ChosenModel, *texts: str) -> None:
    """Store vectors of a model."""
    rows = {text_hash(text): unit(*range(1, model.dimension + 1)) for text in texts}
    embeddings.keep_vectors(connection, model.model_id, rows)


@pytest.fixture
def home(tables: Tables) -> Connection:
    """Give tables in which the old model answers for two texts and the new one is coming."""
    says(tables.connection, "a", "b")
    embeds(tables.connection, OLD, "a", "b")
    models.settle(tables.connection, OLD, 1)
    models.begin(tables.connection, NEW, 2)
    return tables.connection


class TestFirst:
    def test_none(self, tables: Tables) -> None:
        """A home without a model has none, none is coming and none is kept."""
        found = tables.connection

        assert (None, None) == (models.find_active(found), models.find_coming(found))
        assert [] == models.list_retired(found)

    def test_written_once(self, tables: Tables) -> None:
        """The first model that is written down stays the one that answers."""
        assert OLD == models.settle(tables.connection, OLD, 1)
        assert OLD == models.settle(tables.connection, NEW, 2)
        assert OLD == models.find_active(tables.connection)

    def test_name(self, tables: Tables) -> None:
        """A model of an earlier ledger, whose folder is not known, gets its name when it is."""
        nameless = ChosenModel("mine@1234", "sentence-transformers", None, 3)
        named = ChosenModel("mine@1234", "sentence-transformers", "/models/mine", 3)
        models.settle(tables.connection, nameless, 1)

        assert nameless == models.settle(tables.connection, OLD, 2)
        assert named == models.settle(tables.connection, named, 3)


class TestBegin:
    def test_second(self, home: Connection) -> None:
        """A second migration is refused, and the refusal names the first."""
        with pytest.raises(Refused, match="the migration to new/2 runs"):
            models.begin(home, ChosenModel("third/2", "hashing", "third/2", 2), 3)

        assert NEW == models.find_coming(home)

    def test_again(self, home: Connection) -> None:
        """The same migration again is the one that is under way."""
        models.begin(home, NEW, 3)

        assert NEW == models.find_coming(home)

    def test_active(self, home: Connection) -> None:
        """A migration to the model that answers is refused."""
        with pytest.raises(Refused, match="it is the model that answers now"):
            models.begin(home, OLD, 3)

    def test_in_another_form(self, home: Connection) -> None:
        """A compiled form comes in the place of its float model, unless it answers already."""
        models.retarget(home, FORM, 3, instead_of=NEW.model_id)
        before = models.find_coming(home)
        models.retarget(home, OLD, 4, instead_of=FORM.model_id)

        assert before is not None
        assert "new/2+int8-00000000" == before.model_id
        assert None is models.find_coming(home)
        assert OLD == models.find_active(home)

    def test_called_off_meanwhile(self, home: Connection) -> None:
        """A migration that was called off while its model was compiled does not come back."""
        models.cancel(home, 3)
        with pytest.raises(NotFound, match="was called off"):
            models.retarget(home, FORM, 4, instead_of=NEW.model_id)

        assert None is models.find_coming(home)

    def test_vectors_of_an_earlier_time(self, home: Connection) -> None:
        """A float model that was embedded with before is retired again, not lost sight of."""
        embeds(home, NEW, "a")
        models.retarget(home, FORM, 3, instead_of=NEW.model_id)

        assert [Retired(NEW.model_id, 3)] == models.list_retired(home)


class TestProgress:
    def test_distinct(self, home: Connection) -> None:
        """Texts are counted once, however many passages have them."""
        found = passages.make_passages("a", collection="cortex_private", item_id="m")
        put_passages(home, found)
        embeds(home, NEW, "b", "nobody says this")

        assert Progress(total=2, done=1) == embeddings.count_progress(home, NEW.model_id)

    def test_next(self, home: Connection) -> None:
        """What has no vector comes in the order of its passages, past where one was."""
        says(home, "c")
        embeds(home, NEW, "b")
        found = embeddings.list_without(home, NEW.model_id, of="passages", after=0, limit=10)
        later = embeddings.list_without(
            home, NEW.model_id, of="passages", after=found[0].row, limit=10
        )

        assert ["a", "c"] == [each.text for each in found]
        assert [text_hash("c")] == [each.digest for each in later]
        assert ["a"] == [
            e.text
            for e in embeddings.list_without(home, NEW.model_id, of="passages", after=0, limit=1)
        ]

    def test_inactive(self, home: Connection) -> None:
        """What a memory says counts once, and still does when it is found by no passage."""
        memory_records.save(home, [memory("said", id="a")])
        before = embeddings.count_progress(home, NEW.model_id)
        memory_states.archive(home, [mem("a")], 5)
        left = embeddings.list_without(home, NEW.model_id, of="memories", after=0, limit=10)

        assert Progress(total=3, done=0) == before == embeddings.count_progress(home, NEW.model_id)
        assert [("said", text_hash("said"))] == [(each.text, each.digest) for each in left]
        assert [] == embeddings.list_without(
            home, NEW.model_id, of="memories", after=left[0].row, limit=10
        )
        assert 3 == models.switch(home, NEW.model_id, but={text_hash("c")}, at=6) + 1


class TestSwitch:
    def test_all_there(self, home: Connection) -> None:
        """When every text has its vector, the model answers and the index begins anew."""
        before = pending.rebuild(home, OLD.model_id)
        embeds(home, NEW, "a", "b")
        missing = models.switch(home, NEW.model_id, but=(), at=5)
        state = pending.load_state(home)

        assert 0 == missing
        assert NEW == models.find_active(home)
        assert None is models.find_coming(home)
        assert [Retired("old/3", 5)] == models.list_retired(home)
        assert state is not None
        assert (before.generation + 1, "new/2") == (state.generation, state.model)

    def test_missing(self, home: Connection) -> None:
        """While a text has no vector nothing changes."""
        embeds(home, NEW, "a")

        assert 1 == models.switch(home, NEW.model_id, but=(), at=5)
        assert (OLD, NEW) == (models.find_active(home), models.find_coming(home))

    def test_but(self, home: Connection) -> None:
        """A text that cannot be embedded holds up nothing; another one does."""
        embeds(home, NEW, "a")
        says(home, "c")

        assert 1 == models.switch(home, NEW.model_id, but={text_hash("b")}, at=5)
        but = {text_hash("b"), text_hash("c")}
        assert 0 == models.switch(home, NEW.model_id, but=but, at=5)

    def test_called_off(self, home: Connection) -> None:
        """What was called off does not switch any more."""
        embeds(home, NEW, "a", "b")

        assert NEW == models.cancel(home, 4)
        with pytest.raises(NotFound, match="no migration to it runs"):
            models.switch(home, NEW.model_id, but=(), at=5)
        assert None is models.cancel(home, 5)
        assert [Retired("new/2", 4)] == models.list_retired(home)

    def test_back(self, home: Connection) -> None:
        """Going back needs no vector made again, as long as they were not forgotten."""
        embeds(home, NEW, "a", "b")
        models.switch(home, NEW.model_id, but=(), at=5)
        models.begin(home, OLD, 6)

        assert Progress(2, 2) == embeddings.count_progress(home, OLD.model_id)
        assert 0 == models.switch(home, OLD.model_id, but=(), at=7)
        assert OLD == models.find_active(home)


class TestForget:
    def test_in_pieces(self, home: Connection) -> None:
        """Vectors go a few at a time, and with the last one the model."""
        embeds(home, NEW, "a", "b")
        models.switch(home, NEW.model_id, but=(), at=5)

        assert [1, 1, 0] == [models.forget(home, OLD.model_id, 1) for _ in range(3)]
        assert [] == models.list_retired(home)
        assert Progress(2, 2) == embeddings.count_progress(home, NEW.model_id)

    @pytest.mark.parametrize("model", [OLD, NEW])
    def test_in_use(self, home: Connection, model: ChosenModel) -> None:
        """The vectors of a model that answers or comes are not forgotten."""
        with pytest.raises(Refused, match="cannot forget"):
            models.forget(home, model.model_id, 10)


class TestBeforeTheTree:
    async def test_chosen(self, tmp_path: Path) -> None:
        """The model is read from the file of a ledger that was closed, and of one that runs."""
        async with opened(tmp_path) as store:
            await store.write(lambda c: models.settle(c, OLD, 1))
            path = store.home.ledger
            running = models.read_chosen(path)

        assert [OLD, OLD] == [running, models.read_chosen(path)]

    async def test_none_yet(self, tmp_path: Path) -> None:
        """There is none without a ledger, in an empty one, and in one that cannot be read."""
        path = tmp_path / "cortex.db"
        absent = models.read_chosen(path)
        path.write_bytes(b"")
        empty = models.read_chosen(path)
        path.write_bytes(b"no ledger at all" * 1_000)

        assert [None] * 3 == [absent, empty, models.read_chosen(path)]
        assert ["cortex.db"] == [each.name for each in tmp_path.iterdir()]

    async def test_earlier_version(self, tmp_path: Path) -> None:
        """A ledger of an earlier version is decided about when it has been migrated."""
        with closing(sqlite3.connect(tmp_path / "cortex.db")) as made:
            made.execute("CREATE TABLE embedding_models (id TEXT, dimension INT, state TEXT)")
            made.execute("INSERT INTO embedding_models VALUES ('old/3', 3, 'active')")
            made.commit()

        assert None is models.read_chosen(tmp_path / "cortex.db")
