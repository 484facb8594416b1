from __future__ import annotations

import gc
import sys
import weakref
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import FrameType

    from tests.supervision.conftest import Lab

#: As many as a busy machine has of a kind.
MANY = 10_000


class TestMany:
    @pytest.mark.slow
    async def test_come_and_go(self, lab: Lab) -> None:
        """Ten thousand children are started, listed, terminated and stopped, each of them once."""
        top = await lab.top(strategy="dynamic", grace=5.0).start()
        handles = [(await top.start_child(lab.spec("a"))).handle for _ in range(MANY)]
        assert (MANY, MANY, 0, MANY) == tuple((await top.count_children()).values())
        for handle in handles[: MANY // 2]:
            await top.terminate_child(handle)
        assert handles[MANY // 2 :] == [c.handle for c in await top.which_children()][::-1]
        await top.stop(None)

        verbs = Counter(line.split()[0] for line in lab.log)
        assert dict.fromkeys(("start", "stop", "end"), MANY) == verbs
        assert Counter({"started": MANY, "exited": MANY}) == Counter(r.kind for r in lab.reports)

    @pytest.mark.slow
    async def test_linear(self, lab: Lab) -> None:
        """Twice as many children take twice as much work and not more."""
        few, many = [await _calls(lab, count) for count in (500, 1000)]

        assert many < 2.2 * few, (few, many)

    @pytest.mark.slow
    async def test_all_end_at_once(self, lab: Lab) -> None:
        """A thousand children that end in the same moment are each forgotten or started again."""
        top = await lab.top(strategy="dynamic", intensity=MANY).start()
        for n in range(1000):
            restart: Any = ("permanent", "temporary")[n % 2]
            await top.start_child(lab.spec(f"c{n}", restart=restart))
        for toy in list(lab.toys.values()):
            toy.end("boom")
        await lab.saw("restarted", "c998")
        await lab.saw("exited", "c999")

        assert (500, 500, 0, 500) == tuple((await top.count_children()).values())
        await top.stop(None)


class TestForgotten:
    async def test_nothing_kept(self, lab: Lab, quiet: Any) -> None:
        """A child that is forgotten keeps nothing at all, its handle included."""
        top = await lab.top(strategy="dynamic", report=None).start()
        await top.start_child(lab.spec("a", restart="transient"))
        toy = lab.toys.pop("a")
        toy.end("normal")
        await quiet(top)
        handle = weakref.ref(toy)
        del toy
        gc.collect()

        assert handle() is None
        assert {} == top._children
        assert {} == top._alive
        await top.stop(None)


async def _calls(lab: Lab, count: int) -> int:
    """Return how many functions run while so many children are started and stopped."""
    calls = 0

    def note(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event == "call"

    top = await lab.top(strategy="dynamic", grace=5.0).start()
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        handles = [(await top.start_child(lab.spec("a"))).handle for _ in range(count)]
        for handle in handles[::2]:
            await top.terminate_child(handle)
        await top.stop(None)
    finally:
        sys.setprofile(before)
    return calls
