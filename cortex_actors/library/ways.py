"""The way to whoever answers: the daemon of a home, or a tree of the program's own."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Literal

from cortex_actors.clock import SystemClock
from cortex_actors.errors import AlreadyRunning, BadInput, DaemonDown
from cortex_actors.library.host import Host

if TYPE_CHECKING:
    from cortex_actors.client import Client

#: What a program says that wants the daemon where one answers, and else a tree of its own.
AUTO = "auto"

#: Seconds for which a home is tried that somebody has who does not answer: a daemon that starts.
PATIENCE = 60.0

#: Seconds between two tries.
PAUSE = 0.05

#: What may be said about embedding.
Embed = bool | Literal["auto"]


class Way:
    """Knows whether the daemon answers or a tree of ours; may be used by several threads."""

    def __init__(self, client: Client, embedded: Embed) -> None:
        """Decide nothing yet, unless it is the daemon. Raises `BadInput`."""
        if embedded not in {True, False, AUTO}:
            raise BadInput(f'cannot embed {embedded!r}: embedded is True, False or "{AUTO}"')
        self._client = client
        self._embedded = embedded
        self._guard = threading.Lock()
        self._host: Host | None = None
        #: Whether it is known by now; asking then waits for nobody.
        self.is_known = embedded is False

    def host(self) -> Host | None:
        """Return our own tree, started, or None for the daemon. Blocks until it is known.

        Raises `AlreadyRunning` where somebody else has the home, and what hinders a start.
        """
        with self._guard:
            if not self.is_known:
                self._host = self._found() if self._embedded == AUTO else _started(self._client)
                self.is_known = True
            return self._host

    def close(self) -> None:
        """End the tree, if it is ours; blocks. Whoever asks afterwards is told that it ended."""
        with self._guard:
            if self._host is not None:
                self._host.close()

    def _found(self) -> Host | None:
        """Return a tree of ours, unless a daemon answers, if need be after it has started."""
        clock, pause = SystemClock(), threading.Event()
        begun = clock.monotonic()
        while not _answers(self._client):
            try:
                return _started(self._client)
            except AlreadyRunning:
                if clock.monotonic() - begun > PATIENCE:
                    raise
            pause.wait(PAUSE)
        return None


def _started(client: Client) -> Host:
    """Return a tree of the client's home."""
    host = Host(client.home)
    host.start()
    return host


def _answers(client: Client) -> bool:
    """Say whether a daemon listens."""
    try:
        client.pid()
    except DaemonDown:
        return False
    return True
