"""The verbs that look at memories: one whole, lists, what was done, what conflicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.domain.agent import Caller
from cortex_actors.domain.insight import Decider
from cortex_actors.domain.memory import Memory, Realm
from cortex_actors.errors import BadInput, NotFound, NotYours
from cortex_actors.storage import memory_records
from cortex_actors.storage.memory import memory_states
from cortex_actors.storage.search import similar_memories
from cortex_actors.testing import EPOCH
from tests.storage.kept import Desk, furnished
from tests.storage.things import mem, memory

if TYPE_CHECKING:
    from collections.abc import Iterator

A, B, V, W = (mem(each) for each in "abvw")
BOB = Caller("BOB")


@pytest.fixture
def desk() -> Iterator[Desk]:
    """Give the verbs."""
    with furnished() as desk:
        yield desk


class TestOne:
    async def test_text(self, desk: Desk) -> None:
        """A memory is told in the document's form, with the tree of what it was made of."""
        m, n = mem("m"), mem("n")

        assert (
            f"#{W} (active)\nAbstract: both\nSummary: all of it\nText:\nparts m and n\nLineage:\n"
            f'#{W} (active) "both"\n    ├── #{m} (leaf) "m"\n    └── #{n} (leaf) "n"'
        ) == (await desk.memory(W))["text"]

    async def test_deeper(self, desk: Desk) -> None:
        """Branches of branches are drawn beside one another, as the document draws them."""
        top = memory("top", 9, id="t", thread="w", abstract="root")
        at = EPOCH + 9
        desk.tables.write(
            lambda c: memory_states.write_whole(
                c, top, [W, A], at=at, by=Decider.PERSON, why="mine"
            )
        )
        lines = (await desk.memory(mem("t")))["text"].split("Lineage:\n")[1].split("\n")

        assert [
            f'#{mem("t")} (active) "root"',
            f'    ├── #{W} (intermediate) "both"',
            f'    │   ├── #{mem("m")} (leaf) "m"',
            f'    │   └── #{mem("n")} (leaf) "n"',
            f'    └── #{A} (leaf) "port 1"',
        ] == lines
        assert (mem("t"), "mine") == (
            (await desk.memory(A))["merged_into"],
            (await desk.memory(A))["merged_why"],
        )
        assert mem("t") == (await desk.memory(mem("m")))["current"]

    async def test_alone(self, desk: Desk) -> None:
        """What was made of nothing has no lineage, and one that is not active says so."""
        desk.clock.advance(1)
        await desk.archive([A])
        found = await desk.memory(A)

        assert f"#{A} (inactive)\nAbstract: \nSummary: \nText:\nport 1" == found["text"]
        assert [] == found["lineage"]
        assert [{"since": EPOCH, "until": desk.clock.now()}] == found["believed"]

    async def test_by_its_beginning(self, desk: Desk) -> None:
        """Eight characters of an id are enough where they mean one, whatever their case."""
        long = "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV"
        other = Memory(long, Realm.PRIVATE, "A", "x", EPOCH)
        desk.tables.write(lambda c: memory_records.save(c, [other]))

        for name in (long, "#mem_01ARZ3", "mem_01ar", "01ARZ3ND", long.lower()):
            assert long == (await desk.memory(name))["id"]
        with pytest.raises(BadInput, match="means several memories"):
            await desk.memory("mem_0000")
        for name in ("mem_01A", "mem_zzzz", "", "ins_0000"):
            with pytest.raises(NotFound, match="no memory is called"):
                await desk.memory(name)
        with pytest.raises(NotFound, match="no memory is called 'mem_01': give 8 characters or"):
            await desk.memory("mem_01")
        with pytest.raises(NotFound, match=r"no memory is called 'mem_\\xe9\\xe9\\xe9\\xe9'; list"):
            await desk.memory("mem_éééé")

    async def test_not_theirs(self, desk: Desk) -> None:
        """What an agent may not read does not exist for it; what it may read it cannot change."""
        with pytest.raises(NotFound, match=f"no memory is called #{A}"):
            await desk.memory(A, caller=BOB)
        with pytest.raises(NotFound):
            await desk.archive([A], caller=BOB)
        assert "hello" == (await desk.memory(V, caller=BOB))["content"]
        for verb in (desk.save, desk.promote, desk.crystallize, desk.pin, desk.unpin, desk.split):
            with pytest.raises(NotYours):
                await verb(V, caller=BOB)
        for many in (desk.archive, desk.restore, desk.forget):
            with pytest.raises(NotYours):
                await many([V], caller=BOB)
        with pytest.raises(NotYours):
            await desk.supersede(V, V, caller=BOB)

    async def test_lent(self, desk: Desk) -> None:
        """The owner changes as an agent what that one may, and answers for it; no agent does."""
        with pytest.raises(NotFound, match=f"no memory is called #{A}"):
            await desk.forget([A], as_agent="bob")
        with pytest.raises(NotYours, match="BOB cannot change"):
            await desk.pin(V, as_agent="bob")
        with pytest.raises(NotYours, match="BOB cannot act for A: its token is its own"):
            await desk.pin(A, as_agent="a", caller=BOB)
        await desk.pin(A, as_agent="a")

        assert "owner" == (await desk.memory_changes(memory=A))["changes"][0]["by"]


class TestLists:
    async def test_filters(self, desk: Desk) -> None:
        """Lists hold what is asked for, in the order asked for, those that are pinned first."""
        await desk.pin(B)
        ids = [each["id"] for each in (await desk.memories())["memories"]]
        assert [B, V, W, A] == ids

        found = await desk.memories(status="all", sort="oldest", limit=2, skip=1)
        assert (6, 2) == (found["total"], len(found["memories"]))
        asked: list[tuple[dict[str, Any], set[str]]] = [
            ({"pinned": True}, {B}),
            ({"status": "merged"}, {mem("m"), mem("n")}),
            ({"layers": ["sensory"]}, {A}),
            ({"realm": "village"}, {V}),
            ({"thread": "w"}, {W}),
            ({"as_agent": "BOB"}, {V}),
            ({"caller": BOB}, {V}),
            ({"type": "fact"}, set()),
        ]
        for narrowed, expected in asked:
            found = await desk.memories(**narrowed)
            assert expected == {each["id"] for each in found["memories"]}, narrowed

    async def test_wrong(self, desk: Desk) -> None:
        """Words that there are not are refused, naming those there are."""
        with pytest.raises(BadInput, match="active, merged, superseded, archived"):
            await desk.memories(status="gone")
        with pytest.raises(BadInput, match="newest, oldest, read"):
            await desk.memories(sort="up")
        with pytest.raises(BadInput, match="merge, consolidate"):
            await desk.memory_changes(kind="eat")

    async def test_changes(self, desk: Desk) -> None:
        """What was done is listed by memory and kind; others see what is theirs to see."""
        await desk.pin(V)
        await desk.archive([A], "not needed")

        found = (await desk.memory_changes())["changes"]
        assert ["archive", "pin", "merge"] == [each["kind"] for each in found]
        assert "not needed" == found[0]["reason"]
        assert 1 == (await desk.memory_changes(memory=mem("m")))["total"]
        assert 1 == (await desk.memory_changes(kind="merge"))["total"]
        theirs = (await desk.memory_changes(caller=BOB))["changes"]
        assert [V] == [each["memory"] for each in theirs]

    async def test_conflicts(self, desk: Desk) -> None:
        """A conflict is listed until one of the two is superseded, or both are kept."""
        desk.tables.write(
            lambda c: similar_memories.note_conflict(
                c, A, B, by=Decider.RULES, reason="1 or 2", at=EPOCH
            )
        )
        (pair,) = (await desk.conflicts())["conflicts"]
        assert ("port 1", "port 2") == (pair["left"]["content"], pair["right"]["content"])
        shown = (await desk.memories(conflicts=True))["memories"]
        assert {A, B} == {each["id"] for each in shown}
        assert 0 == (await desk.conflicts(caller=BOB))["total"]

        await desk.supersede(A, B)
        assert 0 == (await desk.conflicts())["total"]
        await desk.undo((await desk.memory_changes())["changes"][0]["id"])
        assert [{"id": A, "reason": "1 or 2"}] == (await desk.memory(B))["conflicts"]
        await desk.keep_both(B, A)
        with pytest.raises(NotFound, match="no conflict between"):
            await desk.keep_both(A, B)
