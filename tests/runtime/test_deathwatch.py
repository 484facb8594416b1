from __future__ import annotations

import asyncio
import gc
import queue
import weakref
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.errors import DeathPact
from cortex_actors.runtime.actor import start_actor
from cortex_actors.runtime.future import NOPROC, Down
from cortex_actors.runtime.life import Exit
from cortex_actors.runtime.names import Names
from supervision import ChildSpec, Supervisor
from tests.runtime.support import Recorder, held, turns

if TYPE_CHECKING:
    from cortex_actors.runtime.ref import AsyncioRef
    from supervision import Handle


class Mourner(Recorder):
    """Notes every end it is told of."""

    async def on_down(self, down: Down) -> None:
        """Note it."""
        self.seen.append(down)


async def watching(*refs: AsyncioRef[Any]) -> Mourner:
    """Return a started actor that watches others."""
    mourner = Mourner()
    await mourner.launch().life.started
    for ref in refs:
        mourner.watch(ref)
    return mourner


class TestDown:
    @pytest.mark.parametrize("reason", ["normal", "shutdown", "killed", ValueError("bad"), None])
    async def test_reason(self, reason: object) -> None:
        """Whoever watches is told once who ended and why, however that was."""
        ref = Recorder().launch("other")
        mourner = await watching(ref)
        if reason == "killed":
            ref.kill()
        else:
            ref.tell(Exit(reason) if not isinstance(reason, Exception) else reason)
        await ref.join()
        await mourner.actor_ref.stop(block=False)

        assert [Down("other", ref.exit_reason)] == mourner.seen

    async def test_order(self) -> None:
        """Word of an end comes after what waits in the mailbox already, and before what comes."""
        ref = Recorder.start()
        mourner = await watching(ref)
        mourner.actor_ref.tell("before")
        ref.kill()
        await ref.join()
        mourner.actor_ref.tell("after")
        await mourner.actor_ref.stop(block=False)

        assert ["before", Down(ref.life.label, "killed"), "after"] == mourner.seen

    async def test_late(self) -> None:
        """Watching somebody who has ended gives word of it at once, with the reason noproc."""
        ref = Recorder.start()
        await ref.stop(block=False)
        await ref.join()
        mourner = await watching(ref)
        await mourner.actor_ref.stop(block=False)

        assert [Down(ref.life.label, NOPROC)] == mourner.seen

    async def test_twice(self) -> None:
        """A second watch of the same life is the first."""
        ref = Recorder.start()
        mourner = await watching(ref, ref)
        ref.kill()
        await ref.join()
        await mourner.actor_ref.stop(block=False)

        assert 1 == len(mourner.seen)

    async def test_full_mailbox(self) -> None:
        """Word of an end passes a full mailbox."""

        class Small(Mourner):
            mailbox_limit = 1

        mourner, ref = Small(), Recorder.start()
        await held(mourner)
        mourner.watch(ref)
        mourner.actor_ref.tell("full")
        ref.kill()
        await ref.join()
        mourner.gate.set()
        await mourner.actor_ref.stop(block=False)

        assert ["wait", "full", Down(ref.life.label, "killed")] == mourner.seen

    async def test_mutual(self) -> None:
        """Two actors may watch each other."""
        one, two = await watching(), await watching()
        one.watch(two.actor_ref)
        two.watch(one.actor_ref)
        one.actor_ref.kill()
        await one.actor_ref.join()
        await two.actor_ref.stop(block=False)

        assert [Down(one.actor_ref.life.label, "killed")] == two.seen

    async def test_many(self) -> None:
        """Everybody who watches is told."""
        ref = Recorder.start()
        mourners = [await watching(ref) for _ in range(50)]
        ref.kill()
        await turns(lambda: all(mourner.seen for mourner in mourners))

        assert {1} == {len(mourner.seen) for mourner in mourners}


class TestUnwatch:
    async def test_before(self) -> None:
        """Whoever stops watching is not told."""
        ref = Recorder.start()
        mourner = await watching(ref)
        mourner.unwatch(ref)
        ref.kill()
        await ref.join()
        await mourner.actor_ref.stop(block=False)

        assert [] == mourner.seen

    async def test_while_it_waits(self) -> None:
        """Word of an end that waits in the mailbox is not given to somebody who stops watching."""
        ref = Recorder.start()
        mourner = await watching(ref)
        mourner.actor_ref.tell("wait")
        await mourner.held.wait()
        ref.kill()
        await ref.join()
        mourner.unwatch(ref)
        mourner.gate.set()
        await mourner.actor_ref.stop(block=False)

        assert ["wait"] == mourner.seen

    async def test_stranger(self) -> None:
        """Not to watch somebody who was never watched changes nothing."""
        ref = Recorder.start()
        mourner = await watching()
        mourner.unwatch(ref)

        assert 1 == await ref.ask_async(1)


class TestDeathPact:
    async def test_crash(self) -> None:
        """An actor that does not say how it lives on crashes with DeathPact, which says of whom."""
        ref, watcher = Recorder().launch("other"), Recorder()
        await watcher.launch("watcher").life.started
        watcher.watch(ref)
        ref.kill()
        reason = await watcher.actor_ref.join()

        assert isinstance(reason, DeathPact)
        assert "watcher watched other, which ended with 'killed'" in str(reason)
        assert "failure" in watcher.hooks[-1]


class TestNoLeak:
    async def test_watcher_ends(self) -> None:
        """A watcher that ends is forgotten by those it watched."""
        ref = Recorder.start()
        mourner = await watching(ref)
        assert 1 == len(ref.life.deaths._watchers)
        mourner.actor_ref.kill()
        await mourner.actor_ref.join()

        assert not ref.life.deaths._watchers

    async def test_watched_ends(self) -> None:
        """Of somebody who has ended the watcher keeps nothing."""
        ref = Recorder.start()
        mourner = await watching(ref)
        life = weakref.ref(ref.life)
        ref.kill()
        await ref.join()
        await turns(lambda: mourner.seen)
        mourner.seen.clear()
        del ref
        gc.collect()

        assert life() is None

    async def test_after_the_end(self) -> None:
        """An actor that has ended watches nobody any more."""
        ref = Recorder.start()
        mourner = await watching()
        mourner.actor_ref.kill()
        await mourner.actor_ref.join()
        mourner.watch(ref)

        assert not ref.life.deaths._watchers


class TestRestart:
    async def test_watcher_restarts(self) -> None:
        """A watch ends with the life that began it; the next life watches again in on_start."""

        class Partner(Mourner):
            async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
                lives.append(self)
                self.watch(other)

        lives: list[Partner] = []
        names, other = Names(), Recorder.start()

        async def start() -> Handle:
            return await start_actor(names, "partner", Partner)

        top = await Supervisor([ChildSpec("partner", start)], name="top", report=None).start()
        names.tell("partner", ValueError("crash"))
        await turns(lambda: 2 == len(lives) and names.whereis("partner"))
        other.kill()
        await turns(lambda: lives[1].seen)
        await top.stop(None)

        assert [[], [Down(other.life.label, "killed")]] == [life.seen for life in lives]

    async def test_watched_restarts(self) -> None:
        """A watch is on a life: the successor of whoever ended is not watched by itself."""
        names = Names()

        async def start() -> Handle:
            return await start_actor(names, "other", Recorder)

        top = await Supervisor([ChildSpec("other", start)], name="top", report=None).start()
        first = names.whereis("other")
        assert first is not None
        mourner = await watching(first)
        names.tell("other", ValueError("crash"))
        await turns(lambda: names.whereis("other") not in {None, first})
        await top.stop(None)
        await mourner.actor_ref.stop(block=False)

        assert ["other"] == [down.name for down in mourner.seen if isinstance(down, Down)]


class TestOtherLoops:
    async def test_across(self) -> None:
        """An actor is told of the end of one that lives on another thread's loop."""

        async def there() -> None:
            ref = Recorder().launch("far")
            made.put(ref)
            await ref.join()

        made: queue.SimpleQueue[AsyncioRef[Recorder]] = queue.SimpleQueue()
        living = asyncio.create_task(asyncio.to_thread(asyncio.run, there()))
        ref = await asyncio.to_thread(made.get)
        mourner = await watching(ref)
        await turns(lambda: ref.life.deaths._watchers)
        ref.tell(Exit("enough"))
        await living
        await turns(lambda: mourner.seen)

        assert [Down("far", "enough")] == mourner.seen

    async def test_closed_loop(self) -> None:
        """An actor whose loop was closed before it could begin counts as dead."""

        class Stranded(Recorder):
            home_loop = asyncio.new_event_loop()

        ref = await asyncio.to_thread(Stranded.start)
        assert Stranded.home_loop is not None
        Stranded.home_loop.close()
        mourner = await watching(ref)
        await mourner.actor_ref.stop(block=False)

        assert [Down(ref.life.label, NOPROC)] == mourner.seen
