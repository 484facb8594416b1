from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.supervision.conftest import Lab


def _abc(lab: Lab, **of_b: Any) -> list[Any]:
    return [lab.spec("a"), lab.spec("b", **of_b), lab.spec("c")]


class TestOneForOne:
    async def test_alone(self, lab: Lab) -> None:
        """Only the child that ended is started again."""
        top = await lab.top(*_abc(lab)).start()
        await lab.crash("b")

        assert ["end b boom", "start b"] == lab.log[3:]
        await top.stop(None)

    async def test_keeps_its_place(self, lab: Lab) -> None:
        """A restarted child keeps its place, so the order of the stop does not change."""
        top = await lab.top(*_abc(lab)).start()
        await lab.crash("b")
        await top.stop(None)

        assert ["stop c", "stop b", "stop a"] == [x for x in lab.log if x.startswith("stop")]

    async def test_counts(self, lab: Lab) -> None:
        """The picture of the tree says how often a child was restarted."""
        top = await lab.top(*_abc(lab), intensity=3).start()
        await lab.crash("b", times=3)

        assert [0, 3, 0] == [child.restarts for child in top.snapshot().children]
        await top.stop(None)

    async def test_ignored_in_restart(self, lab: Lab, quiet: Any) -> None:
        """A child that has nothing to do any more stays on the list as stopped."""
        top = await lab.top(*_abc(lab)).start()
        lab.ignored["b"] = 1
        lab.toys["b"].end("boom")
        await quiet(top)

        assert "stopped" == (await top.which_children())[1].state
        await top.stop(None)


class TestOneForAll:
    async def test_all(self, lab: Lab) -> None:
        """All are stopped in reverse and started in order."""
        top = await lab.top(*_abc(lab), strategy="one_for_all").start()
        lab.toys["b"].end("boom")
        await lab.saw("restarted", "c")

        assert [
            "end b boom",
            *("stop c", "end c shutdown", "stop a", "end a shutdown"),
            *("start a", "start b", "start c"),
        ] == lab.log[3:]
        await top.stop(None)

    async def test_one_event(self, lab: Lab) -> None:
        """However many are restarted, it counts once."""
        top = await lab.top(*_abc(lab), strategy="one_for_all", intensity=1).start()
        lab.toys["b"].end("boom")
        await lab.saw("restarted", "c")

        assert "running" == top.snapshot().state
        await top.stop(None)

    async def test_stopped_bystander(self, lab: Lab) -> None:
        """A child that was terminated by hand is started again with the others."""
        top = await lab.top(*_abc(lab), strategy="one_for_all").start()
        await top.terminate_child("c")
        lab.toys["a"].end("boom")
        await lab.saw("restarted", "c")

        assert 3 == (await top.count_children())["active"]
        await top.stop(None)

    async def test_two_at_once(self, lab: Lab, quiet: Any) -> None:
        """Children that fall together are one restart: the second exit is no news by then."""
        top = await lab.top(*_abc(lab), strategy="one_for_all", intensity=1).start()
        lab.toys["a"].end("boom")
        lab.toys["b"].end("boom")
        await lab.saw("restarted", "c")
        await quiet(top)

        assert 3 == len(lab.told("restarted"))
        await top.stop(None)

    async def test_sibling_fails(self, lab: Lab) -> None:
        """When a sibling fails to start, those started before it are stopped and all start.

        Row: otp one_for_all_other_child_fails_restart
        """
        top = await lab.top(*_abc(lab), strategy="one_for_all", intensity=5).start()
        lab.failures["b"] = 1
        lab.toys["c"].end("boom")
        await lab.saw("restarted", "c")

        again = lab.log[lab.log.index("end a shutdown") + 1 :]
        assert [
            *("start a", "stop a", "end a shutdown"),
            *("start a", "start b", "start c"),
        ] == again
        await top.stop(None)


class TestRestForOne:
    async def test_rest(self, lab: Lab) -> None:
        """Those started after it are stopped and started with it; those before are left alone."""
        top = await lab.top(*_abc(lab), strategy="rest_for_one").start()
        first = lab.toys["a"]
        lab.toys["b"].end("boom")
        await lab.saw("restarted", "c")

        assert ["stop c", "end c shutdown", "start b", "start c"] == lab.log[4:]
        assert first is lab.toys["a"]
        await top.stop(None)

    async def test_last(self, lab: Lab) -> None:
        """The last child is restarted alone."""
        top = await lab.top(*_abc(lab), strategy="rest_for_one").start()
        await lab.crash("c")

        assert ["end c boom", "start c"] == lab.log[3:]
        await top.stop(None)

    async def test_retry_from_the_failed(self, lab: Lab) -> None:
        """A retry begins with the sibling that failed; those restarted before it keep running.

        Row: otp rest_for_one_other_child_fails_restart
        """
        top = await lab.top(*_abc(lab), strategy="rest_for_one", intensity=5).start()
        lab.failures["b"] = 1
        lab.toys["a"].end("boom")
        await lab.saw("restarted", "c")

        again = lab.log[lab.log.index("end b shutdown") + 1 :]
        assert ["start a", "start b", "start c"] == again
        await top.stop(None)


class TestRestartTypes:
    @pytest.mark.parametrize("reason", ["normal", "shutdown", ("shutdown", 1), "boom", "killed"])
    async def test_permanent(self, lab: Lab, reason: object) -> None:
        """A permanent child is restarted whatever it says at its end.

        Row: otp permanent_normal
        Row: otp permanent_shutdown
        Row: otp permanent_abnormal
        """
        top = await lab.top(*_abc(lab)).start()
        await lab.crash("b", reason)

        assert 3 == (await top.count_children())["active"]
        await top.stop(None)

    @pytest.mark.parametrize("reason", ["normal", "shutdown", ("shutdown", 1)])
    async def test_transient_orderly(self, lab: Lab, quiet: Any, reason: object) -> None:
        """A transient child that ends in order stays on the list as stopped.

        Row: otp transient_normal
        Row: otp transient_shutdown
        """
        top = await lab.top(*_abc(lab, restart="transient")).start()
        lab.toys["b"].end(reason)
        await quiet(top)

        assert ["running", "stopped", "running"] == [c.state for c in await top.which_children()]
        await top.stop(None)

    @pytest.mark.parametrize("reason", ["boom", "killed", ("shutdown",), None, OSError("disk")])
    async def test_transient_failed(self, lab: Lab, reason: object) -> None:
        """A transient child that ends otherwise is restarted.

        Row: otp transient_abnormal
        """
        top = await lab.top(*_abc(lab, restart="transient")).start()
        await lab.crash("b", reason)

        assert ("b", reason) in lab.told("exited")
        await top.stop(None)

    @pytest.mark.parametrize("reason", ["normal", "shutdown", ("shutdown", 1), "boom", "killed"])
    async def test_temporary(self, lab: Lab, quiet: Any, reason: object) -> None:
        """A temporary child is never restarted and is forgotten.

        Row: otp temporary_normal
        Row: otp temporary_shutdown
        Row: otp temporary_abnormal
        """
        top = await lab.top(*_abc(lab, restart="temporary")).start()
        lab.toys["b"].end(reason)
        await quiet(top)

        assert ["c", "a"] == [child.id for child in await top.which_children()]
        await top.stop(None)

    async def test_exited_raises(self, lab: Lab) -> None:
        """An exception out of `exited` is the reason of the end."""
        error = OSError("pipe")
        top = await lab.top(lab.spec("a", toy={"raises": True})).start()
        await lab.crash("a", error)

        assert [("a", error)] == lab.told("exited")
        await top.stop(None)

    async def test_exited_cancelled(self, lab: Lab) -> None:
        """A child whose `exited` is cancelled was killed."""
        top = await lab.top(lab.spec("a")).start()
        lab.toys["a"].ended.cancel()
        await lab.saw("restarted", "a")

        assert [("a", "killed")] == lab.told("exited")
        await top.stop(None)
