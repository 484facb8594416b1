"""A clock whose hands the test turns, and a provider that fails on demand."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cortex_actors.embedding.factory import HashingProvider
from cortex_actors.embedding.provider import ProviderState, explain_refusal
from cortex_actors.errors import BadInput, EmbedderDown

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from cortex_actors.embedding.provider import Provider, Vectors


class ManualClock:
    """Time stands still until `advance`."""

    def __init__(self) -> None:
        self._at = 0.0
        self._asleep: dict[asyncio.Future[None], float] = {}
        self._changed = asyncio.Event()

    def now(self) -> int:
        """Return the wall-clock time in UTC microseconds."""
        return int(self._at * 1_000_000)

    def monotonic(self) -> float:
        """Return the seconds that the hands were turned."""
        return self._at

    async def sleep(self, seconds: float) -> None:
        """Return once the hands were turned that far."""
        alarm: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._asleep[alarm] = self._at + seconds
        self._changed.set()
        try:
            await alarm
        finally:
            del self._asleep[alarm]
            self._changed.set()

    async def advance(self, seconds: float) -> None:
        """Turn the hands, and return when all who were due are awake and have gone on."""
        self._at = round(self._at + seconds, 6)
        rung = [alarm for alarm, due in self._asleep.items() if due <= self._at]
        for alarm in rung:
            if not alarm.done():
                alarm.set_result(None)
        while any(alarm in self._asleep for alarm in rung):
            await self._change()

    async def next_alarm(self) -> float:
        """Return in how many seconds the next sleeper is due, once somebody sleeps."""
        while not self._asleep:
            await self._change()
        return round(min(self._asleep.values()) - self._at, 6)

    async def _change(self) -> None:
        """Wait until somebody has fallen asleep or woken up."""
        self._changed.clear()
        await self._changed.wait()


class StagedProvider:
    """The hashing provider, with a state, a gate and poison that the test controls."""

    def __init__(self, state: ProviderState = ProviderState.READY) -> None:
        self._real = HashingProvider()
        self.model_id = self._real.model_id
        self.dimension = self._real.dimension
        self.max_tokens = 256
        self.bulk = 20
        self.state = state
        self.reason = "on purpose"
        self.counters = {"restarts": 0}
        #: What it was asked to embed, call by call, and which of the calls were urgent.
        self.calls: list[list[str]] = []
        self.urgent: list[bool] = []
        #: Texts it refuses.
        self.poison: set[str] = set()
        #: Raised once by the next call.
        self.fails: Exception | None = None
        #: Whether urgent calls pass a closed gate.
        self.pass_urgent = False
        #: Set while calls may pass.
        self.gate = asyncio.Event()
        self.gate.set()
        self.entered = asyncio.Event()
        self.busy = self.most_busy = self.started = self.closed = 0
        self._settled = asyncio.Event()

    async def start(self) -> None:
        self.started += 1

    async def close(self) -> None:
        self.closed += 1

    def become(self, state: ProviderState) -> None:
        """Change the state, and let those know who wait for it."""
        self.state = state
        self._settled.set()

    async def wait_settled(self) -> ProviderState:
        while self.state is ProviderState.LOADING:
            self._settled.clear()
            await self._settled.wait()
        return self.state

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        self.calls.append(list(texts))
        self.urgent.append(urgent)
        self.busy += 1
        self.most_busy = max(self.busy, self.most_busy)
        self.entered.set()
        try:
            if not (urgent and self.pass_urgent):
                await self.gate.wait()
            return await self._embed(texts)
        finally:
            self.busy -= 1

    async def _embed(self, texts: Sequence[str]) -> Vectors:
        error, self.fails = self.fails or explain_refusal(self), None
        if error is not None:
            raise error
        if self.poison & set(texts):
            raise BadInput("indigestible")
        return await self._real.embed(texts)


def fails_with_down() -> EmbedderDown:
    """Return the error of a provider whose process has just died."""
    return EmbedderDown("the process died")


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something is true; each look lets the loop go round."""
    async with asyncio.timeout(5):
        while not await condition():
            pass


def is_provider(provider: Provider) -> Provider:
    """Return it: this module is checked, so the type checker has compared it with the port."""
    return provider
