"""What a child process writes, line by line.

Read through a pipe of our own and not asyncio's: there `wait()` would not return while a
grandchild holds the pipe.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

#: Bytes of a line that are passed on; a longer one is passed on in pieces.
LINE_LIMIT = 16 * 1024

#: Bytes read at a time.
CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Output:
    """A pipe that is read: the end to write to (the caller closes it), and the reading task."""

    sink: int
    task: asyncio.Task[None]


async def relay(on_line: Callable[[str], None], name: str) -> Output:
    """Make a pipe and give each line written to it to a callback.

    A callback that raises is reported to the loop's exception handler, and the pipe read on: a
    full pipe would stop the child.
    """
    source, sink = os.pipe()
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    pipe = os.fdopen(source, "rb", buffering=0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    task = asyncio.create_task(_read(reader, transport, on_line), name=f"output of {name}")
    return Output(sink, task)


async def _read(
    reader: asyncio.StreamReader,
    transport: asyncio.ReadTransport,
    on_line: Callable[[str], None],
) -> None:
    rest = b""
    try:
        while chunk := await reader.read(CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                _pass_on(line, on_line)
            if len(rest) >= LINE_LIMIT:
                _pass_on(rest, on_line)
                rest = b""
        if rest:
            _pass_on(rest, on_line)
    finally:
        transport.close()


def _pass_on(line: bytes, on_line: Callable[[str], None]) -> None:
    for start in range(0, len(line) or 1, LINE_LIMIT):
        piece = line[start : start + LINE_LIMIT].decode(errors="replace")
        try:
            on_line(piece.rstrip("\r"))
        except Exception as error:  # noqa: BLE001  # the pipe must be read on
            report = {"message": "a line of a child was not passed on", "exception": error}
            asyncio.get_running_loop().call_exception_handler(report)
