from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from supervision import SpecError, StartError
from tests.supervision.conftest import find_reason

if TYPE_CHECKING:
    from tests.supervision.conftest import Lab


class TestStartChild:
    async def test_added(self, lab: Lab) -> None:
        """A child started by a call runs, is listed first, and is supervised like the others."""
        top = await lab.top(lab.spec("a")).start()
        started = await top.start_child(lab.spec("b"))
        await lab.crash("b")

        assert started.handle is not lab.toys["b"]
        assert ["b", "a"] == [child.id for child in await top.which_children()]
        await top.stop(None)

    async def test_already_started(self, lab: Lab) -> None:
        """The id of a running child is taken, and its handle comes with the refusal."""
        top = await lab.top(lab.spec("a")).start()

        taken = ("already_started", lab.toys["a"])
        assert taken == await find_reason(top.start_child(lab.spec("a")))
        await top.stop(None)

    async def test_already_present(self, lab: Lab) -> None:
        """The id of a stopped child is taken, too."""
        top = await lab.top(lab.spec("a")).start()
        await top.terminate_child("a")

        assert "already_present" == await find_reason(top.start_child(lab.spec("a")))
        await top.stop(None)

    async def test_failure(self, lab: Lab) -> None:
        """A child that does not start is not added, and the caller has its exception."""
        top = await lab.top().start()
        lab.failures["a"] = 1
        with pytest.raises(StartError) as failure:
            await top.start_child(lab.spec("a"))

        assert isinstance(failure.value.reason, OSError)
        assert "a" == failure.value.child
        assert [] == await top.which_children()
        await top.stop(None)

    async def test_bad_spec(self, lab: Lab) -> None:
        """What is not a spec, or not one for this supervisor, is refused."""
        top = await lab.top().start()
        with pytest.raises(SpecError):
            await top.start_child(("a",))
        with pytest.raises(SpecError):
            await top.start_child(lab.spec("a", restart="transient", significant=True))

        assert "running" == top.snapshot().state
        await top.stop(None)

    async def test_unhashable(self, lab: Lab) -> None:
        """A name that can be nobody's costs its caller an error and the supervisor nothing."""
        top = await lab.top(lab.spec("a")).start()
        nobody: Any = ["a"]

        assert "not_found" == await find_reason(top.terminate_child(nobody))
        with pytest.raises(TypeError):
            lab.spec(nobody)
        assert "running" == top.snapshot().state
        await top.stop(None)

    async def test_caller_cancelled(self, lab: Lab) -> None:
        """A caller that is cancelled takes nothing back."""
        lab.gates["a"] = asyncio.Event()
        top = await lab.top().start()
        for name in "ab":
            asking = asyncio.create_task(top.start_child(lab.spec(name)))
            asyncio.get_running_loop().call_soon(asking.cancel)
            await asyncio.wait({asking})
        lab.failures["c"] = 1
        failing = asyncio.create_task(top.start_child(lab.spec("c")))
        asyncio.get_running_loop().call_soon(failing.cancel)
        await asyncio.wait({failing})
        lab.gates["a"].set()

        assert ["b", "a"] == [child.id for child in await top.which_children()]
        await top.stop(None)

    async def test_lost_with_their_supervisor(self, lab: Lab) -> None:
        """Children added by calls are not there after their supervisor was restarted."""
        top = await lab.top(lab.level("mid", lab.spec("a")), intensity=1).start()
        mid: Any = (await top.which_children())[0].handle
        await mid.start_child(lab.spec("b"))
        mid.kill()
        await lab.saw("restarted", "mid")

        assert ["a"] == [child.name for child in top.snapshot().children[0].children]
        await top.stop(None)

    async def test_many(self, lab: Lab) -> None:
        """A thousand children come and go."""
        top = await lab.top().start()
        for n in range(1000):
            await top.start_child(lab.spec(f"c{n}", restart="temporary"))

        assert (1000, 1000, 0, 1000) == tuple((await top.count_children()).values())
        for toy in list(lab.toys.values()):
            toy.end("normal")
        await lab.saw("exited", "c999")
        assert (0, 0, 0, 0) == tuple((await top.count_children()).values())
        await top.stop(None)


class TestTerminateChild:
    async def test_keeps_the_spec(self, lab: Lab) -> None:
        """A terminated child stays stopped until it is started again."""
        top = await lab.top(lab.spec("a"), lab.spec("b")).start()
        await top.terminate_child("a")

        assert ["b", "a"] == [child.id for child in await top.which_children()]
        assert (2, 1, 0, 2) == tuple((await top.count_children()).values())
        assert (await top.restart_child("a")).handle is lab.toys["a"]
        await top.stop(None)

    async def test_twice(self, lab: Lab) -> None:
        """Terminating what does not run changes nothing."""
        top = await lab.top(lab.spec("a")).start()
        await top.terminate_child("a")
        await top.terminate_child("a")

        assert 1 == lab.log.count("stop a")
        await top.stop(None)

    async def test_temporary(self, lab: Lab) -> None:
        """A temporary child is forgotten when it is terminated."""
        top = await lab.top(lab.spec("a", restart="temporary")).start()
        await top.terminate_child("a")

        assert "not_found" == await find_reason(top.terminate_child("a"))
        await top.stop(None)

    async def test_just_ended(self, lab: Lab) -> None:
        """A child that ended a moment before is not restarted any more."""
        top = await lab.top(lab.spec("a")).start()
        lab.toys["a"].end("boom")
        await top.terminate_child("a")

        assert "stopped" == (await top.which_children())[0].state
        assert 1 == lab.log.count("start a")
        await top.stop(None)


class TestRestartAndDelete:
    async def test_running(self, lab: Lab) -> None:
        """A running child is neither started again nor forgotten."""
        top = await lab.top(lab.spec("a")).start()

        assert "running" == await find_reason(top.restart_child("a"))
        assert "running" == await find_reason(top.delete_child("a"))
        await top.stop(None)

    async def test_not_found(self, lab: Lab) -> None:
        """Nobody knows a child that is not there."""
        top = await lab.top().start()

        assert "not_found" == await find_reason(top.restart_child("a"))
        assert "not_found" == await find_reason(top.delete_child("a"))
        assert "not_found" == await find_reason(top.terminate_child("a"))
        await top.stop(None)

    async def test_deleted(self, lab: Lab) -> None:
        """A deleted child is gone, and its id is free."""
        top = await lab.top(lab.spec("a")).start()
        await top.terminate_child("a")
        await top.delete_child("a")

        assert [] == await top.which_children()
        await top.start_child(lab.spec("a"))
        await top.stop(None)

    async def test_restart_fails(self, lab: Lab) -> None:
        """A start by hand that fails leaves the child stopped and is not tried again."""
        top = await lab.top(lab.spec("a")).start()
        await top.terminate_child("a")
        lab.failures["a"] = 1
        with pytest.raises(StartError):
            await top.restart_child("a")

        assert "stopped" == (await top.which_children())[0].state
        await top.stop(None)
