"""The folder in which simulations play: always the same, because a project's id is its path's."""

from __future__ import annotations

import fcntl
import itertools
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def stage() -> Iterator[Path]:
    """Give the first folder that no other process plays in."""
    place = Path(tempfile.gettempdir()).resolve() / f"cortex-simulation-{os.getuid()}"
    place.mkdir(mode=0o700, exist_ok=True)
    for number in itertools.count():
        with (place / f"{number}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield place / str(number)
            return
