from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from supervision import IGNORE, ChildSpec

if TYPE_CHECKING:
    from supervision import Supervisor
    from tests.supervision.conftest import Lab

#: More restarts than any test waits for.
FOREVER = 1_000_000


async def _dynamic(lab: Lab, intensity: int = FOREVER, **options: Any) -> Supervisor:
    return await lab.top(strategy="dynamic", intensity=intensity, **options).start()


async def _counts(top: Supervisor) -> tuple[int, int]:
    """Return how many workers there are, and how many of them run."""
    counts = await top.count_children()
    return counts["workers"], counts["active"]


class TestRestartType:
    @pytest.mark.parametrize("reason", ["shutdown", "whatever"])
    async def test_temporary(self, lab: Lab, quiet: Any, reason: str) -> None:
        """A temporary child is forgotten with its end, whatever that was.

        Row: elixir dynamic_supervisor start_child/2: temporary child is not restarted regardless \
of reason
        """
        top = await _dynamic(lab, intensity=0)
        await top.start_child(lab.spec("a", restart="temporary"))
        lab.toys["a"].end(reason)
        await quiet(top)

        assert (0, 0) == await _counts(top)
        assert 1 == lab.log.count("start a")
        await top.stop(None)

    @pytest.mark.parametrize(
        ("reason", "left"),
        [("normal", 0), ("shutdown", 0), (("shutdown", "signal"), 0), ("whatever", 1)],
    )
    async def test_transient(self, lab: Lab, quiet: Any, reason: object, left: int) -> None:
        """A transient child is forgotten after an orderly end, and restarted after any other.

        Row: elixir dynamic_supervisor start_child/2: transient child is restarted unless \
normal/shutdown/{shutdown, _}
        """
        top = await _dynamic(lab)
        await top.start_child(lab.spec("a", restart="transient"))
        lab.toys["a"].end(reason)
        await quiet(top)

        assert (left, left) == await _counts(top)
        assert 1 + left == lab.log.count("start a")
        await top.stop(None)

    @pytest.mark.parametrize("reason", ["normal", "shutdown", ("shutdown", "signal"), "whatever"])
    async def test_permanent(self, lab: Lab, reason: object) -> None:
        """A permanent child is restarted whatever its end was, by itself.

        Row: elixir dynamic_supervisor start_child/2: permanent child is restarted regardless of \
reason
        """
        top = await _dynamic(lab)
        for name in "ab":
            await top.start_child(lab.spec(name))
        await lab.crash("a", reason)

        assert (2, 2) == await _counts(top)
        assert (2, 1) == (lab.log.count("start a"), lab.log.count("start b"))
        await top.stop(None)


class TestRestart:
    async def test_different_values(self, lab: Lab, quiet: Any) -> None:
        """A restart may give a handle, information besides, nothing, or fail and be tried again.

        Row: elixir dynamic_supervisor start_child/2: child is restarted with different values
        """
        top = await _dynamic(lab)
        toys: list[Any] = [await lab.make(name, {}) for name in "ab"]
        later = [toys[0], (toys[1], "info"), IGNORE, OSError("found"), "unknown"]
        seen = []
        for value in later:
            handle: Any = (await top.start_child(_then(lab, value))).handle
            states = [child.state for child in await top.which_children()]
            handle.end("shutdown")
            await quiet(top)
            seen.append((states[0], *(await _counts(top))))

        assert [(1, 1), (2, 2), (2, 2), (3, 2), (4, 2)] == [line[1:] for line in seen]
        assert {"running"} == {line[0] for line in seen}
        states = [child.state for child in await top.which_children()]
        assert ["restarting", "restarting", "running", "running"] == states
        assert set(toys) == {c.handle for c in await top.which_children() if c.handle}
        await top.stop(None)

    async def test_extra_arguments(self, lab: Lab) -> None:
        """A restart is given the supervisor's arguments, as the start was.

        Row: elixir dynamic_supervisor start_child/2: restarting a child with extra_arguments \
successfully restarts child
        """
        top = await _dynamic(lab, extra_arguments=("x",))
        await top.start_child(lab.spec("a", restart="transient"))
        lab.toys["a-x"].end("oops")
        await lab.saw("restarted", "a")

        assert ["start a-x", "end a-x oops", "start a-x"] == lab.log
        assert (1, 1) == await _counts(top)
        await top.stop(None)

    async def test_tried_again(self, lab: Lab) -> None:
        """A restart that fails is tried again, and each attempt counts.

        Row: elixir dynamic_supervisor start_child/2: child is restarted when trying again
        """
        top = await _dynamic(lab, intensity=2)
        await top.start_child(lab.spec("a"))
        lab.failures["a"] = 1
        await lab.crash("a", "shutdown")

        assert ["started", "exited", "start_error", "restarted"] == [r.kind for r in lab.reports]
        assert (1, 1) == await _counts(top)
        await top.stop(None)

    async def test_new_handle(self, lab: Lab) -> None:
        """A restarted child has a new handle, its id and its spec."""
        top = await _dynamic(lab)
        spec = lab.spec("a")
        old: Any = (await top.start_child(spec)).handle
        await lab.crash("a")
        child = (await top.which_children())[0]

        assert ("a", "running") == (child.id, child.state)
        assert child.handle is lab.toys["a"]
        assert old is not child.handle
        assert spec == await top.get_childspec(lab.toys["a"])
        await top.stop(None)


class TestIntensity:
    async def test_one_too_many(self, lab: Lab, end: Any) -> None:
        """A child that fails once more than is allowed ends the supervisor and all children.

        Row: elixir dynamic_supervisor start_child/2: child triggers maximum restarts
        """
        top = await _dynamic(lab, intensity=1)
        for name in "ab":
            await top.start_child(lab.spec(name))
        lab.failures["a"] = FOREVER
        lab.toys["a"].end("shutdown")

        assert "shutdown" == await end(top)
        assert 1 == len(lab.told("start_error"))
        assert [("a", "reached_max_restart_intensity")] == lab.told("gave_up")
        assert "end b shutdown" == lab.log[-1]

    async def test_trying_again(self, lab: Lab, end: Any) -> None:
        """The attempts to start a child again use up what is allowed, as its failures do.

        Row: elixir dynamic_supervisor start_child/2: child triggers maximum intensity when \
trying again
        """
        top = await _dynamic(lab, intensity=10)
        await top.start_child(lab.spec("a"))
        lab.failures["a"] = FOREVER
        lab.toys["a"].end("shutdown")

        assert "shutdown" == await end(top)
        assert 10 == len(lab.told("start_error"))

    async def test_shared(self, lab: Lab, end: Any) -> None:
        """What is allowed is for all children together."""
        top = await _dynamic(lab, intensity=2)
        for name in "abc":
            await top.start_child(lab.spec(name))
        for name in "abc":
            lab.toys[name].end("boom")

        assert "shutdown" == await end(top)
        assert [("a", None), ("b", None)] == lab.told("restarted")


def _then(lab: Lab, value: Any) -> ChildSpec:
    """Return the spec of a toy that is something else when it is started again."""
    values = [None]

    async def start() -> Any:
        if values:
            values.clear()
            return await lab.make("first", {})
        if isinstance(value, Exception):
            raise value
        return value

    return ChildSpec("a", start)
