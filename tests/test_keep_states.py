"""The verbs that change what becomes of a memory: who may, what is answered, what is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.agent import Caller
from cortex_actors.domain.insight import Decider
from cortex_actors.domain.memory import MemoryType, Realm
from cortex_actors.errors import BadInput, NotFound, NotYours, Refused
from cortex_actors.storage import memory_records
from cortex_actors.storage.memory import memory_states
from cortex_actors.testing import EPOCH, eventually, temporary_cortex
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


class TestLayers:
    async def test_said(self, desk: Desk) -> None:
        """Saving, promoting and crystallizing each bring a memory deeper, once, and say so."""
        saved = await desk.save(A)
        again = await desk.save(A)
        further = await desk.promote(A)
        last = await desk.crystallize(A)

        assert {"id": A, "from": "sensory", "layer": "working", "changed": True} == saved
        assert (False, "working") == (again["changed"], again["layer"])
        assert ("long_term", "cortex") == (further["layer"], last["layer"])
        assert [("memory:promoted", (A,))] * 3 == desk.said
        with pytest.raises(Refused, match="the last layer"):
            await desk.promote(A)

    async def test_named(self, desk: Desk) -> None:
        """A layer may be named that lies deeper, and no other."""
        assert "cortex" == (await desk.promote(B, "cortex"))["layer"]
        with pytest.raises(BadInput, match="it is in working already; from the first"):
            await desk.promote(W, "sensory")
        with pytest.raises(BadInput, match="sensory, working, long_term, cortex"):
            await desk.promote(W, "deepest")

    async def test_not_active(self, desk: Desk) -> None:
        """What is not active is not promoted; the error says what it is."""
        with pytest.raises(Refused, match="part of another memory"):
            await desk.crystallize(mem("m"))


class TestStates:
    async def test_round(self, desk: Desk) -> None:
        """Archived, restored and that undone: each is noted, and the memory is archived again."""
        await desk.archive([A, B])
        with pytest.raises(Refused, match="it is archived; restore it first"):
            await desk.archive([A])
        await desk.restore(A)  # one name is a list of one
        with pytest.raises(Refused, match="active already"):
            await desk.restore([A])
        done = await desk.undo((await desk.memory_changes(memory=A))["changes"][0]["id"])

        assert {"change": 4, "kind": "restore", "memory": A, "changed": [A]} == done
        assert "archived" == (await desk.memory(A))["status"]

    async def test_superseded(self, desk: Desk) -> None:
        """What is superseded is shown with what replaced it, and only active ones replace."""
        await desk.supersede(A, B, "moved")
        shown = await desk.memory(A)
        assert ("superseded", B) == (shown["status"], shown["replaced_by"])
        with pytest.raises(BadInput, match="by itself"):
            await desk.supersede(B, B)
        with pytest.raises(Refused, match="cannot supersede anything by"):
            await desk.supersede(B, A)

    async def test_all_or_nothing(self, desk: Desk) -> None:
        """Where one of several cannot be changed, none is."""
        with pytest.raises(NotFound):
            await desk.archive([A, mem("none")])
        assert "active" == (await desk.memory(A))["status"]
        for wrong in ([], [1], {"a": 1}, [A] * 1_001):
            with pytest.raises(BadInput):
                await desk.archive(wrong)

    async def test_undo_not_theirs(self, desk: Desk) -> None:
        """Nobody undoes what was done with a memory that is not theirs, or knows of it."""
        await desk.pin(V)
        with pytest.raises(NotFound, match="there is no change 1"):
            await desk.undo(1, caller=BOB)
        with pytest.raises(NotFound, match="there is no change 9"):
            await desk.undo(2**63, caller=BOB)
        theirs = (await desk.memory_changes(memory=V, caller=BOB))["changes"][0]["id"]
        with pytest.raises(NotYours):
            await desk.undo(theirs, caller=BOB)
        for row in (1, 2):  # the owner's numbers count what others do
            with pytest.raises(NotFound):
                await desk.undo(row, caller=Caller("A"))
        mine = (await desk.memory_changes(memory=W, caller=Caller("A")))["changes"][0]["id"]
        assert [mem("m"), mem("n")] == (await desk.undo(mine, caller=Caller("A")))["changed"]


class TestForget:
    async def test_gone(self, desk: Desk) -> None:
        """A whole is forgotten with its parts, and what is left is told to who did it."""
        found = await desk.forget([W], caller=Caller("A"))
        assert {"forgotten": [W], "parts": [mem("m"), mem("n")]} == {
            each: found[each] for each in ("forgotten", "parts")
        }
        with pytest.raises(NotFound):
            await desk.memory(W)
        (change, merge) = (await desk.memory_changes(memory=W))["changes"]
        assert ("forget", "A", "merge") == (change["kind"], change["by"], merge["kind"])
        with pytest.raises(NotFound):
            await desk.undo(merge["id"])
        assert 1 == (await desk.memory_changes(kind="forget", caller=Caller("A")))["total"]
        assert 0 == (await desk.memory_changes(kind="forget", caller=BOB))["total"]

    async def test_of_others(self, desk: Desk) -> None:
        """An agent does not forget what was made of another's words, too."""
        theirs = memory("of bob", 9, id="o", agent_id="BOB", realm=Realm.VILLAGE)
        desk.tables.write(lambda c: memory_records.save(c, [theirs]))
        at = EPOCH + 9
        desk.tables.write(lambda c: memory_states.merge(c, mem("o"), [V], at=at, by=Decider.PERSON))

        with pytest.raises(NotYours):
            await desk.forget([mem("o")], caller=BOB)
        assert [V] == (await desk.forget([mem("o")]))["parts"]


@pytest.mark.slow
class TestDaemon:
    async def test_together(self) -> None:
        """In a daemon a memory is remembered, saved, split, forgotten, and found no more."""
        async with temporary_cortex() as tree:
            desk = tree.cortex
            one = await desk.remember("Redis listens on port 6379 by default", type=MemoryType.FACT)
            two = await desk.remember("Redis by default listens on port 6379", type=MemoryType.FACT)
            assert "merged" == two["state"]
            assert [one["id"]] == two["merged"]
            parts = (await desk.split(two["id"]))["parts"]
            assert "working" == (await desk.save(parts[0]))["layer"]
            again = await desk.remember("Redis by default uses port 6379", type=MemoryType.FACT)
            await desk.forget([*parts, two["id"], again["id"]])

            assert 0 == (await desk.memories(status="all"))["total"]
            assert [] == (await desk.search("Redis port"))["hits"]

    @pytest.mark.slow
    async def test_conflict_of_a_split(self) -> None:
        """What contradicts a whole contradicts its parts again, soon after it was taken apart."""
        async with temporary_cortex() as tree:
            desk = tree.cortex
            await desk.remember("Redis listens on port 6379 by default")
            whole = await desk.remember("Redis by default listens on port 6379")
            other = await desk.remember("Redis listens on port 6380 by default")
            assert [whole["id"]] == [each["id"] for each in other["conflicts"]]
            parts = (await desk.split(whole["id"]))["parts"]

            async def told() -> bool:
                found = (await desk.conflicts())["conflicts"]
                named = {each[side]["id"] for each in found for side in ("left", "right")}
                return {*parts, other["id"]} <= named

            await eventually(told)
