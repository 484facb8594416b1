"""The program is killed at every step of a write: the next start finishes it or takes it back."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from cortex_actors.render import fence
from tests.power.strace import scratch
from tests.writing.dying import LATER, PACE, SCENARIOS, TEXTS, lives
from tests.writing.support import BODY, Desk, desk_in, section

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

#: Scenarios whose steps are in another one, too: a soak lives them as well.
_ALSO = frozenset({"first", "made", "undone", "crossed-1"})

#: Steps that a life cannot have; where it comes to its end, it has had all of its own.
_MOST = 200


@pytest.fixture(scope="module")
def live() -> Iterator[Callable[[Path, str, int], int]]:
    """Give the way to live a life."""
    with lives() as live:
        yield live


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Give a folder for many short lives."""
    yield from scratch()


async def _problems(folder: Path, scenario: str, step: int) -> list[str]:
    """Start again after a life that ended at a step; return what is wrong."""
    async with desk_in(folder, PACE) as desk:
        await desk.writer.recover()
        await desk.quiet()
        found = list(_state(desk, scenario))
        rows = desk.rows.rows()
        await desk.writer.recover()
        await desk.quiet()
        if rows != desk.rows.rows():
            found.append("a second recovery changes something")
        await desk.write(LATER, create=True)
        if b"Use uv" not in desk.path.read_bytes():
            found.append("it cannot be written any more")
    return [f"{scenario}, killed at step {step}: {each}" for each in found]


def _state(desk: Desk, scenario: str) -> Iterator[str]:
    """Yield what is wrong with a folder and its rows."""
    if left := [each for each in desk.names if each != "CLAUDE.md"]:
        yield f"{left} is left in the folder"
    states = [(state, aside) for state, aside, _ in desk.rows.rows()]
    if any(state == "pending" or aside for state, aside in states):
        yield f"the rows are {states}"
    data = desk.path.read_bytes() if desk.path.exists() else None
    if "made" in scenario:
        if data not in {None, section()}:
            yield f"the file is {data!r}"
        return
    saved = desk.root.parent / "saved"
    newest = TEXTS.index(saved.read_bytes()) if saved.exists() else 0
    whole = [
        each
        for text in TEXTS[newest:]
        for each in (text, *(fence.splice(text, body) for body in (BODY, LATER)))
    ]
    if data not in whole:
        yield f"the file is {data!r}"


class TestKilled:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "scenario",
        [
            pytest.param(each, marks=[pytest.mark.soak] if each in _ALSO else [])
            for each in SCENARIOS
        ],
    )
    async def test_every_step(
        self, folder: Path, live: Callable[[Path, str, int], int], scenario: str
    ) -> None:
        """After a kill at any step the file is whole and a human's, and nothing is left."""
        problems: list[str] = []
        for step in range(1, _MOST):
            (home := folder / f"{scenario}-{step}").mkdir()
            code = live(home, scenario, step)
            problems += await _problems(home, scenario, step)
            if code != -signal.SIGKILL:
                break

        print(f"{scenario}: killed at each of {step - 1} steps")  # noqa: T201 - `-rP`
        assert (0, []) == (code, problems)
        assert step > 10
