from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from supervision import Report

if TYPE_CHECKING:
    from tests.supervision.conftest import Lab


class TestReports:
    async def test_a_life(self, lab: Lab) -> None:
        """A child's start, end and restart are reported in order, with the reasons."""
        top = await lab.top(lab.spec("a")).start()
        await lab.crash("a")
        await top.stop(None)

        assert [
            Report("top", "a", "started"),
            Report("top", "a", "exited", "boom"),
            Report("top", "a", "restarted"),
            Report("top", "a", "exited", "shutdown"),
        ] == lab.reports

    async def test_which_life(self, lab: Lab) -> None:
        """A report has the life it is about, which tells the children of a template apart."""
        pool = await lab.pool().start()
        handles = [(await pool.start_child((name,))).handle for name in "xy"]
        await pool.terminate_child(handles[0])
        await pool.stop(None)

        assert [("t", handles[0]), ("t", handles[1])] == [
            (report.child, report.handle) for report in lab.reports if report.kind == "exited"
        ]

    async def test_giving_up(self, lab: Lab, end: Any) -> None:
        """What leads to giving up is reported before it, and the stops of the others after it."""
        top = await lab.top(lab.spec("a"), lab.spec("b"), intensity=1).start()
        lab.failures["a"] = 9
        lab.toys["a"].end("boom")
        await end(top)

        kinds = [(report.kind, report.child) for report in lab.reports[2:]]
        assert [("exited", "a"), ("start_error", "a"), ("gave_up", "a"), ("exited", "b")] == kinds

    async def test_each_of_a_group(self, lab: Lab) -> None:
        """Each child that a strategy restarts is reported, with the end it was asked for."""
        top = await lab.top(lab.spec("a"), lab.spec("b"), strategy="one_for_all").start()
        lab.toys["a"].end("boom")
        await lab.saw("restarted", "b")

        assert [("a", "boom"), ("b", "shutdown")] == lab.told("exited")
        assert [("a", None), ("b", None)] == lab.told("restarted")
        await top.stop(None)

    async def test_hook_that_raises(self, lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
        """A hook that raises is logged and hurts nobody."""

        def hook(report: Report) -> None:
            lab.report(report)
            raise OSError(report.kind)

        top = await lab.top(lab.spec("a"), report=hook).start()
        await lab.crash("a")
        await top.stop(None)

        assert 4 == caplog.text.count("the report hook of supervisor top failed")

    async def test_no_hook(self, lab: Lab, quiet: Any) -> None:
        """Nobody has to listen."""
        top = await lab.top(lab.spec("a"), report=None).start()
        lab.toys["a"].end("boom")
        await quiet(top)

        assert 1 == top.snapshot().children[0].restarts
        await top.stop(None)

    def test_frozen(self) -> None:
        """A report cannot be changed by one of those who read it."""
        report: Any = Report("top", "a", "started")
        with pytest.raises(dataclasses.FrozenInstanceError):
            report.kind = "exited"
