"""A thread with a loop of its own, on which a home's tree lives while a program uses it.

The program's own loop, if it has one, is not used: a program that keeps it busy would keep the
actors waiting, and a tree that ended with `asyncio.run` would be found half stopped. Signals, which
go to the main thread, are left alone.

Our loggers, while a tree lives in a program's process: into its log file, and nowhere else.

The program's own logging is left as it is: our records are not printed, and its handlers do not
hear them. When the last tree has ended, our loggers are again as they were.

What answers: the daemon of a home, or a tree of the program's own.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Literal
from weakref import WeakSet

from cortex_actors.clock import SystemClock
from cortex_actors.errors import AlreadyRunning, BadInput, CortexError, DaemonDown, InternalError

if TYPE_CHECKING:
    from cortex_actors.client.connection import Client
    from cortex_actors.client.embedded import EmbeddedTree
    from cortex_actors.gateways.control import Control
    from cortex_actors.home import Home


#: Seconds in which a thread that was asked to end has ended: the tree's own limit and some more.
END = 12.0


class Host:
    """Runs one embedded tree; every method may be called from any thread."""

    def __init__(self, home: Home) -> None:
        """Remember whose tree it is; `start` starts it."""
        self.home = home
        self._guard = threading.Lock()
        self._pid = os.getpid()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop
        self._control: Control
        self.embedded: EmbeddedTree | None = None
        self._ready: Future[None] = Future()
        #: Why it was asked to end; empty until then.
        self._asked = ""

    def start(self) -> None:
        """Start the tree, and return when it answers. Raises what `EmbeddedTree.live` raises."""
        with self._guard:
            self._refuse_fork()
            if self._thread is None:
                _HOSTS.add(self)
                # A daemon thread: where the program does not close it, the interpreter's end does.
                self._thread = threading.Thread(target=self._main, name="cortex", daemon=True)
                self._thread.start()
        try:
            self._ready.result()
        except BaseException:
            self.close()
            raise

    def submit(self, line: bytes) -> Future[bytes]:
        """Hand a request in, and return where its answer will be. Raises `DaemonDown`."""
        self._refuse_fork()
        if self._thread is None or not self._thread.is_alive() or self._loop.is_closed():
            raise DaemonDown(self._gone())
        answer = self._control.answer(line)
        try:
            return asyncio.run_coroutine_threadsafe(answer, self._loop)
        except RuntimeError as error:
            # It ended between the two looks.
            answer.close()
            raise DaemonDown(self._gone()) from error

    def close(self) -> None:
        """Stop the tree and wait for the end of its thread; a second time does nothing.

        Requests that wait are answered with `DaemonStopping`. In a fork it does nothing: the tree
        is the parent's. Raises `InternalError` when the thread does not end.
        """
        thread = self._thread
        if os.getpid() != self._pid or thread is None or thread is threading.current_thread():
            return
        self._asked = "the program closed it"
        if self.embedded is not None:
            with contextlib.suppress(RuntimeError):  # its loop has ended
                self._loop.call_soon_threadsafe(self.embedded.ask_to_end, self._asked)
        thread.join(END)
        if thread.is_alive():
            raise InternalError(
                f"the embedded memory of {self.home.root} did not end within {END:g} s; its log in "
                f"{self.home.logs} may say what it was doing"
            )
        _HOSTS.discard(self)

    def _main(self) -> None:
        """Run the tree from its first moment to its last (on its thread)."""
        try:
            asyncio.run(self._live())
        except BaseException as error:  # noqa: BLE001 - raised where a caller waits or asks next
            self._asked = self._asked or f"it failed: {error!r}"
            if not self._ready.done():
                self._ready.set_exception(_told(error))

    async def _live(self) -> None:
        """Live on this loop."""
        from cortex_actors.client.embedded import EmbeddedTree  # noqa: PLC0415 - loads all there is

        self._loop = asyncio.get_running_loop()
        self.embedded = embedded = EmbeddedTree(self.home)
        if self._asked:
            embedded.ask_to_end(self._asked)
        await embedded.live(self._on_ready)

    def _on_ready(self, control: Control) -> None:
        """Let the caller that started it go on."""
        self._control = control
        self._ready.set_result(None)

    def _gone(self) -> str:
        """Return why nothing can be asked any more."""
        ended = self.embedded.reason if self.embedded else ""
        why = self._asked or ended or "it was not started"
        return f"the embedded memory of {self.home.root} has ended: {why}; make a new one"

    def _refuse_fork(self) -> None:
        """Raise `DaemonDown` in a fork, which has none of the tree's threads."""
        if os.getpid() != self._pid:
            raise DaemonDown(
                f"the embedded memory of {self.home.root} lives in the process {self._pid}, of "
                f"which this is a fork; run a daemon (cortex start) and let both use it"
            )


def _told(error: BaseException) -> BaseException:
    """Return an error as the caller that starts a tree gets it."""
    if isinstance(error, CortexError):
        return error
    told = InternalError(f"the embedded memory did not start: {error!r}")
    told.__cause__ = error
    return told


#: Trees that live in this process: they end with the interpreter.
_HOSTS: WeakSet[Host] = WeakSet()


def _let_go() -> None:
    """Let a fork hold no lock, which it would otherwise hold as long as it lives."""
    for host in list(_HOSTS):
        if host.embedded is not None:
            host.embedded.let_go()


def _close_all() -> None:
    """End every tree that was not closed; in a fork there is none."""
    for host in list(_HOSTS):
        host.close()


#: Whose module takes the interpreter's executors apart at its end: what is registered after it is
#: called before it, and a tree needs executors for its end.
_EXECUTORS = ThreadPoolExecutor

# There is no public word for that. Where this one is missing, a tree that was not closed ends as by
# a crash.
getattr(threading, "_register_atexit", atexit.register)(_close_all)
os.register_at_fork(after_in_child=_let_go)


#: What a program says that wants the daemon where one answers, and else a tree of its own.
AUTO = "auto"

#: Seconds for which a home is tried that another process has: a daemon that starts.
PATIENCE = 60.0

#: Seconds between two tries.
PAUSE = 0.05

#: What may be said about embedding.
Embed = bool | Literal["auto"]


class DaemonWay:
    """Knows whether the daemon answers or a tree of ours; may be used by several threads."""

    def __init__(self, client: Client, embedded: Embed) -> None:
        """Decide nothing yet, unless it is the daemon. Raises `BadInput`."""
        if embedded not in {True, False, AUTO}:
            raise BadInput(f'cannot embed {embedded!r}: embedded is True, False or "{AUTO}"')
        self._client = client
        #: The home that is asked.
        self.home = client.home
        self._embedded = embedded
        self._guard = threading.Lock()
        self._host: Host | None = None
        #: Whether it is known by now; asking then does not wait.
        self.is_known = embedded is False

    def find_host(self) -> Host | None:
        """Return our own tree, started, or None for the daemon. Blocks until it is known.

        Raises `AlreadyRunning` where another process has the home, and what hinders a start.
        """
        with self._guard:
            if not self.is_known:
                self._host = self._found()
                self.is_known = True
            return self._host

    def close(self) -> None:
        """End the tree, if it is ours; blocks. A later call gets the error that it ended."""
        with self._guard:
            if self._host is not None:
                self._host.close()

    def _found(self) -> Host | None:
        """Return a tree of ours; where either will do, None if a daemon answers, or soon does."""
        clock, pause = SystemClock(), threading.Event()
        begun = clock.monotonic()
        while True:
            if self._embedded == AUTO:
                with contextlib.suppress(DaemonDown):
                    self._client.find_pid()
                    return None
            host = Host(self.home)
            try:
                host.start()
            except AlreadyRunning:
                if self._embedded != AUTO or clock.monotonic() - begun > PATIENCE:
                    raise
                pause.wait(PAUSE)
            else:
                return host
