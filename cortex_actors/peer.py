"""Who is at the other end of a Unix socket, as the kernel says.

Standard library only. Both sides ask: the daemon refuses other users, and a client refuses a socket
that somebody else put in a shared folder.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from dataclasses import dataclass

#: macOS: the level of a local socket's options (SOL_LOCAL of sys/un.h).
_SOL_LOCAL = 0

#: macOS: options that give the peer's credentials and its process id (sys/un.h).
_LOCAL_PEERCRED, _LOCAL_PEERPID = 1, 2

#: macOS: bytes of `struct xucred`; version and uid are its first two 32-bit words.
_XUCRED_BYTES = 76

#: Linux: pid, uid and gid, three 32-bit words (`struct ucred`).
_UCRED = struct.Struct("3i")


@dataclass(frozen=True, slots=True)
class Peer:
    """The process at the other end when the connection was made."""

    pid: int | None
    uid: int | None

    @property
    def ours(self) -> bool:
        """Whether it runs as the same user; a platform that cannot tell leaves it to mode 0600."""
        return self.uid is None or self.uid == os.getuid()


def peer(sock: socket.socket) -> Peer:
    """Return who is at the other end; unknown parts are None. Raises `OSError` on a dead socket."""
    if sys.platform == "darwin":
        raw = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)
        return Peer(sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID), struct.unpack_from("2I", raw)[1])
    if hasattr(socket, "SO_PEERCRED"):
        raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
        pid, uid, _ = _UCRED.unpack(raw)
        return Peer(pid, uid)
    return Peer(None, None)
