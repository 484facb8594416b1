"""A reference to one life of an actor: Pykka's, with the forms that do not block a loop.

A ref dies with its actor and is never renewed: hold a name (names.py) and not a ref.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import TYPE_CHECKING, Any, TypeVar

import pykka
from pykka import ActorDeadError
from pykka._envelope import Envelope
from pykka.messages import _ActorStop

from cortex_actors.errors import DeadlineExceeded
from cortex_actors.runtime import future

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.runtime.inbox import Inbox
    from cortex_actors.runtime.life import Life


A = TypeVar("A", bound=pykka.Actor)


class AsyncioRef(pykka.ActorRef[A]):
    """Where to send messages to an AsyncioActor, from its loop or from any thread."""

    actor_inbox: Inbox

    def __init__(self, actor: A, life: Life) -> None:
        """Point to an actor and its life."""
        super().__init__(actor)
        #: The state of the actor that outlives it.
        self.life = life

    def tell(self, message: object) -> None:
        """Send a message without waiting for anything; raises ActorDeadError and MailboxFull."""
        if self.actor_stopped.is_set():
            raise self._not_found()
        self.actor_inbox.put(Envelope(message))

    def ask(self, message: object, *, block: bool = True, timeout: float | None = None) -> Any:  # noqa: ANN401 - the reply, or a future of it
        """Send a message and return its reply, or with `block=False` a future of it.

        Raises BlockingInLoopError before anything is sent when it would block a loop's thread.
        """
        if block:
            future.refuse_to_block(f"{self}.ask(block=True)", "`await ref.ask_async(...)`")
            if timeout is not None and self.actor_inbox.full() and self.is_alive():
                return self._ask_for_room(message, timeout)
        reply: future.AsyncioFuture[Any] = future.AsyncioFuture()
        if self.actor_stopped.is_set():
            reply.fail(self._not_found(), future.Fate.UNHANDLED)
        else:
            reply.target = self.life
            self.actor_inbox.put(Envelope(message, reply))
        return reply.get(timeout=timeout) if block else reply

    async def ask_async(self, message: object, *, timeout: float | None = 5.0) -> Any:  # noqa: ANN401
        """Send a message, waiting for room in a full mailbox, and return its reply.

        Raises DeadlineExceeded after `timeout` seconds (the message may still be handled; its
        reply is then dropped), ActorDeadError if the actor ends first, CallCycleError if the
        actor waits for the asker, and whatever the handler raised.
        """
        return await self._ask_patiently(future.AsyncioFuture(), message, timeout)

    async def send(self, message: object, reply: future.AsyncioFuture[Any]) -> None:
        """Put a message for which `reply` waits, when there is room; never raises for a death."""
        if (me := future.find_waiter()) is not None:
            future.refuse_cycle(me, self.life)
        reply.target = self.life
        if self.actor_stopped.is_set():
            reply.fail(self._not_found(), future.Fate.UNHANDLED)
        elif self.actor_inbox.full():
            await self.actor_inbox.put_patiently(Envelope(message, reply))
        else:
            self.actor_inbox.put(Envelope(message, reply))

    async def tell_async(self, message: object) -> None:
        """Send a message without a reply, waiting for room; raises ActorDeadError."""
        gone = self.actor_stopped.is_set()
        if gone or not await self.actor_inbox.put_patiently(Envelope(message)):
            raise self._not_found()

    def stop(self, *, block: bool = True, timeout: float | None = None) -> Any:  # noqa: ANN401 - as `ask`
        """Ask the actor to end after the messages sent before; False if it was dead already.

        Raises BlockingInLoopError before anything is sent when it would block a loop's thread.
        """
        if block:
            future.refuse_to_block(f"{self}.stop(block=True)", "`await ref.stop(block=False)`")
        stopping: future.AsyncioFuture[Any] = self.ask(_ActorStop(), block=False)
        stopping.target = None

        answer: future.AsyncioFuture[bool] = future.AsyncioFuture()
        dead = future.Fate.UNHANDLED
        stopping.add_done_callback(lambda: answer.set(stopping.fate is not dead))
        return answer.get(timeout=timeout) if block else answer

    def shut_down(self, reason: object = "shutdown") -> None:
        """Ask the actor to end with a reason, after the messages sent before."""
        self.actor_inbox.put(Envelope(future.Shutdown(reason)))

    def kill(self) -> None:
        """End the actor now: its handler is cancelled, its mailbox refused, on_stop not run."""
        self.life.kill()

    def fail(self, error: Exception) -> None:
        """Crash the actor from outside, from any thread, as if a task it spawned had raised.

        A handler that waits is cut short and its asker told. Nothing happens to an actor that is
        ending for another reason: that one can only be killed.
        """
        self.life.fail(error)

    async def join(self) -> object:
        """Return the exit reason, once the actor and the tasks it owned have ended."""
        return await self.life.ended

    def on_end(self, callback: Callable[[], None]) -> None:
        """Call it when the actor has ended, on its loop; at once if it has."""
        self.life.ended.add_done_callback(callback)

    async def _ask_patiently(
        self, reply: future.AsyncioFuture[Any], message: object, timeout: float | None
    ) -> Any:  # noqa: ANN401
        try:
            async with asyncio.timeout(timeout) as deadline:
                await self.send(message, reply)
                return await reply
        except TimeoutError as error:
            if not deadline.expired():
                raise
            late = DeadlineExceeded(f"{self} did not answer within {timeout} s; it may yet act")
            reply.fail(late, future.Fate.EXPIRED)
            raise late from error

    def _ask_for_room(self, message: object, timeout: float) -> Any:  # noqa: ANN401
        """Ask from a thread, the wait for room in a full mailbox within the time allowed."""
        reply: future.AsyncioFuture[Any] = future.AsyncioFuture()
        asking = self._ask_patiently(reply, message, timeout)
        try:
            answer = asyncio.run_coroutine_threadsafe(asking, self.life.loop)
        except RuntimeError:  # the loop is closed
            asking.close()
            raise self._not_found() from None
        try:
            return answer.result()
        except concurrent.futures.CancelledError:  # the loop has ended
            raise self._not_found() from None
        except DeadlineExceeded as error:
            if reply.fate is not future.Fate.EXPIRED:  # it is the answer
                raise
            raise pykka.Timeout(str(error)) from error

    def _not_found(self) -> ActorDeadError:
        return ActorDeadError(f"{self} not found")
