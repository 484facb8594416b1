"""Whose turn it is to write a file: one writing connection at a time, none after a fault.

Two connections of one process that both checkpoint can lose pages, and a file that failed (or that
another daemon has taken) is never opened again by the process that saw it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from cortex_actors.errors import LedgerDown

if TYPE_CHECKING:
    from pathlib import Path

#: Seconds to wait for an earlier life of the ledger to close its file.
TURN_TIMEOUT = 4.0

#: File -> the lock its one writing connection holds.
_TURNS: dict[Path, threading.Lock] = {}

#: File -> why this process writes it no more.
_FAULTS: dict[Path, LedgerDown] = {}


def take(path: Path) -> threading.Lock:
    """Wait until no other writing connection to a file is open in this process, and take the turn.

    Raises `LedgerDown` when the one before does not end: after a kill its thread may hang in the
    disk; and the fault of a file that has failed.
    """
    if (why := fault(path)) is not None:
        raise why
    turn = _TURNS.setdefault(path, threading.Lock())
    if not turn.acquire(timeout=TURN_TIMEOUT):
        message = f"cannot open the ledger {path}: its last connection has not ended; try again"
        raise LedgerDown(message)
    return turn


def fault(path: Path) -> LedgerDown | None:
    """Return why this process writes a file no more; None while it may."""
    return _FAULTS.get(path)


def close(path: Path, why: LedgerDown) -> None:
    """Give nobody a turn any more: the file has failed."""
    _FAULTS.setdefault(path, why)
