from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from cortex_actors.errors import InternalError
from cortex_actors.runtime.names import Registry
from tests.runtime.support import Recorder

if TYPE_CHECKING:
    from cortex_actors.runtime.names import Entry
    from cortex_actors.runtime.ref import AsyncioRef

Words: TypeAlias = "Registry[AsyncioRef[Any], Any]"


class TestRegister:
    async def test_empty(self) -> None:
        """An empty registry has no keys.

        Row: elixir registry/unique counts 0 keys in an empty registry
        Row: elixir registry/unique empty list for empty registry
        """
        words: Words = Registry("words")

        assert 0 == words.count()
        assert [] == words.entries()
        assert [] == words.lookup("hello")

    async def test_count(self) -> None:
        """Every registered key is counted.

        Row: elixir registry/unique counts the number of keys in a registry
        """
        words: Words = Registry("words")
        ref = Recorder.start()
        words.register("hello", ref, 1)
        words.register("world", ref, 2)

        assert 2 == words.count()
        assert [("hello", ref, 1), ("world", ref, 2)] == [
            (entry.key, entry.owner, entry.value) for entry in words.entries()
        ]

    async def test_unique(self) -> None:
        """A unique key is given once, even to the same owner, who may have several keys.

        Row: elixir registry/unique has unique registrations
        """
        words: Words = Registry("words")
        ref = Recorder.start()
        words.register("hello", ref, "value")
        with pytest.raises(InternalError, match="'hello' in words: it is held by"):
            words.register("hello", ref, "other")
        before = words.keys(ref), words.values("hello", ref)
        words.register("world", ref, "value")

        assert (["hello"], ["value"]) == before
        assert ["hello", "world"] == words.keys(ref)

    async def test_across_owners(self) -> None:
        """A unique key that a living owner has is not given to another.

        Row: elixir registry/unique has unique registrations across processes
        """
        words: Words = Registry("words")
        one, other = Recorder.start(), Recorder.start()
        words.register("hello", one, "value")
        with pytest.raises(InternalError, match="held by"):
            words.register("hello", other, "recent")

        assert (["hello"], ["value"]) == (words.keys(one), words.values("hello", one))
        assert ([], []) == (words.keys(other), words.values("hello", other))

    async def test_types(self) -> None:
        """Keys that are equal and of different types are different keys, inside tuples as well.

        Row: elixir registry/unique compares using ===
        """
        words: Words = Registry("words")
        ref = Recorder.start()
        keys = [1, 1.0, True, (1, "a"), (1.0, "a")]
        for key in keys:
            words.register(key, ref, repr(key))

        assert [repr(key) for key in keys] == [words.lookup(key)[0].value for key in keys]
        assert list(map(repr, keys)) == list(map(repr, words.keys(ref)))

    async def test_closed(self) -> None:
        """A registry that was closed has forgotten everybody, and says so to who comes late.

        Row: elixir registry/unique raises on unknown registry name
        """
        words: Words = Registry("words")
        ref = Recorder.start()
        words.register("hello", ref, 1)
        words.close()
        with pytest.raises(InternalError, match="unknown registry words"):
            words.register("hello", ref, 1)
        with pytest.raises(InternalError, match="unknown registry words"):
            words.dispatch("hello", print)

        assert 0 == words.count()


class TestValue:
    async def test_update(self) -> None:
        """An owner changes the value of its own key and nobody else's.

        Row: elixir registry/unique updates current process value
        """
        words: Words = Registry("words")
        mine, other = Recorder.start(), Recorder.start()
        words.register("hello", other, 1)
        words.register("world", mine, 1)

        assert words.update_value("nothing", mine, lambda n: n / 0) is None
        assert words.update_value("hello", mine, lambda n: n / 0) is None
        assert (2, 1) == words.update_value("world", mine, lambda n: n + 1)
        assert [2] == [entry.value for entry in words.lookup("world")]
        assert [2] == words.values("world", mine)

    async def test_raises(self) -> None:
        """A change that raises changes nothing."""
        words: Words = Registry("words")
        ref = Recorder.start()
        words.register("hello", ref, 1)
        with pytest.raises(ZeroDivisionError):
            words.update_value("hello", ref, lambda n: n / 0)

        assert [1] == words.values("hello", ref)


class TestDispatch:
    async def test_one(self) -> None:
        """A dispatch calls its function with the entry of the key, and not at all without one.

        Row: elixir registry/unique dispatches to a single key
        """
        words: Words = Registry("words")
        ref = Recorder.start()
        seen: list[tuple[object, object]] = []

        def note(entries: list[Entry[Any, Any]]) -> None:
            seen.extend((entry.owner, entry.value) for entry in entries)

        words.dispatch("hello", note)
        words.register("hello", ref, "value")
        words.dispatch("hello", note)

        assert [(ref, "value")] == seen


class TestUnregister:
    async def test_key(self) -> None:
        """A key that is taken back is gone, and the others stay.

        Row: elixir registry/unique unregisters process by key
        """
        words: Words = Registry("words")
        ref = Recorder.start()
        words.register("hello", ref, 1)
        words.register("world", ref, 2)
        words.unregister("hello")
        between = words.keys(ref)
        words.unregister("world", ref)

        assert ["world"] == between
        assert [] == words.keys(ref)

    async def test_nothing(self) -> None:
        """To take back what nobody has, or another one, changes nothing.

        Row: elixir registry/unique unregisters with no entries
        """
        words: Words = Registry("words")
        one, other = Recorder.start(), Recorder.start()
        words.unregister("hello")
        words.register("hello", one, 1)
        words.unregister("hello", other)

        assert ["hello"] == words.keys(one)
