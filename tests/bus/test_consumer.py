from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from cortex_actors import topics
from cortex_actors.domain.event import AccumulationComplete, Ids, ScanRequested
from cortex_actors.testing import eventually
from tests.bus.support import Script, Scripted, Stage, Wide

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping


#: One event of each durable topic that somebody hears: topic, consumers, payload fields.
HEARD = [
    (topic.name, topic.heard_by) for topic in topics.TOPICS if topic.durable and topic.heard_by
]

FIELDS: dict[str, dict[str, object]] = {
    topics.ACCUMULATION_COMPLETE: {"run_id": "run_1", "project_id": None},
    topics.RECONCILIATION_COMPLETE: {"run_id": "run_1"},
    topics.ORGANISATION_COMPLETE: {"run_id": "run_1"},
    topics.CONVERGENCE_DETECTED: {"ids": []},
    topics.PROJECT_ADDED: {"ids": []},
    topics.PROJECT_REMOVED: {"ids": []},
}


class Deaf(Scripted):
    """Hears nothing, whatever the catalogue says."""

    hears: ClassVar[Mapping[str, str]] = {}


@asynccontextmanager
async def stage(**settings: Any) -> AsyncIterator[Stage]:
    """Give a stage, and end its supervisors afterwards."""
    built = Stage(**settings)
    try:
        yield built
    finally:
        await built.end()


async def complete(play: Stage, number: int, *ids: str) -> None:
    """Publish that a file was read."""
    payload = AccumulationComplete(f"run_{number}", f"prj_{number}", ids)
    await play.bus.publish(topics.ACCUMULATION_COMPLETE, payload, source="accumulator")


class TestHandling:
    async def test_effect(self) -> None:
        """A published event is handled, acknowledged, and its answer is heard in turn."""
        script, heard = Script(answers=True), list[str]()
        play = Stage()
        play.bus.subscribe(topics.ACCUMULATION_COMPLETE, lambda event: heard.append(event.source))
        ref = await play.alone("accumulator", script)
        await play.change("/a")
        await eventually(lambda: bool(heard))
        ref.stop(block=False)

        assert ["/a"] == script.paths()
        assert ["accumulator"] == heard
        assert 0 == play.memory.waiting("accumulator")
        assert 1 == play.memory.waiting("reconciler")

    async def test_waited(self) -> None:
        """What was published while nobody was here is handled at the start, in order."""
        script, play = Script(), Stage()
        await play.change("/a", "/b", "/c")
        await play.alone("accumulator", script)
        await eventually(lambda: 3 == len(script.effects))

        assert ["/a", "/b", "/c"] == script.paths()

    async def test_stop_finishes_what_is_in_hand(self) -> None:
        """A stop waits for the handler and leaves what waits to the next life."""
        script, play = Script(gates={"/a": asyncio.Event()}), Stage()
        ref = await play.alone("accumulator", script)
        await play.change("/a", "/b")
        await eventually(lambda: ["/a"] == script.inside)
        ref.shut_down()
        script.gates["/a"].set()
        await ref.join()

        assert ["/a"] == script.paths()
        assert 1 == play.memory.waiting("accumulator")

    async def test_kill(self) -> None:
        """An event in hand when its consumer is killed is handed out again."""
        script, play = Script(gates={"/a": asyncio.Event()}), Stage()
        ref = await play.alone("accumulator", script)
        await play.change("/a")
        await eventually(lambda: ["/a"] == script.inside)
        ref.kill()
        await ref.join()
        script.gates.clear()
        await play.alone("accumulator", script)
        await eventually(lambda: ["/a"] == script.paths())

        assert 2 == len(script.seen)


class TestConflation:
    async def test_ten_are_one(self) -> None:
        """Ten completed runs that wait are one delivery with the ids of all."""
        script, play = Script(), Stage()
        for number in range(10):
            await complete(play, number, f"ins_{number}", "ins_same")
        await play.alone("reconciler", script)
        await eventually(lambda: 0 == play.memory.waiting("reconciler"))

        assert 1 == len(script.effects)
        assert 11 == len(script.effects[0].payload.changed_ids)
        assert script.effects[0].payload.project_id is None

    async def test_repeat_in_hand(self) -> None:
        """A repeat of what is in hand is handled once more afterwards, however many there are."""
        script, play = Script(gates={"/a": asyncio.Event()}), Stage()
        await play.alone("accumulator", script, Wide)
        await play.change("/a")
        await eventually(lambda: ["/a"] == script.inside)
        await play.change("/a", "/a", "/a")
        await play.change("/b", project="prj_2")
        await eventually(lambda: ["/b"] == script.paths())
        meanwhile = list(script.inside)
        script.gates["/a"].set()
        await eventually(lambda: 0 == play.memory.waiting("accumulator"))

        assert ["/a"] == meanwhile
        assert ["/b", "/a", "/a"] == script.paths()


class TestConcurrency:
    async def test_limit(self) -> None:
        """So many are in hand at once as the class says, of different keys."""
        names = ("/a", "/b", "/c", "/d")
        script, play = Script(gates={name: asyncio.Event() for name in names}), Stage()
        await play.change(*names)
        await play.alone("accumulator", script, Wide)
        await eventually(lambda: 3 == len(script.inside))
        inside = list(script.inside)
        for gate in script.gates.values():
            gate.set()
        await eventually(lambda: 4 == len(script.effects))

        assert ["/a", "/b", "/c"] == inside

    async def test_crash_beside_others(self) -> None:
        """A crash ends what is in hand beside it, and all of it comes back."""
        script = Script(poison={"/bad"}, gates={"/bad": asyncio.Event(), "/a": asyncio.Event()})
        async with stage() as play:
            await play.supervised({"accumulator": script}, Wide)
            await play.change("/a", "/bad")
            await eventually(lambda: 2 == len(script.inside))
            script.gates["/bad"].set()
            await eventually(lambda: 2 == script.lives)
            script.poison.clear()
            script.gates.clear()
            await eventually(lambda: 0 < play.clock.sleepers)
            play.clock.advance(1)
            await eventually(lambda: 2 == len(script.effects))

        assert {"/a", "/bad"} == set(script.paths())


class TestCrash:
    async def test_comes_back(self) -> None:
        """A handler that raises crashes its actor; the event comes back after the pause."""
        script = Script(poison={"/bad"})
        async with stage() as play:
            await play.supervised({"accumulator": script})
            await play.change("/bad", "/good")
            await eventually(lambda: 2 == script.lives and 1 == play.clock.sleepers)
            before = len(script.seen)
            play.clock.advance(0.9)
            script.poison.clear()
            play.clock.advance(0.2)
            await eventually(lambda: 2 == len(script.effects))

        assert 1 == before
        assert ["/bad", "/good"] == script.paths()
        assert ["accumulator"] == play.told("restarted")

    async def test_topic_without_a_handler(self) -> None:
        """An event whose topic its consumer does not hear any more becomes a dead letter, too."""
        script = Script()
        async with stage(max_deliveries=2) as play:
            (event,) = await play.change("/a")
            await play.supervised({"accumulator": script}, Deaf)
            await play.play_out({"accumulator": script})

        assert [("accumulator", event)] == [each[:2] for each in play.memory.dead]
        assert 3 == script.lives

    async def test_dead_letter(self) -> None:
        """After the last attempt the event is set aside with its traceback; the next is handled."""
        script = Script(poison={"/bad"})
        async with stage() as play:
            await play.supervised({"accumulator": script})
            await play.change("/bad", "/good")
            for life, pause in enumerate((1, 5, 30, 120), start=2):
                await eventually(lambda n=life: n == script.lives and 1 == play.clock.sleepers)
                play.clock.advance(pause)
            await eventually(lambda: bool(script.effects))

        ((consumer, event, trace),) = play.memory.dead
        assert ("accumulator", "/bad") == (consumer, event.payload.path)  # type: ignore[attr-defined]
        assert "ValueError: poison: /bad" in trace
        assert 5 == sum("/bad" == each.payload.path for each in script.seen)
        assert ["/good"] == script.paths()

    @pytest.mark.parametrize(("topic", "consumers"), HEARD)
    async def test_poison(self, topic: str, consumers: tuple[str, ...]) -> None:
        """One poison event never brings its branch down, whatever its topic."""
        scripts = {name: Script(poison={topic, "/bad"}) for name in consumers}
        async with stage() as play:
            await play.supervised(scripts)
            fields = FIELDS.get(topic, {"project_id": "prj_1", "path": "/bad"})
            known = topics.find(topic).payload.__dataclass_fields__
            payload = topics.parse(topic, {k: v for k, v in fields.items() if k in known})
            await play.bus.publish(topic, payload, source="test")
            await play.play_out(scripts)

        assert [] == play.told("gave_up")
        assert [5] * len(consumers) == [len(each.seen) for each in scripts.values()]

    async def test_poison_everywhere(self) -> None:
        """Poison for every consumer of a branch at once never brings the root down."""
        scripts = {name: Script() for name in topics.list_consumers()}
        for script in scripts.values():
            script.poison |= {"/bad", *(topic for topic, _ in HEARD)}
        async with stage() as play:
            root = await play.supervised(scripts)
            await play.change("/bad")
            await complete(play, 1)
            for topic in (topics.PROJECT_ADDED, topics.PROJECT_REMOVED):
                await play.bus.publish(topic, Ids(()), source="test")
            await play.bus.publish(topics.SCAN_REQUESTED, ScanRequested(), source="test")
            await play.bus.publish(
                topics.ORGANISATION_REQUESTED,
                topics.parse(topics.ORGANISATION_REQUESTED, {}),
                source="test",
            )
            await play.play_out(scripts)
            alive = root.snapshot().state

        assert "running" == alive
        assert 7 == len(play.memory.dead)
