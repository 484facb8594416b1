"""Lives that end in the middle of a write: at the Nth step that changes anything on the disk.

A process that has imported everything forks one life for each line it reads: FOLDER SCENARIO STEP.
It answers with the signal that ended the life, 0 for one that came to its end.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors.files import place, swap
from cortex_actors.files.place import Pace
from cortex_actors.files.swap import exchange
from cortex_actors.render import fence
from tests.power.strace import PATIENCE, ROOT
from tests.writing.support import BODY, Desk

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

#: As quick as can be: how long is waited is not what is tested here.
PACE = Pace(settle=0.0, limit=0.3, grace=0.0, look=0.001)

#: What the file says at first, and what a human saves while it is written.
TEXTS = tuple(f"# Text {number}\r\n\r\n- no final line end".encode() for number in range(3))

#: The section that a second write brings.
LATER = BODY + b"- Use uv.\n"

#: Calls that change something on the disk.
_CHANGING = frozenset("rename link unlink fsync mkdir fchmod fchown setxattr removexattr".split())


class _Steps:
    """Counts steps, and ends the process at one of them."""

    def __init__(self, last: int) -> None:
        self._count = itertools.count(1)
        self._last = last

    def take(self) -> None:
        """Take a step."""
        if next(self._count) == self._last:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a call with a step before it and one after it."""

        @wraps(call)
        def stepped(*words: Any, **named: Any) -> Any:
            self.take()
            found = call(*words, **named)
            self.take()
            return found

        return stepped


class _System:
    """The module `os`, each change of which is a step."""

    def __init__(self, steps: _Steps) -> None:
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        found = getattr(os, name)
        return self._steps.around(found) if name in _CHANGING else found

    def open(self, path: str, flags: int, mode: int = 0o777, **named: Any) -> int:
        """Open a file; making one is a change."""
        opened = partial(os.open, path, flags, mode, **named)
        return int(self._steps.around(opened)()) if flags & os.O_CREAT else opened()


async def _first(desk: Desk) -> None:
    desk.path.write_bytes(TEXTS[0])
    await desk.write()


async def _again(desk: Desk) -> None:
    desk.path.write_bytes(fence.splice(TEXTS[0], BODY))
    await desk.write(LATER)


async def _made(desk: Desk) -> None:
    await desk.write(create=True)


async def _undone(desk: Desk) -> None:
    desk.path.write_bytes(TEXTS[0])
    await desk.write()
    await desk.writer.undo(desk.target())


async def _undone_made(desk: Desk) -> None:
    await desk.write(create=True)
    await desk.writer.undo(desk.target())


async def _crossed(desk: Desk) -> None:
    await _first(desk)


#: What a life does; those that are crossed find texts saved right before their exchanges.
SCENARIOS: dict[str, Callable[[Desk], Awaitable[None]]] = {
    "first": _first,
    "again": _again,
    "made": _made,
    "undone": _undone,
    "undone-made": _undone_made,
    "crossed-1": _crossed,
    "crossed-2": _crossed,
}


async def _live(folder: Path, scenario: str, step: int) -> None:
    """Live until a step."""
    desk = Desk(folder, PACE)
    steps = _Steps(step)
    system = _System(steps)
    for module in (place, swap, swap):
        module.os = system  # type: ignore[attr-defined]
    saves = iter(TEXTS[1 : 1 + int(scenario.partition("-")[2])] if "crossed" in scenario else ())

    def crossed(opened: int, one: str, other: str) -> None:
        if (text := next(saves, None)) is not None:
            desk.path.write_bytes(text)
            (folder / "saved").write_bytes(text)
        steps.around(exchange)(opened, one, other)

    setattr(swap, "exchange", crossed)  # noqa: B010 - it is imported there
    setattr(desk.rows, "write", _commits(desk, steps))  # noqa: B010 - it is a method
    await SCENARIOS[scenario](desk)
    await desk.quiet()
    await desk.close()


def _commits(desk: Desk, steps: _Steps) -> Callable[..., Awaitable[Any]]:
    """Return the way to write rows, with a step before and after each commit."""
    write = desk.rows.write

    async def stepped(unit: Callable[..., Any], *, vital: bool = False) -> Any:
        steps.take()
        found = await write(unit)
        steps.take()
        return found

    return stepped


def serve() -> None:
    """Live a life for each line, and say how it ended."""
    with tempfile.TemporaryDirectory() as folder:
        # Once in this process: what was compiled for it need not be in each of the others.
        asyncio.run(_live(Path(folder).resolve(), "undone", 0))
    for line in sys.stdin:
        folder, scenario, step = line.split()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                asyncio.run(_live(Path(folder), scenario, int(step)))
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        os.write(1, f"{os.waitstatus_to_exitcode(status)}\n".encode())


@contextmanager
def lives() -> Iterator[Callable[[Path, str, int], int]]:
    """Give the way to live a life; returns 0, or minus the signal that ended it."""
    process = subprocess.Popen(
        [sys.executable, "-c", "from tests.writing import dying; dying.serve()"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def live(folder: Path, scenario: str, step: int) -> int:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{folder} {scenario} {step}\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    try:
        yield live
    finally:
        process.communicate(timeout=PATIENCE)
