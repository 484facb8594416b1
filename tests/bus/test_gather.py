"""A consumer that is to do little rests, and what comes meanwhile is one delivery."""

from __future__ import annotations

import asyncio

from cortex_actors import topics
from cortex_actors.bus.consumer import LONGEST_GATHER
from cortex_actors.domain.event import AccumulationComplete
from cortex_actors.testing import eventually
from tests.bus.support import Script, Scripted, Stage


class Leisurely(Scripted):
    """Is at work for a tenth of the time at most."""

    share = 0.1


async def complete(play: Stage, number: int) -> None:
    """Publish that a file was read."""
    payload = AccumulationComplete(f"run_{number}", f"prj_{number}", (f"ins_{number}",))
    await play.bus.publish(topics.ACCUMULATION_COMPLETE, payload, source="accumulator")


class TestShare:
    async def test_gathers(self) -> None:
        """What comes while it rests is handled in one, after nine times what the first took."""
        gate = asyncio.Event()
        script, play = Script(gates={topics.ACCUMULATION_COMPLETE: gate}), Stage()
        ref = await play.alone("reconciler", script, kind=Leisurely)
        await complete(play, 1)
        await eventually(lambda: bool(script.inside))
        play.clock.advance(0.02)
        gate.set()
        await eventually(lambda: 1 == len(script.effects))
        for number in (2, 3, 4):
            await complete(play, number)
        await eventually(lambda: play.clock.due > 0)
        assert 1 == len(script.effects)

        play.clock.advance(9 * 0.02)
        await eventually(lambda: 2 == len(script.effects))
        assert ("ins_2", "ins_3", "ins_4") == script.effects[1].payload.changed_ids
        ref.stop(block=False)

    async def test_not_for_long(self) -> None:
        """However long the first one took, it rests for a second at most."""
        gate = asyncio.Event()
        script, play = Script(gates={topics.ACCUMULATION_COMPLETE: gate}), Stage()
        ref = await play.alone("reconciler", script, kind=Leisurely)
        await complete(play, 1)
        await eventually(lambda: bool(script.inside))
        play.clock.advance(60)
        gate.set()
        await eventually(lambda: 1 == len(script.effects))
        await complete(play, 2)
        await eventually(lambda: 0 < play.clock.due <= LONGEST_GATHER)
        play.clock.advance(LONGEST_GATHER)

        await eventually(lambda: 2 == len(script.effects))
        ref.stop(block=False)
