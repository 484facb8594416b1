from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.embedding.provider import ProviderState
from cortex_actors.endpoint.client import LOOK_AGAIN
from cortex_actors.errors import EmbedderDown, ModelMissing
from cortex_actors.testing import eventually
from tests.embedding.endpoint import FakeEndpoint, good, provided, recovered, units
from tests.endpoint.server import Reply, error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from cortex_actors.embedding.openai import OpenAIProvider
    from tests.embedding.support import ManualClock


@asynccontextmanager
async def ready(
    endpoint: FakeEndpoint,
    clock: ManualClock,
    *,
    breaker_failures: int = 99,
    retries: int = 3,
    request_timeout_s: float = 60.0,
) -> AsyncIterator[OpenAIProvider]:
    """Give a provider that is ready, with a generous breaker unless told otherwise."""
    async with provided(
        endpoint,
        clock,
        breaker_failures=breaker_failures,
        retries=retries,
        request_timeout_s=request_timeout_s,
    ) as found:
        assert ProviderState.READY is await found.wait_settled()
        yield found


#: A good answer that is cut short or never comes to an end.
HALF = Reply(200, good(["a"]).body, manner="half")
SILENT = Reply(manner="silent")
DRIP = Reply(200, b" " * 1_000, manner="drip")


class TestPassing:
    @pytest.mark.parametrize(
        "reply", [error(408), error(425), error(429), error(500), error(502), error(503), HALF]
    )
    async def test_again(self, endpoint: FakeEndpoint, clock: ManualClock, reply: Reply) -> None:
        """What may pass is tried again after a pause, and the asker notices nothing else."""
        async with ready(endpoint, clock) as provider:
            endpoint.script.append(reply)
            asked = asyncio.create_task(provider.embed(["a"]))
            assert 0.5 == await clock.next_alarm()
            await clock.advance(0.5)

            assert np.allclose(units(["a"]), await asked)
            assert 1 == provider.counters["retries"]

    @pytest.mark.parametrize("reply", [SILENT, DRIP], ids=["silent", "drip"])
    async def test_slow(self, endpoint: FakeEndpoint, clock: ManualClock, reply: Reply) -> None:
        """An answer that does not come, or drips, is given up in time, and asked for again."""
        async with ready(endpoint, clock, request_timeout_s=0.1) as provider:
            endpoint.script.append(reply)
            asked = asyncio.create_task(provider.embed(["a"]))
            await clock.next_alarm()
            await clock.advance(0.5)

            assert np.allclose(units(["a"]), await asked)

    async def test_growing(self, endpoint: FakeEndpoint, clock: ManualClock) -> None:
        """Pauses double; after the last attempt the asker is told how many there were."""
        endpoint.script.append(good(["warm"]))
        endpoint.rule = lambda _: error(503, "overloaded")
        async with ready(endpoint, clock, retries=3) as provider:
            asked = asyncio.create_task(provider.embed(["a"]))
            pauses = []
            for _ in range(3):
                pauses.append(await clock.next_alarm())
                await clock.advance(pauses[-1])
            with pytest.raises(EmbedderDown, match=r"503 \(overloaded\) \(4 attempts\)"):
                await asked

            assert [0.5, 1.0, 2.0] == pauses
            assert ProviderState.READY is provider.state

    async def test_refused_connection(self, endpoint: FakeEndpoint, clock: ManualClock) -> None:
        """A server that is being started again refuses connections, and is there a moment later."""
        async with ready(endpoint, clock) as provider:
            port = await endpoint.close()
            asked = asyncio.create_task(provider.embed(["a"]))
            await clock.next_alarm()
            await endpoint.open(port)
            await clock.advance(0.5)

            assert np.allclose(units(["a"]), await asked)

    async def test_cancelled(self, endpoint: FakeEndpoint, clock: ManualClock) -> None:
        """An asker that stops waiting ends its request, and the next one works."""
        async with ready(endpoint, clock) as provider:
            endpoint.script.append(SILENT)
            endpoint.asked.clear()
            asked = asyncio.create_task(provider.embed(["a"]))
            await endpoint.asked.wait()
            asked.cancel()
            await asyncio.wait([asked])

            assert asked.cancelled()
            assert np.allclose(units(["b"]), await provider.embed(["b"]))

    async def test_closed(self, endpoint: FakeEndpoint, clock: ManualClock) -> None:
        """Closing the provider ends a pause between two attempts."""
        async with ready(endpoint, clock) as provider:
            endpoint.script.append(error(503))
            asked = asyncio.create_task(provider.embed(["a"]))
            await clock.next_alarm()
            await provider.close()

            with pytest.raises(EmbedderDown, match="is closed"):
                await asked


class TestRetryAfter:
    @pytest.mark.parametrize("header", ["7", "7.0"])
    async def test_honoured(self, endpoint: FakeEndpoint, clock: ManualClock, header: str) -> None:
        """The pause is as long as the endpoint asks for, in seconds."""
        async with ready(endpoint, clock) as provider:
            endpoint.script.append(error(429, "slow down", Retry_After=header))
            asked = asyncio.create_task(provider.embed(["a"]))
            assert 7.0 == await clock.next_alarm()
            await clock.advance(7.0)

            assert np.allclose(units(["a"]), await asked)

    async def test_long(self, endpoint: FakeEndpoint, clock: ManualClock) -> None:
        """For a long rest nobody is kept waiting: all are told at once until it is over."""
        async with ready(endpoint, clock) as provider:
            endpoint.script.append(error(429, "come back later", Retry_After="600"))
            with pytest.raises(EmbedderDown, match="come back later"):
                await provider.embed(["a"])
            with pytest.raises(EmbedderDown, match="next attempt in 600 s"):
                await provider.embed(["a"])

            assert ProviderState.DOWN is provider.state
            assert 600.0 == await clock.next_alarm()
            await clock.advance(600.0)
            await recovered(provider)

    async def test_capped(self, endpoint: FakeEndpoint, clock: ManualClock) -> None:
        """No endpoint is left alone for more than an hour, whatever it asks for."""
        async with ready(endpoint, clock) as provider:
            endpoint.script.append(error(503, Retry_After="999999999"))
            with pytest.raises(EmbedderDown):
                await provider.embed(["a"])

            assert 3_600.0 == await clock.next_alarm()


class TestBreaker:
    async def test_opens(self, endpoint: FakeEndpoint, clock: ManualClock) -> None:
        """After failures in a row it is down, says why and when it looks again, and asks nobody."""
        async with ready(endpoint, clock, breaker_failures=2, retries=0) as provider:
            endpoint.rule = lambda _: error(502, "bad gateway")
            for _ in range(2):
                with pytest.raises(EmbedderDown, match="bad gateway"):
                    await provider.embed(["a"])
            before = len(endpoint.requests)
            with pytest.raises(EmbedderDown, match=r"bad gateway.*next attempt in 30 s"):
                await provider.embed(["a"])

            assert ProviderState.DOWN is provider.state
            assert before == len(endpoint.requests)
            assert 1 == provider.counters["breaker_opened"]

    async def test_half_open(self, endpoint: FakeEndpoint, clock: ManualClock) -> None:
        """After the pause one look decides: down for another pause, or ready again."""
        async with ready(endpoint, clock, breaker_failures=1) as provider:
            endpoint.script.append(error(500))
            with pytest.raises(EmbedderDown):
                await provider.embed(["a"])
            endpoint.script.append(error(500))
            assert 30.0 == await clock.next_alarm()
            await clock.advance(30.0)
            await eventually(lambda: len(endpoint.requests) == 3)
            assert 30.0 == await clock.next_alarm()
            assert ProviderState.DOWN is provider.state
            await clock.advance(30.0)
            await recovered(provider)

            assert [["warm"], ["a"], ["warm"], ["warm"]] == endpoint.texts
            assert np.allclose(units(["a"]), await provider.embed(["a"]))

    async def test_ends_retries(self, endpoint: FakeEndpoint, clock: ManualClock) -> None:
        """A request whose failures open it is not tried again."""
        async with ready(endpoint, clock, breaker_failures=2, retries=9) as provider:
            endpoint.rule = lambda _: error(500)
            asked = asyncio.create_task(provider.embed(["a"]))
            await clock.advance(await clock.next_alarm())

            with pytest.raises(EmbedderDown, match="2 attempts"):
                await asked
            assert ProviderState.DOWN is provider.state


class TestAwayAtStart:
    async def test_unreachable(self, endpoint: FakeEndpoint, clock: ManualClock) -> None:
        """An endpoint that is not there at the start is looked for until it is."""
        url, port = endpoint.url, await endpoint.close()
        async with provided(endpoint, clock, base_url=url, retries=0) as provider:
            assert ProviderState.DOWN is await provider.wait_settled()
            assert "cannot be reached" in provider.reason
            assert "next attempt in 30 s" in provider.reason
            await clock.next_alarm()
            await endpoint.open(port)
            await clock.advance(30.0)
            await recovered(provider)


class TestMend:
    @pytest.mark.parametrize(
        ("status", "mend"),
        [
            (401, "CORTEX_EMBEDDING__API_KEY to a valid key"),
            (402, "account"),
            (403, "allowed to use this model"),
            (404, r"embedding\.model names a model it has .*ollama pull"),
            (405, r"embedding\.base_url"),
            (410, r"embedding\.model"),
            (302, r"redirection, which is not followed.*embedding\.base_url"),
            (418, r"embedding\.base_url"),
        ],
    )
    async def test_named(
        self, endpoint: FakeEndpoint, clock: ManualClock, status: int, mend: str
    ) -> None:
        """What only a person can mend makes it missing, and the reason names the mend."""
        endpoint.rule = lambda _: error(status, "no", Location="http://elsewhere.invalid/")
        async with provided(endpoint, clock) as provider:
            assert ProviderState.MISSING is await provider.wait_settled()
            with pytest.raises(ModelMissing, match=mend):
                await provider.embed(["a"])

            assert 1 == len(endpoint.requests)

    async def test_mended(self, endpoint: FakeEndpoint, clock: ManualClock) -> None:
        """It looks again now and then, so that what was mended over there works by itself."""
        async with ready(endpoint, clock) as provider:
            endpoint.script.append(error(404, "model 'm' not found"))
            with pytest.raises(ModelMissing, match="model 'm' not found"):
                await provider.embed(["a"])
            assert ProviderState.MISSING is provider.state
            assert LOOK_AGAIN == await clock.next_alarm()
            await clock.advance(LOOK_AGAIN)
            await recovered(provider)

            assert np.allclose(units(["a"]), await provider.embed(["a"]))

    async def test_settings(self, endpoint: FakeEndpoint, clock: ManualClock) -> None:
        """Settings that cannot work make it missing, and nothing is sent anywhere."""
        async with provided(
            endpoint, clock, base_url="http://example.org", api_key="k"
        ) as provider:
            assert ProviderState.MISSING is await provider.wait_settled()
            with pytest.raises(ModelMissing, match="use https"):
                await provider.embed(["a"])
