"""The daemon's process, from its lock to its last line in the log.

It takes the lock, reads the settings, opens the log, runs the `Service`, closes the log, and last
writes into the lock how it ended. 9.5 s after it was asked to stop it ends whatever hangs, with
every stack in `logs/stderr.log`. SIGUSR1 writes all stacks there at any time.

`kill -9` at any point loses log lines still queued and unacknowledged work, which the next
start does again; the lock's state stays "running", from which `cortex status` tells a crash.

The signals that ask a daemon to stop, from its first moment to its last.

Whenever one comes, the daemon ends as it would have: none is lost because there was nothing to stop
yet, and none kills a daemon that is done and has only its last words left to write. Standard
library only, because the handlers are set before anything else is loaded.
"""

from __future__ import annotations

import argparse
import asyncio
import atexit
import contextlib
import faulthandler
import gc
import logging
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from cortex_actors import __version__
from cortex_actors.clock import Clock, SystemClock
from cortex_actors.errors import ConfigurationError, CortexError, InternalError
from cortex_actors.home import Home
from cortex_actors.process import lock
from cortex_actors.process.logs import LogStream, StreamHandler

if TYPE_CHECKING:
    from types import FrameType

    from cortex_actors.service import Service
    from cortex_actors.settings import Settings


#: Signals that ask us to stop.
ASKING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Signals:
    """Remembers a signal that comes before there is anything to stop, and counts all of them."""

    def __init__(self) -> None:
        """Take the signals, except SIGINT and SIGHUP where our parent ignores them (nohup).

        SIGTERM is taken all the same: a daemon that ignores it can only be killed.
        """
        self.count = 0
        self._early = 0
        self._service: Service | None = None
        self._code: int | None = None
        self._taken = [
            n for n in ASKING if n == signal.SIGTERM or signal.getsignal(n) is not signal.SIG_IGN
        ]
        for number in self._taken:
            signal.signal(number, self._note)

    def hand_to(self, service: Service) -> None:
        """Let the service hear them from now on, and the one that came early."""
        self._service = service
        loop = asyncio.get_running_loop()
        for number in self._taken:
            loop.add_signal_handler(number, self._pass_on, number)
        if self._early:
            service.handle_signal(self._early)

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
            self._service.handle_signal(number)

    def _late(self, _number: int, _frame: FrameType | None) -> None:
        """Count it; where all is written, end if it is the second."""
        self.count += 1
        if self._code is not None and self.count > 1:
            os._exit(self._code)


#: Seconds a stop may take as a whole; `cortex stop` kills after 10.
WHOLE_STOP = 9.5

#: Seconds that threads which still work have to end after that.
LINGER = 2

#: What is written to the pipe of the process that started us.
READY = b"READY\n"

#: Threads of one product of matrices, read when numpy is imported. More than one wait for each
#: other by spinning: beside other work a search of 10,000 rows took 31 ms instead of 1.5.
BLAS = ("OPENBLAS_NUM_THREADS", "1")

#: Loggers whose lines of level INFO are wanted; of all others only warnings.
_OURS = ("cortex", "cortex_actors", "pykka", "supervision")

#: Makes the tree; it does not start it.
Grow = Callable[[Home, "Settings", Clock, LogStream], Any]


def main(argv: Sequence[str] | None = None, *, grow: Grow | None = None) -> int:
    """Run the daemon of one home and return its exit code (docs/cli.md)."""
    parser = argparse.ArgumentParser("python -m cortex_actors.daemon", description=__doc__)
    parser.add_argument("--home", help="its folder (default: CORTEX_HOME, else the XDG folder)")
    parser.add_argument("--ready-fd", type=int, help="a pipe to which READY is written")
    parser.add_argument("--lock-fd", type=int, help="the lock, already taken by the parent")
    parser.add_argument("--foreground", action="store_true", help="show the log on stdout")
    options = parser.parse_args(argv)
    os.environ.setdefault(*BLAS)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    os.umask(0o077)
    signals = Signals()
    home = Home.find(options.home)
    try:
        home.create()
        fd: int | None = options.lock_fd
        owner = lock.acquire(home) if fd is None else lock.from_fd(home, fd)
        code = _owned(owner, options, grow=grow, signals=signals)
    except CortexError as error:
        code = _explain(str(error), error.exit_code)
    except Exception as error:  # noqa: BLE001 - the last place where a fault can be explained
        traceback.print_exc()
        code = _explain(f"the daemon failed inside: {error!r}", InternalError.exit_code)
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    # Asked twice: threads that still work are not waited for.
    signals.leave(code)
    _leave(code)
    return code


def _leave(code: int) -> None:
    """End as soon as no thread works any more, and after some seconds whatever they do.

    All is written: nothing is gained by taking the interpreter apart, which takes long on a busy
    machine and can hang. Threads that are waited for in vain are shown with every stack.
    """

    def end(_number: int, _frame: object) -> None:
        faulthandler.dump_traceback()
        os._exit(code)

    faulthandler.cancel_dump_traceback_later()
    signal.signal(signal.SIGALRM, end)
    signal.alarm(LINGER)
    # Called when the threads have ended.
    atexit.register(os._exit, code)


def _owned(
    owner: lock.Lock, options: argparse.Namespace, *, grow: Grow | None, signals: Signals
) -> int:
    """Live with the lock held, and leave in it how the life ended."""
    owner.take_over(started_at=SystemClock().now(), version=__version__)
    ending, reason = lock.HomeState.CRASHED, "a fault of the program"
    try:
        code, reason = _lived(owner, options, grow=grow, signals=signals)
        if code == 0:
            ending = lock.HomeState.STOPPED
        else:
            _explain(reason, code)
    except CortexError as error:
        # Refused counts as stopped: there is no crash to look into.
        ending = lock.HomeState.CRASHED if error.ends_daemon else lock.HomeState.STOPPED
        reason = str(error)
        raise
    finally:
        owner.say(ending, reason)
    return code


def _lived(
    owner: lock.Lock, options: argparse.Namespace, *, grow: Grow | None, signals: Signals
) -> tuple[int, str]:
    """Open the log, run the loop, close the log; return the exit code and the reason."""
    require_own_supervision()
    from cortex_actors import settings  # noqa: PLC0415 - loads pydantic; a taken lock is reported first

    home, clock = owner.home, SystemClock()
    chosen = settings.load(home)
    echo = sys.stdout if options.foreground else None
    logs = LogStream(home.logs / "cortex.ndjson", clock, echo=echo)
    handler = _feed(logs)

    async def life() -> tuple[int, str]:
        from cortex_actors.service import Service, Systemd  # noqa: PLC0415 - as above

        tree = (grow or _real())(home, chosen, clock, logs)
        # The last resort: says where everything hangs, and ends the process.
        last = partial(faulthandler.dump_traceback_later, WHOLE_STOP, exit=True)
        systemd = Systemd.from_environment(os.environ)
        service = Service(owner, tree, clock=clock, logs=logs, last_resort=last, systemd=systemd)
        signals.hand_to(service)
        try:
            return await service.live(partial(_ready, options.ready_fd)), service.reason
        finally:
            signals.take_back()

    try:
        return asyncio.run(life())
    except Exception as error:
        logs.write(
            "critical", f"ended by {error!r}", actor="daemon", traceback=traceback.format_exc()
        )
        if cause := find_expected(error):
            raise cause from error
        raise
    finally:
        logging.getLogger().removeHandler(handler)
        logs.close()


def _real() -> Grow:
    """Return what makes the real tree: importing it is most of the time that a start takes."""
    from cortex_actors.tree import grow  # noqa: PLC0415 - see above

    return grow


def require_own_supervision() -> None:
    """Raise `ConfigurationError` when another package hides our module `supervision`."""
    spec = find_spec("supervision")
    if spec and not spec.submodule_search_locations:
        import supervision  # noqa: PLC0415 - only once it is known not to be the other package

        if getattr(supervision, "MARKER", "") == "cortex-actors":
            return
    where = spec.origin if spec else "nowhere"
    raise ConfigurationError(
        f"the module supervision found at {where} is not the one of cortex-actors: PyPI has an "
        "unrelated package of that name; remove it (pip uninstall supervision) and install "
        "cortex-actors again, or give each its own environment"
    )


def _feed(logs: LogStream) -> logging.Handler:
    """Let the standard library's logging and warnings end in our stream."""
    handler = StreamHandler(logs)
    logging.getLogger().addHandler(handler)
    for name in _OURS:
        logging.getLogger(name).setLevel(logging.INFO)
    logging.captureWarnings(capture=True)
    return handler


def _ready(fd: int | None) -> None:
    """Tell the process that started us; one that is gone does not matter."""
    # What was loaded stays: to walk through it again held the loop up for 76 ms each time.
    gc.collect()
    gc.freeze()
    if fd is not None:
        with contextlib.suppress(OSError):
            os.write(fd, READY)
            os.close(fd)


def find_expected(error: BaseException) -> CortexError | None:
    """Return the expected failure inside a chain of causes and reasons, if there is one."""
    seen: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        found = waiting.pop()
        if isinstance(found, CortexError):
            return found
        if id(found) in seen:
            continue
        seen.add(id(found))
        if isinstance(found, tuple):
            waiting.extend(found)
        if isinstance(found, BaseException):
            waiting += [found.__cause__, getattr(found, "reason", None)]
    return None


def _explain(reason: str, code: int) -> int:
    """Say on one line why we end, for the process that started us; return the exit code."""
    print(f"cortex: {' '.join(reason.split())}", file=sys.stderr)  # noqa: T201
    return code


if __name__ == "__main__":
    raise SystemExit(main())
