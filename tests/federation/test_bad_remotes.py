from __future__ import annotations

import asyncio
import gc
import re
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2  # noqa: F401 - takes a fifth of a second, which no store here has
import pytest

from cortex_actors.clock import SystemClock
from cortex_actors.endpoint.client import Guard
from cortex_actors.endpoint.connection import StoreConnection
from cortex_actors.federation.adapters.seren import SerenMemory
from cortex_actors.federation.remote import RemoteStore
from cortex_actors.federation.store import StoreSpec
from cortex_actors.sections import FederationSettings
from tests.endpoint.connects import connects
from tests.federation.bad_remotes import BAD, GOOD, TAR, bad_remotes
from tests.federation.support import Village

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from cortex_actors.domain.hit import Recall

#: Seconds a store may take here, and how much more an answer: a slow machine is no wrong answer,
#: and one that waits for two in turn takes longer than both.
PATIENCE, SLACK = 2.0, 1.5

#: What may be added at length, on a machine that does nothing else.
BAR = 0.05

#: Bytes that the memory may grow by.
GROWTH = 50 * 1_048_576

#: Bytes of six refused answers that may be left: each of them is read for four MiB.
KEPT = 8 * 1_048_576

#: The stores of the scenario.
EVERYBODY = (*GOOD, *BAD)

#: Kind -> what its failure is called.
REASONS = {
    "slow": "timeout after 2.00 s",
    "hole": "timeout after 2.00 s",
    "deaf": "timeout after 2.00 s",
    "drip": "timeout after 2.00 s",
    "reset": "broke off the connection",
    "error": "answered 500",
    "garbage": "something else than JSON",
    "page": "something else than JSON",
    "nothing": "something else than JSON",
    "bomb": "something else than JSON",
    "gib": "more than 4194304 bytes",
    "endless": "more than 4194304 bytes",
    "headers": "broke off the connection",
    "away": "a redirection to 169.254.169.254, which is never followed",
    "shape": "in a shape that is not",
    "rows": "in a shape that is not",
}


@pytest.fixture(scope="module")
def urls() -> Iterator[Mapping[str, str]]:
    """Give the addresses of all of them."""
    with bad_remotes() as found:
        yield found


@asynccontextmanager
async def village(
    urls: Mapping[str, str],
    kinds: Sequence[str],
    *,
    patience: float = PATIENCE,
    failures: int = 1_000,
    at_once: int = 4,
    edges: bool = False,
) -> AsyncIterator[Village]:
    """Give a federation over these stores, whose breakers open after so many failures."""
    clock = SystemClock()
    lines = {kind: StoreConnection(urls[kind], clock) for kind in kinds}
    stores = []
    for kind, line in lines.items():
        spec = StoreSpec(kind, "seren_memory", urls[kind])
        guard = Guard(clock, at_once=at_once, failures=failures, pause=30.0)
        stores.append(RemoteStore(spec, SerenMemory(spec, line), guard))
    knobs = FederationSettings(per_store_timeout_s=patience, edges_enabled=edges)
    found = Village(stores, knobs=knobs)
    try:
        yield await found.begin()
    finally:
        for line in lines.values():
            await line.close()


async def timed(village: Village, text: str = "tabs") -> tuple[Recall, float]:
    """Return an answer and the seconds it took."""
    begun = time.perf_counter()
    found = await village.recall(text)
    return found, time.perf_counter() - begun


def shown(found: Recall) -> list[tuple[Any, ...]]:
    """Return an answer's hits as they stand."""
    return [(hit.store, hit.id, hit.store_rank) for hit in found.hits]


@pytest.mark.slow
class TestOneAnswer:
    async def test_whole(self, urls: Mapping[str, str]) -> None:
        """Whatever the others do, the good stores' hits are there in the order they would have."""
        async with village(urls, GOOD, patience=5) as good, village(urls, EVERYBODY) as everybody:
            alone, _ = await timed(good)
            with connects() as connected:
                found, seconds = await timed(everybody)

        assert 8 == len(alone.hits)
        assert shown(alone) == shown(found)
        assert set(GOOD) == set(found.asked)
        assert seconds <= PATIENCE + SLACK
        assert {"127.0.0.1"} == set(connected)

    async def test_told(self, urls: Mapping[str, str]) -> None:
        """Every failure is told for what it was, and in no words of the store's."""
        async with village(urls, EVERYBODY) as everybody:
            found, _ = await timed(everybody)

        told = dict(found.failed)
        assert set(BAD) == set(told)
        assert set() == {kind for kind in BAD if REASONS[kind] not in told[kind]}
        assert "previous instructions" not in str(told)

    @pytest.mark.skipif(sys.platform != "linux", reason="memory is read where Linux tells it")
    async def test_memory(self, urls: Mapping[str, str]) -> None:
        """Answers without end leave no trace in memory, not even while they come."""
        async with village(urls, (*GOOD, "gib", "endless", "headers", "bomb")) as some:
            await timed(some)
            before = memory("VmRSS")
            Path("/proc/self/clear_refs").write_text("5")  # the highest so far is now
            await asyncio.gather(*(timed(some) for _ in range(8)))

        assert memory("VmHWM") - before <= GROWTH

    @pytest.mark.skipif(sys.platform != "linux", reason="memory is read where Linux tells it")
    async def test_let_go(self, urls: Mapping[str, str]) -> None:
        """What was read of an answer that is too large is let go of at once."""
        async with village(urls, ("good", "endless")) as some:
            await timed(some)
            gc.collect()
            gc.disable()
            try:
                before = memory("VmRSS")
                for _ in range(6):
                    await timed(some)
            finally:
                gc.enable()

        assert memory("VmRSS") - before <= KEPT

    async def test_beside(self, urls: Mapping[str, str]) -> None:
        """What is asked beside an answer has no time of its own: the whole takes no longer."""
        async with village(urls, ("good", TAR, "hole"), edges=True) as some:
            found, seconds = await timed(some)
        async with village(urls, ("good", TAR), edges=True) as some:
            again, as_well = await timed(some)

        assert max(seconds, as_well) <= PATIENCE + SLACK
        assert (8, 8) == (len(found.hits), len(again.hits))


@pytest.mark.slow
class TestManyAnswers:
    async def test_at_once(self, urls: Mapping[str, str]) -> None:
        """Many who ask at once wait as long as one: a bad store holds up only its own part."""
        async with village(urls, (*GOOD, "hole", "deaf", "reset"), at_once=2) as some:
            told = await asyncio.gather(*(timed(some) for _ in range(12)))

        assert max(seconds for _, seconds in told) <= PATIENCE + SLACK
        assert {8} == {len(found.hits) for found, _ in told}

    async def test_left_alone(self, urls: Mapping[str, str]) -> None:
        """After failures in a row a store costs nothing at all any more, and that is told."""
        async with village(urls, ("good", "hole"), failures=2) as some:
            for _ in range(2):
                await timed(some)
            found, seconds = await timed(some)

        assert seconds < PATIENCE
        assert ((), ("good",)) == (found.failed, found.asked)
        assert re.match(r"left alone for \d+ s more: timeout", dict(found.skipped)["hole"])


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read where Linux tells it")
async def test_soak(urls: Mapping[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Of 150 answers amid bad stores 99 % take at most 50 ms more than one store may."""
    patience = 1.0
    async with (
        village(urls, GOOD, patience=5) as good,
        village(urls, EVERYBODY, patience=patience) as everybody,
    ):
        alone, _ = await timed(good)
        await timed(everybody)
        gc.collect()
        gc.freeze()  # what pytest has imported is a pause of 50 ms whenever it is gone through
        before = memory("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")
        with connects() as connected:
            told = [await timed(everybody) for _ in range(150)]

    gc.unfreeze()
    seconds = sorted(each for _, each in told)
    grown = memory("VmHWM") - before
    with capsys.disabled():
        line = f"p50 {seconds[75]:.3f} s, p99 {seconds[148]:.3f} s, worst {seconds[-1]:.3f} s, "
        print(f"\n{line}{grown / 1_048_576:.1f} MiB")  # noqa: T201
    assert [] == [found.failed for found, _ in told if shown(found) != shown(alone)]
    assert {"127.0.0.1"} == set(connected)
    assert seconds[148] <= patience + BAR
    assert grown <= GROWTH


def memory(name: str) -> int:
    """Return what Linux says of this process's memory, bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1_024
    raise LookupError(name)
