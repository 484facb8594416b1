"""The file of the control socket: made so that only we can connect, removed only if it is ours."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from typing import TYPE_CHECKING

from cortex_actors.errors import ConfigurationError

if TYPE_CHECKING:
    from cortex_actors.home import Home


def listen(home: Home) -> socket.socket:
    """Return the socket, bound so that at no moment anyone else could connect.

    Raises `ConfigurationError` for something else in its place, and `OSError`.
    """
    folder = home.socket.parent
    if folder != home.root and folder.stat().st_uid != os.getuid():
        raise OSError(f"{folder} belongs to another user")
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(home.socket.lstat().st_mode):
            message = (
                f"cannot listen on {home.socket}: something else than a socket is there; look at "
                "what it is, then remove it"
            )
            raise ConfigurationError(message)
        home.socket.unlink()
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.setblocking(False)  # noqa: FBT003 - takes no keywords
    # The whole process's: with 0o177 a folder that another thread made meanwhile was closed to us.
    mask = os.umask(0o077)
    try:
        sock.bind(str(home.socket))
        home.socket.chmod(0o600)
    except OSError:
        sock.close()
        raise
    finally:
        os.umask(mask)
    return sock


def identity(home: Home) -> tuple[int, int] | None:
    """Return what the socket's file is whatever it is called; None where there is none."""
    try:
        found = home.socket.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def remove(home: Home, ours: tuple[int, int] | None) -> None:
    """Remove the socket's file, unless another daemon has put its own there by now."""
    if identity(home) == ours:
        with contextlib.suppress(OSError):
            home.socket.unlink()
