"""Names that outlive their actors: who has a name is looked up at every use.

An actor that is restarted gets its name back, so a holder of the name notices nothing but a
pause. Lives on the loop; `tell` and `whereis` may be called from any thread.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from pykka import ActorDeadError
from pykka._envelope import Envelope
from pykka.messages import ProxyCall

from cortex_actors.errors import ActorAway, DeadlineExceeded, InternalError
from cortex_actors.runtime.future import AsyncioFuture, Fate, name_message

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from cortex_actors.runtime.ref import AsyncioRef

A = TypeVar("A")
P = ParamSpec("P")
R = TypeVar("R")

#: Seconds a call by name may take, the wait for a restart included.
TIMEOUT = 30.0


class Names:
    """Name -> the actor that has it now, and calls by name; an actor that ends loses its names."""

    def __init__(self) -> None:
        self._refs: dict[str, AsyncioRef[Any]] = {}
        self._waiting: dict[str, set[asyncio.Future[AsyncioRef[Any]]]] = {}

    def register(self, name: str, ref: AsyncioRef[Any]) -> None:
        """Give a name to an actor until it ends; raises InternalError if another one has it."""
        old = self.whereis(name)
        if old is ref:
            return
        if old is not None:
            raise InternalError(
                f"cannot register the name {name!r}: it is held by {old}; end that one first, or "
                "choose another name"
            )
        self._refs[name] = ref
        for waiting in self._waiting.pop(name, ()):
            if not waiting.done():
                waiting.set_result(ref)
        ref.on_end(partial(self.unregister, name, ref))

    def unregister(self, name: str, ref: AsyncioRef[Any]) -> None:
        """Take a name back, if that actor still has it."""
        if self._refs.get(name) is ref:
            del self._refs[name]

    def whereis(self, name: str) -> AsyncioRef[Any] | None:
        """Return the living actor of a name; None while it is away."""
        ref = self._refs.get(name)
        return ref if ref is not None and ref.is_alive() else None

    def list_known(self) -> dict[str, AsyncioRef[Any]]:
        """Return every name that a living actor has now."""
        return {name: ref for name, ref in list(self._refs.items()) if ref.is_alive()}

    def list_dying(self) -> dict[str, AsyncioRef[Any]]:
        """Return actors that have begun to end and still clean up, by the name they had."""
        return {name: ref for name, ref in list(self._refs.items()) if not ref.is_alive()}

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
        """Send a message without a reply; False if no actor has the name now.

        Raises MailboxFull where the actor's policy says so; a thread without a loop waits for
        room instead.
        """
        ref = self.whereis(name)
        if ref is None:
            return False
        ref.actor_inbox.put(Envelope(message))
        return True

    async def ask(self, name: str, message: object, timeout: float | None) -> object:
        """Return the answer of the actor that has the name; `NamedActor.ask` says what it raises.

        Waits for an actor of that name and for room, and asks its successor what it never saw.
        """
        reply: AsyncioFuture[object] | None = None
        try:
            async with asyncio.timeout(timeout) as deadline:
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
            late = DeadlineExceeded(
                f"{name} did not answer {name_message(message)} within {timeout} s; it may yet act"
            )
            reply.fail(late, Fate.EXPIRED)
            raise late from error

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
    `ask` says.
    """

    __slots__ = ("_names", "_timeout", "name")

    def __init__(self, name: str, names: Names, *, timeout: float | None = TIMEOUT) -> None:
        """Remember the name; a call may take `timeout` seconds, None for as long as it takes."""
        self.name = name
        self._names = names
        self._timeout = timeout

    def limit(self, timeout: float | None) -> NamedActor[A]:
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
        """Have the actor run one of its methods, and return what that returns.

        Raises what the method raised; ActorAway if no actor had the name for `timeout` seconds, or
        if the actor ended while it had the call (which may then have taken effect);
        DeadlineExceeded if no reply came in time; MailboxFull where a full mailbox dropped the
        call. A call that no handler ever saw is sent again to the actor's successor; any other
        is never sent twice.
        """
        return self._names.ask(self.name, _call(method, args, kwargs), self._timeout)

    def tell(
        self, method: Callable[Concatenate[A, P], object], *args: P.args, **kwargs: P.kwargs
    ) -> bool:
        """Have the actor run a method, without a reply; False if no actor has the name.

        An exception in the method ends that actor.
        """
        return self._names.tell(self.name, _call(method, args, kwargs))


def _call(
    method: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> ProxyCall:
    """Return the message that has an actor run one of its methods."""
    return ProxyCall((method.__name__,), args, kwargs)


def _raise_unless_unseen(name: str, fate: Fate, error: ActorDeadError) -> None:
    if fate is Fate.DIED:
        raise ActorAway(
            f"{name} ended while it had the call ({error}); it may have taken effect, so look "
            "before you ask again"
        ) from error
    if fate is not Fate.UNHANDLED:
        raise error


def _away(name: str, timeout: float | None) -> ActorAway:
    return ActorAway(
        f"no actor has been {name} for {timeout} s: it is being restarted or has given up; see "
        "`cortex status`"
    )
