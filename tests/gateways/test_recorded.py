"""The answers of the originals as they were recorded: the same fields, in the same order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.gateways.doors import opened

if TYPE_CHECKING:
    from tests.gateways.house import House

pytestmark = pytest.mark.slow

#: A hit of SerenMemory 5.4.0, of its topics, and of SerenLoci 5.5.0: fields and kinds of values.
MEMORY = {
    "tier": str,
    "content": str,
    "topic": (str, type(None)),
    "score": float,
    "raw_distance": float,
    "id": str,
    "metadata": dict,
    "surroundings": (dict, type(None)),
    "matched_via": (dict, type(None)),
}
TAGGED = {
    "tier": str,
    "content": str,
    "topic": str,
    "matched_topics": list,
    "overlap": int,
    "id": str,
    "metadata": dict,
}
FACT = {
    "id": str,
    "project": str,
    "key": str,
    "value": str,
    "why": (str, type(None)),
    "score": float,
    "match_kind": str,
    "source": (str, type(None)),
    "raw_distance": (float, type(None)),
    "live": bool,
    "superseded_at": (float, type(None)),
    "why_changed": (str, type(None)),
    "figures": int,
    "recheck": (list, type(None)),
}

#: What stands around a hit of the long tier, and one entry of it.
AROUND = ["satellites", "latest_satellite_at", "supersedes", "superseded_by", "recent"]
ENTRY = ["id", "content", "created_at"]


def is_like(hit: dict[str, Any], recorded: dict[str, Any]) -> bool:
    """Say whether a hit has those fields, in that order, with values of those kinds."""
    kinds = all(isinstance(hit[name], kind) for name, kind in recorded.items())
    return list(recorded) == list(hit) and kinds


class TestMemory:
    def test_search(self, house: House) -> None:
        """A search answers as SerenMemory's does, the best hit first."""
        found = house.door.post("/seren/memory/search", {"query": "deploys", "n_results": 50})
        scores = [hit["score"] for hit in found["hits"]]

        assert ["query", "hits", "searched_tiers"] == list(found)
        assert ["short", "near", "long"] == found["searched_tiers"]
        assert found["hits"]
        assert all(is_like(hit, MEMORY) for hit in found["hits"])
        assert sorted(scores, reverse=True) == scores

    def test_tiers(self, house: House) -> None:
        """Tiers that are left out are not searched."""
        asked = {"query": "backups", "include_short": False, "include_near": False}
        found = house.door.post("/seren/memory/search", asked)

        assert ["long"] == found["searched_tiers"]
        assert {"long"} == {hit["tier"] for hit in found["hits"]}

    def test_surroundings(self, house: House) -> None:
        """What stands around a deep memory is counted, and told where that was asked."""
        asked = {"query": "backups run at noon", "n_results": 1}
        (plain,) = house.door.post("/seren/memory/search", asked)["hits"]
        asked["with_surroundings"] = True
        (full,) = house.door.post("/seren/memory/search", asked)["hits"]

        assert AROUND[:-1] == list(plain["surroundings"])
        assert [*AROUND, "supersedes_entry"] == list(full["surroundings"])
        assert ENTRY == list(full["surroundings"]["supersedes_entry"])
        assert house.before == full["surroundings"]["supersedes"]

    def test_by_topic(self, house: House) -> None:
        """Topics are answered as SerenMemory answers them, without what is known already."""
        asked = {"topics": ["DEPLOY"], "exclude_ids": [house.monday]}
        found = house.door.post("/seren/memory/by_topic", asked)

        assert ["topics", "hits", "searched_tiers"] == list(found)
        assert [house.rollback] == [hit["id"] for hit in found["hits"]]
        assert is_like(found["hits"][0], TAGGED)


class TestLoci:
    def test_search(self, house: House) -> None:
        """A search answers as SerenLoci's does."""
        found = house.door.post("/seren/loci/search", {"query": "port"})

        assert ["query", "project", "hits", "finder"] == list(found)
        assert ("hybrid", None) == (found["finder"], found["project"])
        assert found["hits"]
        assert all(is_like(hit, FACT) for hit in found["hits"])


class TestCut:
    """What was not done in full is said, in the answer that lacks it."""

    @pytest.mark.parametrize(
        "path", ["/search", "/recall", "/seren/memory/search", "/seren/loci/search"]
    )
    def test_question(self, house: House, path: str) -> None:
        """A question over 4,096 characters is cut, and the answer says so."""
        found = house.door.post(path, {"query": "deploys " * 600})
        short = house.door.post(path, {"query": "deploys"})
        said = "it has 4,799 characters, and the first 4,096 were looked for"

        assert said in str(found["skipped"])
        assert "characters" not in str(short.get("skipped"))

    def test_hits(self) -> None:
        """Who asks for more hits than one answer has is told how many that are."""
        with opened() as door:
            for number in range(201):
                door.client.call("remember", content=f"Note {number}", merge=False)
            found = door.post("/search", {"query": "note", "n_results": 300})
            few = door.post("/search", {"query": "note", "n_results": 200})
        said = "300 were asked for, and one answer has 200 at most"

        assert {"name": "n_results", "reason": said} in found["skipped"]
        assert "n_results" not in [each["name"] for each in few["skipped"]]
