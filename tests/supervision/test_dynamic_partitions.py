from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from supervision import NotRunningError

if TYPE_CHECKING:
    from supervision import Handle, Supervisor
    from tests.supervision.conftest import Lab


class Partitions:
    """What Elixir's PartitionSupervisor adds to a pool: children with numbers, found by a key."""

    def __init__(self, top: Supervisor) -> None:
        self.top = top
        self.handles: list[Handle | None] = []

    async def resize(self, size: int) -> None:
        """Start those that are missing, in order, or terminate the last."""
        while len(self.handles) > size:
            await self.top.terminate_child(self.handles.pop())
        while len(self.handles) < size:
            started = await self.top.start_child((str(len(self.handles)),))
            self.handles.append(started.handle)

    def of(self, key: int) -> Any:
        """Return the partition of a key."""
        return self.handles[key % len(self.handles)]


async def _partitions(lab: Lab, size: int, **options: Any) -> Partitions:
    partitions = Partitions(await lab.pool(**options).start())
    await partitions.resize(size)
    return partitions


class TestStart:
    async def test_arguments(self, lab: Lab) -> None:
        """Partitions, here children of one template, are each started with their own number.

        Row: elixir partition_supervisor start_link/1: with_arguments
        """
        parts = await _partitions(lab, 3)

        assert ["start t-0", "start t-1", "start t-2"] == lab.log
        assert ["t-0", "t-1", "t-2", "t-0", "t-2"] == [
            parts.of(key).name for key in (0, 1, 2, 3, -1)
        ]
        await parts.top.stop(None)

    async def test_restarted(self, lab: Lab) -> None:
        """A partition that is restarted keeps its number, and the others run on."""
        parts = await _partitions(lab, 3)
        lab.toys["t-1"].end("boom")
        await lab.saw("restarted", "t")

        assert ["end t-1 boom", "start t-1"] == lab.log[3:]
        assert {"t(0)", "t(1)", "t(2)"} == {node.name for node in parts.top.snapshot().children}
        await parts.top.stop(None)


class TestStop:
    async def test_synchronous(self, lab: Lab) -> None:
        """When the stop of a supervisor of partitions returns, none runs and nobody answers.

        Row: elixir partition_supervisor stop/1: is synchronous
        """
        parts = await _partitions(lab, 3)
        await parts.top.stop(None)

        assert [True] * 3 == [toy.ended.done() for toy in lab.toys.values()]
        with pytest.raises(NotRunningError):
            await parts.top.which_children()


class TestResize:
    async def test_any_size(self, lab: Lab) -> None:
        """Partitions are terminated and started until there are as many as are wanted.

        Row: elixir partition_supervisor resize!/1: resizes the number of children
        """
        parts = await _partitions(lab, 8)
        anywhere = random.sample(range(9), 9)
        for size in [*range(8, -1, -1), *range(9), *anywhere]:
            await parts.resize(size)
            counts = await parts.top.count_children()
            assert (size, size) == (counts["active"], counts["workers"]), anywhere

        assert [] == lab.told("shutdown_error")
        await parts.top.stop(None)

    async def test_the_others_run_on(self, lab: Lab) -> None:
        """The partitions that are not terminated are not touched."""
        parts = await _partitions(lab, 3)
        kept = parts.handles[:2]
        await parts.resize(2)
        await parts.resize(3)

        assert kept == parts.handles[:2]
        assert ["stop t-2", "end t-2 shutdown", "start t-2"] == lab.log[3:]
        await parts.top.stop(None)


class TestList:
    async def test_all(self, lab: Lab) -> None:
        """The list has every partition, with the handle it is found by.

        Row: elixir partition_supervisor which_children/1: returns all partitions
        """
        parts = await _partitions(lab, 4)
        listed = await parts.top.which_children()

        assert [parts.of(key) for key in (3, 2, 1, 0)] == [child.handle for child in listed]
        assert {("t", "running", "worker")} == {(c.id, c.state, c.type) for c in listed}
        await parts.top.stop(None)

    async def test_workers(self, lab: Lab) -> None:
        """Partitions of one template have one spec and are counted as the workers they are.

        Row: elixir partition_supervisor count_children/1: with workers
        """
        parts = await _partitions(lab, 4)

        assert {"specs": 1, "active": 4, "supervisors": 0, "workers": 4} == (
            await parts.top.count_children()
        )
        await parts.top.stop(None)

    async def test_supervisors(self, lab: Lab) -> None:
        """Partitions that are supervisors are counted as such, whether they bring a spec or not.

        Row: elixir partition_supervisor count_children/1: with supervisors
        """
        top = await lab.top(strategy="dynamic").start()
        for number in range(4):
            await top.start_child(lab.level(f"part {number}", strategy="dynamic"))

        assert {"specs": 4, "active": 4, "supervisors": 4, "workers": 0} == (
            await top.count_children()
        )
        parts: list[Any] = [child.handle for child in await top.which_children()]
        await parts[0].start_child(lab.spec("a"))
        assert [1, 0, 0, 0] == [(await part.count_children())["active"] for part in parts]
        await top.stop(None)
