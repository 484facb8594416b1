"""A real Corpus Callosum hooks our daemon in, as it would a SerenMemory and a SerenLoci."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.clock import SystemClock
from cortex_actors.endpoint.connection import StoreConnection
from cortex_actors.federation.adapters.seren import CortexAdapter, SerenLoci, SerenMemory
from cortex_actors.federation.answers import OutgoingQuestion
from cortex_actors.federation.store import ByTopic, StoreSpec
from cortex_actors.rules.sameness import NO_WORDS
from tests.federation import seren
from tests.gateways.doors import knock
from tests.gateways.house import SECRET

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gateways.house import House

pytestmark = pytest.mark.slow

#: Seconds that the daemon is given.
LONG = 20.0

#: Requests that a Callosum and our door are both asked, by path and body.
ASKED = [
    ("/search", '{"query": "deploys happen on mondays"}'),
    ("/search", '{"query": "deploys", "budget_tokens": 40}'),
    ("/search", '{"query": "deploys", "n_results": 0}'),
    ("/search", '{"query": "deploys", "n_results": "2"}'),
    ("/search", '{"query": ""}'),
    ("/search", '{"query": "deploys", "budget_tokens": 0}'),
    ("/search", "{}"),
    ("/search", "nonsense"),
    ("/stores", None),
    ("/stores", '{"name": "a"}'),
    ("/stores", '{"name": "a", "type": "nope", "url": "http://127.0.0.1:1"}'),
    ("/health/stores", None),
    ("/knobs", None),
    ("/configure", "{}"),
    ("/configure", '{"k": "60"}'),
    ("/configure", '{"k": 60.5}'),
    ("/configure", '{"edges_enabled": "yes"}'),
    ("/configure", '{"satellite_edges_enabled": true}'),
    ("/configure", '{"fusion_mode": "x"}'),
    ("/configure", '{"k": 60, "stores": [{"name": "nope", "weight": 2}]}'),
    ("/configure", '{"k": 60, "stores": [{"weight": 2}]}'),
]

#: What of a document is anybody's own, and what an error repeats of a request.
FREE = {"metadata", "input", "ctx"}

#: What a Callosum tells that we have nothing to tell of: docs/serving.md names it.
THEIRS = {
    "/knobs": {"where", "server", "updates", "stores", "note"},
    "/knobs.federation[0]": {"what"},
}


@pytest.fixture(scope="module")
def callosum(house: House, tmp_path_factory: pytest.TempPathFactory) -> Iterator[seren.Server]:
    """Give a Callosum that has our daemon as three stores, one with a token that is nobody's."""
    token = {"token": house.door.token}
    stores = [
        {"name": "memories", "type": "seren_memory", "url": house.memory, **token},
        {"name": "facts", "type": "seren_loci", "url": house.loci, **token},
        {"name": "stranger", "type": "seren_memory", "url": house.memory, "token": "nobody"},
    ]
    with seren.callosum(tmp_path_factory.mktemp("callosum"), stores) as server:
        yield server


class TestCallosum:
    def test_bound(self, callosum: seren.Server) -> None:
        """It takes our daemon for the stores it knows."""
        said = callosum.get("/")

        assert (["memories", "facts", "stranger"], []) == (said["stores"], said["skipped"])

    def test_memories(self, callosum: seren.Server, house: House) -> None:
        """What the village remembers is among its hits, with the relevance of our distance."""
        found = callosum.post("/search", {"query": "deploys happen on mondays"})

        first = next(hit for hit in found["hits"] if "memories" == hit["store"])
        assert (house.monday, "Deploys happen on Mondays") == (first["id"], first["content"])
        assert (1, "deploy") == (first["store_rank"], first["metadata"]["topic"])
        # What the tests of this house ask for again and again sinks in.
        assert first["metadata"]["tier"] in {"short", "near"}
        assert pytest.approx(1 / (1 + first["raw_distance"])) == first["base_relevance"]

    def test_edges(self, callosum: seren.Server, house: House) -> None:
        """What is tagged like a hit comes beside it, asked of us by topic."""
        found = callosum.post("/search", {"query": "deploys happen on mondays", "n_results": 1})

        edges = {hit["id"]: hit["metadata"] for hit in found["hits"] if 0.0 == hit["score"]}
        assert ("topic-edge", ["deploy"]) == (
            edges[house.rollback]["source"],
            edges[house.rollback]["matched_topics"],
        )

    def test_surroundings(self, callosum: seren.Server, house: House) -> None:
        """What a deep memory took the place of comes beside it."""
        found = callosum.post("/search", {"query": "backups run at noon", "n_results": 2})

        (edge,) = (hit for hit in found["hits"] if house.before == hit["id"])
        assert ("supersedes-edge", house.after) == (
            edge["metadata"]["source"],
            edge["metadata"]["edge_of"],
        )

    def test_exact_key(self, callosum: seren.Server) -> None:
        """A fact whose key, or the end of it, is asked for leads whatever else there is."""
        first = callosum.post("/search", {"query": "Test port"})["hits"][0]

        assert ("facts", 1.0, "exact") == (
            first["store"],
            first["base_relevance"],
            first["metadata"]["match_kind"],
        )
        assert first["content"].startswith(
            "Atlas > Test port = The tests run on port 5433 because 5432 is taken. because "
        )

    def test_private(self, callosum: seren.Server) -> None:
        """What one agent keeps for itself, or shares with one other, is answered to nobody."""
        for query in (SECRET, "heliotrope", "deploy", "launch word"):
            found = callosum.post("/search", {"query": query, "n_results": 25})

            assert "heliotrope" not in json.dumps(found["hits"])

    def test_stranger(self, callosum: seren.Server) -> None:
        """Who has no token of ours is told so, and the Callosum tells it apart from silence."""
        found = callosum.post("/search", {"query": "deploys"})

        assert ["memories", "facts"] == found["stores_searched"]
        (failed,) = found["failed"]
        assert "stranger" == failed["name"]
        assert "401" in failed["reason"]

    def test_many(self, callosum: seren.Server) -> None:
        """It may ask for more than a SerenMemory gives; all it knows of us stays healthy."""
        callosum.post("/search", {"query": "deploys", "n_results": 200})
        health = {each["name"]: each for each in callosum.get("/health/stores")["stores"]}

        assert ("healthy", "healthy") == (
            health["memories"]["health_status"],
            health["facts"]["health_status"],
        )

    def test_asked_alike(self, callosum: seren.Server, house: House) -> None:
        """A request has the same status at our door as at a Callosum, and its fields and kinds."""
        for path, body in ASKED:
            one = knock(f"{callosum.url}{path}", body)
            other = knock(f"{house.door.url}{path}", body, token=house.door.token)

            assert one.status == other.status, (path, body, one.document, other.document)
            assert [] == list(_lacks(one.document, other.document, path)), (path, body)

    def test_knobs_alike(self, callosum: seren.Server, house: House) -> None:
        """Every knob of a Callosum is one of ours, with the same default."""
        theirs = callosum.get("/knobs")["federation"]
        ours = knock(f"{house.door.url}/knobs", token=house.door.token).document["federation"]
        found = {each["key"]: each["default"] for each in ours}

        assert {each["key"]: each["default"] for each in theirs}.items() <= found.items()


def _lacks(theirs: Any, ours: Any, where: str) -> Iterator[str]:
    """Yield the fields that another document lacks, or has of another kind.

    A list is what its first member is, null says nothing, and a number is a number.
    """
    if isinstance(theirs, list) and isinstance(ours, list):
        if theirs and ours:
            yield from _lacks(theirs[0], ours[0], f"{where}[0]")
    elif isinstance(theirs, dict) and isinstance(ours, dict):
        lost = theirs.keys() - ours.keys() - THEIRS.get(where, set()) - FREE
        yield from (f"{where}.{each}" for each in lost)
        for name in theirs.keys() & ours.keys() - FREE:
            yield from _lacks(theirs[name], ours[name], f"{where}.{name}")
    elif theirs is not None and ours is not None and _kind(theirs) != _kind(ours):
        yield f"{where}: {_kind(theirs)} and {_kind(ours)}"


def _kind(value: object) -> str:
    """Return of what kind a value of JSON is."""
    return type(value).__name__.replace("int", "float")


class TestOurselves:
    async def test_memory(self, house: House) -> None:
        """Our own adapter has a daemon as a SerenMemory: it searches, asks by topic and pings."""
        spec = StoreSpec("far", "seren_memory", house.memory)
        adapter = SerenMemory(
            spec, StoreConnection(spec.url, SystemClock(), token=house.door.token)
        )
        answer = await adapter.search(OutgoingQuestion("backups run at noon", 60, LONG))
        tagged = await adapter.find_by_topic(
            ByTopic(["deploy"], limit=5, exclude_ids=[house.monday], seconds=LONG)
        )
        said = await adapter.ping(LONG)
        await adapter.close()

        assert (house.after, ()) == (answer.hits[0].id, answer.skipped)
        around = answer.hits[0].extra["surroundings"]
        assert [("supersedes", house.before)] == [
            (each["edge"], each["id"]) for each in _all(around)
        ]
        assert [house.rollback] == [hit.id for hit in tagged.hits]
        assert "CortexActors" == said["service"]

    async def test_loci(self, house: House) -> None:
        """Our own adapter has a daemon as a SerenLoci too."""
        spec = StoreSpec("far", "seren_loci", house.loci, options={"project": "atlas"})
        adapter = SerenLoci(spec, StoreConnection(spec.url, SystemClock(), token=house.door.token))
        answer = await adapter.search(OutgoingQuestion("Test port", 5, LONG))
        said = await adapter.ping(LONG)
        await adapter.close()

        assert [1.0] == [hit.base_relevance for hit in answer.hits]
        assert ("CortexActors", 1) == (said["service"], said["counts"]["live"])

    @pytest.mark.parametrize("text", ["?!", "xylophones quiesce zirconium"])
    async def test_remarks(self, house: House, text: str) -> None:
        """What a daemon remarks of a strange question is no gap in what it answers to another."""
        spec = StoreSpec("far", "cortex", house.door.url)
        adapter = CortexAdapter(
            spec, StoreConnection(spec.url, SystemClock(), token=house.door.token)
        )
        answer = await adapter.search(OutgoingQuestion(text, 5, LONG))
        await adapter.close()
        said = [each["reason"] for each in house.door.client.call("recall", query="?!")["skipped"]]

        assert () == answer.skipped
        assert any(each.startswith(NO_WORDS) for each in said)


def _all(value: object) -> list[dict[str, Any]]:
    """Return a list of objects."""
    assert isinstance(value, list)
    return value
