"""The verbs about stored events, over a whole tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors import topics
from cortex_actors.clock import make_ulid
from cortex_actors.domain.event import Event, Payload, ScanRequested
from cortex_actors.errors import BadInput, NotFound
from cortex_actors.storage import events as append
from cortex_actors.testing import eventually, settled, temporary_cortex

if TYPE_CHECKING:
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.tree import Tree

pytestmark = pytest.mark.slow

SET_ASIDE = """
    INSERT INTO dead_letters (consumer, seq, attempts, error, at)
    SELECT consumer, seq, 5, 'Traceback ...' || char(10) || 'ValueError: poison', 7 FROM deliveries
"""


async def set_aside(tree: Tree, count: int = 1) -> list[str]:
    """Store events that are dead letters already, of which nobody is told; return their ids."""
    at = 1_900_000_000_000_000
    events: list[Event[Payload]] = [
        Event(f"evt_{make_ulid(at)}", topics.SCAN_REQUESTED, ScanRequested(f"prj_{n}"), at, "test")
        for n in range(count)
    ]

    def unit(connection: Connection) -> None:
        append.store(connection, events)
        connection.exec_driver_sql(SET_ASIDE)
        connection.exec_driver_sql("DELETE FROM deliveries")

    await tree.parts.records.write(unit)
    return [event.id for event in events]


async def is_handled(tree: Tree, name: str) -> bool:
    """Tell whether an event is handled."""
    found = await tree.cortex.event(name)
    return bool("handled" == found["state"])


class TestKeys:
    async def test_repeat(self) -> None:
        """What is said again under a key is the first event, and nobody hears it again."""
        heard: list[Any] = []
        async with temporary_cortex() as tree:
            cortex = tree.cortex
            tree.bus.subscribe("custom:*", heard.append)
            first = await cortex.publish("custom:x", {"n": 1}, idempotency_key="k")
            again = await cortex.publish("custom:x", {"n": 1}, idempotency_key="k")
            with pytest.raises(BadInput, match="another payload"):
                await cortex.publish("custom:x", {"n": 2}, idempotency_key="k")
            with pytest.raises(BadInput, match="transient"):
                await cortex.publish("custom:x", {}, transient=True, idempotency_key="k")
            now = cortex.publish_now("custom:x", {}, transient=True, idempotency_key="k")
            shown = await cortex.event(first["id"])
            listed = await cortex.events(topic="custom:*")

        assert {**first, "duplicate": True} == again
        assert "duplicate" not in first
        assert [first["id"]] == [event.id for event in heard]
        assert now is None
        assert {"n": 1} == shown["payload"]
        assert ("k", "handled") == (shown["idempotency_key"], shown["state"])
        assert [first["id"]] == [each["id"] for each in listed["events"]]


class TestDeadLetters:
    async def test_decided(self, caplog: pytest.LogCaptureFixture) -> None:
        """Dead letters put back are handled soon; one discarded never is, and the log has it."""
        caplog.set_level("INFO", logger="cortex.letters")
        async with temporary_cortex() as tree:
            await settled(tree)
            names = await set_aside(tree, 3)
            status = await tree.cortex.status()
            dead = (await tree.cortex.events(dead=True))["events"]
            replayed = (await tree.cortex.replay([names[0]]))["replayed"]
            await eventually(lambda: is_handled(tree, names[0]))
            gone = (await tree.cortex.discard([names[1]]))["discarded"]
            shown = await tree.cortex.event(names[1])
            rest = (await tree.cortex.replay(["all"]))["replayed"]
            await settled(tree)
            left = (await tree.cortex.status())["dead"]

        assert any("cortex daemon events --dead" in reason for reason in status["reasons"])
        assert names == [each["id"] for each in reversed(dead)]
        assert "ValueError: poison" == dead[0]["consumers"][0]["error"]
        assert ["accumulator", "watchlist"] == [each["consumer"] for each in replayed]
        assert [2, 2] == [len(gone), len(rest)]
        assert 0 == left
        assert "handled" == shown["state"]
        for consumer in ("accumulator", "watchlist"):
            said = f"the dead letter {shown['seq']} for {consumer} was discarded by a client"
            assert 1 == caplog.messages.count(said)

    async def test_damaged(self) -> None:
        """One whose payload is no JSON can be shown and decided on, and blocks no other."""
        async with temporary_cortex() as tree:
            await settled(tree)
            broken, sound = await set_aside(tree, 2)
            sql = "UPDATE events SET payload = 'nojson' WHERE id = ?"
            await tree.parts.records.write(lambda c: c.exec_driver_sql(sql, (broken,)))
            replayed = (await tree.cortex.replay(["all"]))["replayed"]
            await eventually(lambda: is_handled(tree, sound))
            await settled(tree)
            again = await tree.cortex.event(broken)
            gone = (await tree.cortex.discard([broken]))["discarded"]
            left = (await tree.cortex.status())["dead"]

        assert 4 == len(replayed)
        assert ("nojson", "dead") == (again["payload"], again["state"])
        assert [2, 0] == [len(gone), left]

    async def test_wrong(self) -> None:
        """What is out of range, or no dead letter, is refused by name."""
        async with temporary_cortex() as tree:
            for limit in (0, 1_001):
                with pytest.raises(BadInput, match="ask for 1 to 1000"):
                    await tree.cortex.events(limit=limit)
            with pytest.raises(BadInput, match="at most 100 characters"):
                await tree.cortex.events(topic="*" * 101)
            for names in ([], [1], ["1"] * 1_001, None):
                with pytest.raises(BadInput, match="name 1 to 1000 events"):
                    await tree.cortex.replay(names)
            for name in ("1", "evt_x", "nobody"):
                with pytest.raises(NotFound, match="cortex daemon events"):
                    await tree.cortex.discard([name])
                with pytest.raises(NotFound):
                    await tree.cortex.event(name)
