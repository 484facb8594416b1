"""Names that outlive their actors: who has a name is looked up at every use.

An actor that is restarted gets its name back, so whoever holds the name notices nothing but a
pause. Lives on the loop; `tell` and `whereis` may be called from any thread.

Who registered what: keys with one owner or with many, forgotten when their owner ends.

The idea, the words and the rules are those of Elixir's `Registry`; the credit is theirs. Looking
up is safe from any thread; what changes the registry is called on the loop its owners live on.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    TypeVar,
    cast,
    overload,
)

from pykka import ActorDeadError
from pykka._envelope import Envelope
from pykka.messages import ProxyCall

from cortex_actors.errors import ActorAway, DeadlineExceeded, InternalError
from cortex_actors.runtime.future import AsyncioFuture, Fate
from cortex_actors.runtime.life import NOPROC, Down, title

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable

    from cortex_actors.runtime.ref import AsyncioRef


log = logging.getLogger("cortex.registry")


class Owner(Protocol):
    """Whoever holds a key: a ref, a task supervisor, anything with an end that can be heard of.

    Owners are told apart by identity.
    """

    def is_alive(self) -> bool:
        """Return whether it can still be used; safe from any thread."""

    def on_end(self, callback: Callable[[], None]) -> object:
        """Call it on the loop when the owner has ended; at once if it has."""

    def off_end(self, callback: Callable[[], None]) -> object:
        """Do not call it any more."""


O = TypeVar("O", bound=Owner)  # noqa: E741 - the owner, as K and V are key and value
V = TypeVar("V")


class Keys(StrEnum):
    """How many owners a key may have."""

    UNIQUE = "unique"
    DUPLICATE = "duplicate"


@dataclass(frozen=True, slots=True, eq=False)
class Entry(Generic[O, V]):
    """One registration: the key, who has it, and what it registered with it."""

    key: Hashable
    owner: O
    value: V


class What(StrEnum):
    """What happened to an entry."""

    REGISTER = "register"
    UNREGISTER = "unregister"


@dataclass(frozen=True, slots=True)
class Change(Generic[O, V]):
    """One entry came or went: what a listener is told."""

    what: What
    registry: str
    entry: Entry[O, V]


@dataclass(slots=True)
class _Holding(Generic[O, V]):
    """What one owner has registered, and what the owner calls when it ends."""

    on_end: Callable[[], None]
    entries: list[Entry[O, V]] = field(default_factory=list)


class Registry(Generic[O, V]):
    """Key -> who has registered it, and with what value.

    A key is anything hashable; keys of different types are different (1 is not 1.0). An owner is
    linked to the registry while it has a key: when it ends, its keys go. One that is dying is not
    found any more. `listeners` are called with every `Change`, in order, and must not block; when
    one raises, that is logged and nothing else happens.
    """

    def __init__(
        self,
        name: str,
        *,
        keys: Keys = Keys.UNIQUE,
        listeners: Iterable[Callable[[Change[O, V]], object]] = (),
    ) -> None:
        self.name = name
        self.kind = Keys(keys)
        self._listeners = tuple(listeners)
        # Tuples are replaced and never changed, so that another thread sees the old or the new.
        self._entries: dict[Hashable, tuple[Entry[O, V], ...]] = {}
        self._holdings: dict[O, _Holding[O, V]] = {}
        self._closed = False

    def register(self, key: Hashable, owner: O, value: V) -> Entry[O, V]:
        """Give a key to an owner until it ends or takes it back.

        Raises InternalError for a unique key that a living owner has, itself included, and after
        `close`.
        """
        self._demand_open()
        exact = _exact(key)
        if self.kind is Keys.UNIQUE:
            for old in self._entries.get(exact, ()):
                if old.owner.is_alive():
                    raise InternalError(
                        f"cannot register {key!r} in {self.name}: it is held by {old.owner}; end "
                        "that one first, or choose another key"
                    )
                self._remove(old)
        entry = Entry(key, owner, value)
        self._entries[exact] = (*self._entries.get(exact, ()), entry)
        holding = self._holdings.get(owner)
        if holding is not None:
            holding.entries.append(entry)
            self._tell(What.REGISTER, entry)
            return entry
        self._holdings[owner] = holding = _Holding(partial(self._on_end, owner), [entry])
        self._tell(What.REGISTER, entry)
        if self._holdings.get(owner) is holding:  # a listener may have taken the key back
            owner.on_end(holding.on_end)
        return entry

    def unregister(self, key: Hashable, owner: O | None = None) -> None:
        """Take a key back, from one owner or from all; nothing happens if nobody has it."""
        for entry in self._entries.get(_exact(key), ()):
            if owner is None or entry.owner is owner:
                self._remove(entry)

    def update_value(self, key: Hashable, owner: O, change: Callable[[V], V]) -> tuple[V, V] | None:
        """Change the value of a unique key and return the new and the old one.

        None, and nothing changes, if that owner does not have the key. Raises InternalError where
        keys may be duplicate, and after `close`.
        """
        self._demand_open()
        if self.kind is Keys.DUPLICATE:
            raise InternalError(
                f"cannot update {key!r} in {self.name}: a duplicate key has no one value; "
                "unregister it and register it again"
            )
        for old in self._entries.get(_exact(key), ()):
            if old.owner is owner:
                new = replace(old, value=change(old.value))
                self._entries[_exact(key)] = (new,)
                mine = self._holdings[owner].entries
                mine[mine.index(old)] = new
                return new.value, old.value
        return None

    def whereis(self, key: Hashable) -> O | None:
        """Return the living owner of a key (of a duplicate one, the first); None if nobody is."""
        for entry in self._entries.get(key if type(key) is str else _exact(key), ()):
            if entry.owner.is_alive():
                return entry.owner
        return None

    def lookup(self, key: Hashable) -> list[Entry[O, V]]:
        """Return the entries of a key, the oldest first."""
        return _living(self._entries.get(_exact(key), ()))

    def entries(self) -> list[Entry[O, V]]:
        """Return every entry."""
        return [entry for each in list(self._entries.values()) for entry in _living(each)]

    def dying(self) -> list[Entry[O, V]]:
        """Return the entries of owners that have begun to end, which nobody finds any more."""
        every = [entry for each in list(self._entries.values()) for entry in each]
        return [entry for entry in every if not entry.owner.is_alive()]

    def count(self) -> int:
        """Return how many entries there are; a key counts once for each time it is registered."""
        return len(self.entries())

    def keys(self, owner: O) -> list[Hashable]:
        """Return the keys that an owner has, the oldest first, a duplicate one repeatedly."""
        return [entry.key for entry in self._held_by(owner)]

    def values(self, key: Hashable, owner: O) -> list[V]:
        """Return what an owner has registered under a key."""
        exact = _exact(key)
        return [entry.value for entry in self._held_by(owner) if _exact(entry.key) == exact]

    def dispatch(self, key: Hashable, call: Callable[[list[Entry[O, V]]], object]) -> None:
        """Call a function once, here, with all entries of a key; not at all if there are none.

        Raises what it raised, and InternalError after `close`.
        """
        self._demand_open()
        if found := self.lookup(key):
            call(found)

    async def dispatch_parallel(
        self, key: Hashable, call: Callable[[Entry[O, V]], Coroutine[Any, Any, object]]
    ) -> None:
        """Call an async function with each entry of a key, all at once, and wait for all.

        Each call has a task of its own. When one raises, the others are cancelled and an
        ExceptionGroup is raised. Raises InternalError after `close`.
        """
        self._demand_open()
        async with asyncio.TaskGroup() as group:
            for entry in self.lookup(key):
                group.create_task(call(entry), name=f"{self.name}: dispatch {key}")

    def close(self) -> None:
        """Forget everybody; whoever goes on to register is told that nobody would look here."""
        for held in list(self._holdings.values()):
            for entry in list(held.entries):
                self._remove(entry)
        self._closed = True

    def _held_by(self, owner: O) -> list[Entry[O, V]]:
        held = self._holdings.get(owner)
        return [] if held is None else _living(tuple(held.entries))

    def _on_end(self, owner: O) -> None:
        held = self._holdings.get(owner)
        for entry in [] if held is None else list(held.entries):
            self._remove(entry)

    def _remove(self, entry: Entry[O, V]) -> None:
        exact = _exact(entry.key)
        there = self._entries.get(exact, ())
        if entry not in there:  # a listener was faster
            return
        rest = tuple(each for each in there if each is not entry)
        if rest:
            self._entries[exact] = rest
        else:
            del self._entries[exact]
        held = self._holdings[entry.owner]
        held.entries.remove(entry)
        if not held.entries:
            del self._holdings[entry.owner]
            entry.owner.off_end(held.on_end)
        self._tell(What.UNREGISTER, entry)

    def _tell(self, what: What, entry: Entry[O, V]) -> None:
        for listener in self._listeners:
            try:
                listener(Change(what, self.name, entry))
            except Exception:
                log.exception("a listener of the registry %s failed", self.name)

    def _demand_open(self) -> None:
        if self._closed:
            raise InternalError(
                f"unknown registry {self.name}: it was closed and nobody looks there; use the one "
                "of the program that runs now"
            )


def _living(entries: tuple[Entry[O, V], ...]) -> list[Entry[O, V]]:
    return [entry for entry in entries if entry.owner.is_alive()]


def _exact(key: Hashable) -> Hashable:
    """Return what stands for a key in a dict, where 1, 1.0 and True would be one."""
    if type(key) is str:
        return key
    return type(key), tuple(map(_exact, key)) if isinstance(key, tuple) else key


A = TypeVar("A")
P = ParamSpec("P")
R = TypeVar("R")

#: Seconds a call by name may take, the wait for a restart included.
TIMEOUT = 30.0


class Names:
    """Name -> the actor that has it now: a registry of unique keys, and calls by name."""

    def __init__(self) -> None:
        self._registry: Registry[AsyncioRef[Any], None] = Registry(
            "names", listeners=(self._on_change,)
        )
        self._waiting: dict[str, set[asyncio.Future[AsyncioRef[Any]]]] = {}

    def register(self, name: str, ref: AsyncioRef[Any]) -> None:
        """Give a name to an actor until it ends; raises InternalError if another one has it."""
        if self.whereis(name) is not ref:
            self._registry.register(name, ref, None)

    def unregister(self, name: str, ref: AsyncioRef[Any] | None = None) -> None:
        """Take a name back; with `ref`, only if that actor still has it."""
        self._registry.unregister(name, ref)

    def whereis(self, name: str) -> AsyncioRef[Any] | None:
        """Return the living actor of a name; None while it is away."""
        return self._registry.whereis(name)

    def known(self) -> dict[str, AsyncioRef[Any]]:
        """Return every name that somebody has now."""
        return {str(entry.key): entry.owner for entry in self._registry.entries()}

    def dying(self) -> dict[str, AsyncioRef[Any]]:
        """Return who has begun to end and is not done with its clean-up, by the name it had."""
        return {str(entry.key): entry.owner for entry in self._registry.dying()}

    def watch(self, name: str, watcher: AsyncioRef[Any]) -> None:
        """Have an actor told, by a `Down` with this name, when whoever has the name now ends.

        At once, with the reason "noproc", if nobody has it. The watch is on one life: who wants to
        follow a name watches it again once it is back (`find`).
        """
        ref = self.whereis(name)
        if ref is None:
            watcher.actor_inbox.put(Envelope(Down(name, NOPROC)))
        else:
            watcher.life.deaths.watch(ref.life, name)

    async def find(self, name: str, timeout: float | None = TIMEOUT) -> AsyncioRef[Any]:
        """Return the living actor of a name, waiting while it is away.

        Raises ActorAway after `timeout` seconds.
        """
        try:
            async with asyncio.timeout(timeout):
                return await self._find(name)
        except TimeoutError as error:
            raise _away(name, timeout) from error

    def tell(self, name: str, message: object) -> bool:
        """Send a message without a reply; False if nobody has the name now.

        Raises MailboxFull where the actor's policy says so; a thread without a loop waits for
        room instead.
        """
        ref = self._registry.whereis(name)
        if ref is None:
            return False
        ref.actor_inbox.put(Envelope(message))
        return True

    async def tell_async(self, name: str, message: object) -> bool:
        """Send a message without a reply, waiting for room; False if nobody has the name.

        False, too, if its actor ends first: what waits for room is not sent to a successor.
        """
        ref = self.whereis(name)
        if ref is None:
            return False
        try:
            await ref.tell_async(message)
        except ActorDeadError:
            return False
        return True

    @overload
    def method(
        self,
        name: str,
        method: Callable[Concatenate[Any, P], Awaitable[asyncio.Future[R]]],
        *,
        timeout: float | None = TIMEOUT,
    ) -> Callable[P, Coroutine[Any, Any, R]]: ...

    @overload
    def method(
        self,
        name: str,
        method: Callable[Concatenate[Any, P], Awaitable[R]],
        *,
        timeout: float | None = TIMEOUT,
    ) -> Callable[P, Coroutine[Any, Any, R]]: ...

    @overload
    def method(
        self,
        name: str,
        method: Callable[Concatenate[Any, P], R],
        *,
        timeout: float | None = TIMEOUT,
    ) -> Callable[P, Coroutine[Any, Any, R]]: ...

    def method(
        self,
        name: str,
        method: Callable[..., object],
        *,
        timeout: float | None = TIMEOUT,
    ) -> Callable[..., Coroutine[Any, Any, Any]]:
        """Return an async callable that asks whoever has the name to run one of its methods.

        The callable raises what the method raised; ActorAway if nobody had the name for `timeout`
        seconds, or if the actor ended while it had the call (which may then have taken effect);
        DeadlineExceeded if no reply came in time; MailboxFull where a full mailbox dropped the
        call. A call that no handler ever saw is sent again to the actor's successor; any other
        is never sent twice.
        """
        path = (cast("Any", method).__name__,)

        def call(*args: object, **kwargs: object) -> Coroutine[Any, Any, object]:
            return self._ask(name, ProxyCall(path, args, kwargs), timeout)

        return call

    def notice(self, name: str, method: Callable[Concatenate[Any, P], object]) -> Callable[P, bool]:
        """Return a callable that tells whoever has the name to run a method, without a reply.

        It returns False if nobody has the name. An exception in the method ends that actor.
        """
        path = (cast("Any", method).__name__,)

        def call(*args: P.args, **kwargs: P.kwargs) -> bool:
            return self.tell(name, ProxyCall(path, args, kwargs))

        return call

    async def _ask(self, name: str, message: object, timeout: float | None) -> object:
        """Ask; a bare timer suffices, and is cheaper, while the actor is there and has room."""
        loop = asyncio.get_running_loop()
        end = None if timeout is None else loop.time() + timeout
        ref = self._registry.whereis(name)
        if ref is None or ref.actor_inbox.full():
            return await self._ask_patiently(name, message, timeout, end=end)
        reply: AsyncioFuture[object] = AsyncioFuture()
        ref.send_now(message, reply)
        timer = None if end is None else loop.call_at(end, _expire, reply, name, message, timeout)
        try:
            return await reply
        except ActorDeadError as error:
            _raise_unless_unseen(name, reply.fate, error)
        finally:
            if timer is not None:
                timer.cancel()
        return await self._ask_patiently(name, message, timeout, end=end)

    async def _ask_patiently(
        self, name: str, message: object, timeout: float | None, *, end: float | None
    ) -> object:
        """Ask whoever has the name, once there is somebody and room, until it is handled."""
        reply: AsyncioFuture[object] | None = None
        try:
            async with asyncio.timeout_at(end) as deadline:
                while True:
                    reply = None
                    ref = await self._find(name)
                    reply = AsyncioFuture()
                    await ref.send(message, reply)
                    try:
                        return await reply
                    except ActorDeadError as error:
                        _raise_unless_unseen(name, reply.fate, error)
        except TimeoutError as error:
            if not deadline.expired():
                raise
            if reply is None:
                raise _away(name, timeout) from error
            raise _expire(reply, name, message, timeout) from error

    def _on_change(self, change: Change[AsyncioRef[Any], None]) -> None:
        if change.what is What.REGISTER:
            for waiting in self._waiting.pop(cast("str", change.entry.key), ()):
                if not waiting.done():
                    waiting.set_result(change.entry.owner)

    async def _find(self, name: str) -> AsyncioRef[Any]:
        while (ref := self.whereis(name)) is None:
            waiting: asyncio.Future[AsyncioRef[Any]] = asyncio.get_running_loop().create_future()
            everyone = self._waiting.setdefault(name, set())
            everyone.add(waiting)
            try:
                await waiting
            finally:
                everyone.discard(waiting)
                if not everyone and self._waiting.get(name) is everyone:
                    del self._waiting[name]
        return ref


class NamedActor(Generic[A]):
    """An actor by its name, looked up at each use: `await roster.ask(Roster.add, spec)`.

    It never holds a ref, so a restart of the actor breaks no caller. Calls raise what
    `Names.method` says.
    """

    __slots__ = ("_names", "_timeout", "name")

    def __init__(self, name: str, names: Names, *, timeout: float | None = TIMEOUT) -> None:
        """Remember the name; a call may take `timeout` seconds, None for as long as it takes."""
        self.name = name
        self._names = names
        self._timeout = timeout

    def within(self, timeout: float | None) -> NamedActor[A]:
        """Return the same actor with another limit in seconds."""
        return NamedActor(self.name, self._names, timeout=timeout)

    @overload
    def ask(
        self, method: Callable[Concatenate[A, P], Awaitable[R]], *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, R]: ...

    @overload
    def ask(
        self, method: Callable[Concatenate[A, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, R]: ...

    def ask(
        self, method: Callable[..., object], *args: object, **kwargs: object
    ) -> Coroutine[Any, Any, Any]:
        """Have the actor run one of its methods, and return what that returns."""
        return self._names.method(self.name, method, timeout=self._timeout)(*args, **kwargs)

    def tell(
        self, method: Callable[Concatenate[A, P], object], *args: P.args, **kwargs: P.kwargs
    ) -> bool:
        """Have the actor run a method, without a reply; see `Names.notice`."""
        return self._names.notice(self.name, method)(*args, **kwargs)


def _raise_unless_unseen(name: str, fate: Fate, error: ActorDeadError) -> None:
    if fate is Fate.DIED:
        raise ActorAway(
            f"{name} ended while it had the call ({error}); it may have taken effect, so look "
            "before you ask again"
        ) from error
    if fate is not Fate.UNHANDLED:
        raise error


def _expire(
    reply: AsyncioFuture[Any], name: str, message: object, timeout: float | None
) -> DeadlineExceeded:
    late = DeadlineExceeded(
        f"{name} did not answer {title(message)} within {timeout} s; it may yet act"
    )
    reply.fail(late, Fate.EXPIRED)
    return late


def _away(name: str, timeout: float | None) -> ActorAway:
    return ActorAway(
        f"nobody has been {name} for {timeout} s: it is being restarted or has given up; see "
        "`cortex status`"
    )
