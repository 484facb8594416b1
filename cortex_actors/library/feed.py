"""Our loggers, while a tree lives in somebody else's process: into its log file, and nowhere else.

The program's own logging is left as it is: our records are not printed, and its handlers do not
hear them. When the last tree has ended, our loggers are again as they were.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from cortex_actors.process.logs import StreamHandler

if TYPE_CHECKING:
    from cortex_actors.process.logs import LogStream

#: Loggers that are ours; what libraries log is the program's own affair.
NAMES = ("cortex", "cortex_actors", "pykka", "supervision")

_guard = threading.Lock()
_feeding: list[Feed] = []
_before: dict[str, tuple[int, bool]] = {}


class Feed:
    """Writes what our loggers say into the log of one tree."""

    def __init__(self, logs: LogStream) -> None:
        """Begin to write."""
        self._handler = StreamHandler(logs)
        with _guard:
            if not _feeding:
                _take()
            _feeding.append(self)
            for name in NAMES:
                logging.getLogger(name).addHandler(self._handler)

    def close(self) -> None:
        """Write no more."""
        with _guard:
            for name in NAMES:
                logging.getLogger(name).removeHandler(self._handler)
            _feeding.remove(self)
            if not _feeding:
                _give_back()


def _take() -> None:
    """Let our loggers say everything, to us alone."""
    for name in NAMES:
        logger = logging.getLogger(name)
        _before[name] = (logger.level, logger.propagate)
        logger.setLevel(logging.INFO)
        logger.propagate = False


def _give_back() -> None:
    """Let our loggers be as the program had them."""
    for name in NAMES:
        logger = logging.getLogger(name)
        level, logger.propagate = _before[name]
        logger.setLevel(level)
