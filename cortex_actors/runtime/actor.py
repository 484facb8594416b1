"""A Pykka actor that is one asyncio task: the mailbox is on the loop, handlers may be async.

Pykka's API stays: refs, proxies, the registry, stop. Calls that would block the loop raise
BlockingInLoopError and name the form to use. A handler runs to its end before the next message is
taken, unless it returns an asyncio.Future or Task for an ask: that is a deferred reply, the asker
gets its result and the mailbox goes on meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, TypeVar

import pykka
from pykka import ActorRegistry

from cortex_actors.errors import DeathPact, InternalError
from cortex_actors.runtime.course import Course
from cortex_actors.runtime.future import AsyncioFuture
from cortex_actors.runtime.guards import loop_here
from cortex_actors.runtime.inbox import Inbox
from cortex_actors.runtime.life import AskErrors, Life, logger
from cortex_actors.runtime.overflow import Overflow
from cortex_actors.runtime.ref import AsyncioRef

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Coroutine
    from types import TracebackType

    from cortex_actors.runtime.messages import Down

T = TypeVar("T")


class AsyncioActor(pykka.Actor):
    """One task that takes its messages one after another.

    Exit reasons: "normal" after stop(), the reason of a shutdown message or of a raised Exit,
    "killed" after kill(), else the exception that a tell's handler, on_start or a spawned task
    raised. A crash loses the message in hand and those that wait; their askers get
    ActorDeadError, nobody waits for ever.
    """

    #: Messages that may wait, 0 for no limit; asks by name wait for room, which slows a flood.
    mailbox_limit: ClassVar[int] = 1_000
    #: What a full mailbox does.
    overflow: ClassVar[Overflow] = Overflow.BACK_PRESSURE
    #: Seconds that one message may take, 0 for ever; the watchdog crashes who needs longer.
    message_limit: ClassVar[float] = 120.0
    #: What a failed ask does to the actor.
    ask_errors: ClassVar[AskErrors] = AskErrors.REPLY
    #: Messages handled before the loop gets a turn, so that a busy actor starves nobody.
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
        loop = loop_here() or self.home_loop
        if loop is None:
            raise InternalError(f"{type(self).__name__} needs a running loop, or a home_loop")
        super().__init__()
        self.actor_name = type(self).__name__
        self.actor_inbox = Inbox(self.mailbox_limit, self.overflow)
        self.actor_inbox.bind(loop, str(self))
        self._life = Life(loop, str(self), inbox=self.actor_inbox, limit=self.message_limit)
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

    def watch(self, ref: AsyncioRef[Any]) -> None:
        """Be told when another actor ends: `on_down` is called, once, after what waits already.

        At once, with the reason "noproc", if it has ended. A watch ends with either actor.
        """
        self._life.deaths.watch(ref.life)

    def unwatch(self, ref: AsyncioRef[Any]) -> None:
        """Be told no more of an actor's end, even if word of it waits in the mailbox."""
        self._life.deaths.unwatch(ref.life)

    def crash(self) -> NoReturn:
        """Crash, because somebody wants to see it come back; told, not asked (names.notice)."""
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

    def on_down(self, down: Down) -> Awaitable[None] | None:
        """Go on without an actor that was watched; who does not say how crashes (DeathPact)."""
        raise DeathPact(
            f"{self.actor_name} watched {down.name}, which ended with {down.reason!r}; define "
            "on_down to live on"
        )

    @staticmethod
    def _create_actor_inbox() -> Inbox:
        return Inbox()  # Pykka asks before the instance has its limits; __init__ replaces it

    @staticmethod
    def _create_future() -> AsyncioFuture[Any]:
        return AsyncioFuture()

    def _start_actor_loop(self) -> None:
        self._life.begin(self._course.run, self._course.close)


#: Names that make an actor run: Pykka's, this class's, and what its instances keep.
_PRIVATE = {
    name
    for name in (*vars(pykka.Actor), *vars(AsyncioActor), "_actor_ref", "_course", "_life")
    if name[0] == "_" and name[1] != "_"
} - {"_abc_impl"}
