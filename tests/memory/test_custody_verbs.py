"""The verbs about the health of memories, as clients say them."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.clock import DAY
from cortex_actors.domain.agent import OWNER, Caller
from cortex_actors.domain.insight import Decider
from cortex_actors.domain.memory import PROBE, Layer, MemoryStatus, Realm
from cortex_actors.errors import BadInput, NotFound, NotYours, Refused
from cortex_actors.storage import embeddings, memory_records
from cortex_actors.storage.search import similar_memories
from cortex_actors.testing import settled, temporary_cortex
from cortex_actors.topics import MEMORY_MERGED
from tests.memory.custody import memory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from cortex_actors.api.desk import FrontDesk
    from cortex_actors.domain.memory import Memory
    from cortex_actors.tree import Tree

VAJRA = Caller("VAJRA")

#: A text, and one of the same words: the hashing embedder takes the two for one.
PORT, ALSO = "Redis listens on port 6379 by default", "by default Redis listens on port 6379"


class House:
    """A daemon, and memories of two agents in it."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.desk: FrontDesk = tree.cortex
        self._parts = tree.cortex._call
        self.now = self._parts.clock.now()

    async def save(self, *some: Memory) -> list[str]:
        """Save memories with their vectors; return their ids."""
        rows = await self._parts.embed([each.text for each in some])
        found = {
            sha256(each.text.encode()).digest(): row for each, row in zip(some, rows, strict=True)
        }
        model = self._parts.model()
        await self._parts.records.write(lambda c: memory_records.save(c, some))
        await self._parts.records.write(lambda c: embeddings.keep_vectors(c, model, found))
        return [each.id for each in some]

    def said(self, number: int, text: str, days: float = 0, **known: Any) -> Memory:
        """Return a memory that was said days ago."""
        at = self.now - round(days * DAY)
        return memory(number, text=text, created_at=at, thread=str(number), **known)

    async def dispute(self, one: str, other: str) -> None:
        """Note that two memories cannot both hold."""
        by = Decider.PERSON
        await self._parts.records.write(
            lambda c: similar_memories.note_conflict(
                c, one, other, by=by, reason="at odds", at=self.now
            )
        )

    async def one(self, name: str) -> Memory:
        """Return a memory, whatever its state."""
        found = await self._parts.records.read(
            lambda c: memory_records.read(c, [name], MemoryStatus)
        )
        return found[name]


@pytest.fixture
async def house() -> AsyncIterator[House]:
    """Give a daemon."""
    async with temporary_cortex(memory={"flush_s": 60}) as tree:
        yield House(tree)


@pytest.mark.slow
class TestLists:
    async def test_stale(self, house: House) -> None:
        """The longest idle come first and the limit counts last; an agent sees what it may."""
        ids = await house.save(
            house.said(1, "a" * 200, 40),
            house.said(2, "b", 90, agent_id="VAJRA", access_count=1),
            house.said(3, "c", 90, accessed_at=house.now - 31 * DAY, access_count=2),
            house.said(4, "d", 29),
            house.said(5, "e", 900, agent_id=PROBE),
        )
        found = await house.desk.stale(30, 2)
        faint = await house.desk.stale(30, below=0.15)
        theirs = await house.desk.stale(0, caller=VAJRA)

        assert [ids[1], ids[0]] == [each["id"] for each in found["stale"]]
        assert 3 == found["total"]
        first = found["stale"][1]
        assert (150, 40.0, 0, 0.1) == (
            len(first["content_preview"]),
            first["days_since_access"],
            first["access_count"],
            first["attention_weight"],
        )
        assert {ids[0], ids[1]} == {each["id"] for each in faint["stale"]}
        assert [ids[1]] == [each["id"] for each in theirs["stale"]]
        for wrong in ({"days": -1}, {"below": 3}, {"limit": 0}, {"realm": "moon"}):
            with pytest.raises(BadInput):
                await house.desk.stale(**wrong)

    async def test_duplicates(self, house: House) -> None:
        """Pairs come once, the nearest first, within what one may read; probes are none."""
        ids = await house.save(
            house.said(1, PORT),
            house.said(2, ALSO),
            house.said(3, PORT, agent_id="VAJRA"),
            house.said(4, "the deployment runs every Friday"),
            house.said(5, PORT, agent_id=PROBE),
        )
        found = await house.desk.duplicates()
        theirs = await house.desk.duplicates(caller=VAJRA)

        pairs = {(each["first"]["id"], each["second"]["id"]) for each in found["duplicates"]}
        assert {(ids[0], ids[1]), (ids[0], ids[2]), (ids[1], ids[2])} == pairs
        assert (3, 4, 0) == (found["total"], found["compared"], found["without_vector"])
        assert (0, 1) == (theirs["total"], theirs["compared"])
        assert 1 == len((await house.desk.duplicates(limit=1))["duplicates"])
        assert 3 == (await house.desk.memory_health(duplicates=True))["summary"]["total_duplicates"]
        with pytest.raises(BadInput):
            await house.desk.duplicates(1.5)

    async def test_opposites(self, house: House) -> None:
        """Two memories that cannot both hold are no duplicates, however alike their words are."""
        await house.save(
            house.said(1, "The cache is enabled by default"),
            house.said(2, "The cache is disabled by default"),
        )
        found = await house.desk.duplicates(0.0)

        assert ([], 0, 2) == (found["duplicates"], found["total"], found["compared"])

    async def test_health(self, house: House) -> None:
        """The report counts each realm, says what is worth doing, and tells nobody too much."""
        await house.save(
            *(house.said(each, f"old {each}", 40) for each in range(11)),
            *(house.said(20 + each, f"read {each}", access_count=2) for each in range(6)),
            house.said(50, "hers", agent_id="VAJRA", layer=Layer.CORTEX, realm=Realm.VILLAGE),
        )
        found = await house.desk.memory_health()
        private = found["realms"]["private"]

        assert (17, 11, 6, 1.0) == (
            private["total"],
            private["stale_count"],
            private["promotion_candidates"],
            private["avg_attention"],
        )
        assert 1 == found["realms"]["village"]["by_layer"]["cortex"]
        assert (18, None) == (
            found["summary"]["total_memories"],
            found["summary"]["total_duplicates"],
        )
        assert ["11 memories", "6 memories"] == [
            each[: each.index("ies") + 3] for each in found["recommendations"]
        ]
        assert 60 == found["accesses"]["window_s"]
        theirs = await house.desk.memory_health(caller=VAJRA)
        assert theirs == await house.desk.memory_health(as_agent="VAJRA")
        assert (1, False) == (theirs["summary"]["total_memories"], "accesses" in theirs)


@pytest.mark.slow
class TestConsolidate:
    async def test_whole(self, house: House) -> None:
        """The one that is kept gets what both have, and undoing gives each its own again."""
        ids = await house.save(
            house.said(1, PORT, 3, access_count=3, accessed_at=house.now - DAY, tags=("a", "db")),
            house.said(
                2,
                ALSO,
                access_count=2,
                accessed_at=house.now,
                tags=("db", "net"),
                layer=Layer.LONG_TERM,
            ),
        )
        before = [await house.one(each) for each in ids]
        found = await house.desk.consolidate(*ids)

        assert (ids[0], ids[1], 5) == (
            found["kept_id"],
            found["discarded_id"],
            found["new_access_count"],
        )
        kept = await house.one(ids[0])
        assert (house.now, {"a", "db", "net"}, Layer.LONG_TERM) == (
            kept.accessed_at,
            set(kept.tags),
            kept.layer,
        )
        assert 1.5 == round(found["new_attention_weight"], 3)
        assert MemoryStatus.MERGED == (await house.one(ids[1])).status
        events = (await house.desk.events(MEMORY_MERGED))["events"]
        assert 1 == len(events)

        await house.desk.undo(found["change"])
        after = [await house.one(each) for each in ids]
        assert [(e.layer, e.access_count, e.accessed_at, set(e.tags)) for e in before] == [
            (e.layer, e.access_count, e.accessed_at, set(e.tags)) for e in after
        ]
        assert 0 == (await house.desk.duplicates())["total"]

    async def test_refused(self, house: House) -> None:
        """What cannot be is refused with what is wrong, and changes nothing."""
        one, other, hers, village, pinned = await house.save(
            house.said(1, PORT, access_count=9),
            house.said(2, ALSO),
            house.said(3, PORT, agent_id="VAJRA"),
            house.said(4, PORT, realm=Realm.VILLAGE),
            house.said(5, PORT, pinned_at=house.now),
        )
        for error, words, first, second, keep, caller in (
            (BadInput, "higher_attention", one, other, "newest", OWNER),
            (BadInput, "higher_attention", one, other, hers, OWNER),
            (BadInput, "itself", one, one, one, OWNER),
            (NotFound, "no memory is called", one, "mem_nosuch", one, OWNER),
            (NotFound, "no memory is called", one, hers, one, VAJRA),
            (NotYours, "CLAUDE", village, hers, village, VAJRA),
            (BadInput, "different voices", one, hers, one, OWNER),
            (BadInput, "different voices", one, village, one, OWNER),
            (Refused, "unpin", one, pinned, one, OWNER),
        ):
            with pytest.raises(error, match=words):
                await house.desk.consolidate(first, second, keep, caller=caller)
        await house.desk.archive([other])
        with pytest.raises(Refused, match="archived"):
            await house.desk.consolidate(one, other)
        assert [9, MemoryStatus.ACTIVE] == [
            (await house.one(one)).access_count,
            (await house.one(one)).status,
        ]

    async def test_another_agent(self, house: House) -> None:
        """What one agent said is not replaced by what another one did, not by the owner either."""
        one, hers = await house.save(house.said(1, PORT), house.said(2, ALSO, agent_id="VAJRA"))
        with pytest.raises(Refused, match="cannot supersede .* CLAUDE said it"):
            await house.desk.supersede(one, hers)

        assert MemoryStatus.ACTIVE is (await house.one(one)).status

    async def test_conflict(self, house: House) -> None:
        """Two that cannot both hold are not made one, unless a person kept both."""
        one, other, three = await house.save(
            house.said(1, "The cache has 3 nodes"),
            house.said(2, "The cache has 5 nodes"),
            house.said(3, PORT),
        )
        with pytest.raises(Refused, match="cannot both hold.*leave both"):
            await house.desk.consolidate(one, other)
        await house.dispute(one, three)
        with pytest.raises(Refused, match="at odds.*keep-both"):
            await house.desk.consolidate(one, three)
        await house.desk.keep_both(one, three)

        assert one == (await house.desk.consolidate(one, three))["kept_id"]


@pytest.mark.slow
class TestTending:
    async def test_own(self, house: House) -> None:
        """An agent tends its own memories, the owner all of them; a dry run only tells."""
        mine, hers = await house.save(
            house.said(1, "a", access_count=2, attention=0.3),
            house.said(2, "b", access_count=2, agent_id="VAJRA", attention=0.3),
        )
        dry = await house.desk.memory_promotions(dry_run=True)
        first = await house.desk.memory_promotions(caller=VAJRA)
        second = await house.desk.memory_promotions()

        assert (2, 2, 0, True) == tuple(
            dry[key] for key in ("total_records", "eligible_count", "promoted_count", "dry_run")
        )
        assert {
            "id": mine,
            "layer": "sensory",
            "to": "working",
            "reason": "Access count 2 >= threshold 2",
            "access_count": 2,
        } in dry["eligible"]
        assert ([hers], [mine]) == (first["promoted"], second["promoted"])
        decayed = await house.desk.memory_decay(dry_run=True)
        assert (2, 2, 0, []) == tuple(
            decayed[key] for key in ("total_records", "updated", "below_threshold", "archived")
        )
        assert 1 == (await house.desk.memory_decay(caller=VAJRA))["updated"]
        assert 1 == (await house.desk.memory_decay())["updated"]


@pytest.mark.slow
class TestEdit:
    async def test_corrected(self, house: House) -> None:
        """What is edited is found by its new words and vector, and an undoing is no edit."""
        one, other = await house.save(house.said(1, PORT), house.said(2, "Feed the quokka"))
        await house.dispute(one, other)
        done = await house.desk.edit(one, "The harvest begins in May")
        await settled(house.tree)
        hits = (await house.desk.search("harvest May", limit=1))["hits"]
        (change,) = (await house.desk.memory_changes(memory=one))["changes"]

        assert ([], one) == (done["same"], hits[0]["id"])
        assert "dense_alone" in hits[0]["extra"]["found_by"]
        assert ("edit", []) == (change["kind"], change["others"])
        assert 0 == (await house.desk.conflicts())["total"]
        assert "edit" == (await house.desk.undo(change["id"]))["kind"]
        assert PORT == (await house.desk.memory(one))["content"]

    async def test_refused(self, house: House) -> None:
        """A secret, another's memory and one that is not active keep their words."""
        ids = await house.save(house.said(1, PORT), house.said(2, "Feed the quokka"))
        key = "my key is ghp_" + "A1b2C3d4E5f6" * 3
        await house.desk.archive([ids[1]])
        for name, text, caller in ((ids[0], key, OWNER), (ids[1], "Feed it", OWNER)):
            with pytest.raises(Refused):
                await house.desk.edit(name, text, caller=caller)
        with pytest.raises(NotFound):
            await house.desk.edit(ids[0], "Feed it", caller=VAJRA)

        assert PORT == (await house.one(ids[0])).text
        assert "[secret" in (await house.desk.edit(ids[0], key, redact=True))["content"]
