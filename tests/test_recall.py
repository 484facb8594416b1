"""`recall` and `search`: whose eyes, which conditions, what counts as read, and what is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from cortex_actors.api.desk import FrontDesk
from cortex_actors.api.registry import Call
from cortex_actors.domain.agent import Caller
from cortex_actors.domain.memory import PROBE, Access, Layer, Realm
from cortex_actors.errors import BadInput, NotYours
from cortex_actors.federation.local import LocalStore
from cortex_actors.sections import MemorySettings
from cortex_actors.storage import projects
from cortex_actors.testing import EPOCH, ManualClock
from tests.fakes import partial_call
from tests.federation.support import Shelf, Village
from tests.storage.room import Room
from tests.storage.support import ATLAS, MODEL, unit
from tests.storage.things import in_memory, mem, memory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cortex_actors.domain.hit import Recall
    from cortex_actors.federation.store import Question, RecallStore
    from cortex_actors.storage.search.query import Where
HOUR = 3_600_000_000


class RoomCall(Call):
    """A call that asks the room, and the other stores, instead of the federation."""

    async def recall(self, question: Question) -> Recall:
        return await cast("Desk", self.home).answer(question)


class Desk(FrontDesk):
    """The two verbs over a room, with the real search and fusion, and no actor around the room."""

    def __init__(self, room: Room, *others: Shelf) -> None:
        """Answer from a room, and from other stores as well."""
        self.room = room
        self.clock = ManualClock()
        self.read: list[Access] = []
        self.others = others
        self.asked: list[Question] = []
        settings = SimpleNamespace(memory=MemorySettings())
        call = partial_call(
            RoomCall,
            home=self,
            records=room.records,
            clock=self.clock,
            model=lambda: MODEL,
            settings=lambda: settings,
            accesses=SimpleNamespace(report=self._accessed),
        )
        super().__init__(call)

    async def answer(self, question: Question) -> Recall:
        """Ask the room and the others, as the federation would."""
        self.asked.append(question)
        stores: list[RecallStore] = [LocalStore(self.room.search), *self.others]
        village = Village(stores, clock=self.clock, model=MODEL, row=unit(1, 0, 0))
        found: Recall = await (await village.begin()).ask(question)
        return found

    def _accessed(self, some: Sequence[Access]) -> None:
        """Take down what was read."""
        self.read += some


@pytest.fixture
async def desk(room: Room) -> Desk:
    """Give the verbs."""
    return Desk(room)


@pytest.fixture
def room() -> Iterator[Room]:
    """Give a room with memories of two agents, and what a file says."""
    with in_memory() as tables:
        room = Room(tables)
        room.remember(
            memory("deploy at nine", 1, tags=("ops",), layer=Layer.SENSORY),
            memory("deploy in the village", 2, agent_id="B", realm=Realm.VILLAGE),
            memory("deploy of B alone", 3, agent_id="B"),
        )
        room.says("deploy by the script")
        yield room


def texts(found: dict[str, Any]) -> set[str]:
    """Return the texts of an answer."""
    return {hit["text"] for hit in found["hits"]}


class TestKinds:
    async def test_recall(self, desk: Desk) -> None:
        """`recall` asks for everything there is."""
        assert 4 == (await desk.recall("deploy"))["count"]

    async def test_search(self, desk: Desk) -> None:
        """`search` asks for memories, and no other store for anything."""
        desk.others = (Shelf("elsewhere", ("a", 1.0)),)
        found = await desk.search("deploy")

        assert 3 == found["count"]
        assert {"cortex_private", "cortex_village"} == {hit["store"] for hit in found["hits"]}
        assert "elsewhere" in {hit["store"] for hit in (await desk.recall("deploy"))["hits"]}

    async def test_project(self, desk: Desk) -> None:
        """A project leaves what its files say."""
        projects.add(desk.room.tables.connection, ATLAS)

        assert {"deploy by the script"} == texts(await desk.recall("deploy", project=ATLAS.id))

    async def test_text(self, desk: Desk) -> None:
        """An answer has the document's text for an agent, and its sentence where there is none."""
        (line, *_) = (await desk.search("nine", limit=1))["text"].splitlines()

        assert f'[1] #{mem("deploy at nine")} (score=0.93) "deploy at nine"' == line
        assert "No memories found." == (await desk.search("zebra"))["text"]


class TestConditions:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ({"layers": ["sensory"]}, {"deploy at nine"}),
            ({"realm": "village"}, {"deploy in the village"}),
            ({"agent": "b"}, {"deploy in the village", "deploy of B alone"}),
            ({"type": "fact"}, set()),
            ({"tags": ["OPS"]}, {"deploy at nine"}),
            ({"thread": "talk", "since": EPOCH + 3}, {"deploy of B alone"}),
            ({"until": EPOCH + 2}, {"deploy at nine"}),
            ({"min_attention": 1.2}, set()),
            ({"as_agent": "a"}, {"deploy at nine", "deploy in the village"}),
            ({"as_of": EPOCH + 2}, {"deploy at nine", "deploy in the village"}),
        ],
    )
    async def test_met(self, desk: Desk, given: dict[str, Any], expected: set[str]) -> None:
        """Each condition reaches the search, and nothing else is in the answer."""
        desk.clock.advance(1)

        assert expected == texts(await desk.search("deploy", **given))

    async def test_alike(self, desk: Desk) -> None:
        """`recall` makes the same question of the same conditions."""
        given: dict[str, Any] = {"tags": ["ops"], "since": 1, "realm": "private", "agent": "a"}
        given |= {"layers": ["sensory"], "min_attention": 0.5, "as_agent": "a", "thread": "talk"}
        await desk.search("deploy", **given)
        await desk.recall("deploy", **given)

        one, other = desk.asked
        assert (one.where, one.past) == (other.where, other.past)

    async def test_attention_now(self, desk: Desk) -> None:
        """The least attention is weighed at the moment of the search."""
        among = {"deploy at nine"}
        assert among <= texts(await desk.search("deploy", min_attention=0.5))
        desk.clock.advance(7 * 3_600)

        assert not among & texts(await desk.search("deploy", min_attention=0.5))

    @pytest.mark.parametrize(
        "given",
        [{"realm": "secret"}, {"as_of": EPOCH + HOUR}, {"limit": 0}, {"query": " "}],
    )
    async def test_refused(self, desk: Desk, given: dict[str, Any]) -> None:
        """What is none is refused by both."""
        for verb in (desk.recall, desk.search):
            with pytest.raises(BadInput):
                await verb(**{"query": "deploy", **given})
        assert [] == desk.read

    async def test_original(self, desk: Desk) -> None:
        """Only memories were said."""
        assert 3 == (await desk.search("deploy", original_only=True))["count"]


class TestEyes:
    async def test_agent(self, desk: Desk) -> None:
        """An agent finds what it may read, whatever it says about itself."""
        mine = {"deploy at nine", "deploy in the village"}

        assert mine == texts(await desk.search("deploy", caller=Caller("A")))
        assert mine == texts(await desk.search("deploy", caller=Caller("A"), as_agent="a"))

    async def test_another(self, desk: Desk) -> None:
        """One that asks through another's eyes is refused."""
        for verb in (desk.recall, desk.search):
            with pytest.raises(NotYours):
                await verb("deploy", caller=Caller("A"), as_agent="B")

    async def test_past(self, desk: Desk) -> None:
        """The past is as private as the present."""
        for more in ({"original_only": True}, {"as_of": EPOCH + 5}):
            desk.clock.advance(1)
            found = await desk.search("deploy", caller=Caller("C"), **more)
            assert {"deploy in the village"} == texts(found)


class TestRead:
    async def test_noted(self, desk: Desk) -> None:
        """What was in an answer is noted, with how it was found; what was cut off is not."""
        desk.room.embed(**{"deploy at nine": [1, 0, 0]})
        await desk.search("nine", limit=1)

        assert [Access(mem("deploy at nine"), cosine=None, by_words=True)] == [
            Access(each.memory_id, None, each.by_words) for each in desk.read
        ]
        assert desk.read[0].cosine is not None

    async def test_only_memories(self, desk: Desk) -> None:
        """What a file says has no attention to be noted."""
        await desk.recall("deploy")

        assert 3 == len(desk.read)

    @pytest.mark.parametrize("more", [{"track": False}, {"as_of": EPOCH + 3}])
    async def test_not_noted(self, desk: Desk, more: dict[str, Any]) -> None:
        """Whoever asks for it reads without a trace, and looking back is no use."""
        desk.clock.advance(1)
        assert (await desk.search("deploy", **more))["hits"]

        assert [] == desk.read

    async def test_probe(self, desk: Desk) -> None:
        """What the daemon tries itself with is no memory that is used."""
        desk.room.remember(memory("deploy probe", 9, agent_id=PROBE))

        assert (await desk.search("deploy", caller=Caller(PROBE), realm="private"))["hits"]
        assert [] == desk.read


class TestWaiting:
    async def test_owner(self, desk: Desk) -> None:
        """What has no vector yet was looked for by its words, and the answer says so."""
        reasons = [each["reason"] for each in (await desk.search("deploy"))["skipped"]]

        assert any("texts have no vector yet" in each for each in reasons), reasons

    async def test_of_others(self, desk: Desk) -> None:
        """How many texts wait is not told to an agent, and of what it may not read nothing is."""
        reader = Caller("C")
        village = (await desk.search("deploy", caller=reader))["skipped"]
        private = (await desk.search("deploy", caller=reader, realm="private"))["skipped"]

        assert ["some texts have no vector yet and were looked for by their words alone"] == [
            each["reason"] for each in village
        ]
        assert [] == private

    async def test_narrowed(self, desk: Desk) -> None:
        """What the conditions leave out is no news for the owner either."""
        assert [] == (await desk.search("deploy", realm="bridge"))["skipped"]


class TestFresh:
    async def test_conditions_reach_stores(self, desk: Desk) -> None:
        """A store that cannot meet a condition is left out, and the answer says which and why."""
        desk.others = (Shelf("elsewhere", ("a", 1.0)),)
        desk.others[0].knows = ()
        found = await desk.recall("deploy", tags=["ops"])

        assert {"deploy at nine"} == texts(found)
        assert {"elsewhere"} == {each["store"] for each in found["skipped"]} - {"local"}

    async def test_question(self, desk: Desk) -> None:
        """A plain question has no condition, so that nothing is in the index's way."""
        await desk.recall("deploy")

        where: Where = desk.asked[0].where
        assert ((), None) == (desk.asked[0].conditions, where.reader)
