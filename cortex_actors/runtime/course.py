"""The course of one actor's life: it starts, takes its messages, and ends, one way or another.

An object of its own and not part of the actor, so that an actor's own methods can have any name.
"""

from __future__ import annotations

import asyncio
from types import CoroutineType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pykka import ActorRegistry

from cortex_actors.errors import InternalError
from cortex_actors.runtime.future import AsyncioFuture, Fate
from cortex_actors.runtime.guards import TURN
from cortex_actors.runtime.life import AskErrors, Exit, logger
from cortex_actors.runtime.messages import CONTROL, Down, Shutdown, refuse

if TYPE_CHECKING:
    from collections.abc import Awaitable

    import pykka
    from pykka._envelope import Envelope
    from pykka.messages import _ActorStop

    from cortex_actors.runtime.actor import AsyncioActor
    from cortex_actors.runtime.life import Life

T = TypeVar("T")

#: Messages that are not simply given to on_receive: the runtime's own, and those of Pykka's
#: proxies, which are tuples.
_SPECIAL = (tuple, *CONTROL)

#: An answer that comes later.
_DEFERRED = asyncio.Future


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
        except Exit as wish:
            self._life.reason = wish.reason
            self._bury()
            started.fail(self._life.dead(f"exited in on_start: {wish.reason!r}"), Fate.DIED)
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
                if isinstance(answer, _DEFERRED):
                    self._reply_later(reply, answer)
                else:
                    reply.set(answer)
            except GeneratorExit:  # the loop was closed around us
                raise
            except BaseException as error:  # noqa: BLE001  # Pykka's policy decides about each
                await self._judge(envelope, error)

    def _handle(self, message: Any) -> Any:  # noqa: ANN401
        if not isinstance(message, CONTROL):
            return self._actor._handle_receive(message)  # noqa: SLF001  # Pykka's
        if not isinstance(message, Down):
            return self._end(message)
        if message.life is None or self._life.deaths.settle(message.life):
            return self._actor.on_down(message)
        return None  # unwatched meanwhile

    async def _attend(self, work: T | Awaitable[T]) -> T:
        """Wait for a handler that may be asynchronous, as one turn of the call-cycle guard."""
        if type(work) is not CoroutineType:
            return cast("T", work)
        life = self._life
        life.turn += 1
        life.stamp()
        TURN.set((life, life.turn))
        try:
            return cast("T", await work)
        except asyncio.CancelledError as error:
            if life.interrupted:
                raise
            message = f"{life.label} waited for something that was cancelled"
            raise InternalError(message) from error
        finally:
            life.turn += 1

    def _reply_later(self, reply: pykka.Future[Any], answer: asyncio.Future[Any]) -> None:
        if isinstance(reply, AsyncioFuture):
            self._life.owe(reply, answer)
        else:
            reply.set(answer)

    async def _judge(self, envelope: Envelope[Any], error: BaseException) -> None:
        """Decide what an exception from a handler means for the asker and for the actor."""
        life = self._life
        if isinstance(error, Exception) and not isinstance(error, Exit):
            await self._fail(envelope, error)
            return
        if isinstance(error, asyncio.CancelledError) and not life.interrupted:
            await self._fail(envelope, InternalError(f"{life.label} raised {error!r}"))
            return
        refuse(envelope, life.dead(f"ended while handling the message: {error!r}"), Fate.DIED)
        if isinstance(error, asyncio.CancelledError):
            raise error
        if isinstance(error, Exit):
            await self._end(Shutdown(error.reason))
            return
        logger.debug("%r in %s. Stopping all actors.", error, self._actor)
        await self._end(Shutdown(error))
        ActorRegistry.stop_all(block=False)  # Pykka blocks here, which would freeze the loop

    async def _fail(self, envelope: Envelope[Any], error: Exception) -> None:
        if envelope.reply_to is not None:
            logger.info("Exception returned from %s to caller:", self._actor, exc_info=error)
            envelope.reply_to.set_exception((type(error), error, error.__traceback__))
            if self._actor.ask_errors == AskErrors.REPLY:
                return
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
        if isinstance(life.crash, Exit):
            await self._end(Shutdown(life.crash.reason))
            return
        life.started.fail(life.crash, Fate.DIED)
        await self._crash(life.crash)

    async def _end(self, wish: _ActorStop | Shutdown) -> None:
        self._life.reason = wish.reason if isinstance(wish, Shutdown) else "normal"
        self._bury()
        logger.debug("Stopped %s", self._actor)
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
