"""What is answered as facts and as another daemon: scopes, keys, and nobody asked for others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.gateways.house import SECRET

if TYPE_CHECKING:
    from tests.gateways.house import House

pytestmark = pytest.mark.slow


def facts(house: House, **asked: Any) -> list[dict[str, Any]]:
    """Return the facts about a question."""
    found: dict[str, Any] = house.door.post("/seren/loci/search", asked)
    return list(found["hits"])


class TestScope:
    @pytest.mark.parametrize("asked", [{}, {"project": "atlas"}])
    def test_project(self, house: House, asked: dict[str, str]) -> None:
        """A project's statement is found everywhere and in its project."""
        assert ["atlas"] == [hit["project"] for hit in facts(house, query="port", **asked)]

    @pytest.mark.parametrize("project", ["*", "harbor", ""])
    def test_elsewhere(self, house: House, project: str) -> None:
        """Nothing of it is in another scope; a project that nobody follows has no facts."""
        assert [] == facts(house, query="port", project=project)

    @pytest.mark.parametrize("number", [0, -1])
    def test_none(self, house: House, number: int) -> None:
        """Who wants no facts gets none."""
        assert [] == facts(house, query="port", n_results=number)


class TestKeys:
    @pytest.mark.parametrize("query", ["Atlas > Test port", "test port", " TEST PORT "])
    def test_exact(self, house: House, query: str) -> None:
        """Whose key it is leads with a score of 1, and has no distance."""
        (hit,) = facts(house, query=query)

        assert (1.0, "exact", None) == (hit["score"], hit["match_kind"], hit["raw_distance"])

    def test_near(self, house: House) -> None:
        """Others are found by what they say, below 1, with where they stand."""
        (hit,) = facts(house, query="which port do tests run on")

        assert 0 < hit["score"] <= 0.99
        assert "hybrid" == hit["match_kind"]
        assert hit["why"].startswith("CLAUDE.md:5 says so")


class TestRecall:
    def test_place(self, house: House) -> None:
        """Another daemon is told where something stands within its project, and no path of ours."""
        found = house.door.post("/recall", {"query": "which port do tests run on"})

        assert "CLAUDE.md:5" == found["hits"][0]["place"]
        assert ("CortexActors", "atlas") == (found["service"], found["hits"][0]["project"])

    @pytest.mark.parametrize("query", ["", "   ", SECRET * 500])
    def test_any_question(self, house: House, query: str) -> None:
        """An empty question finds nothing, and one that is too long is cut: both are answered."""
        assert query == house.door.post("/recall", {"query": query})["query"]

    def test_no_round(self, house: House) -> None:
        """A daemon that has itself for a store is not asked for ever: others ask it alone."""
        call = house.door.client.call
        call("add_store", name="mirror", type="cortex", url=house.door.url, token=house.door.token)
        try:
            house.door.post("/recall", {"query": "deploys"})
            before = {each["name"]: each["total"] for each in call("store_health")["stores"]}
            found = house.door.post("/search", {"query": "deploys"})
        finally:
            call("remove_store", name="mirror")

        assert 0 == before.get("mirror", 0)
        assert ["local", "mirror"] == found["stores_searched"]
        assert [] == found["failed"]
