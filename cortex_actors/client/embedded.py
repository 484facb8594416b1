"""A tree in a program's process: the daemon's own, without its socket and its signals.

It holds the home's lock, so that no daemon and no other program opens the same ledger meanwhile.
Nothing is written into the lock: the process is not ours, and `cortex stop` must not find
it there. A crash of the program loses what a crash of the daemon loses: nothing that was answered.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

from cortex_actors import settings
from cortex_actors.clock import SystemClock
from cortex_actors.daemon import find_expected, require_own_supervision
from cortex_actors.errors import AlreadyRunning
from cortex_actors.gateways.control import Control
from cortex_actors.process import lock
from cortex_actors.process.logs import LogStream, StreamHandler
from cortex_actors.service import list_verbs

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.home import Home
    from cortex_actors.tree import Tree

#: Seconds the tree has to stop before what is left of it is killed, as in the daemon.
TREE_STOP = 8.0


class EmbeddedTree:
    """One life of a home's tree, on the loop that runs it."""

    def __init__(self, home: Home) -> None:
        """Remember whose tree it is; nothing runs yet."""
        self._home = home
        self._asked = asyncio.Event()
        self._owner: lock.Lock | None = None
        #: Why it ends, once it does.
        self.reason = ""

    def ask_to_end(self, reason: str) -> None:
        """End soon; only the first reason counts."""
        self.reason = self.reason or reason
        self._asked.set()

    def let_go(self) -> None:
        """Release the lock in a fork; the parent goes on holding it."""
        if self._owner is not None:
            self._owner.close()

    async def live(self, ready: Callable[[Control], None]) -> None:
        """Run the tree until it is asked to end or gives up, and close everything.

        `ready` is given what answers requests, once it does. Raises `AlreadyRunning` where another
        process has the home, and whatever hinders a daemon from starting.
        """
        require_own_supervision()
        self._home.create()
        clock = SystemClock()
        with ExitStack() as held:
            self._owner = owner = _locked(self._home)
            held.callback(owner.close)
            chosen = settings.load(self._home)
            logs = LogStream(self._home.logs / "cortex.ndjson", clock)
            held.callback(logs.close)
            held.callback(Feed(logs).close)
            from cortex_actors.tree import grow  # noqa: PLC0415 - slow; a taken home is refused first

            tree = grow(self._home, chosen, clock, logs)
            control = Control(
                self._home, verbs=list_verbs(tree.cortex), logs=logs, shutdown=self.ask_to_end
            )
            await self._run(tree, control, ready)

    async def _run(self, tree: Tree, control: Control, ready: Callable[[Control], None]) -> None:
        """Start the tree, wait for its end, stop what is left of it."""
        try:
            try:
                await tree.start()
            except Exception as error:
                raise (find_expected(error) or error) from error
            ready(control)
            await self._ended(tree)
        finally:
            control.drain()
            await tree.stop(TREE_STOP)

    async def _ended(self, tree: Tree) -> None:
        """Return when it is to end, or the tree has ended by itself."""
        asked = asyncio.create_task(self._asked.wait(), name="asked to end")
        ended = asyncio.create_task(tree.exited(), name="end of the tree")
        await asyncio.wait({asked, ended}, return_when=asyncio.FIRST_COMPLETED)
        if ended.done():
            self.ask_to_end(f"it gave up: {tree.fatal or ended.result()}")
        for task in (asked, ended):
            task.cancel()
        await asyncio.gather(asked, ended, return_exceptions=True)


def _locked(home: Home) -> lock.Lock:
    """Return the home's lock; raises `AlreadyRunning` saying who has it."""
    try:
        return lock.acquire(home)
    except AlreadyRunning as error:
        why = (
            'a daemon runs for it: leave out embedded=True to use that one, or end it with "cortex '
            'stop"'
            if lock.is_daemon(home)
            else "another program has it embedded, or a command such as a restore is at work in "
            f"it; wait for its end, or find it with: fuser {home.lock}"
        )
        raise AlreadyRunning(f"cannot embed the memory of {home.root}: {why}") from error


#: Loggers that are ours; what libraries log is the program's own affair.
NAMES = ("cortex", "cortex_actors", "pykka", "supervision")

_guard = threading.Lock()
_feeding: list[Feed] = []
_before: dict[str, tuple[int, bool]] = {}


class Feed:
    """Writes what our loggers say into the log of one tree."""

    def __init__(self, logs: LogStream) -> None:
        """Begin to write; with the first one our loggers say everything, to us alone."""
        self._handler = StreamHandler(logs)
        with _guard:
            for logger in map(logging.getLogger, NAMES):
                if not _feeding:
                    _before[logger.name] = (logger.level, logger.propagate)
                    logger.setLevel(logging.INFO)
                    logger.propagate = False
                logger.addHandler(self._handler)
            _feeding.append(self)

    def close(self) -> None:
        """Write no more; after the last one our loggers are as the program had them."""
        with _guard:
            _feeding.remove(self)
            for logger in map(logging.getLogger, NAMES):
                logger.removeHandler(self._handler)
                if not _feeding:
                    level, logger.propagate = _before[logger.name]
                    logger.setLevel(level)
