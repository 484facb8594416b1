from __future__ import annotations

from typing import Any

import pytest

from cortex_actors.errors import StoreDown, StoreUnusable
from cortex_actors.federation.adapters.seren import SerenMemory
from cortex_actors.federation.store import ByTopic
from tests.federation.canned import CannedLine, asked, speaking, without

#: What is sent with every question unless an option says otherwise.
PLAIN = {
    "include_short": True,
    "include_near": True,
    "include_long": True,
    "include_superseded": False,
}

#: One row as the server sends it.
ROW: dict[str, Any] = {
    "tier": "short",
    "content": "Deploys happen on Mondays",
    "topic": "deploy",
    "score": 0.531575,
    "raw_distance": 0.881202,
    "id": "b936",
    "metadata": {"source": "user", "pinned": False},
    "surroundings": None,
    "matched_via": None,
}

#: What stands around a conclusion that took the place of another one.
AROUND: dict[str, Any] = {
    "satellites": 3,
    "latest_satellite_at": 1_795_384_728.5,
    "supersedes": "old",
    "superseded_by": None,
    "recent": [
        {"id": "sat-2", "content": "It ran full on Tuesday", "created_at": 2.0},
        {"id": "old", "content": "Backups run at night", "created_at": 1.0},
        {"id": "sat-1", "content": "It was bought in May", "created_at": 0.5},
    ],
    "supersedes_entry": {"id": "old", "content": "Backups run at night", "created_at": 1.0},
}


def told(*rows: object) -> CannedLine:
    """Return a line on which a question and topics are answered with some rows."""
    document = {"query": "?", "hits": list(rows), "searched_tiers": ["short"]}
    return CannedLine(search=document, by_topic=document)


def memory(line: CannedLine, **options: object) -> SerenMemory:
    """Return the adapter."""
    return speaking(SerenMemory, "seren_memory", line, **options)


class TestAsking:
    async def test_question(self) -> None:
        """A question is sent as the server wants it, word for word."""
        line = told()
        await memory(line).search(asked("when?", 7))

        body = {"query": "when?", "n_results": 7, **PLAIN, "with_surroundings": True}
        assert [("/search", body)] == line.sent

    @pytest.mark.parametrize(("limit", "sent"), [(-3, 1), (0, 1), (1, 1), (50, 50), (60, 50)])
    async def test_cap(self, limit: int, sent: int) -> None:
        """No more is asked for than the server gives: it would answer nothing at all."""
        line = told()
        await memory(line).search(asked(limit=limit))
        await memory(line).find_by_topic(
            ByTopic(["deploy"], limit=limit, exclude_ids=(), seconds=1)
        )

        assert [sent, sent] == [body["n_results"] for _, body in line.sent]

    async def test_topics(self) -> None:
        """Topics are sent with what is known already, and under their own path."""
        line = told()
        await memory(line).find_by_topic(
            ByTopic(("deploy", "ci"), limit=3, exclude_ids=("a", "b"), seconds=1)
        )

        body = {"topics": ["deploy", "ci"], "n_results": 3, **PLAIN, "exclude_ids": ["a", "b"]}
        assert [("/by_topic", body)] == line.sent

    async def test_options(self) -> None:
        """Options say which tiers are searched and where; satellites are asked for if wanted."""
        line = CannedLine(**{"v2/find": {"hits": []}, "v2/filed": {"hits": []}})
        adapter = memory(
            line,
            include_short=False,
            include_superseded=True,
            include_satellites=True,
            with_surroundings=False,
            search_path="/v2/find",
            topic_search_path="/v2/filed",
        )
        await adapter.search(asked())
        await adapter.find_by_topic(ByTopic(["x"], limit=1, exclude_ids=(), seconds=1))

        tiers = {
            **PLAIN,
            "include_short": False,
            "include_superseded": True,
            "include_satellites": True,
        }
        (path, body), (filed, topics) = line.sent
        assert ("/v2/find", "/v2/filed") == (path, filed)
        assert {
            "query": "when are deploys",
            "n_results": 5,
            **tiers,
            "with_surroundings": False,
        } == body
        assert {"topics": ["x"], "n_results": 1, **tiers, "exclude_ids": []} == topics


class TestReading:
    async def test_hit(self) -> None:
        """A row is a hit with its text, its numbers as the server gave them, and its metadata."""
        (hit,) = (await memory(told(ROW)).search(asked())).hits

        assert ("b936", "Deploys happen on Mondays", "other", "remote") == (
            hit.id,
            hit.text,
            hit.store,
            hit.trust,
        )
        assert (0.881202, 0.531575) == (hit.raw_distance, hit.native_score)
        own = {"source": "user", "pinned": False, "tier": "short", "topic": "deploy"}
        assert {"metadata": own} == hit.extra

    @pytest.mark.parametrize(
        ("distance", "relevance"),
        [(0, 1.0), (1, 0.5), (0.881202, 0.531575), (-0.5, 1.0), (None, 1.0), ("far", 1.0)],
    )
    async def test_relevance(self, distance: object, relevance: float) -> None:
        """Relevance is 1 / (1 + distance); without a distance it counts as none at all."""
        (hit,) = (await memory(told({**ROW, "raw_distance": distance})).search(asked())).hits

        assert pytest.approx(relevance, abs=1e-6) == hit.base_relevance == hit.score

    async def test_order(self) -> None:
        """The server's order stays, whatever its scores say; of one id the first place counts."""
        rows = [
            {**ROW, "id": "far", "score": 0.1, "raw_distance": 9.0},
            {**ROW, "id": "near", "score": 0.9, "raw_distance": 0.1},
            {**ROW, "id": "far", "content": "again", "score": 1.0},
            {**ROW, "id": 17},
        ]
        answer = await memory(told(*rows)).search(asked())

        assert ["far", "near", "17"] == [hit.id for hit in answer.hits]
        assert "Deploys happen on Mondays" == answer.hits[0].text

    async def test_own_metadata(self) -> None:
        """Tier and topic of the metadata itself come before those beside it."""
        row = {**ROW, "metadata": {"tier": "long", "topic": None}}
        (hit,) = (await memory(told(row)).search(asked())).hits

        assert {"metadata": {"tier": "long", "topic": None}} == hit.extra

    async def test_too_many(self) -> None:
        """A server that sends more than it was asked for is cut short."""
        rows = [{**ROW, "id": str(number)} for number in range(9)]
        answer = await memory(told(*rows)).search(asked(limit=2))

        assert (["0", "1"], ()) == ([hit.id for hit in answer.hits], answer.skipped)


class TestSurroundings:
    async def test_beside(self) -> None:
        """What stands around a hit comes with it in order, what it replaced once and last."""
        (hit,) = (await memory(told({**ROW, "surroundings": AROUND})).search(asked())).hits

        assert [
            ("sat-2", "It ran full on Tuesday", "satellite", 2.0),
            ("sat-1", "It was bought in May", "satellite", 0.5),
            ("old", "Backups run at night", "supersedes", 1.0),
        ] == [
            (each["id"], each["text"], each["edge"], each["metadata"]["created_at"])
            for each in _listed(hit.extra["surroundings"])
        ]

    async def test_counts(self) -> None:
        """How much stands around a hit is shown with it, without the texts."""
        (hit,) = (await memory(told({**ROW, "surroundings": AROUND})).search(asked())).hits

        metadata = hit.extra["metadata"]
        assert isinstance(metadata, dict)
        assert without(AROUND, "recent", "supersedes_entry") == metadata["surroundings"]

    @pytest.mark.parametrize(
        "around",
        [
            None,
            "many",
            [1],
            {},
            {"recent": "none", "supersedes_entry": 5},
            {"recent": [None, {"id": "", "content": "x"}, {"id": "y"}, {"id": [1], "content": 2}]},
        ],
    )
    async def test_nothing(self, around: object) -> None:
        """What is no surroundings is left out, and the hit stays."""
        (hit,) = (await memory(told({**ROW, "surroundings": around})).search(asked())).hits

        assert {"metadata"} == set(hit.extra)

    async def test_matched_via(self) -> None:
        """A hit that was found by way of another entry says which."""
        via = {"id": "sat-1", "content": "Tuesday", "created_at": 1.5, "raw_distance": 0.2}
        (hit,) = (
            await memory(told({**ROW, "matched_via": {**via, "more": 1}})).search(asked())
        ).hits

        metadata = hit.extra["metadata"]
        assert isinstance(metadata, dict)
        assert via == metadata["matched_via"]


class TestTopics:
    async def test_hit(self) -> None:
        """What is there by its tags has no relevance of its own, and says which tags it shares."""
        row = {**without(ROW, "score", "raw_distance"), "matched_topics": ["deploy"], "overlap": 1}
        adapter = memory(told(row))
        (hit,) = (
            await adapter.find_by_topic(
                ByTopic(["Deploy", "ci"], limit=3, exclude_ids=(), seconds=1)
            )
        ).hits

        assert (0.0, 0.0, None, 1) == (
            hit.score,
            hit.base_relevance,
            hit.raw_distance,
            hit.native_score,
        )
        metadata = hit.extra["metadata"]
        assert isinstance(metadata, dict)
        assert ("topic-edge", ["deploy"], 1) == (
            metadata["source"],
            metadata["matched_topics"],
            metadata["overlap"],
        )


class TestShape:
    @pytest.mark.parametrize("document", [[], "no", None, {"hits": {}}, {"hits": [{"id": "a"}]}])
    async def test_other(self, document: object) -> None:
        """Anything that is not such an answer is no answer, and no hits either."""
        with pytest.raises(StoreDown, match="a shape that is not a SerenMemory's answer"):
            await memory(CannedLine(search=document)).search(asked())

    async def test_some(self) -> None:
        """A row without an id or a text is left out, and the answer says so."""
        answer = await memory(told(without(ROW, "id"), ROW)).search(asked())

        assert ["b936"] == [hit.id for hit in answer.hits]
        assert ("1 of its 2 hits have no id or no text and are left out",) == answer.skipped


class TestPing:
    async def test_said(self) -> None:
        """A ping goes through the door: the first page is open to everybody, topics are not."""
        line = CannedLine(
            first={"service": "SerenMemory", "version": "5.4.0", "tiers": {"short": 2, "x": "y"}},
            by_topic={"topics": [], "hits": []},
        )
        said = await memory(line).ping(1)

        assert {"service": "SerenMemory", "version": "5.4.0", "tiers": {"short": 2}} == said
        assert ["/", "/by_topic"] == [path for path, _ in line.sent]

    async def test_other(self) -> None:
        """Another server of the family is told apart by its name, and the error says the type."""
        with pytest.raises(StoreUnusable, match="is a SerenLoci; give it the type seren_loci"):
            await memory(CannedLine(first={"service": "SerenLoci"})).ping(1)


def _listed(value: object) -> list[dict[str, Any]]:
    """Return a list of objects."""
    assert isinstance(value, list)
    return value
