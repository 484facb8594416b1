from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from cortex_actors.runtime.names import Change, Keys, Registry, What
from cortex_actors.runtime.tasks import TaskSupervisor
from tests.runtime.support import Recorder

if TYPE_CHECKING:
    from cortex_actors.runtime.ref import AsyncioRef

Words: TypeAlias = "Registry[AsyncioRef[Any], Any]"


async def ended(ref: AsyncioRef[Any]) -> None:
    """End an actor."""
    ref.shut_down()
    await ref.join()


class TestEnd:
    async def test_links(self) -> None:
        """A registry listens for its owner's end once, while the owner has a key.

        Row: elixir registry/unique links and unlinks on register/unregister
        """
        words: Words = Registry("words")
        ref = Recorder.start()

        def linked() -> int:
            return len(ref.life.ended._callbacks or ())

        before = linked()
        counts = []
        words.register("hello", ref, 1)
        counts.append(linked() - before)
        words.register("world", ref, 1)
        counts.append(linked() - before)
        words.unregister("hello")
        counts.append(linked() - before)
        words.unregister("world")
        counts.append(linked() - before)

        assert [1, 1, 1, 0] == counts

    async def test_keys_go(self) -> None:
        """The keys of an owner that ends are free."""
        words: Words = Registry("words")
        ref, successor = Recorder.start(), Recorder.start()
        words.register("hello", ref, 1)
        words.register("world", ref, 1)
        await ended(ref)
        gone = words.entries()
        words.register("hello", successor, 2)

        assert [] == gone
        assert [] == words.keys(ref)
        assert successor is words.whereis("hello")

    async def test_dead(self) -> None:
        """A key that is given to an owner that has ended is free at once."""
        words: Words = Registry("words")
        ref = Recorder.start()
        await ended(ref)
        words.register("hello", ref, 1)

        assert [] == words.keys(ref)
        assert {} == words._holdings

    async def test_dying(self) -> None:
        """An owner that cleans up is not found any more, and its key goes to a successor."""

        class Slow(Recorder):
            async def on_stop(self) -> None:  # type: ignore[override]  # Pykka has it plain
                self.held.set()
                await self.gate.wait()

        words: Words = Registry("words")
        slow, successor = Slow(), Recorder.start()
        ref = slow.launch()
        words.register("hello", ref, 1)
        ref.shut_down()
        await slow.held.wait()
        dying = words.whereis("hello"), words.count()
        words.register("hello", successor, 2)
        slow.gate.set()
        await ref.join()

        assert (None, 0) == dying
        assert successor is words.whereis("hello")

    async def test_task_supervisor(self) -> None:
        """Whatever can be alive and says when it ends can have a key: a task supervisor, too."""
        groups: Registry[TaskSupervisor, None] = Registry("groups")
        tasks = TaskSupervisor(name="tasks")
        groups.register("tasks", tasks, None)
        here = groups.whereis("tasks")
        await tasks.stop()

        assert tasks is here
        assert groups.whereis("tasks") is None
        assert 0 == groups.count()


class TestListeners:
    @pytest.mark.parametrize("keys", list(Keys))
    async def test_told(self, keys: Keys) -> None:
        """A listener is told of every key that is given, taken back, or lost with its owner.

        Row: elixir registry/unique allows listeners
        Row: elixir registry/duplicate allows listeners
        """
        changes: list[Change[AsyncioRef[Any], str]] = []
        words: Registry[AsyncioRef[Any], str] = Registry(
            "words", keys=keys, listeners=(changes.append,)
        )
        one, other = Recorder.start(), Recorder.start()
        words.register("hello", one, "world")
        words.register("world", other, "value")
        words.unregister("world", other)
        await ended(one)

        assert [
            (What.REGISTER, "words", "hello", one, "world"),
            (What.REGISTER, "words", "world", other, "value"),
            (What.UNREGISTER, "words", "world", other, "value"),
            (What.UNREGISTER, "words", "hello", one, "world"),
        ] == [(c.what, c.registry, c.entry.key, c.entry.owner, c.entry.value) for c in changes]

    async def test_fails(self, caplog: pytest.LogCaptureFixture) -> None:
        """A listener that raises costs nobody anything but a line in the log."""
        changes: list[Change[AsyncioRef[Any], int]] = []

        def fail(_: object) -> None:
            raise OSError("deaf")

        words: Registry[AsyncioRef[Any], int] = Registry("words", listeners=(fail, changes.append))
        words.register("hello", Recorder.start(), 1)

        assert 1 == len(changes)
        assert "a listener of the registry words failed" in caplog.text

    async def test_takes_it_back(self) -> None:
        """A listener may take a key back at once."""

        def refuse(change: Change[AsyncioRef[Any], int]) -> None:
            if change.what is What.REGISTER:
                words.unregister(change.entry.key)

        words: Registry[AsyncioRef[Any], int] = Registry("words", listeners=(refuse,))
        ref = Recorder.start()
        words.register("hello", ref, 1)

        assert 0 == words.count()
        assert not ref.life.ended._callbacks

    async def test_takes_others_back(self) -> None:
        """A listener may take back what is being taken back."""
        changes: list[Change[AsyncioRef[Any], int]] = []

        def finish(change: Change[AsyncioRef[Any], int]) -> None:
            changes.append(change)
            if change.what is What.UNREGISTER:
                words.unregister(change.entry.key)

        words: Registry[AsyncioRef[Any], int] = Registry(
            "words", keys=Keys.DUPLICATE, listeners=(finish,)
        )
        for ref in [Recorder.start() for _ in range(3)]:
            words.register("hello", ref, 1)
        words.unregister("hello")

        assert 0 == words.count()
        assert 3 == sum(change.what is What.UNREGISTER for change in changes)


class TestThreads:
    async def test_lookup(self) -> None:
        """Another thread that looks up while keys come and go always sees a whole entry."""
        words: Registry[AsyncioRef[Any], int] = Registry("words", keys=Keys.DUPLICATE)
        refs = [Recorder.start() for _ in range(4)]
        done = asyncio.Event()

        def look() -> int:
            looks = 0
            while not done.is_set() or not looks:
                looks += 1
                assert all(entry.key == "hello" for entry in words.lookup("hello"))
                assert len(words.entries()) <= len(refs)
            return looks

        looking = asyncio.create_task(asyncio.to_thread(look))
        for _ in range(500):
            for ref in refs:
                words.register("hello", ref, 1)
            words.unregister("hello")
        done.set()

        assert await looking
