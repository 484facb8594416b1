"""Http: the one server, which other programs on this machine ask.

hears   -
says    -
asks    - (the verbs of the front desk, which ask whom they need)
keeps   what the door is at, and the server (lost on a crash, with the requests that it works on: a
        client sees the connection end)
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import socket
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from cortex_actors.process.tokens import Tokens
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.inbox import Overflow

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.api.desk import FrontDesk
    from cortex_actors.clock import Clock
    from cortex_actors.gateways.app import Serving
    from cortex_actors.home import Home
    from cortex_actors.process.logs import LogStream
    from cortex_actors.sections import HttpSettings


log = logging.getLogger("cortex.http")

#: Seconds after the branch has begun in which nothing is imported: the starter of the daemon
#: waits for its first word, which an import on another thread would hold up.
BREATH = 0.1

#: Seconds between two tries to open the door: a port is free again soon, or when a person sees why.
AGAIN = 5.0

#: Seconds that requests have to end when the door is closed.
GRACE = 1.0

#: Connections that may wait to be taken.
BACKLOG: Final = 64


@dataclass(frozen=True, slots=True)
class Door:
    """What the door is at.

    Attributes:
        state: `off`, `opening`, `open` or `shut`.
        address: where it is, once it is open.
        reason: why it is shut, and what to do about it.

    """

    state: str = "off"
    address: str = ""
    reason: str = ""


class Http(AsyncioActor):
    """Serves HTTP on a loopback address while `[http]` says so.

    A port that is taken, or a library that is missing, is a reason in `status` and is tried again;
    it is no crash, since everything else works without it.
    """

    #: Those who look how it is; what is asked over HTTP never passes here.
    mailbox_limit = 100
    overflow = Overflow.BACK_PRESSURE

    def __init__(
        self,
        home: Home,
        desk: Callable[[], FrontDesk],
        *,
        logs: LogStream,
        clock: Clock,
        settings: HttpSettings,
    ) -> None:
        """Remember what to serve; `desk` gives the verbs."""
        super().__init__()
        self._home = home
        self._desk = desk
        self._logs = logs
        self._clock = clock
        self._settings = settings
        self._door = Door()
        self._serving: Serving | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_told = False

    def on_start(self) -> None:
        """Begin to open the door, if there is to be one."""
        if self._settings.enabled:
            self._door = Door("opening")
            self._task = self.spawn(self._live(), name="http")

    async def on_stop(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Close the door: no new requests, and a moment for those that are answered now."""
        if self._task is None:
            return
        if self._serving is None:
            self._task.cancel()
        else:
            self._serving.close()
        _, late = await asyncio.wait({self._task}, timeout=GRACE + 1)
        for task in late:
            task.cancel()

    def describe(self) -> dict[str, Any]:
        """Return what the door is at."""
        return {name: value for name, value in asdict(self._door).items() if value}

    async def _live(self) -> None:
        """Open the door, again if need be, and serve until it is closed."""
        await self._clock.sleep(BREATH)
        while True:
            try:
                await self._serve()
            except (OSError, ImportError) as error:
                self._shut(self._why(error))
            except Exception as error:
                # Whatever it is: the daemon without its door is better than no daemon.
                # Where a fault came from is logged once; `_shut` says each new reason.
                if not self._is_told:
                    log.exception("the http door could not be opened")
                self._is_told = True
                self._shut(f"{type(error).__name__}: {error}; see cortex daemon logs --actor http")
            else:
                return
            await self._clock.sleep(AGAIN)

    async def _serve(self) -> None:
        """Listen and answer; raises what keeps the door from being opened."""
        tokens = Tokens(self._home.tokens)
        # Before anything else: a port that is taken is reported at once, and costs no import.
        sock = _listening(self._settings.host, self._settings.port)
        try:
            await asyncio.to_thread(tokens.ensure_owner)
            # The libraries it is made of are imported on a thread.
            app = await asyncio.to_thread(importlib.import_module, "cortex_actors.gateways.app")
            serving: Serving = app.make_serving(
                self._desk(),
                sock.getsockname(),
                tokens=tokens,
                logs=self._logs,
                clock=self._clock,
                settings=self._settings,
            )
            self._serving = serving
        except BaseException:
            sock.close()
            raise
        self._door, self._is_told = Door("open", serving.address), False
        self._logs.write("info", f"answers on {serving.address}", actor="http")
        try:
            await serving.run(sock)
        finally:
            self._serving, self._door = None, Door("opening")

    def _why(self, error: OSError | ImportError) -> str:
        """Return why the door is shut, and what to do about it."""
        if isinstance(error, ImportError):
            return f"a library is missing ({error}); install cortex-actors again"
        where = f"{self._settings.host}:{self._settings.port}"
        return (
            f"cannot listen on {where}: {error.strerror or error}; end what listens there, or "
            f"choose another port ([http] port in {self._home.settings}); tried again every "
            f"{AGAIN:g} s"
        )

    def _shut(self, reason: str) -> None:
        """Take down why the door is shut; said once, however often it is tried."""
        if self._door.reason != reason:
            self._logs.write("error", reason, actor="http")
        self._door = Door("shut", reason=reason)


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; raises `OSError`.

    `SO_REUSEADDR` lets it be opened again at once after a stop. (On Linux and macOS two that listen
    on one port still exclude each other.)
    """
    name = "127.0.0.1" if host == "localhost" else host
    sock = socket.socket(socket.AF_INET6 if ":" in name else socket.AF_INET)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((name, port))
        sock.listen(BACKLOG)
        sock.settimeout(0)
    except BaseException:
        sock.close()
        raise
    return sock
