"""`recall` over other stores: what may be asked for, and what the answer says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.domain.hit import RankedHit
from cortex_actors.errors import BadInput, NotFound, StoreTimeout
from cortex_actors.text.summary import compute_price
from tests.federation.remotes import Filed, hit, remote
from tests.federation.support import Shelf
from tests.storage.room import Room
from tests.storage.things import in_memory, memory
from tests.test_recall import Desk

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def room() -> Iterator[Room]:
    """Give a room with a memory."""
    with in_memory() as tables:
        room = Room(tables)
        room.remember(memory("deploy at nine", 1, tags=("ops",)))
        yield room


@pytest.fixture
def far() -> Filed:
    """Give another program, with something under a topic."""
    return Filed(hit("r1", "deploy on Mondays", topic="ops"), filed=[hit("r2", "on call")])


@pytest.fixture
async def desk(room: Room, far: Filed) -> Desk:
    """Give the verbs over both."""
    return Desk(room, remote(far))  # type: ignore[arg-type]  # a store like any other


class TestAnswer:
    async def test_stores(self, desk: Desk) -> None:
        """An answer names the stores that answered, and the hits of others as theirs."""
        found = await desk.recall("deploy")

        assert ["local", "far"] == found["stores_searched"]
        assert {("cortex_private", "local"), ("far", "remote")} == {
            (each["store"], each["trust"]) for each in found["hits"]
        }

    async def test_places(self, desk: Desk) -> None:
        """Every hit says its place in its store, and what was measured there."""
        (theirs,) = [each for each in (await desk.recall("deploy"))["hits"] if each["id"] == "r1"]

        assert (1, 0.5, None, None) == (
            theirs["store_rank"],
            theirs["base_relevance"],
            theirs["raw_distance"],
            theirs["native_score"],
        )
        assert pytest.approx(1 / 61) == theirs["fused_score"]

    async def test_beside(self, desk: Desk) -> None:
        """What stands beside the answer is apart from it, and counts for nothing."""
        found = await desk.recall("deploy")

        assert 2 == found["count"] == len(found["hits"])
        assert [("r2", 0.0, "topic-edge")] == [
            (each["id"], each["score"], each["extra"]["source"]) for each in found["beside"]
        ]

    async def test_text(self, desk: Desk) -> None:
        """The text for an agent says which words are another program's, and what is beside."""
        lines = (await desk.recall("deploy"))["text"].splitlines()

        assert '[2] #r1 (score=1.00, from far) "deploy on Mondays"' in lines
        assert "Beside these:" == lines[-3]
        assert '[3] #r2 (score=0.00, from far) "on call"' == lines[-2]

    async def test_absent(self, desk: Desk, far: Filed) -> None:
        """The text for an agent ends with the stores whose answer is lacking, and with no other."""
        assert "no answer from" not in (await desk.recall("deploy"))["text"]
        unmet = (await desk.recall("deploy", layers=["working"]))["text"]
        far.fails = StoreTimeout("timeout after 5.00 s")
        failed = (await desk.recall("deploy"))["text"]

        assert "no answer from: far (it cannot narrow its answer by layers)" in unmet.splitlines()
        assert "no answer from: far (timeout after 5.00 s)" == failed.splitlines()[-1]

    async def test_budget(self, desk: Desk) -> None:
        """An answer says what it costs a reader, and what it might have, where that was limited."""
        whole = await desk.recall("deploy")
        budget = sum(compute_price(RankedHit(**each)) for each in whole["hits"])
        found = await desk.recall("deploy", budget_tokens=budget)

        assert (budget, 2, 0) == (found["budget_tokens"], found["count"], len(found["beside"]))
        assert len(found["text"]) / 4 <= found["tokens"] <= budget
        free = await desk.recall("deploy")
        assert ("budget_tokens" in free, True) == (False, free["tokens"] > found["tokens"])

    async def test_not_read(self, desk: Desk, far: Filed) -> None:
        """What another program said is never counted as read, whatever it calls itself."""
        far.hits = (RankedHit("mem_x", "deploy", 0.5, "cortex_private"),)
        await desk.recall("deploy")

        assert ["deploy at nine"] == [
            each["text"] for each in (await desk.search("deploy", track=False))["hits"]
        ]
        assert 1 == len(desk.read)
        assert "mem_x" not in {each.memory_id for each in desk.read}


class TestAsked:
    async def test_default(self, desk: Desk, room: Room) -> None:
        """Unless told otherwise there are ten hits."""
        room.remember(*(memory(f"deploy number {n}", n) for n in range(15)))

        assert 10 == (await desk.recall("deploy"))["count"]

    async def test_store(self, desk: Desk) -> None:
        """Only the stores that are named are asked."""
        assert ["far"] == (await desk.recall("deploy", stores=["far"]))["stores_searched"]
        assert ["local"] == (await desk.recall("deploy", stores=["local"]))["stores_searched"]

    async def test_unknown_store(self, desk: Desk) -> None:
        """A store that there is not is an error that names those there are."""
        with pytest.raises(NotFound, match="cannot ask the store 'fra'.*there are local, far"):
            await desk.recall("deploy", stores=["fra"])

    async def test_hops(self, desk: Desk, far: Filed) -> None:
        """A question may say how often the stores are asked."""
        await desk.recall("deploy", hops=2)

        assert ["deploy", "deploy\ndeploy on Mondays"] == [each.text for each in far.asked]

    async def test_agent(self, desk: Desk) -> None:
        """What other programs say is for every agent, what is private only for its own."""
        found = await desk.recall("deploy", as_agent="B")

        assert ["r1"] == [each["id"] for each in found["hits"]]

    async def test_condition(self, desk: Desk, far: Filed) -> None:
        """A condition that only memories have keeps a question here, and the answer says so."""
        found = await desk.recall("deploy", tags=["ops"], layers=["working"])

        assert [("far", "it cannot narrow its answer by layers, tags")] == [
            (each["store"], each["reason"]) for each in found["skipped"] if each["store"] == "far"
        ]
        assert [] == far.asked

    async def test_search(self, desk: Desk, far: Filed) -> None:
        """`search` asks nobody else, whatever the federation is told."""
        await desk.search("deploy")

        assert [] == far.asked

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"stores": "far"}, "stores must be a list of words, not 'far'"),
            ({"stores": [7]}, "stores must be words, and 7 is none"),
            ({"limit": "ten"}, "limit must be a whole number, not 'ten'"),
            ({"limit": True}, "limit must be a whole number"),
            ({"hops": 1.5}, "hops must be a whole number"),
            ({"hops": 9}, "hops is 9; the stores are asked 1 to 4 times"),
            ({"budget_tokens": "all"}, "budget_tokens must be a whole number, not 'all'"),
            ({"budget_tokens": 0}, "budget_tokens is 0; give 1 to 1,000,000"),
        ],
    )
    async def test_refused(self, desk: Desk, given: dict[str, Any], said: str) -> None:
        """What makes no sense is bad input, and nobody is asked."""
        with pytest.raises(BadInput, match=said):
            await desk.recall("deploy", **given)

    async def test_failed(self, room: Room) -> None:
        """A store that does not answer is named with why, and the others answer."""
        shelf = Shelf("elsewhere")
        shelf.fails = ConnectionRefusedError(111, "refused")
        found = await Desk(room, shelf).recall("deploy")

        assert [{"store": "elsewhere", "reason": "[Errno 111] refused"}] == found["failed"]
        assert (["local"], 1) == (found["stores_searched"], found["count"])
