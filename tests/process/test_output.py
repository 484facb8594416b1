from __future__ import annotations

import asyncio
from typing import Any

from tests.process.children import SOON, running


class TestOutput:
    async def test_lines(self) -> None:
        """What a child writes arrives line by line, in order, long lines in pieces."""
        lines: list[str] = []
        async with running(on_line=lines.append) as child:
            params = {"out": "one\n\ntwo", "err": "ä" * 20_000}
            await child.request("say", params, deadline=SOON)

        assert ["one", "", "two"] == lines[:3]
        assert "ä" * 20_000 == "".join(lines[3:])

    async def test_raising_callback(self) -> None:
        """A callback that raises is reported and the child is read on."""
        reports: list[dict[str, Any]] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, report: reports.append(report))

        def refuse(line: str) -> None:
            raise ValueError(line)

        async with running(on_line=refuse) as child:
            for _ in range(20):
                await child.request("say", {"out": "x" * 9_000, "err": ""}, deadline=SOON)

        assert 40 == len(reports)
