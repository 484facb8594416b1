"""Which tests are quick: `make test-fast` runs those, and they keep what makes them so.

They lie in the folders that are named here, and are marked neither `slow` nor `soak`. One of them
fails in `make test-fast` that starts Python, or keeps the processor busy for long; in a run of all
tests the first one that needs what others share would pay for it. It may call git or a shell, which
take milliseconds.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

#: Folders of tests that need no process, no model and no whole tree. A new folder is not quick
#: until it is named.
FOLDERS = frozenset(
    "bus cli client control domain endpoint formatters logs memory parsers rules runtime "
    "schedule storage supervision watching writing".split()
)

#: Seconds of processors that a quick test may use, on a machine four times as slow as most.
BUSY = 5.0

#: What Python says when a process is made without `subprocess`.
_FORKS = frozenset({"os.fork", "os.forkpty", "os.posix_spawn"})

#: Marks with which a test is in no hurry.
PATIENT = ("slow", "soak")


class Starts:
    """Counts the copies of Python that this process starts."""

    def __init__(self) -> None:
        self.seen = 0
        sys.addaudithook(self._hear)

    def _hear(self, event: str, details: tuple[Any, ...]) -> None:
        if event in _FORKS or (event == "subprocess.Popen" and _is_python(details)):
            self.seen += 1


class Watch:
    """What one test costs, from its first fixture to its last."""

    def __init__(self, starts: Starts) -> None:
        self._starts = starts
        self._seen = starts.seen
        self._used = used()

    def complaint(self) -> str:
        """Return why the test is not quick; nothing when it is."""
        if begun := self._starts.seen - self._seen:
            return f"Python was started, times: {begun}"
        if (seconds := used() - self._used) > BUSY:
            return f"it used {seconds:.1f} s of the processor"
        return ""


def used() -> float:
    """Return the seconds of processors that this process and its children have used."""
    return sum(os.times()[:4])


def is_quick(item: pytest.Item) -> bool:
    """Tell whether `make test-fast` runs a test."""
    return item.path.parent.name in FOLDERS and not any(map(item.get_closest_marker, PATIENT))


def quick_last(items: list[pytest.Item]) -> None:
    """Put files without a slow test at the end, so that no long test is alone there.

    Within both groups the order stays what it is, and so does that within a file.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def _is_python(details: tuple[Any, ...]) -> bool:
    """Tell whether a program that is started is Python; `details` are what auditors hear."""
    program, words, *_ = details
    first = words if isinstance(words, str | bytes) else [*words, ""][0]
    names = {Path(os.fsdecode(each)).name for each in (program, first) if each}
    return any(name.startswith(("python", "cortex")) for name in names)
