"""The signals that ask a daemon to stop, from its first moment to its last.

Whenever one comes, the daemon ends as it would have: none is lost because there was nothing to stop
yet, and none kills a daemon that is done and has only its last words left to write. Standard
library only, because the handlers are set before anything else is loaded.
"""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from types import FrameType

#: Signals that ask us to stop.
ASKING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Stoppable(Protocol):
    """What is told of them while the loop runs."""

    def signalled(self, number: int) -> None:
        """Take a signal."""


class Signals:
    """Remembers a signal that comes before there is anything to stop, and counts all of them."""

    def __init__(self) -> None:
        """Take the signals, except SIGINT and SIGHUP where whoever started us ignores them (nohup).

        SIGTERM is taken all the same: a daemon that ignores it can only be killed.
        """
        self.count = 0
        self._early = 0
        self._service: Stoppable | None = None
        self._code: int | None = None
        self._taken = [
            n for n in ASKING if n == signal.SIGTERM or signal.getsignal(n) is not signal.SIG_IGN
        ]
        for number in self._taken:
            signal.signal(number, self._note)

    def hand_to(self, service: Stoppable) -> None:
        """Let the service hear them from now on, and the one that came early."""
        self._service = service
        loop = asyncio.get_running_loop()
        for number in self._taken:
            loop.add_signal_handler(number, self._pass_on, number)
        if self._early:
            service.signalled(self._early)

    def take_back(self) -> None:
        """Only count them from now on: a loop that ends leaves them to kill the process."""
        loop = asyncio.get_running_loop()
        signal.pthread_sigmask(signal.SIG_BLOCK, self._taken)
        for number in self._taken:
            loop.remove_signal_handler(number)
            signal.signal(number, self._late)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self._taken)

    def leave(self, code: int) -> None:
        """End the process with this code at the second signal, or now when there were two."""
        self._code = code
        if self.count > 1:
            os._exit(code)

    def _note(self, number: int, _: FrameType | None) -> None:
        """Keep the first; a second ends the process, which has nothing to lose yet."""
        self.count += 1
        self._early = number
        signal.signal(number, signal.SIG_DFL)

    def _pass_on(self, number: int) -> None:
        """Tell the service."""
        self.count += 1
        if self._service:
            self._service.signalled(number)

    def _late(self, _number: int, _frame: FrameType | None) -> None:
        """Count it; where all is written, end if it is the second."""
        self.count += 1
        if self._code is not None and self.count > 1:
            os._exit(self._code)
