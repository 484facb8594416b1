"""What a store has put around its hits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cortex_actors.federation.federation import list_satellites
from cortex_actors.sections import FederationSettings
from tests.federation.remotes import Far, hit, remote
from tests.federation.support import Village


def around(id_: str, *entries: tuple[str, str]) -> Any:
    """Return a hit with entries around it: (id, edge)."""
    some = [{"id": n, "text": f"about {n}", "edge": e, "metadata": {"n": n}} for n, e in entries]
    return replace(hit(id_), extra={"surroundings": some})


class TestSatellites:
    def test_marked(self) -> None:
        """Each says what it is to which hit, has its store's name, and counts nothing."""
        found = list_satellites([around("a", ("s", "satellite"), ("o", "supersedes"))], 3)

        assert ["satellite-edge", "supersedes-edge"] == [each.extra["source"] for each in found]
        assert [("s", "about s"), ("o", "about o")] == [(each.id, each.text) for each in found]
        assert {("far", "remote", "a", 0.0, 0.0)} == {
            (each.store, each.trust, each.extra["around"], each.score, each.base_relevance)
            for each in found
        }
        assert {"n": "s"} == found[0].extra["metadata"]

    def test_tier_and_topic(self) -> None:
        """What stands around a hit has its tier and topic, unless it says others itself."""
        entries = [
            {"id": "s", "text": "one", "edge": "satellite", "metadata": {"topic": "own"}},
            {"id": "o", "text": "two", "edge": "supersedes", "metadata": None},
        ]
        core = hit("a", tier="long", topic="ci", evidence_count=3)
        found = list_satellites([replace(core, extra={**core.extra, "surroundings": entries})], 3)

        assert [{"tier": "long", "topic": "own"}, {"tier": "long", "topic": "ci"}] == [
            each.extra["metadata"] for each in found
        ]

    def test_round_robin(self) -> None:
        """Every hit has its first shown before any has its second."""
        a = around("a", ("a1", "satellite"), ("a2", "satellite"), ("a3", "satellite"))
        b = around("b", ("b1", "satellite"))

        assert ["a1", "b1", "a2"] == [each.id for each in list_satellites([a, b], 3)]

    @pytest.mark.parametrize(("budget", "count"), [(0, 0), (1, 1), (2, 2), (9, 3)])
    def test_budget(self, budget: int, count: int) -> None:
        """There are no more than the budget."""
        a = around("a", *((f"s{n}", "satellite") for n in range(3)))

        assert count == len(list_satellites([a], budget))

    def test_known(self) -> None:
        """What is a hit itself is not shown again, nor what stands around two hits."""
        a = around("a", ("b", "satellite"), ("s", "satellite"))
        b = around("b", ("s", "satellite"), ("a", "supersedes"))

        assert ["s"] == [each.id for each in list_satellites([a, b], 9)]

    @pytest.mark.parametrize(
        "said",
        [None, "x", {}, [None], ["x"], [{"id": "s"}], [{"id": "s", "text": "t", "edge": "friend"}]],
    )
    def test_strange(self, said: object) -> None:
        """What is no surroundings is nothing."""
        assert [] == list_satellites([replace(hit("a"), extra={"surroundings": said})], 9)


class TestAnswer:
    async def test_beside(self) -> None:
        """In an answer they stand beside the hits, and not a second time within them."""
        far = Far(around("a", ("s", "satellite"), ("t", "satellite")))
        found = await (
            await Village([remote(far)], knobs=FederationSettings(satellite_budget=1)).begin()
        ).recall()

        assert [("a", {})] == [(each.id, dict(each.extra)) for each in found.hits]
        assert ["s"] == [each.id for each in found.beside]
