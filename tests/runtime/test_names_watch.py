from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.runtime.actor import start_actor
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.runtime.names import Names
from tests.runtime.support import Recorder

if TYPE_CHECKING:
    from cortex_actors.runtime.future import Down


class Widow(Recorder):
    """Keeps word of the ends of others."""

    mailbox_limit = 10
    overflow = Overflow.BACK_PRESSURE

    def __init__(self) -> None:
        super().__init__()
        self.downs: asyncio.Queue[tuple[str, object]] = asyncio.Queue()

    def on_down(self, down: Down) -> None:
        """Keep what was said."""
        self.downs.put_nowait((down.name, down.reason))


class TestWatch:
    @pytest.mark.parametrize(
        ("end", "reason"), [("kill", "killed"), ("shut_down", "shutdown"), ("fail", "gone")]
    )
    async def test_end(self, end: str, reason: str) -> None:
        """Who watches a name is told of the end of whoever had it, by that name."""
        names, widow = Names(), Widow()
        watcher = widow.launch()
        handle = await start_actor(names, "recorder", Recorder)
        names.watch("recorder", watcher)
        getattr(handle.ref, end)(*([OSError("gone")] if end == "fail" else []))
        name, why = await widow.downs.get()

        assert ("recorder", reason) == (name, str(why))

    async def test_nobody(self) -> None:
        """Who watches a name that nobody has is told so at once."""
        names, widow = Names(), Widow()
        names.watch("recorder", widow.launch())

        assert ("recorder", "noproc") == await widow.downs.get()

    async def test_successor(self) -> None:
        """A watch is on one life: the next one is watched again."""
        names, widow = Names(), Widow()
        watcher, told = widow.launch(), []
        for _ in range(2):
            handle = await start_actor(names, "recorder", Recorder)
            names.watch("recorder", watcher)
            handle.kill()
            told.append(await widow.downs.get())
            await handle.exited()

        assert [("recorder", "killed")] * 2 == told

    async def test_dead_watcher(self) -> None:
        """To watch for an actor that has ended itself does nothing."""
        names, watcher = Names(), Widow.start()
        watcher.kill()
        await watcher.join()
        names.watch("recorder", watcher)
        handle = await start_actor(names, "recorder", Recorder)
        names.watch("recorder", watcher)
        handle.kill()

        assert "killed" == await handle.exited()


class TestRoom:
    async def test_waits(self) -> None:
        """A call to an actor whose mailbox is full waits for room."""

        class Small(Recorder):
            mailbox_limit = 1
            overflow = Overflow.BACK_PRESSURE

        names, small = Names(), Small()
        double = names.method("small", Recorder.double)
        handle = await start_actor(names, "small", lambda: small)
        handle.ref.tell("wait")
        await small.held.wait()
        handle.ref.tell(1)
        calling = asyncio.ensure_future(double(2))
        await Recorder.start().ask_async("a turn of the loop")
        small.gate.set()

        assert 4 == await calling


class TestRetry:
    async def test_deadline_is_kept(self) -> None:
        """A call that is sent again to a successor has the time of the first, not more."""
        names, recorder = Names(), Recorder()
        double: Any = names.method("recorder", Recorder.double, timeout=0.05)
        handle = await start_actor(names, "recorder", lambda: recorder)
        handle.ref.tell("wait")
        await recorder.held.wait()
        calling = asyncio.create_task(double(2))
        while not len(recorder.actor_inbox):
            await Recorder.start().ask_async("a turn of the loop")
        handle.kill()
        await handle.exited()
        with pytest.raises(Exception, match="nobody has been recorder for 0.05 s"):
            await calling
