from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cortex_actors.runtime.child import ChildProcess
from tests.process.children import SCRIPT


def open_files() -> int:
    """Return how many file descriptors this process has."""
    return len(list(Path("/dev/fd").iterdir()))


class TestCancelledStart:
    @pytest.mark.parametrize("turns", range(12))
    async def test_leaves_nothing(self, turns: int) -> None:
        """A start that is cancelled at any of its steps leaves no process, file or task behind."""
        before = open_files()
        tasks = asyncio.all_tasks()
        start = asyncio.ensure_future(ChildProcess.spawn((str(SCRIPT),), name="test"))
        for _ in range(turns):
            await asyncio.sleep(0)
        start.cancel()
        await asyncio.wait({start})
        if not start.cancelled():
            await start.result().stop(5)

        assert before == open_files()
        assert tasks == asyncio.all_tasks()
