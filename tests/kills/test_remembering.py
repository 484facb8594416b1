"""A kill between any two steps of what an agent remembers: right before and after each commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kills import audit, remembering
from tests.kills.ledger_file import Rows, copied, differences
from tests.kills.story import REMEMBERED
from tests.kills.test_cuts import BEFORE, ENDLESS, SIDES, Stage, living
from tests.simulation import memory_audit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

#: A soak shares the commits out among so many tests; a normal run tries every so many of them.
SHARES, USUAL = 4, 15

pytestmark = pytest.mark.slow


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Give a stage for the story of an agent, and a process that lives lives on it."""
    with living(REMEMBERED) as lives:
        found = Stage(tmp_path, lives, tale=REMEMBERED)
        found.begin()
        yield found


def known(stage: Stage) -> dict[str, Rows]:
    """Return what is remembered at the story's end, after an audit."""
    with copied(stage.home) as ledger:
        problems = [*audit.examine(ledger).problems, *audit.once(ledger)]
        problems += memory_audit.problems(ledger)
        problems += memory_audit.unsettled(ledger)
        problems += memory_audit.left(ledger, [remembering.GONE])
        assert [] == problems
        return ledger.content(remembering.CONTENT)


def halves(home: Path) -> list[str]:
    """Return what is wrong right after a kill, before anybody has looked."""
    with copied(home) as ledger:
        return [*memory_audit.problems(ledger)]


def sweep(stage: Stage, commits: range, sides: Sequence[str]) -> int:
    """Cut the story at those commits; return how many cuts landed."""
    cuts = stage.live(commits, sides)
    once = known(stage)
    for name, kept in cuts:
        stage.restore(kept)
        assert [] == halves(stage.home), f"cut {name}"
        stage.live()
        assert [] == differences(once, known(stage)), f"cut {name}"
    return len(cuts)


class TestCuts:
    def test_commits(self, stage: Stage) -> None:
        """Whichever commit is cut, nothing is half done, and all ends as it does without a cut."""
        cuts = sweep(stage, range(USUAL, ENDLESS, USUAL), BEFORE)

        print(f"{cuts} cuts landed, at every {USUAL}th commit")  # noqa: T201 - the figure
        assert cuts >= 2

    @pytest.mark.soak
    @pytest.mark.parametrize("first", range(1, SHARES + 1))
    def test_every_commit_on_both_sides(self, stage: Stage, first: int) -> None:
        """The same at each commit, also at those that were done and that nobody heard of."""
        assert sweep(stage, range(first, ENDLESS, SHARES), SIDES) >= 10
