"""A table in a real PostgreSQL is a store: nearest rows, read and never written."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.clock import SystemClock
from cortex_actors.endpoint.client import LeftAlone
from cortex_actors.endpoint.connection import StoreConnection
from cortex_actors.errors import StoreDown, StoreTimeout, StoreUnusable
from cortex_actors.federation.adapters.pgvector import Pgvector
from cortex_actors.federation.answers import OutgoingQuestion
from cortex_actors.federation.store import StoreSpec
from tests.contract.database_cases import MODEL, NOTES, QUESTION, notes, row_of
from tests.endpoint.awake import awake
from tests.federation.postgres import PASSWORD, Postgres, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

pytestmark = pytest.mark.slow

#: How the table of notes is described.
TABLE: dict[str, Any] = {"table": "notes", "model": MODEL}

#: A function of the database that writes on the side.
WRITES = """CREATE FUNCTION writes(words text) RETURNS vector LANGUAGE sql AS
$$ INSERT INTO notes VALUES (words); SELECT '[1]'::vector $$"""


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """Run a server with some tables."""
    with serving() as server:
        notes(server, "notes", NOTES)
        notes(server, "loose", NOTES, size="")
        server.run("CREATE SCHEMA other")
        notes(server, "other.notes", [("o1", "of another schema", "x")])
        server.run("CREATE ROLE reader LOGIN PASSWORD 'reader'")
        server.run("GRANT SELECT ON loose TO reader")
        server.run(WRITES)
        yield server


@asynccontextmanager
async def opened(
    server: Postgres, *, token: str = PASSWORD, url: str = "", managed: bool = False, **options: Any
) -> AsyncIterator[Pgvector]:
    """Give an adapter."""
    url = url or server.url
    spec = StoreSpec("notes", "pgvector", url, options=options, managed=managed)
    adapter = Pgvector(spec, StoreConnection(url, SystemClock(), token=token))
    try:
        yield adapter
    finally:
        await adapter.close()


def asked(text: str = QUESTION, limit: int = 5, **changed: Any) -> OutgoingQuestion:
    """Return a question with its vector."""
    plain = {"seconds": 20.0, "vector": row_of(text), "model": MODEL}
    return OutgoingQuestion(**{"text": text, "limit": limit, **plain, **changed})


class TestSearch:
    @pytest.mark.parametrize("distance", ["cosine", "l2", "ip"])
    async def test_nearest(self, server: Postgres, distance: str) -> None:
        """Rows come nearest first, with the distance and the base relevance of it."""
        async with opened(server, **TABLE, distance=distance, metadata=["topic"]) as adapter:
            answer = await adapter.search(asked(NOTES[1][1]))

        first = answer.hits[0]
        assert ("n2", NOTES[1][1]) == (first.id, first.text)
        assert first.raw_distance == pytest.approx(0, abs=1e-3)
        assert first.base_relevance == pytest.approx(1, abs=1e-3)
        assert {"metadata": {"topic": "deploy,week"}} == first.extra
        far = [hit.raw_distance or 0.0 for hit in answer.hits]
        assert sorted(far) == far
        assert (first.native_score is None) == (distance != "cosine")

    async def test_names(self, server: Postgres) -> None:
        """A schema may stand before a table, and a column may have any name."""
        options = {**TABLE, "table": "other.notes", "text": "topic"}
        async with opened(server, **options) as adapter:
            answer = await adapter.search(asked())

        assert [("o1", "x")] == [(hit.id, hit.text) for hit in answer.hits]

    async def test_where(self, server: Postgres) -> None:
        """A condition of the description is bound, whatever it holds."""
        hostile = "x' OR true --"
        async with opened(server, **TABLE, where={"topic": "config"}) as adapter:
            answer = await adapter.search(asked())
        async with opened(server, **TABLE, where={"topic": hostile}) as adapter:
            nothing = await adapter.search(asked())

        assert ["n3"] == [hit.id for hit in answer.hits]
        assert () == nothing.hits

    async def test_socket(self, server: Postgres) -> None:
        """A server that listens at a socket of this machine is asked there."""
        options = {**TABLE, "socket": str(server.folder)}
        async with opened(server, token="", **options) as adapter:
            answer = await adapter.search(asked())

        assert "n1" == answer.hits[0].id

    async def test_ping(self, server: Postgres) -> None:
        """The owner is told which versions there are, and what the vectors are."""
        async with opened(server, **TABLE) as adapter:
            said = await adapter.ping(20)

        assert ("PostgreSQL", 384, MODEL) == (said["service"], said["dimension"], said["model"])
        assert said["pgvector"] == "0.6.2"


class TestVectors:
    async def test_skipped(self, server: Postgres) -> None:
        """Vectors of another model or length are left out with the reason, and nothing is sent."""
        async with opened(server, table="notes") as adapter:
            with pytest.raises(LeftAlone, match=r"options\.model"):
                await adapter.search(asked())
        async with opened(server, **TABLE) as adapter:
            with pytest.raises(LeftAlone, match="384 numbers"):
                await adapter.search(asked(vector=row_of("x")[:3]))
        async with opened(server, **{**TABLE, "table": "loose"}) as adapter:
            with pytest.raises(LeftAlone, match="another length"):
                await adapter.search(asked(vector=row_of("x")[:3]))

    async def test_read_only(self, server: Postgres) -> None:
        """Nothing that a description names can write."""
        server.run(
            "CREATE OR REPLACE VIEW writing AS "
            "SELECT id, writes(text)::text AS text, embedding FROM notes"
        )
        async with opened(server, **{**TABLE, "table": "writing"}) as adapter:
            with pytest.raises(StoreUnusable, match="writes, which it may not"):
                await adapter.search(asked())

        assert [(3,)] == server.run("SELECT count(*) FROM notes")


class TestWrong:
    @pytest.mark.parametrize(
        ("options", "told"),
        [
            ({"table": "nowhere"}, "no table"),
            ({"text": "words"}, 'no column "words"'),
            ({"metadata": ["a", "topic"]}, 'no column "a"'),
            ({"vector": "topic"}, "no vectors"),
            ({"user": "nobody"}, "does not let us in"),
        ],
    )
    async def test_told(self, server: Postgres, options: dict[str, Any], told: str) -> None:
        """What somebody has to mend is named."""
        async with opened(server, **{**TABLE, **options}) as adapter:
            with pytest.raises(StoreUnusable, match=told):
                await adapter.search(asked())

    async def test_not_allowed(self, server: Postgres) -> None:
        """A user who may not read the table is told so."""
        async with opened(server, **TABLE, user="reader", token="reader") as adapter:
            with pytest.raises(StoreUnusable, match="does not let this user read"):
                await adapter.search(asked())

    async def test_no_database(self, server: Postgres) -> None:
        """A database that is not there is told, and a wrong password, without repeating it."""
        async with opened(server, url=server.url + "x", **TABLE) as adapter:
            with pytest.raises(StoreUnusable, match="no such database"):
                await adapter.search(asked())
        async with opened(server, token="wrong-password", **TABLE) as adapter:
            with pytest.raises(StoreUnusable, match="does not let us in") as failure:
                await adapter.search(asked())

        assert "wrong-password" not in f"{failure.value} {getattr(failure.value, 'said', '')}"

    async def test_environment(self, server: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
        """A password that the daemon's environment has for somebody else is not sent."""
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
        monkeypatch.setenv("PGUSER", "reader")
        async with opened(server, token="", **TABLE) as adapter:
            with pytest.raises(StoreUnusable, match="wants a password"):
                await adapter.search(asked())

    async def test_no_tls(self, server: Postgres) -> None:
        """Who wants a checked connection gets that or none."""
        async with opened(server, **TABLE, sslmode="verify-full") as adapter:
            with pytest.raises(StoreUnusable, match="has no TLS"):
                await adapter.search(asked())


class TestGone:
    async def test_restarted(self, server: Postgres) -> None:
        """A kept connection that was closed over there is replaced within the same question."""
        async with opened(server, **TABLE) as adapter:
            await adapter.search(asked())
            server.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'cortex-actors'"
            )
            answer = await adapter.search(asked())

        assert "n1" == answer.hits[0].id

    async def test_paused(self, server: Postgres) -> None:
        """A server that stops answering is waited for as long as was said, and no longer."""
        async with opened(server, **TABLE) as adapter:
            await adapter.search(asked())
            server.pause()
            try:
                with awake() as seconds:
                    with pytest.raises(StoreTimeout, match=r"timeout after 0\.20 s"):
                        await adapter.search(asked(seconds=0.2))
                    assert seconds() < 1
            finally:
                server.resume()
            answer = await adapter.search(asked())

        assert "n1" == answer.hits[0].id

    async def test_ends_over_there(self, server: Postgres) -> None:
        """A query that takes too long is ended by the database as well."""
        server.run(
            "CREATE OR REPLACE VIEW slowly AS "
            "SELECT id, pg_sleep(30)::text || text AS text, embedding FROM notes"
        )
        async with opened(server, **{**TABLE, "table": "slowly"}) as adapter:
            with pytest.raises(StoreDown, match="timeout"):
                await adapter.search(asked(seconds=0.1))

        running = (
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' "
            "AND application_name = 'cortex-actors'"
        )
        async with asyncio.timeout(10):
            while [(0,)] != await asyncio.to_thread(server.run, running):
                pass
