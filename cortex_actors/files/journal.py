"""What is noted of a write before the file is touched, so that a crash can be made good."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, repeat
from typing import TYPE_CHECKING, Protocol, TypeVar

from cortex_actors.errors import CortexError, NotWritten

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from cortex_actors.clock import Clock

log = logging.getLogger("cortex.writing")

T = TypeVar("T")

#: Seconds between two questions to a journal that is away; the last of them again and again.
_RESTS = (0.1, 1.0, 5.0, 15.0, 60.0)


class State(StrEnum):
    """How far a write is."""

    #: Begun; whether the file was touched is to be seen from the disk.
    PENDING = "pending"
    #: The file holds, or held, what was written.
    DONE = "done"
    #: Somebody else saved first, or it could not be done.
    ABANDONED = "abandoned"
    #: Taken back because somebody asked for it; also the write that took it back.
    UNDONE = "undone"


@dataclass(frozen=True, slots=True)
class Entry:
    """One write into one file.

    Attributes:
        root: the registered folder, as its project has it.
        before: the file's bytes; None when there was no file.
        after_sha256: hash of the file with our section; "" when there is to be no file.
        aside: name beside the file, first of the new bytes, then of what they displaced; "" when
            nothing of it is left in the folder.
        displaced: a human's text that had to give way to a later one of his; it is kept here.
        began_at: UTC microseconds.

    """

    run_id: str
    project_id: str
    root: str
    path: str
    agent: str
    before: bytes | None
    after_sha256: str
    aside: str
    began_at: int
    seq: int = 0
    state: State = State.PENDING
    displaced: bytes | None = None

    @property
    def before_sha256(self) -> str | None:
        """The hash of what was there."""
        return None if self.before is None else sha256(self.before)


class Journal(Protocol):
    """Where writes are noted; each call is one transaction that lasts when it returns."""

    async def begin(self, entry: Entry) -> Entry:
        """Note a write; return it with its number.

        Raises `BeingWritten` when another one into the same file is pending.
        """

    async def keep(self, seq: int, displaced: bytes) -> None:
        """Keep a human's text that no file holds any more."""

    async def end(
        self, seq: int, state: State, *, aside: str = "", undone: int | None = None
    ) -> None:
        """Say how a write ended, and what of it still lies in the folder.

        With `undone`, that write was taken back by this one.
        """

    async def clear(self, seq: int) -> None:
        """Say that nothing of a write lies in the folder any more."""

    async def unfinished(self, path: str | None = None) -> Sequence[Entry]:
        """Return writes that are pending or have left something in their folder, oldest first."""

    async def last(self, path: str) -> Entry | None:
        """Return the newest write into a file that stands; None when there is none."""


async def insist(call: Callable[[], Awaitable[T]], clock: Clock) -> T:
    """Do something again until the journal answers, which may be away; a refusal is an answer."""
    rests = chain(_RESTS, repeat(_RESTS[-1]))
    while True:
        try:
            return await call()
        except NotWritten:
            raise
        except CortexError as error:
            log.info("the end of a write waits for its journal: %s", error)
        await clock.sleep(next(rests))


def sha256(data: bytes) -> str:
    """Return the hash of some bytes, as the journal has it."""
    return hashlib.sha256(data).hexdigest()
