from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import pytest

import supervision

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

    from supervision import Supervisor
    from tests.supervision.conftest import Lab

T = TypeVar("T")

_ENGINE = str(Path(supervision.__file__))

#: Of more children than these every so many blocks of a tenth are looked at: a trace takes ten
#: times as long as what it traces.
_LOOKED_AT = 1_000
_BLOCK = _LOOKED_AT // 10


class Work:
    """Counts the lines that the engine runs, and the children it walks past; no clock.

    What costs the same for each of a thousand and of ten thousand children costs ten times as
    much in all. A search through them all for each of them would cost a hundred times as much.
    """

    def __init__(self, top: Supervisor) -> None:
        self.done = 0
        self._top = top
        self._before: Any = None
        self._looks = False

    def __enter__(self) -> Self:
        self._top._children = _Walked(self, self._top._children)
        self._before = sys.gettrace()
        self._look(on=True)
        return self

    def each(self, things: Sequence[T]) -> Iterator[T]:
        """Give each thing, and count what is done with as many as are looked at."""
        step = max(1, len(things) // _LOOKED_AT)
        for number, thing in enumerate(things):
            if number % _BLOCK == 0:
                self._look(on=number // _BLOCK % step == 0)
            yield thing
        self.done *= step

    def __exit__(self, *_args: object) -> None:
        sys.settrace(self._before)
        self._top._children = dict(self._top._children)

    def walk(self, number: int) -> None:
        """Count that so many children were walked past."""
        self.done += number if self._looks else 0

    def _look(self, *, on: bool) -> None:
        self._looks = on
        sys.settrace(self._enter if on else self._before)

    def _enter(self, frame: FrameType, event: str, arg: object) -> Any:
        return self._count if frame.f_code.co_filename == _ENGINE else None

    def _count(self, frame: FrameType, event: str, arg: object) -> Any:
        self.done += 1
        return self._count


class _Walked(dict[Any, Any]):
    """A table that notes how much of it is walked through."""

    def __init__(self, work: Work, content: dict[Any, Any]) -> None:
        super().__init__(content)
        self._work = work

    def __iter__(self) -> Iterator[Any]:
        self._work.walk(len(self))
        return super().__iter__()

    def values(self) -> Any:
        self._work.walk(len(self))
        return super().values()

    def items(self) -> Any:
        self._work.walk(len(self))
        return super().items()


async def _fill(lab: Lab, pool: Supervisor, number: int) -> list[Any]:
    """Start so many children of a template and return their handles."""
    return [(await pool.start_child((str(n),))).handle for n in range(number)]


async def _counts(top: Supervisor) -> tuple[int, ...]:
    return tuple((await top.count_children()).values())


class TestCounting:
    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["worker", "supervisor"])
    async def test_thousands(self, lab: Lab, quiet: Any, kind: str) -> None:
        """Thousands of children are counted by their kind, and none when they were killed.

        Row: otp count_children
        Row: otp count_children_supervisor
        """
        pool = await lab.pool(type=kind, restart="temporary").start()
        for number in (1000, 2000):
            await _fill(lab, pool, 1000)
            await quiet(pool)
            lines = await pool.which_children()
            assert number == len({child.handle for child in lines})
            kinds = (number, 0) if kind == "supervisor" else (0, number)
            assert (1, number, *kinds) == await _counts(pool)
            assert lines == await pool.which_children()
        for child in lines:
            if child.handle is not None:
                child.handle.kill()
        await quiet(pool)

        assert (1, 0, 0, 0) == await _counts(pool)
        await pool.stop(None)

    async def test_while_restarting(self, lab: Lab) -> None:
        """Children that are being restarted are counted, but not as active.

        Row: otp count_restarting_children
        """
        pool = await lab.pool(intensity=1_000_000, shutdown="brutal_kill").start()
        handles = await _fill(lab, pool, 3)
        assert (1, 3, 0, 3) == await _counts(pool)
        for n, handle in enumerate(handles):
            handle.end("error")
            await lab.saw("restarted", "t", n + 1)
        assert (1, 3, 0, 3) == await _counts(pool)

        for name in ("t-0", "t-1"):
            lab.failures[name] = 1_000_000
            lab.toys[name].end("error")
        await lab.saw("start_error", "t", 4)
        assert (1, 1, 0, 3) == await _counts(pool)
        lab.failures.clear()
        await lab.saw("restarted", "t", 5)
        assert (1, 3, 0, 3) == await _counts(pool)
        for left, name in enumerate(("t-2", "t-1", "t-0")):
            await pool.terminate_child(lab.toys[name])
            assert (1, 2 - left, 0, 2 - left) == await _counts(pool)
        await pool.stop(None)


@pytest.mark.slow
class TestGrowth:
    async def test_template(self, lab: Lab) -> None:
        """Terminating ten thousand children costs ten times as much as a thousand (and not x50).

        Row: otp simple_one_for_one_scale_many_temporary_children
        """
        pool = await lab.pool(restart="temporary").start()
        cost = []
        for number in (1_000, 10_000):
            handles = await _fill(lab, pool, number)
            with Work(pool) as work:
                for handle in work.each(handles):
                    await pool.terminate_child(handle)
            cost.append(work.done)

        assert 11 * cost[0] > cost[1]
        assert (1, 0, 0, 0) == await _counts(pool)
        await pool.stop(None)

    async def test_by_id(self, lab: Lab) -> None:
        """Starting and stopping ten times as many children costs ten times as much, and no more.

        Row: otp scale_start_stop_many_children
        """
        cost = [await _start_and_stop(lab, number) for number in (1_000, 10_000)]

        assert 11 * cost[0][0] > cost[1][0]
        assert 11 * cost[0][1] > cost[1][1]

    async def test_mass_exit(self, lab: Lab) -> None:
        """Whose exit it is, is known without a search, however many end at once.

        Row: otp scale_mass_exit_children
        """
        cost = [await _mass_exit(lab, number) for number in (1_000, 5_000)]

        assert 5.5 * cost[0] > cost[1]


async def _start_and_stop(lab: Lab, number: int) -> tuple[int, int]:
    """Return the work of starting so many children, and of terminating them."""
    top = await lab.top().start()
    with Work(top) as starts:
        for n in starts.each(range(number)):
            await top.start_child(lab.spec(str(n)))
    with Work(top) as stops:
        for n in stops.each(range(number)):
            await top.terminate_child(str(n))
    assert (number, 0, 0, number) == await _counts(top)
    await top.stop(None)
    return starts.done, stops.done


async def _mass_exit(lab: Lab, number: int) -> int:
    """Return the work of noticing that so many temporary children were killed at once."""
    lab.reports.clear()
    top = await lab.top(intensity=number + 100, period=1).start()
    for n in range(number):
        await top.start_child(lab.spec(str(n), restart="temporary"))
    for toy in lab.toys.values():
        toy.kill()
    with Work(top) as work:
        await lab.saw("exited", str(number - 1))
    assert (0, 0, 0, 0) == await _counts(top)
    await top.stop(None)
    return work.done
