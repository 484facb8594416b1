"""What the daemon does between its first and its last moment on the loop.

Order of birth: the tree, the control socket, then the announcement. Order of death: new work is
refused, the tree stops within 8 s, then the socket. A second signal does not wait for the tree;
what was acknowledged is in the ledger either way, because events and effects commit together.

From before the first moment to the last the loop's heart beats: it feeds systemd's watchdog. A loop
that does not beat for some seconds is blocked; then every stack is written to `logs/stderr.log`.

How late the loop is, and when it beat last.

A loop that is late froze for that long: something blocked it. The gauge is in `cortex status`.

What systemd hears: sd_notify(3), in a few lines and without a library. Nothing is said where
systemd did not start us. Its watchdog is fed from the loop's heartbeat and from nowhere else, so a
loop which does not turn starves it; systemd then aborts the process, which leaves every stack in
the journal (faulthandler), and starts it again. Nothing asks for a longer stop
(EXTEND_TIMEOUT_USEC): the daemon ends within 9.5 s by itself, and an extension would hide that it
does not.
"""

from __future__ import annotations

import asyncio
import faulthandler
import inspect
import os
import signal
import socket
from asyncio import FIRST_COMPLETED
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from cortex_actors import __version__, topics
from cortex_actors.domain.event import ActorLife
from cortex_actors.gateways.control import Control
from cortex_actors.gateways.mcp import McpHost
from cortex_actors.process import lock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, MutableMapping

    from cortex_actors.clock import Clock
    from cortex_actors.process.logs import LogStream
    from cortex_actors.tree import Tree


#: Seconds between two beats: at 0.25 they made every fourth wake-up of an idle loop.
BEAT = 0.5

#: Seconds in which a freeze can be seen by a person who looks.
MEMORY = 10.0

#: Seconds without a beat after which every stack is written.
FROZEN = 5.0

#: Milliseconds of lateness that are worth a line in the log.
LATE_MS = 250.0

#: Microseconds in a second: systemd's unit.
_SECOND = 1_000_000


class Systemd:
    """The socket that systemd listens on, and how often its watchdog wants to hear of us."""

    def __init__(self, address: str = "", interval: float | None = None) -> None:
        """Speak to an address; an empty one, or one of no Unix socket, hears nothing.

        Args:
            address: a path, or "@" and the name of an abstract socket.
            interval: seconds after which the watchdog gives us up; None without a watchdog.

        """
        # "@" is written for the first byte of an abstract address.
        abstract = address.startswith("@")
        self._address = f"\0{address[1:]}" if abstract else address if address[:1] == "/" else ""
        self._interval = interval
        self._due = 0.0

    @classmethod
    def from_environment(cls, environ: MutableMapping[str, str]) -> Systemd:
        """Return what the environment names, and take it out: no child may speak in our name."""
        address = environ.pop("NOTIFY_SOCKET", "")
        usec, pid = environ.pop("WATCHDOG_USEC", ""), environ.pop("WATCHDOG_PID", "")
        ours = pid in ("", str(os.getpid()))
        wanted = int(usec) if ours and usec.isdecimal() else 0
        return cls(address, wanted / _SECOND if wanted else None)

    @property
    def meal(self) -> float | None:
        """Seconds between two meals of the watchdog; None without one."""
        # Meals in one interval of the watchdog. Less than half of it may pass between two; with
        # four, one heartbeat's delay stays below that.
        return None if self._interval is None else self._interval / 4

    def report_ready(self, status: str) -> None:
        """Say that everything answers now."""
        self._send("READY=1", _status(status))

    def report_stopping(self, status: str) -> None:
        """Say that the end has begun."""
        self._send("STOPPING=1", _status(status))

    def report_status(self, text: str) -> None:
        """Say how it is, on one line; from any thread."""
        self._send(_status(text))

    def feed(self, now: float) -> None:
        """Tell the watchdog that the loop turns, if it has not been told for a while.

        Args:
            now: seconds on a clock that never goes back.

        """
        if self.meal is not None and now >= self._due:
            self._due = now + self.meal
            self._send("WATCHDOG=1")

    def _send(self, *lines: str) -> None:
        """Send one datagram; a manager that is gone or full does not matter."""
        if not self._address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.setblocking(False)  # noqa: FBT003 - takes no keywords
            sock.sendto("\n".join(lines).encode(), self._address)


def _status(text: str) -> str:
    """Return a status on one line: a second one would be another message."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    # Characters of a status line; `systemctl status` shows one line.
    return f"STATUS={' '.join(shown.split())[:300]}"


class Heartbeat:
    """Beats on the loop, and notes how late each beat is."""

    def __init__(self, clock: Clock, *, most: float | None = None) -> None:
        """Beat every 0.5 s, or as often as `most` seconds say where that is more often."""
        self._clock = clock
        self._every = BEAT if most is None else min(BEAT, most)
        self._late: deque[float] = deque([0.0], maxlen=round(MEMORY / BEAT))

    def measure_lag(self) -> float:
        """Return by how many milliseconds the latest beat of the last ten seconds was late."""
        return round(max(self._late), 3)

    async def beat(self) -> float:
        """Wait for one beat and return how late it was, in milliseconds."""
        begun = self._clock.monotonic()
        await self._clock.sleep(self._every)
        late = max(0.0, (self._clock.monotonic() - begun - self._every) * 1_000)
        self._late.append(late)
        return late


#: Seconds the tree has to stop; the socket and the log need little, and `cortex stop` kills at 10.
TREE_STOP = 8.0

#: What `systemctl status` shows while all is well.
RUNNING = "running"

T = TypeVar("T")


def list_verbs(desk: object) -> dict[str, Callable[..., Awaitable[object]]]:
    """Return what can be asked of a front desk: all its public methods, so no list falls behind."""
    found = inspect.getmembers(desk, inspect.iscoroutinefunction)
    return {name: method for name, method in found if not name.startswith("_")}


class Service:
    """One life of a tree: start, serve, drain; lives on the loop."""

    def __init__(
        self,
        owner: lock.Lock,
        tree: Tree,
        *,
        clock: Clock,
        logs: LogStream,
        last_resort: Callable[[], None],
        systemd: Systemd | None = None,
    ) -> None:
        self.reason = ""
        self._owner = owner
        self._tree = tree
        self._clock = clock
        self._systemd = systemd or Systemd()
        self._heartbeat = Heartbeat(clock, most=self._systemd.meal)
        self._logs = logs
        self._last_resort = last_resort
        # `publish_now` is the form of `publish` that does not wait.
        quick = {
            name.removesuffix("_now"): method
            for name, method in inspect.getmembers(tree.cortex, inspect.ismethod)
            if name.endswith("_now")
        }
        self._mcp = McpHost(tree.cortex, logs)
        self._control = Control(
            owner.home,
            verbs=list_verbs(tree.cortex),
            logs=logs,
            shutdown=self.ask_to_stop,
            quick=quick,
            mcp=self._mcp,
        )
        tree.cortex.loop_lag = self._heartbeat.measure_lag
        self._ending = False
        self._asked = asyncio.Event()
        self._hurried = asyncio.Event()

    def ask_to_stop(self, reason: str) -> None:
        """Stop soon; only the first reason counts."""
        if not self._asked.is_set():
            self.reason = reason
            self._asked.set()
            self._expect_end()

    def handle_signal(self, number: int) -> None:
        """Take a signal: the first asks to stop, the second does not wait."""
        if self._asked.is_set():
            self._hurried.set()
        self.ask_to_stop(f"signal {signal.Signals(number).name}")

    async def live(self, ready: Callable[[], None]) -> int:
        """Run until asked to stop or the tree ends; return the exit code.

        `ready` is called once everything answers. Raises what the tree raises when it starts.
        """
        beating = asyncio.create_task(self._beat(), name="heartbeat")
        self._systemd.report_status("starting")
        try:
            if await self._unless_asked(self._tree.start()):
                await self._serve(ready)
        finally:
            await self._drain()
            beating.cancel()
        if (fatal := self._tree.fatal) is not None:
            self.reason = str(fatal)
            return fatal.exit_code
        return 0 if self._asked.is_set() else 1

    async def _serve(self, ready: Callable[[], None]) -> None:
        """Open the socket, say that it is, and wait until the tree gives up or we are to stop."""
        await self._control.open()
        self._owner.say(lock.HomeState.RUNNING)
        self._say(topics.DAEMON_READY, "")
        self._logs.write("info", f"ready, pid {os.getpid()}", actor="daemon", version=__version__)
        self._systemd.report_ready(RUNNING)
        ready()
        preload = asyncio.create_task(self._mcp.preload(self._clock), name="mcp-preload")
        try:
            if ended := await self._unless_asked(self._tree.exited()):
                self.reason = str(self._tree.fatal or f"the tree gave up: {ended.result()}")
                self._logs.write("critical", self.reason, actor="daemon")
        finally:
            preload.cancel()

    async def _drain(self) -> None:
        """End in order: new work, tree, socket."""
        if not self._ending:
            self._expect_end()
        self._systemd.report_stopping(f"stopping: {self.reason}")
        self._control.drain()
        self._logs.write("info", "stopping", actor="daemon", reason=self.reason)
        self._say(topics.DAEMON_STOPPING, self.reason)
        stopping = asyncio.ensure_future(self._tree.stop(TREE_STOP))
        hurry = asyncio.ensure_future(self._hurried.wait())
        await asyncio.wait({stopping, hurry}, timeout=TREE_STOP, return_when=FIRST_COMPLETED)
        hurry.cancel()
        if not stopping.done():
            self._logs.write("error", "the tree did not stop in time", actor="daemon")
        elif error := stopping.exception():
            self._logs.write("error", f"the tree stopped badly: {error!r}", actor="daemon")
        await self._control.close()

    def _expect_end(self) -> None:
        """End the process after some seconds, whatever hangs in it then."""
        self._ending = True
        faulthandler.cancel_dump_traceback_later()
        self._last_resort()

    async def _unless_asked(self, work: Coroutine[None, None, T]) -> asyncio.Task[T] | None:
        """Return the work when it is done, or None when we are asked to stop before."""
        task = asyncio.create_task(work)
        asked = asyncio.create_task(self._asked.wait())
        await asyncio.wait({task, asked}, return_when=FIRST_COMPLETED)
        asked.cancel()
        if not self._asked.is_set():
            task.result()
            return task
        task.cancel()
        # Seconds a start that is called off has to clean up, before the tree is stopped anyway.
        await asyncio.wait({task}, timeout=1.0)
        return None

    def _say(self, topic: str, reason: str) -> None:
        """Announce our own state without waiting for a receiver: a stop must go on."""
        bus = self._tree.bus
        bus.announce(bus.make_event(topic, ActorLife("daemon", reason), source="daemon"))

    async def _beat(self) -> None:
        """Watch the loop, and tell systemd's watchdog that it turns.

        The stacks are written by a thread of the interpreter's own, which needs neither the loop
        nor Python's lock. One timer is all that a process has, so it belongs to the end once that
        has begun.
        """
        while True:
            if not self._ending:
                faulthandler.dump_traceback_later(FROZEN)
            late = await self._heartbeat.beat()
            self._systemd.feed(self._clock.monotonic())
            if late >= FROZEN * 1_000:
                text = f"the loop turns again; it stood still for {late / 1_000:.1f} s"
                self._logs.write("error", f"{text}: logs/stderr.log says where", actor="daemon")
            elif late >= LATE_MS:
                text = f"the loop was blocked for {late:.0f} ms"
                self._logs.write("warning", text, actor="daemon")
