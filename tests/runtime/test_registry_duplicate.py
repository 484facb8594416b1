from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.errors import InternalError
from cortex_actors.runtime.names import Keys, Registry
from tests.runtime.support import Recorder

if TYPE_CHECKING:
    from cortex_actors.runtime.names import Entry
    from cortex_actors.runtime.ref import AsyncioRef


def duplicate() -> Registry[AsyncioRef[Any], Any]:
    """Return a registry whose keys may have many owners."""
    return Registry("topics", keys=Keys.DUPLICATE)


class TestRegister:
    async def test_empty(self) -> None:
        """An empty registry has no keys.

        Row: elixir registry/duplicate counts 0 keys in an empty registry
        Row: elixir registry/duplicate empty list for empty registry
        """
        topics = duplicate()

        assert 0 == topics.count()
        assert [] == topics.entries()

    async def test_count(self) -> None:
        """A key counts once for each time it is registered.

        Row: elixir registry/duplicate counts the number of keys in a registry
        """
        topics = duplicate()
        ref = Recorder.start()
        topics.register("hello", ref, 1)
        topics.register("hello", ref, 1)

        assert 2 == topics.count()

    async def test_twice(self) -> None:
        """An owner may register a key repeatedly, each time with a value.

        Row: elixir registry/duplicate has duplicate registrations
        """
        topics = duplicate()
        ref = Recorder.start()
        topics.register("hello", ref, 1)
        once = topics.keys(ref), topics.values("hello", ref)
        topics.register("hello", ref, 2)
        topics.register("world", ref, 3)

        assert (["hello"], [1]) == once
        assert ["hello", "hello", "world"] == topics.keys(ref)
        assert [1, 2] == topics.values("hello", ref)

    async def test_across_owners(self) -> None:
        """Several owners may have a key, and each has its own value.

        Row: elixir registry/duplicate has duplicate registrations across processes
        """
        topics = duplicate()
        one, other = Recorder.start(), Recorder.start()
        topics.register("hello", one, "world")
        before = topics.keys(other), topics.values("hello", other)
        topics.register("hello", other, "value")

        assert ([], []) == before
        assert (["hello"], ["world"]) == (topics.keys(one), topics.values("hello", one))
        assert (["hello"], ["value"]) == (topics.keys(other), topics.values("hello", other))
        assert [one, other] == [entry.owner for entry in topics.lookup("hello")]

    async def test_closed(self) -> None:
        """A registry that was closed refuses who comes late.

        Row: elixir registry/duplicate raises on unknown registry name
        """
        topics = duplicate()
        topics.close()
        with pytest.raises(InternalError, match="unknown registry topics"):
            topics.register("hello", Recorder.start(), 1)

    async def test_update(self) -> None:
        """A duplicate key has no one value that could be updated."""
        topics = duplicate()
        ref = Recorder.start()
        topics.register("hello", ref, 1)
        with pytest.raises(InternalError, match="no one value"):
            topics.update_value("hello", ref, lambda n: n + 1)


class TestDispatch:
    async def test_serial(self) -> None:
        """A serial dispatch calls its function once, in the caller, with all entries of the key.

        Row: elixir registry/duplicate dispatches to multiple keys in serial
        """
        topics = duplicate()
        ref = Recorder.start()
        calls: list[tuple[object, list[object]]] = []

        def note(entries: list[Entry[Any, Any]]) -> None:
            calls.append((asyncio.current_task(), [entry.value for entry in entries]))

        topics.dispatch("hello", note)
        for key, value in (("hello", 1), ("hello", 2), ("world", 3)):
            topics.register(key, ref, value)
        topics.dispatch("hello", note)
        topics.dispatch("world", note)

        me = asyncio.current_task()
        assert [(me, [1, 2]), (me, [3])] == calls

    async def test_parallel(self) -> None:
        """A parallel dispatch has a task for each entry of the key, all at the same time.

        Row: elixir registry/duplicate dispatches to multiple keys in parallel
        """
        topics = duplicate()
        ref = Recorder.start()
        together = asyncio.Barrier(2)
        calls: dict[object, object] = {}

        async def note(entry: Entry[Any, Any]) -> None:
            calls[asyncio.current_task()] = entry.value
            await together.wait()

        await topics.dispatch_parallel("hello", note)
        nobody = dict(calls)
        for key, value in (("hello", 1), ("hello", 2), ("world", 3)):
            topics.register(key, ref, value)
        await topics.dispatch_parallel("hello", note)

        assert {} == nobody
        assert [1, 2] == sorted(map(int, map(str, calls.values())))
        assert asyncio.current_task() not in calls

    async def test_parallel_fails(self) -> None:
        """A parallel dispatch of which one call raises cancels the others and raises that."""
        topics = duplicate()
        ref = Recorder.start()
        cancelled: list[int] = []

        async def act(entry: Entry[Any, Any]) -> None:
            if entry.value == 2:
                raise OSError("gone")
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.append(entry.value)

        for value in (1, 2):
            topics.register("hello", ref, value)
        with pytest.raises(ExceptionGroup) as failure:
            await topics.dispatch_parallel("hello", act)

        assert ["gone"] == [str(error) for error in failure.value.exceptions]
        assert [1] == cancelled


class TestUnregister:
    async def test_key(self) -> None:
        """A key that is taken back is gone as often as it was registered.

        Row: elixir registry/duplicate unregisters by key
        """
        topics = duplicate()
        one, other = Recorder.start(), Recorder.start()
        for key, ref in (("hello", one), ("hello", one), ("hello", other), ("world", one)):
            topics.register(key, ref, 1)
        topics.unregister("hello", one)
        between = topics.keys(one), topics.keys(other)
        topics.unregister("world", one)

        assert (["world"], ["hello"]) == between
        assert [] == topics.keys(one)

    async def test_nothing(self) -> None:
        """To take back what nobody has changes nothing.

        Row: elixir registry/duplicate unregisters with no entries
        """
        topics = duplicate()
        topics.unregister("hello")

        assert 0 == topics.count()


class TestEnd:
    async def test_links(self) -> None:
        """A registry listens for its owner's end once, while the owner has a key.

        Row: elixir registry/duplicate links and unlinks on register/unregister
        """
        topics = duplicate()
        ref = Recorder.start()
        counts = []
        for act, key in (
            (topics.register, "hello"),
            (topics.register, "hello"),
            (topics.unregister, "hello"),
        ):
            act(key, ref, *([1] if act == topics.register else []))
            counts.append(len(ref.life.ended._callbacks or ()))

        assert [1, 1, 0] == counts

    async def test_others_stay(self) -> None:
        """An owner that ends takes its own entries with it and nobody else's."""
        topics = duplicate()
        one, other = Recorder.start(), Recorder.start()
        for ref in (one, other, one):
            topics.register("hello", ref, 1)
        one.kill()
        await one.join()

        assert [other] == [entry.owner for entry in topics.lookup("hello")]
        assert 1 == topics.count()
