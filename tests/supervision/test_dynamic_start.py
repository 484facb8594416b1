from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from supervision import IGNORE, ChildSpec, SpecError, StartError

if TYPE_CHECKING:
    from tests.supervision.conftest import Lab


class Oops(BaseException):
    """What is thrown past everybody who catches exceptions."""


class TestSpec:
    async def test_own(self, lab: Lab) -> None:
        """Every child comes with a spec of its own, and two of the same id run side by side.

        Row: elixir dynamic_supervisor start_child/2: supports new child spec
        """
        top = await lab.top(strategy="dynamic").start()
        first = (await top.start_child(lab.spec("a"))).handle
        second = (await top.start_child(lab.spec("a", restart="temporary"))).handle

        assert [("a", second), ("a", first)] == [
            (child.id, child.handle) for child in await top.which_children()
        ]
        assert ["permanent", "temporary"] == [
            (await top.get_childspec(handle)).restart for handle in (first, second)
        ]
        await top.stop(None)

    async def test_extra_arguments(self, lab: Lab) -> None:
        """Every start function is given the supervisor's arguments.

        Row: elixir dynamic_supervisor start_child/2: supports extra arguments
        """
        top = await lab.top(strategy="dynamic", extra_arguments=("x", "y")).start()
        await top.start_child(lab.spec("a"))
        await top.start_child(lab.spec("b", restart="temporary"))

        assert ["start a-x-y", "start b-x-y"] == lab.log
        await top.stop(None)

    async def test_extra_and_own_arguments(self, lab: Lab) -> None:
        """The arguments of a template's child come after those of the supervisor."""
        options: Any = {"strategy": "simple_one_for_one", "extra_arguments": ("x",)}
        top = await lab.top(lab.spec("t"), **options).start()
        await top.start_child(("1",))

        assert ["start t-x-1"] == lab.log
        await top.stop(None)

    @pytest.mark.parametrize(
        ("options", "word"),
        [
            ({"id": None}, "missing_id"),
            ({"start": 2}, "invalid_start"),
            ({"shutdown": -1}, "invalid_shutdown"),
            ({"restart": "never"}, "invalid_restart_type"),
            ({"type": "pool"}, "invalid_child_type"),
        ],
    )
    async def test_nonsense(self, lab: Lab, options: dict[str, Any], word: str) -> None:
        """A spec that is nonsense is refused where it is written, so no supervisor ever sees it.

        Row: elixir dynamic_supervisor start_child/2: with invalid child spec
        Row: elixir dynamic_supervisor start_child/2: with invalid valid shutdown
        """
        with pytest.raises(SpecError) as refusal:
            ChildSpec(**{"id": "a", "start": lab.spec("a").start, **options})

        assert (word, *options.values()) == refusal.value.reason

    @pytest.mark.parametrize("wanted", [{}, ("a",), None, "a"])
    async def test_no_spec(self, lab: Lab, wanted: Any) -> None:
        """What is no spec at all is refused, and so is a spec for another kind of supervisor.

        Row: elixir dynamic_supervisor start_child/2: with invalid child spec
        """
        top = await lab.top(strategy="dynamic").start()
        with pytest.raises(SpecError) as refusal:
            await top.start_child(wanted)
        with pytest.raises(SpecError, match="give an auto_shutdown"):
            await top.start_child(lab.spec("a", restart="transient", significant=True))

        assert ("invalid_child_spec", wanted) == refusal.value.reason
        assert [] == await top.which_children()
        await top.stop(None)

    @pytest.mark.parametrize("seconds", [0, 1])
    async def test_shutdown(self, lab: Lab, seconds: float) -> None:
        """A time to stop in is taken as it is, zero included, and the child runs under it.

        Row: elixir dynamic_supervisor start_child/2: with valid shutdown
        """
        top = await lab.top(strategy="dynamic").start()
        handle: Any = (await top.start_child(lab.spec("a", shutdown=seconds))).handle

        assert seconds == (await top.get_childspec(handle)).shutdown
        handle.end("shutdown")
        await lab.saw("restarted", "a")
        await top.stop(None)
        assert {"a": seconds} == lab.timeouts


class TestReturns:
    async def test_each(self, lab: Lab) -> None:
        """A start gives a handle, a handle with information, or nothing to run.

        Row: elixir dynamic_supervisor start_child/2: with different returns
        """
        top = await lab.top(strategy="dynamic").start()
        toys: list[Any] = [await lab.make(name, {}) for name in "ab"]
        given = [toys[0], (toys[1], "info"), IGNORE, (IGNORE, "why")]
        started = [await top.start_child(_returning(value)) for value in given]

        assert [(toys[0], None), (toys[1], "info"), (None, None), (None, "why")] == started
        assert (2, 2, 0, 2) == tuple((await top.count_children()).values())
        await top.stop(None)

    async def test_failure(self, lab: Lab) -> None:
        """A start that fails, or gives what is no handle, adds nothing and says what it was.

        Row: elixir dynamic_supervisor start_child/2: with different returns
        """
        top = await lab.top(strategy="dynamic").start()
        lab.failures["a"] = 1
        with pytest.raises(StartError) as failure:
            await top.start_child(lab.spec("a"))
        with pytest.raises(StartError) as unknown:
            await top.start_child(_returning("unknown"))

        assert isinstance(failure.value.reason, OSError)
        assert ("bad_return_value", "unknown") == unknown.value.reason
        assert [] == await top.which_children()
        await top.stop(None)

    @pytest.mark.parametrize("value", [(), ("a", "b", "c")])
    async def test_long_tuple(self, lab: Lab, value: object) -> None:
        """A tuple that is no pair is a bad return value, too."""
        top = await lab.top(strategy="dynamic").start()
        with pytest.raises(StartError) as failure:
            await top.start_child(_returning(value))
        await top.stop(None)

        assert ("bad_return_value", value) == failure.value.reason

    @pytest.mark.parametrize("error", [Oops(), RuntimeError("oops"), asyncio.CancelledError()])
    async def test_raises(self, lab: Lab, error: BaseException) -> None:
        """Whatever a start raises reaches its caller, and neither child nor supervisor ends by it.

        Row: elixir dynamic_supervisor start_child/2: with throw/error/exit
        """
        top = await lab.top(strategy="dynamic").start()
        handle = (await top.start_child(lab.spec("b"))).handle

        async def start() -> Any:
            raise error

        with pytest.raises(StartError) as failure:
            await top.start_child(ChildSpec("a", start))

        assert type(error) is type(failure.value.reason)
        assert [handle] == [child.handle for child in await top.which_children()]
        await top.stop(None)


def _returning(value: Any) -> ChildSpec:
    """Return the spec of a child whose start function gives that."""

    async def start() -> Any:
        return value

    return ChildSpec("a", start)
