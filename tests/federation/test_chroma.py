"""A collection on a real Chroma server is a store, where its vectors are of our model."""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.clock import SystemClock
from cortex_actors.endpoint.client import LeftAlone
from cortex_actors.endpoint.connection import StoreConnection
from cortex_actors.errors import StoreDown, StoreUnusable
from cortex_actors.federation.adapters.chroma import Chroma
from cortex_actors.federation.answers import OutgoingQuestion
from cortex_actors.federation.store import StoreSpec
from tests.contract.chromaserver import serving
from tests.contract.database_cases import MODEL, NOTES, QUESTION, call, fill, row_of
from tests.federation.canned import CannedLine, speaking

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.contract.chromaserver import ChromaServer

#: Where the canned collection is, and where it is asked.
PLACE = "/api/v2/tenants/default_tenant/databases/default_database/collections/"

#: What a server says of a collection.
DESCRIBED = {"id": "1f", "name": "notes", "dimension": 384, "metadata": {"model": MODEL}}


def asked(text: str = QUESTION, limit: int = 5, **changed: Any) -> OutgoingQuestion:
    """Return a question with its vector."""
    return OutgoingQuestion(
        **{"text": text, "limit": limit, "seconds": 20.0, **_vector(text), **changed}
    )


def canned(answer: object, described: object = DESCRIBED) -> CannedLine:
    """Return a line to a server that says this of its collection, and this to a question."""
    line = CannedLine()
    line.documents = {PLACE + "notes": described, PLACE + "1f/query": answer}
    return line


def columns(**changed: Any) -> dict[str, Any]:
    """Return an answer with one hit, as Chroma sends it."""
    plain = {"ids": [["a"]], "documents": [["text"]], "metadatas": [[None]], "distances": [[0.5]]}
    return {**plain, **changed}


def _vector(text: str) -> dict[str, Any]:
    return {"vector": row_of(text), "model": MODEL}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    """Run a server with some collections."""
    with serving(tmp_path_factory.mktemp("chroma") / "files") as server:
        fill(server, "cosines", NOTES, metadata={"model": MODEL})
        fill(server, "squares", NOTES, space="l2", metadata={"embedding_model": MODEL})
        fill(server, "strange", NOTES, metadata={"model": "bge-small"})
        fill(server, "nobodys", NOTES)
        fill(server, "empty", [], metadata={"model": MODEL})
        fill(server, "bare", [("b1", None, "topic alone")], metadata={"model": MODEL})
        yield server


@pytest.mark.slow
class TestServer:
    @staticmethod
    @asynccontextmanager
    async def opened(server: ChromaServer, **options: Any) -> AsyncIterator[Chroma]:
        """Give an adapter."""
        spec = StoreSpec("notes", "chroma", server.url, options=options)
        adapter = Chroma(spec, StoreConnection(server.url, SystemClock()))
        try:
            yield adapter
        finally:
            await adapter.close()

    @pytest.mark.parametrize("collection", ["cosines", "squares"])
    async def test_search(self, server: ChromaServer, collection: str) -> None:
        """Hits come nearest first, with the server's distance and the base relevance of it."""
        async with self.opened(server, collection=collection) as adapter:
            answer = await adapter.search(asked(NOTES[1][1]))

        first = answer.hits[0]
        assert ("n2", NOTES[1][1], "notes") == (first.id, first.text, first.store)
        assert first.raw_distance == pytest.approx(0, abs=1e-5)
        assert first.base_relevance == pytest.approx(1, abs=1e-5)
        assert {"metadata": {"topic": "deploy,week"}} == first.extra
        far = [hit.raw_distance or 0.0 for hit in answer.hits]
        assert 3 == len(far)
        assert sorted(far) == far
        assert (first.native_score is None) == (collection == "squares")

    async def test_where(self, server: ChromaServer) -> None:
        """A filter of the description narrows what is found; one that is wrong is told."""
        options: dict[str, Any] = {"collection": "cosines", "where": {"topic": "config"}}
        async with self.opened(server, **options) as adapter:
            answer = await adapter.search(asked())
        async with self.opened(server, collection="cosines", where={"$no": 1}) as wrong:
            with pytest.raises(StoreDown, match="400"):
                await wrong.search(asked())

        assert ["n3"] == [hit.id for hit in answer.hits]

    async def test_skipped(self, server: ChromaServer) -> None:
        """A collection of another model, or of nobody knows which, is left out with the reason."""
        async with self.opened(server, collection="strange") as adapter:
            with pytest.raises(LeftAlone, match="of the model bge-small,"):
                await adapter.search(asked())
        async with self.opened(server, collection="nobodys") as adapter:
            with pytest.raises(LeftAlone, match=r"options\.model"):
                await adapter.search(asked())
        async with self.opened(server, collection="nobodys", model=MODEL) as adapter:
            told = await adapter.search(asked())
        async with self.opened(server, collection="cosines") as adapter:
            with pytest.raises(LeftAlone, match="384 numbers"):
                await adapter.search(asked(vector=row_of("x")[:3]))

        assert ("n1", ()) == (told.hits[0].id, told.skipped)

    async def test_no_texts(self, server: ChromaServer) -> None:
        """Vectors without texts are no answer, unless the description says where the texts are."""
        async with self.opened(server, collection="bare") as adapter:
            with pytest.raises(StoreUnusable, match=r"options\.text_key"):
                await adapter.search(asked())
        async with self.opened(server, collection="bare", text_key="topic") as adapter:
            answer = await adapter.search(asked())
        async with self.opened(server, collection="empty") as adapter:
            nothing = await adapter.search(asked())

        assert ["topic alone"] == [hit.text for hit in answer.hits]
        assert ((), ()) == (nothing.hits, nothing.skipped)

    async def test_made_again(self, server: ChromaServer) -> None:
        """A collection that was deleted is missed, and found again once it is there again."""
        fill(server, "passing", NOTES, metadata={"model": MODEL})
        async with self.opened(server, collection="passing") as adapter:
            await adapter.search(asked())
            call(server, "/passing", {}, "DELETE")
            with pytest.raises(StoreUnusable, match="no collection 'passing'"):
                await adapter.search(asked())
            fill(server, "passing", NOTES[:1], metadata={"model": MODEL})
            answer = await adapter.search(asked())

        assert ["n1"] == [hit.id for hit in answer.hits]

    async def test_ping(self, server: ChromaServer) -> None:
        """The owner is told what the collection is."""
        async with self.opened(server, collection="squares") as adapter:
            said = await adapter.ping(20)

        assert ("Chroma", "squares", 384) == (
            said["service"],
            said["collection"],
            said["dimension"],
        )
        assert ("l2", MODEL) == (said["space"], said["model"])


class TestDialect:
    async def test_asking(self) -> None:
        """The collection is looked up first; then the vector is sent, and the text is not."""
        line = canned(columns())
        adapter = speaking(Chroma, "chroma", line, collection="notes", where={"a": 1})
        await adapter.search(asked())

        wanted = {
            "query_embeddings": [row_of(QUESTION).tolist()],
            "n_results": 5,
            "include": ["documents", "metadatas", "distances"],
            "where": {"a": 1},
        }
        assert [PLACE + "notes", PLACE + "1f/query"] == [path for path, _ in line.sent]
        assert wanted == line.sent[-1][1]

    async def test_changed_model(self) -> None:
        """Each question goes by the model that the collection has by then."""
        line = canned(columns())
        adapter = speaking(Chroma, "chroma", line, collection="notes")
        counts = []
        for model in ("bge-small", MODEL, "bge-small", MODEL):
            line.documents[PLACE + "notes"] = {**DESCRIBED, "metadata": {"model": model}}
            with suppress(LeftAlone):
                await adapter.search(asked())
            counts.append(len(line.sent))

        # Two requests for an answer, and the look-up alone where it does not fit.
        assert [1, 3, 4, 6] == counts

    async def test_names(self) -> None:
        """A name of a tenant, a database or a collection stays one part of the path."""
        line = CannedLine()
        adapter = speaking(
            Chroma, "chroma", line, collection="../../x?y", tenant="a/b", database="c d"
        )
        with pytest.raises(KeyError):
            await adapter.search(asked())

        path = "/api/v2/tenants/a%2Fb/databases/c%20d/collections/..%2F..%2Fx%3Fy"
        assert path == line.sent[0][0]

    @pytest.mark.parametrize(
        "function",
        [
            {"name": "default", "config": {}},
            {"name": "sentence_transformer", "config": {"model_name": "all-MiniLM-L6-v2"}},
        ],
    )
    async def test_known_function(self, function: dict[str, Any]) -> None:
        """The embedding function that Chroma notes says whose vectors a collection has."""
        described = {
            "id": "1f",
            "dimension": 384,
            "configuration_json": {"hnsw": {"space": "ip"}, "embedding_function": function},
        }
        adapter = speaking(Chroma, "chroma", canned(columns(), described), collection="notes")
        answer = await adapter.search(asked(model="all-MiniLM-L6-v2+int8-7f4e9655"))
        with pytest.raises(LeftAlone, match="all-MiniLM-L6-v2"):
            await adapter.search(asked())

        assert ["a"] == [hit.id for hit in answer.hits]

    @pytest.mark.parametrize(
        "answer",
        [
            [],
            {},
            columns(ids="a"),
            columns(ids=[["a"], ["b"]]),
            columns(ids=[["a", "b"]]),
            columns(documents=[["x", "y"]]),
            columns(distances=[3]),
        ],
    )
    async def test_foreign(self, answer: object) -> None:
        """Columns that do not fit one another are no answer."""
        adapter = speaking(Chroma, "chroma", canned(answer), collection="notes")
        with pytest.raises(StoreDown, match="not an answer of Chroma"):
            await adapter.search(asked())

    @pytest.mark.parametrize("described", [[], {}, {"id": 3}, {"id": "", "dimension": 384}])
    async def test_foreign_collection(self, described: object) -> None:
        """What describes no collection is no answer."""
        adapter = speaking(Chroma, "chroma", canned(columns(), described), collection="notes")
        with pytest.raises(StoreDown, match="not an answer of Chroma"):
            await adapter.search(asked())

    async def test_left_out(self) -> None:
        """A hit without a text is left out, and the answer says so."""
        answer = columns(
            ids=[["a", "b"]], documents=[[None, "x"]], metadatas=None, distances=[["far", -0.5]]
        )
        adapter = speaking(Chroma, "chroma", canned(answer), collection="notes")
        found = await adapter.search(asked())

        assert [("b", 1.0, -0.5)] == [(h.id, h.base_relevance, h.raw_distance) for h in found.hits]
        assert "1 of its 2 hits" in found.skipped[0]

    def test_no_collection(self) -> None:
        """A description has to name a collection."""
        with pytest.raises(StoreUnusable, match="needs the option collection"):
            speaking(Chroma, "chroma", CannedLine())
