from __future__ import annotations

import asyncio
import queue
import threading
from typing import TYPE_CHECKING

import pykka
import pytest

from cortex_actors.runtime.future import AsyncioFuture, Fate

if TYPE_CHECKING:
    from collections.abc import Iterable


class TestAwait:
    async def test_set_here(self) -> None:
        """A task that awaits is woken by an answer given on its loop."""
        future: AsyncioFuture[int] = AsyncioFuture()
        asyncio.get_running_loop().call_soon(future.set, 1)

        assert 1 == await future

    async def test_set_on_a_thread(self) -> None:
        """A task that awaits is woken by an answer given on a thread."""
        future: AsyncioFuture[int] = AsyncioFuture()
        thread = threading.Thread(target=future.set, args=(1,))
        asyncio.get_running_loop().call_soon(thread.start)

        assert 1 == await future
        thread.join()

    async def test_keeps_the_loop_alive(self) -> None:
        """A thread's answer is awaited without blocking the loop, even for a Pykka thread actor."""

        class Slow(pykka.ThreadingActor):
            @staticmethod
            def _create_future() -> AsyncioFuture[object]:
                return AsyncioFuture()

            def on_receive(self, message: object) -> object:
                assert turned.wait(5)
                return message

        turned = threading.Event()
        ref = Slow.start()
        answer = ref.ask(1, block=False)
        asyncio.get_running_loop().call_soon(turned.set)

        assert 1 == await answer
        await asyncio.to_thread(ref.stop)

    async def test_set_meanwhile(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An answer that comes just when a task begins to wait is not missed."""
        future: AsyncioFuture[int] = AsyncioFuture()
        loop = asyncio.get_running_loop()
        create = loop.create_future

        def set_and_create() -> asyncio.Future[int]:
            future.set(1)
            return create()

        async with asyncio.timeout(5):
            with monkeypatch.context() as patch:
                patch.setattr(loop, "create_future", set_and_create)
                answer = await future

        assert 1 == answer

    async def test_many(self) -> None:
        """Several tasks may await one future, before and after the answer."""
        future: AsyncioFuture[int] = AsyncioFuture()
        asyncio.get_running_loop().call_soon(future.set, 1)

        assert [1, 1] == await asyncio.gather(*(_value(future) for _ in range(2)))
        assert 1 == await future

    async def test_unknown_hook(self) -> None:
        """A future whose answer is computed by a blocking function runs it on a thread."""
        future: AsyncioFuture[int] = AsyncioFuture()
        future.set_get_hook(lambda _timeout: threading.get_ident())

        assert threading.get_ident() != await future


class TestCombinators:
    async def test_all(self) -> None:
        """map, filter, join and reduce can be awaited."""
        one: AsyncioFuture[Iterable[int]] = AsyncioFuture()
        two: AsyncioFuture[Iterable[int]] = AsyncioFuture()
        asyncio.get_running_loop().call_soon(one.set, [1, 2])
        asyncio.get_running_loop().call_soon(two.set, [3])

        assert 2 == await one.map(lambda items: len(list(items)))
        assert [2] == await one.filter(lambda n: n > 1)
        assert [[1, 2], [3]] == await one.join(two)
        assert 3 == await one.reduce(lambda a, b: a + b)

    async def test_once(self) -> None:
        """A derived answer is computed once, however often it is awaited."""
        calls: list[int] = []
        future: AsyncioFuture[int] = AsyncioFuture()
        future.set(1)
        derived = future.map(calls.append)
        await derived
        await derived

        assert [1] == calls

    def test_threads(self) -> None:
        """On a thread without a loop they block, as Pykka's do."""
        future: AsyncioFuture[Iterable[int]] = AsyncioFuture()
        future.set([1, 2])

        assert [2] == future.filter(lambda n: n > 1).get()


class TestOnce:
    def test_second_answer(self) -> None:
        """A future takes one answer."""
        future: AsyncioFuture[int] = AsyncioFuture()
        future.set(1)
        with pytest.raises(queue.Full):
            future.set(2)
        with pytest.raises(queue.Full):
            future.set_exception((ValueError, ValueError("no"), None))
        with pytest.raises(queue.Full):
            future.set_get_hook(_hook)

        assert 1 == future.get()

    def test_expired(self) -> None:
        """A late answer to a future whose asker gave up is dropped."""
        future: AsyncioFuture[int] = AsyncioFuture()
        future.fail(TimeoutError("late"), Fate.EXPIRED)
        future.set(1)
        with pytest.raises(TimeoutError):
            future.get()

    def test_get_timeout(self) -> None:
        """get() raises Pykka's Timeout when the time is up, at once for no time."""
        future: AsyncioFuture[int] = AsyncioFuture()
        for seconds in (0, 0.001):
            with pytest.raises(pykka.Timeout):
                future.get(timeout=seconds)

    def test_closed_loop(self) -> None:
        """An answer for a loop that was closed meanwhile is no error for whoever gives it."""
        future: AsyncioFuture[int] = AsyncioFuture()
        with asyncio.Runner() as runner:
            runner.run(_begin(future))
        future.set(1)

        assert 1 == future.get()


def _hook(_timeout: float | None) -> int:
    return 1


async def _value(future: AsyncioFuture[int]) -> int:
    return await future


async def _begin(future: AsyncioFuture[int]) -> asyncio.Task[int]:
    return asyncio.create_task(_value(future))
