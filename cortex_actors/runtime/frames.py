"""Frames between the daemon and a child process, and the child's side of the conversation.

A frame is two 4-byte big-endian lengths, a JSON header and raw bytes (vectors stay float32). A
request's header is `{"id", "op", "params"}`, a reply's `{"id", "result"}` or `{"id", "error":
{"type", "text"}}`. Standard library only, and quick to import: a child must be able to say that
its heavy imports failed.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, NoReturn, TypeAlias

from cortex_actors.errors import BadInput

#: Bytes a JSON header may have: a batch of the largest texts fits many times.
HEADER_LIMIT = 16 * 2**20

#: Bytes a body may have: 174,000 vectors of 384 numbers.
BODY_LIMIT = 256 * 2**20

#: Header and body length.
LENGTHS = struct.Struct(">II")

#: What a child's handler takes and gives: JSON values and raw bytes.
Handler: TypeAlias = Callable[[dict[str, Any], bytes], tuple[Mapping[str, object], bytes]]


def head(header: Mapping[str, object], body: bytes) -> bytes:
    """Return what is sent before the body; raises BadInput if a frame would be too large."""
    text = json.dumps(header, separators=(",", ":")).encode()
    _check(len(text), len(body))
    return LENGTHS.pack(len(text), len(body)) + text


def lengths(prefix: bytes) -> tuple[int, int]:
    """Return the header's and the body's length; raises BadInput if a frame is too large."""
    header, body = LENGTHS.unpack(prefix)
    _check(header, body)
    return header, body


def inherited(arguments: list[str]) -> socket.socket:
    """Take the socket that the daemon handed over (`--fd N`) out of the child's arguments."""
    at = arguments.index("--fd")
    _, number = arguments[at : at + 2]
    del arguments[at : at + 2]
    return socket.socket(fileno=int(number))


def main(handlers: Mapping[str, Handler] | Callable[[], Mapping[str, Handler]]) -> NoReturn:
    """Serve the daemon that started this process: all that a child module has to call."""
    serve(handlers, inherited(sys.argv))


def serve(
    handlers: Mapping[str, Handler] | Callable[[], Mapping[str, Handler]], sock: socket.socket
) -> NoReturn:
    """Answer requests on this thread, one after another, until the daemon's end closes.

    Then the process ends at once, whatever it is doing. `handlers` may be a function that loads
    them: it is called here, with the end of the daemon already watched; requests wait meanwhile.
    An exception of a handler goes to whoever asked. Ctrl-C is ignored, because it reaches the
    whole foreground process group and the daemon decides when its children end.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a child writes lies in the home, also where no daemon with a umask of its own began it.
    os.umask(0o077)
    sock.set_inheritable(False)
    requests: SimpleQueue[tuple[dict[str, Any], bytes]] = SimpleQueue()
    threading.Thread(target=_read, args=(sock, requests), name="frames", daemon=True).start()
    table = handlers() if callable(handlers) else handlers
    while True:
        request, body = requests.get()
        _answer(table, sock, request, body)


def _answer(
    table: Mapping[str, Handler], sock: socket.socket, request: dict[str, Any], body: bytes
) -> None:
    try:
        handler = table.get(request["op"], _unknown)
        result, blob = handler(request.get("params") or {}, body)
        reply = head({"id": request["id"], "result": result}, blob)
    except Exception as error:  # noqa: BLE001  # it belongs to whoever asked
        what = {"type": type(error).__name__, "text": str(error)}
        reply, blob = head({"id": request.get("id"), "error": what}, b""), b""
    with suppress(OSError):  # the daemon is gone; the reading thread ends the process
        sock.sendall(reply)
        sock.sendall(blob)


def _unknown(_params: dict[str, Any], _body: bytes) -> NoReturn:
    raise BadInput("this child does not know the op; parent and child are of different versions")


def _read(sock: socket.socket, requests: SimpleQueue[tuple[dict[str, Any], bytes]]) -> None:
    status = 0
    try:
        while True:
            header, body = lengths(_receive(sock, LENGTHS.size))
            text = _receive(sock, header)
            requests.put((json.loads(text), _receive(sock, body)))
    except (EOFError, OSError):
        pass
    except BaseException:
        status = 1
        raise
    finally:
        os._exit(status)


def _receive(sock: socket.socket, count: int) -> bytes:
    buffer = bytearray(count)
    view = memoryview(buffer)
    while view:
        got = sock.recv_into(view)
        if got == 0:
            raise EOFError
        view = view[got:]
    return bytes(buffer)


def _check(header: int, body: int) -> None:
    if header > HEADER_LIMIT or body > BODY_LIMIT:
        raise BadInput(
            f"a frame of {header} + {body} bytes passes the limit of {HEADER_LIMIT} + "
            f"{BODY_LIMIT}; send it in parts"
        )
