from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.embedding.pool import LOOK, Pool
from cortex_actors.embedding.provider import ProviderState
from cortex_actors.errors import EmbedderDown, EmbedderLoading, MailboxFull, ModelMissing
from cortex_actors.runtime.actor import start_actor
from tests.embedding.asking import Asker, expected, in_flight
from tests.embedding.support import fails_with_down, until

if TYPE_CHECKING:
    from cortex_actors.embedding.pool import PoolInfo
    from cortex_actors.embedding.provider import Vectors
    from cortex_actors.runtime.names import Names
    from tests.embedding.support import ManualClock, StagedProvider

    Asked = asyncio.Task[Vectors]

TWENTY = [f"rule {i}" for i in range(20)]
MORE = [f"more {i}" for i in range(20)]


class TestGathering:
    async def test_twenty(self, pool: Asker, provider: StagedProvider) -> None:
        """Twenty texts of several callers go at once, together, and each caller gets its own."""
        first, second = pool.later(*TWENTY[:7]), pool.later(*TWENTY[7:])

        assert np.array_equal(await expected(*TWENTY[:7]), await first)
        assert np.array_equal(await expected(*TWENTY[7:]), await second)
        assert [sorted(TWENTY)] == [sorted(call) for call in provider.calls]

    async def test_half_a_second(
        self, pool: Asker, provider: StagedProvider, clock: ManualClock
    ) -> None:
        """Fewer texts go half a second after the first of them came."""
        first = pool.later("a")
        assert 0.5 == await clock.next_alarm()
        await clock.advance(0.4)
        second = pool.later("b")
        await pool.waiting(2)
        assert 0.1 == await clock.next_alarm()
        assert [] == provider.calls
        await clock.advance(0.1)

        await asyncio.gather(first, second)
        assert [["a", "b"]] == provider.calls

    async def test_large_request(self, pool: Asker, provider: StagedProvider) -> None:
        """A request larger than a batch is cut into batches and answered in its order."""
        texts = [f"rule {i}" for i in range(60)]

        assert np.array_equal(await expected(*texts), await pool.embed(texts))
        assert [20, 20, 20] == [len(call) for call in provider.calls]

    async def test_repeats(self, pool: Asker, provider: StagedProvider) -> None:
        """A text given twice in one request is embedded once and answered twice."""
        assert np.array_equal(
            await expected("a", "b", "a"), await pool.embed(["a", "b", "a"], urgent=True)
        )
        assert [["a", "b"]] == provider.calls

    async def test_no_texts(self, pool: Asker, provider: StagedProvider) -> None:
        """Nothing asked is answered with no rows, and without the model."""
        assert (0, 384) == (await pool.embed([])).shape
        assert [] == provider.calls


class TestLanes:
    async def test_one_batch_each(self, pool: Asker, provider: StagedProvider) -> None:
        """However much is asked for, one patient batch and one urgent one are in flight."""
        first = await in_flight(provider, pool)
        rest = [pool.later(*TWENTY, *MORE), pool.later("q", urgent=True)]
        await pool.waiting(1 + 20)
        second = [pool.later("r", urgent=True), pool.later("s", urgent=True)]
        await pool.waiting(3 + 20)
        busy = (await pool.describe()).in_flight
        provider.gate.set()
        await asyncio.gather(first, *rest, *second)

        assert 21 == busy
        assert 2 == provider.most_busy

    async def test_urgent_overtakes(self, pool: Asker, provider: StagedProvider) -> None:
        """An urgent text waits neither for texts that came earlier nor for a batch in flight."""
        provider.gate.clear()
        patient = pool.later(*TWENTY)
        await provider.entered.wait()
        provider.pass_urgent = True

        assert np.array_equal(await expected("q"), await pool.embed(["q"], urgent=True))
        assert not patient.done()
        assert [TWENTY, ["q"]] == provider.calls
        assert [False, True] == provider.urgent
        provider.gate.set()
        await patient

    async def test_equal_texts(self, pool: Asker, provider: StagedProvider) -> None:
        """A text in flight or in the line is embedded once for everybody."""
        first = await in_flight(provider, pool)
        others = [pool.later("in flight", "b", urgent=True), pool.later("b", urgent=True)]
        await pool.waiting(1)
        provider.gate.set()
        await asyncio.gather(first, *others)

        assert [["in flight"], ["b"]] == provider.calls
        assert np.array_equal((await others[0])[1], (await others[1])[0])
        assert 2 == (await pool.describe()).joined

    async def test_equal_patient_text(self, pool: Asker, provider: StagedProvider) -> None:
        """Somebody in a hurry joins a patient batch that has begun with the same text."""
        provider.gate.clear()
        patient = pool.later(*TWENTY)
        await provider.entered.wait()
        urgent = pool.later(TWENTY[3], urgent=True)
        await until(partial(_has_joined, pool))
        provider.gate.set()

        assert np.array_equal((await patient)[3], (await urgent)[0])
        assert [TWENTY] == provider.calls

    async def test_bulk(self, names: Names, provider: StagedProvider, clock: ManualClock) -> None:
        """When much waits, a patient batch is as large as the model likes it best."""
        provider.bulk = 50
        make = partial(Pool, provider, clock, items=20, seconds=0.5, limit=100)
        handle = await start_actor(names, "pool", make)
        texts = [f"rule {i}" for i in range(70)]

        assert np.array_equal(await expected(*texts), await Asker(names, handle).embed(texts))
        assert [50, 20] == [len(call) for call in provider.calls]
        await handle.stop(5.0)


class TestProviderDown:
    async def test_one_batch(self, pool: Asker, provider: StagedProvider) -> None:
        """A failing batch fails its callers with the same kind of error, each with its own."""
        provider.fails = fails_with_down()
        first, second = pool.later(*TWENTY[:10]), pool.later(*TWENTY[10:])
        errors = await asyncio.gather(first, second, return_exceptions=True)

        assert [EmbedderDown, EmbedderDown] == [type(error) for error in errors]
        assert errors[0] is not errors[1]

    async def test_lives_on(self, pool: Asker, provider: StagedProvider, names: Names) -> None:
        """It is an outcome and no crash: the same pool embeds the next batch."""
        before = names.whereis("pool")
        provider.fails = fails_with_down()
        with pytest.raises(EmbedderDown):
            await pool.embed(["a"], urgent=True)

        assert (1, 384) == (await pool.embed(["a"], urgent=True)).shape
        assert before is names.whereis("pool")
        assert (1, 1) == ((info := await pool.describe()).failed, info.embedded)

    async def test_known_down(self, pool: Asker, provider: StagedProvider) -> None:
        """While the provider says that it is down, nobody waits for a batch to be told so."""
        provider.become(ProviderState.DOWN)
        with pytest.raises(EmbedderDown, match="on purpose"):
            await pool.embed(["a"])
        assert [] == provider.calls


class TestPatience:
    async def test_none(self, pool: Asker, provider: StagedProvider) -> None:
        """Without patience a loading model is an error at once, which says how to look."""
        provider.become(ProviderState.LOADING)
        with pytest.raises(EmbedderLoading, match="still loading.*`cortex status`"):
            await pool.embed(["a"])

    async def test_rewarded(
        self, pool: Asker, provider: StagedProvider, clock: ManualClock
    ) -> None:
        """A patient caller gets its vector when the model is there."""
        provider.become(ProviderState.LOADING)
        asked = pool.later("a", urgent=True, patience=30.0)
        assert 30.0 == await clock.next_alarm()
        provider.become(ProviderState.READY)

        assert np.array_equal(await expected("a"), await asked)

    async def test_restarted(
        self, pool: Asker, provider: StagedProvider, clock: ManualClock
    ) -> None:
        """A patient caller waits for a model that died, too: it is being restarted."""
        provider.become(ProviderState.DOWN)
        asked = pool.later("a", urgent=True, patience=30.0)
        await clock.next_alarm()
        provider.become(ProviderState.READY)
        await clock.advance(LOOK)

        assert np.array_equal(await expected("a"), await asked)

    async def test_over(self, pool: Asker, provider: StagedProvider, clock: ManualClock) -> None:
        """Patience ends when the clock says so, not later."""
        provider.become(ProviderState.LOADING)
        asked = pool.later("a", urgent=True, patience=30.0)
        await clock.next_alarm()
        await clock.advance(30.0)

        with pytest.raises(EmbedderLoading):
            await asked

    async def test_disappointed(
        self, pool: Asker, provider: StagedProvider, clock: ManualClock
    ) -> None:
        """When loading ends badly, the patient hear of it at once."""
        provider.become(ProviderState.LOADING)
        asked = pool.later("a", patience=30.0)
        await clock.next_alarm()
        provider.become(ProviderState.MISSING)

        with pytest.raises(ModelMissing, match="on purpose"):
            await asked


class TestLimit:
    async def test_refused(self, pool: Asker, provider: StagedProvider) -> None:
        """More texts than may wait are refused as a whole, and the urgent still get through."""
        provider.gate.clear()
        first = pool.later(*TWENTY)
        await provider.entered.wait()
        waiting = pool.later(*(f"more {i}" for i in range(100)))
        await pool.waiting(100)
        with pytest.raises(MailboxFull, match="queue_limit"):
            await pool.embed(["one more", "and another"])
        urgent = pool.later("q", urgent=True)
        await until(partial(_both_lanes, pool))
        provider.gate.set()
        await asyncio.gather(first, waiting, urgent)

        assert ["q"] == provider.calls[1]


class TestCancelledCaller:
    async def test_others(self, pool: Asker, provider: StagedProvider) -> None:
        """A caller that stops waiting takes nothing from those that share its batch or text."""
        first = await in_flight(provider, pool)
        goes, stays = pool.later("a", "b", urgent=True), pool.later("b", "c", urgent=True)
        await pool.waiting(3)
        goes.cancel()
        first.cancel()
        provider.gate.set()

        assert np.array_equal(await expected("b", "c"), await stays)
        assert await asyncio.wait([goes, first])
        assert goes.cancelled()


class TestLife:
    async def test_start(self, pool: Asker, provider: StagedProvider) -> None:
        """The pool has its provider begin to load when it starts itself."""
        assert 1 == provider.started

    async def test_stop(self, pool: Asker, provider: StagedProvider) -> None:
        """A pool that is stopped lets go of the model."""
        await pool.handle.stop(5.0)

        assert 1 == provider.closed

    async def test_crash(self, pool: Asker, provider: StagedProvider) -> None:
        """A bug in a lane ends the pool with its reason, tells the askers, keeps the model."""
        provider.fails = ZeroDivisionError("a bug")
        asked = pool.later("a", urgent=True)

        assert "a bug" == str(await pool.handle.exited())
        with pytest.raises(Exception, match="pool ended"):
            await asked
        assert 0 == provider.closed


async def _has_joined(pool: Asker) -> bool:
    """Return whether a text has joined an equal one."""
    info: PoolInfo = await pool.describe()
    return info.joined > 0


async def _both_lanes(pool: Asker) -> bool:
    """Return whether the twenty of one lane and the one of the other are in flight."""
    info: PoolInfo = await pool.describe()
    return 21 == info.in_flight
