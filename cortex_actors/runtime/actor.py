"""A Pykka actor that is one asyncio task: the mailbox is on the loop, handlers may be async.

Pykka's API stays: refs, proxies, the registry, stop. Calls that would block the loop raise
BlockingInLoopError and name the form to use. A handler runs to its end before the next message is
taken, unless it returns an asyncio.Future or Task for an ask: that is a deferred reply, the asker
gets its result and the mailbox goes on meanwhile.

The course of one actor's life: it starts, takes its messages, and ends, one way or another.

An object of its own and not part of the actor, so that an actor's own methods can have any name.

An actor as a supervisor sees it: started under a name, asked to end, killed, watched.

`ActorHandle` has the methods that `supervision.py` calls on a child; neither imports the other.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import asdict
from functools import wraps
from types import CoroutineType, TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Concatenate,
    NoReturn,
    ParamSpec,
    Self,
    TypeVar,
    cast,
)

import pykka
from pykka import ActorRegistry

from cortex_actors.errors import InternalError
from cortex_actors.runtime import future
from cortex_actors.runtime.inbox import Inbox, Overflow
from cortex_actors.runtime.life import Life, logger
from cortex_actors.runtime.ref import AsyncioRef

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from pykka._envelope import Envelope
    from pykka.messages import _ActorStop

    from cortex_actors.runtime.names import Names


T = TypeVar("T")
A = TypeVar("A", bound="AsyncioActor")
P = ParamSpec("P")

#: Messages that are not simply given to on_receive: the runtime's own, and those of Pykka's
#: proxies, which are tuples.
_SPECIAL = (tuple, *future.CONTROL)

#: An answer that comes later.
_DEFERRED = asyncio.Future


def deferred(
    handler: Callable[Concatenate[A, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[A, P], asyncio.Task[T]]:
    """Make a handler a task of its actor: the mailbox goes on, and the asker gets its result."""

    @wraps(handler)
    def begun(actor: A, /, *args: P.args, **kwargs: P.kwargs) -> asyncio.Task[T]:
        return actor.spawn(handler(actor, *args, **kwargs), name=handler.__name__)

    return begun


class Course:
    """Runs an actor; it is what the actor's task does."""

    def __init__(self, actor: AsyncioActor, life: Life) -> None:
        """Prepare to run an actor."""
        self._actor = actor
        self._life = life

    async def run(self) -> None:
        """Live from on_start to the end of the last task that the actor owned."""
        self._actor.actor_inbox.bind(self._life.loop, self._life.label)
        try:
            try:
                await self._set_up()
                await self._take_messages()
            except asyncio.CancelledError:
                await self._cut_short()
            self._life.hand = None
            await self._life.wind_up()
        except asyncio.CancelledError:
            self._life.reason = "killed"
        finally:
            self.close()

    def close(self) -> None:
        """Tell everyone that this life is over; a second call does nothing."""
        if not self._life.ended.done():
            self._bury()
            self._actor.actor_inbox.close()
            self._life.close()

    async def _set_up(self) -> None:
        started = self._life.started
        try:
            await self._attend(self._actor.on_start())
        except Exception as error:  # noqa: BLE001  # whatever it is, the starter gets it
            self._life.reason = error
            self._log_failure(error)
            started.set_exception()
        else:
            started.set(None)

    async def _take_messages(self) -> None:
        actor, life, inbox = self._actor, self._life, self._actor.actor_inbox
        stopped, cancelling = actor.actor_stopped.is_set, life.cancelling
        budget = actor.throughput
        envelope: Any
        while not stopped():
            if cancelling():
                await asyncio.sleep(0)
                raise asyncio.CancelledError  # a handler has swallowed it
            if budget <= 0 or inbox.empty():
                # An idle actor keeps nothing of its last message, which may be large.
                life.hand = envelope = message = reply = answer = None
                await (inbox.arrival() if inbox.empty() else asyncio.sleep(0))
                budget = actor.throughput
                continue
            budget -= 1
            envelope = life.hand = inbox.get()
            life.handled += 1
            message, reply = envelope.message, envelope.reply_to
            try:
                if isinstance(message, _SPECIAL):
                    answer = self._handle(message)
                else:
                    answer = actor.on_receive(message)
                if type(answer) is CoroutineType:
                    answer = await self._attend(answer)
                if reply is None:
                    continue
                if isinstance(answer, _DEFERRED) and isinstance(reply, future.AsyncioFuture):
                    life.owe(reply, answer)
                else:
                    reply.set(answer)
            except GeneratorExit:  # the loop was closed around us
                raise
            except BaseException as error:  # noqa: BLE001  # Pykka's policy decides about each
                await self._judge(envelope, error)

    def _handle(self, message: Any) -> Any:  # noqa: ANN401
        if isinstance(message, future.CONTROL):
            return self._end(message)
        return self._actor._handle_receive(message)  # noqa: SLF001  # Pykka's

    async def _attend(self, work: T | Awaitable[T]) -> T:
        """Wait for a handler that may be asynchronous, as one turn of the call-cycle guard."""
        if type(work) is not CoroutineType:
            return cast("T", work)
        life = self._life
        life.turn += 1
        life.stamp()
        future.TURN.set((life, life.turn))
        try:
            return cast("T", await work)
        except asyncio.CancelledError as error:
            if life.interrupted:
                raise
            raise InternalError(f"{life.label} waited for something that was cancelled") from error
        finally:
            life.turn += 1

    async def _judge(self, envelope: Envelope[Any], error: BaseException) -> None:
        """Decide what an exception from a handler means for the asker and for the actor."""
        life = self._life
        if isinstance(error, Exception):
            await self._fail(envelope, error)
            return
        if isinstance(error, asyncio.CancelledError) and not life.interrupted:
            await self._fail(envelope, InternalError(f"{life.label} raised {error!r}"))
            return
        future.refuse(
            envelope,
            life.make_dead_error(f"ended while handling the message: {error!r}"),
            future.Fate.DIED,
        )
        if isinstance(error, asyncio.CancelledError):
            raise error
        logger.debug("%r in %s. Stopping all actors.", error, self._actor)
        await self._end(future.Shutdown(error))
        ActorRegistry.stop_all(block=False)  # Pykka blocks here, which would freeze the loop

    async def _fail(self, envelope: Envelope[Any], error: Exception) -> None:
        if envelope.reply_to is not None:
            logger.info("Exception returned from %s to caller:", self._actor, exc_info=error)
            envelope.reply_to.set_exception((type(error), error, error.__traceback__))
        else:
            await self._crash(error)

    async def _crash(self, error: BaseException) -> None:
        self._life.reason = error
        self._log_failure(error)
        try:
            failure = self._actor.on_failure(type(error), error, error.__traceback__)
            await self._attend(failure)
        except Exception as another:  # noqa: BLE001  # Pykka's contract: logged
            self._log_failure(another)

    async def _cut_short(self) -> None:
        """Go on after the actor's task was cancelled: by a crash from beside it, or a kill."""
        life = self._life
        if life.killed or life.crash is None or life.reason is not None:
            life.reason = life.reason or "killed"
            self._bury()
            return
        life.resume()
        life.started.fail(life.crash, future.Fate.DIED)
        await self._crash(life.crash)

    async def _end(self, wish: _ActorStop | future.Shutdown) -> None:
        self._life.reason = wish.reason if isinstance(wish, future.Shutdown) else "normal"
        self._bury()
        logger.debug("Stopped %s", self._actor)
        await self._life.settle()
        try:
            await self._attend(self._actor.on_stop())
        except Exception as error:  # noqa: BLE001  # Pykka's contract: logged
            self._log_failure(error)

    def _log_failure(self, error: BaseException) -> None:
        """Log a failure and unregister the actor, as Pykka does."""
        self._actor._handle_failure(type(error), error, error.__traceback__)  # noqa: SLF001

    def _bury(self) -> None:
        if not self._actor.actor_stopped.is_set():
            ActorRegistry.unregister(self._actor.actor_ref)
            self._actor.actor_stopped.set()


class AsyncioActor(pykka.Actor):
    """One task that takes its messages one after another.

    Exit reasons: "normal" after stop(), the reason of a shutdown message, "killed" after kill(),
    else the exception that a tell's handler, on_start or a spawned task raised. A crash loses the
    message that it handles and those that wait; their askers get ActorDeadError at once.
    """

    #: Messages that may wait, 0 for no limit; asks by name wait for room, which slows a flood.
    mailbox_limit: ClassVar[int] = 1_000
    #: What a full mailbox does.
    overflow: ClassVar[Overflow] = Overflow.BACK_PRESSURE
    #: Seconds that one message may take, 0 for ever; the watchdog crashes who needs longer.
    message_limit: ClassVar[float] = 120.0
    #: Messages handled before the loop gets a turn, so that a busy actor starves no other.
    throughput: ClassVar[int] = 64
    #: Where actors live that are started on a thread without a loop.
    home_loop: ClassVar[asyncio.AbstractEventLoop | None] = None

    actor_inbox: Inbox
    _actor_ref: AsyncioRef[Any]
    actor_name: str  # the class, or the name it was started under (supervised.py)

    def __init_subclass__(cls) -> None:
        """Refuse a subclass that takes, by accident, a private name that makes an actor run."""
        if taken := _PRIVATE & vars(cls).keys():
            raise InternalError(f"{cls.__name__} overrides {taken}, which makes an actor run")

    def __init__(self, *_args: object, **_kwargs: object) -> None:
        """Make the actor; a subclass calls this before anything else and starts no work here.

        Raises InternalError where no loop runs and the class has no `home_loop`.
        """
        loop = future.find_loop() or self.home_loop
        if loop is None:
            raise InternalError(f"{type(self).__name__} needs a running loop, or a home_loop")
        super().__init__()
        self.actor_name = type(self).__name__
        self.actor_inbox = Inbox(self.mailbox_limit, self.overflow)
        self.actor_inbox.bind(loop, str(self))
        self._life = Life(loop, str(self), limit=self.message_limit)
        self._course = Course(self, self._life)
        self._actor_ref = AsyncioRef(self, self._life)

    @classmethod
    def start(cls, *args: Any, **kwargs: Any) -> AsyncioRef[Self]:  # noqa: ANN401
        """Make an actor and start it, from any thread; on_start has not run yet on return."""
        return cls(*args, **kwargs).launch()

    @classmethod
    async def start_async(cls, *args: Any, **kwargs: Any) -> AsyncioRef[Self]:  # noqa: ANN401
        """Make an actor, start it and wait for on_start; raises what that raised."""
        ref = cls.start(*args, **kwargs)
        await ref.life.started
        return ref

    def launch(self, name: str | None = None) -> AsyncioRef[Self]:
        """Start this actor under a name of its own; raises InternalError the second time."""
        if self._life.begun:
            raise InternalError(f"{self._life.label} was started before; make a new actor")
        if name is not None:
            self.actor_name = self._life.label = name
            self.actor_inbox.bind(self._life.loop, name)
        ActorRegistry.register(self.actor_ref)
        logger.debug("Starting %s", self)
        self._start_actor_loop()
        return self.actor_ref

    @property
    def actor_ref(self) -> AsyncioRef[Self]:
        """Return the actor's own ref."""
        return self._actor_ref

    def spawn(
        self, work: Coroutine[Any, Any, T], *, name: str | None = None, limit: float = 0.0
    ) -> asyncio.Task[T]:
        """Start a task that the actor owns: it is cancelled, and waited for, when the actor ends.

        An exception in it ends the actor with that reason, as a linked process would, unless a
        handler returned the task as a deferred reply: then it goes to the asker. (Return it
        before awaiting anything else, or an early failure counts as a crash.) `limit` is the
        seconds it may take, 0 for ever; a deferred reply has at most `message_limit`.
        """
        return self._life.spawn(work, name, limit)

    def crash(self) -> NoReturn:
        """Crash, so that a person sees it come back; for a tell, not an ask (NamedActor.tell)."""
        raise InternalError(f"{self.actor_name} was asked to crash")

    def on_start(self) -> Awaitable[None] | None:  # type: ignore[override]  # may be async here
        """Set up, in the actor's task, before the first message; an exception ends the actor."""

    def on_stop(self) -> Awaitable[None] | None:  # type: ignore[override]  # may be async here
        """Clean up, in the actor's task, after the last message; owned tasks still run.

        Not called after a crash or a kill. An exception is logged and changes nothing.
        """

    def on_failure(  # type: ignore[override]  # may be async here
        self,
        exception_type: type[BaseException] | None,
        exception_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> Awaitable[None] | None:
        """Clean up after a crash, in the actor's task; an exception is logged."""

    @staticmethod
    def _create_actor_inbox() -> Inbox:
        return Inbox()  # Pykka asks before the instance has its limits; __init__ replaces it

    @staticmethod
    def _create_future() -> future.AsyncioFuture[Any]:
        return future.AsyncioFuture()

    def _start_actor_loop(self) -> None:
        self._life.begin(self._course.run, self._course.close)


#: Names that make an actor run: Pykka's, this class's, and what its instances keep.
_PRIVATE = {
    name
    for name in (*vars(pykka.Actor), *vars(AsyncioActor), "_actor_ref", "_course", "_life")
    if name[0] == "_" and name[1] != "_"
} - {"_abc_impl"}


class ActorHandle:
    """One life of a named actor; its successor after a restart has a handle of its own."""

    def __init__(self, ref: AsyncioRef[Any]) -> None:
        self.ref = ref

    @property
    def name(self) -> str:
        """The name it was started under; a report of its supervisor may know only its template."""
        return self.ref.life.label

    async def stop(self, timeout: float | None) -> None:
        """Ask the actor to end after what it was sent before, and wait until it has.

        Raises TimeoutError if it is still alive after `timeout` seconds (None: wait for ever).
        """
        self.ref.shut_down()
        async with asyncio.timeout(None if timeout == math.inf else timeout):
            await self.ref.join()

    def kill(self) -> None:
        """End the actor now; `exited` then gives "killed"."""
        self.ref.kill()

    async def exited(self) -> object:
        """Wait until the actor and its tasks have ended, and return why."""
        return await self.ref.join()

    def info(self) -> dict[str, object]:
        """Return the counters of the actor and its mailbox (MailboxStats), and what it counts.

        `handled` and `dropped` only grow while the actor lives, and begin again with its successor.
        """
        life = self.ref.life
        return {**asdict(self.ref.actor_inbox.stats()), "handled": life.handled, **life.counters}


async def start_actor(
    names: Names, name: str, make: Callable[P, A], /, *args: P.args, **kwargs: P.kwargs
) -> ActorHandle:
    """Make an actor (a class and its arguments, or any factory), start it and give it the name.

    Returns once on_start is done, and raises what it raised; the name then resolves until the
    actor ends. Raises InternalError if a living actor has the name. A cancelled start leaves no
    actor behind.
    """
    if names.whereis(name) is not None:
        raise InternalError(f"cannot start {name}: a living actor has that name")
    ref = make(*args, **kwargs).launch(name)
    try:
        await ref.life.started
        names.register(name, ref)
    except BaseException:
        ref.kill()
        await ref.join()
        raise
    return ActorHandle(ref)
