"""Says where a loop is stuck while it is: a thread that looks at its heart.

A handler that waits wrongly can be cancelled (runtime/watchdog.py); one that computes or blocks on
the loop's own thread cannot, because nothing else runs there. All that can be done from inside is
to say what it is doing, which is what is missing afterwards. Where systemd started us it ends the
process, since the loop feeds its watchdog no longer.

Not seen: a freeze inside C code that holds Python's global lock, for then this thread stands still
too; systemd's watchdog sees that as well, and the abort it sends shows the stacks.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

    from cortex_actors.clock import Clock

#: Seconds without a beat after which the loop is called frozen, and between two looks.
FROZEN, LOOK = 5.0, 0.5

#: Seconds the thread has to end.
_JOIN = 2.0

#: Told what the loop does (a task's name), for how many seconds, and its stack.
Tell = Callable[[str, float, str], None]


class FreezeWatch:
    """A thread that tells, once for each freeze, what the loop of the thread it was made on does.

    A crash of `tell` ends nothing. The thread is a daemon: a freeze must not outlive the process.
    """

    def __init__(
        self,
        clock: Clock,
        last_beat: Callable[[], float],
        *,
        tell: Tell,
        frozen: float = FROZEN,
        look: float = LOOK,
    ) -> None:
        """Watch the running loop.

        Args:
            clock: gives the time.
            last_beat: gives when the loop last beat, in seconds of the clock's `monotonic`.
            tell: is called in the thread, and must neither block nor need the loop.
            frozen: seconds without a beat that are a freeze.
            look: seconds between two looks.

        """
        self._clock = clock
        self._last_beat = last_beat
        self._tell = tell
        self._frozen = frozen
        self._look = look
        self._loop = asyncio.get_running_loop()
        self._ident = threading.get_ident()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cortex-freeze", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        self._thread.join(_JOIN)

    def _run(self) -> None:
        """Look until closed; a beat that was told of is not told of again.

        A look that is late itself says nothing of the loop: the whole process stood still.
        """
        told, looked = None, self._clock.monotonic()
        while not self._ended.wait(self._look):
            last, now = self._last_beat(), self._clock.monotonic()
            late, looked = now - looked >= self._frozen, now
            if now - last >= self._frozen and last != told and not late:
                told = last
                self._report(now - last)

    def _report(self, silent: float) -> None:
        """Tell what the loop does now."""
        frame = sys._current_frames().get(self._ident)  # noqa: SLF001 - documented, there is no other
        try:
            self._tell(_at_work(self._loop), silent, _stack(frame))
        except Exception:  # noqa: BLE001 - the next freeze must be seen as well
            traceback.print_exc()


def _at_work(loop: asyncio.AbstractEventLoop) -> str:
    """Return the name of the task that runs now: an actor's, or what one of its tasks does."""
    task = asyncio.current_task(loop)
    return "a callback of the loop" if task is None else task.get_name()


def _stack(frame: FrameType | None) -> str:
    """Return a thread's stack, outermost first; the loop's own machinery above it included."""
    return "".join(traceback.format_stack(frame)) if frame is not None else ""
