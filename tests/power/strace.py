"""Runs a script under strace, which records what it asks of the disk, or lets calls fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

#: The folder that holds pyproject.toml.
ROOT = Path(__file__).parents[2]

#: Seconds that a script may take before a test gives up on it.
PATIENCE = 120.0

#: Bytes that a test may need for homes, images and recordings, with much to spare.
ROOM = 500_000_000

#: Files in memory, where there are any: what is tested here does not depend on a real disk.
_MEMORY = Path("/dev/shm")


def need_strace() -> None:
    """Skip the test where strace cannot work, except on a machine that is there to test all."""
    reason = _missing()
    if reason is None:
        return
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def scratch() -> Iterator[Path]:
    """Give a folder in memory, or a temporary one; a fixture's body."""
    roomy = os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > ROOM
    parent = _MEMORY if roomy else None
    with tempfile.TemporaryDirectory(prefix="cx-", dir=parent) as folder:
        yield Path(folder).resolve()


def traced(
    script: Path, *words: str, options: Sequence[str], env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a script of Python to its end under strace with these options."""
    return subprocess.run(
        ["strace", "-f", "-qq", *options, sys.executable, str(script), *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        capture_output=True,
        check=False,
        text=True,
        timeout=PATIENCE,
    )


@cache
def _missing() -> str | None:
    """Return why strace cannot be used here; None when it can."""
    if shutil.which("strace") is None:
        return "strace is not installed: `apt-get install strace` brings it"
    tried = subprocess.run(
        ["strace", "-f", "--seccomp-bpf", "-e", "trace=none", "true"],
        capture_output=True,
        check=False,
        text=True,
        timeout=PATIENCE,
    )
    if tried.returncode != 0:
        return f"strace may not trace here: {tried.stderr.strip()}"
    return None
