"""Starts the child under test for the tests of child processes."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.runtime.child import ChildProcess

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

ROOT = Path(__file__).parents[2]
SCRIPT = str(Path(__file__).with_name("child_under_test.py"))

#: Seconds for a request that is answered: a slow machine, not a hang.
SOON = 20.0


@asynccontextmanager
async def running(
    *args: str, on_line: Callable[[str], None] | None = None
) -> AsyncIterator[ChildProcess]:
    """Start the child under test, and end it afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("MARK", "here")
        child = await ChildProcess.spawn([SCRIPT], args, name="test child", on_line=on_line)
    try:
        yield child
    finally:
        await child.stop(5.0)
