from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.errors import RoundTripFailed
from cortex_actors.storage.ledger.files import list_beside
from tests.schedule.support import scheduled

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.schedule.support import Watched


class Trials:
    """What the daemon is tried with; the last state is what the next trial comes to."""

    def __init__(self) -> None:
        self.count = 0
        self.state = "ok"

    async def __call__(self) -> dict[str, Any]:
        self.count += 1
        return {"state": self.state, "reason": "" if self.state == "ok" else "recall: it is lost"}


@pytest.fixture
def trials() -> Trials:
    """Give trials that are counted."""
    return Trials()


@pytest.fixture
async def watched(tmp_path: Path, trials: Trials) -> AsyncIterator[Watched]:
    """Give a scheduler that tries the daemon every quarter of an hour."""
    async with scheduled(tmp_path, trial=trials, probe_every_s=900) as found:
        yield found


def touch(watched: Watched) -> None:
    """Let the ledger's file look as if somebody wrote it right now."""
    at = watched.clock.now() * 1_000
    ledger = watched.store.home.ledger
    for each in (ledger, *list_beside(ledger)):
        if each.exists():
            os.utime(each, ns=(at, at))


class TestProbe:
    async def test_soon_after_each_start(self, watched: Watched, trials: Trials) -> None:
        """Half a minute after every start the daemon is tried, whenever that was done before."""
        await watched.turn(29)
        before = trials.count
        await watched.turn(1)
        await watched.restart()
        await watched.turn(30)

        assert (0, 2) == (before, trials.count)

    async def test_again_and_again(self, watched: Watched, trials: Trials) -> None:
        """After that it is tried as often as the settings say."""
        await watched.turn(30)
        for _ in range(4):
            await watched.turn(450)
            touch(watched)
            await watched.turn(450)

        assert 5 == trials.count

    async def test_idle_ledger_stays(self, watched: Watched, trials: Trials) -> None:
        """While nobody writes it is tried no more than once a day: a trial writes, too."""
        touch(watched)
        await watched.turn(30)
        for _ in range(6):
            await watched.turn(900)
        idle = trials.count
        await watched.turn(86_400)

        assert (1, 2) == (idle, trials.count)

    async def test_writes_no_row(self, watched: Watched) -> None:
        """A trial that went well costs the schedule no write."""
        query = "SELECT finished_at FROM jobs WHERE name = 'probe'"
        await watched.turn(30)

        assert "done" == (await watched.job("probe"))["state"]
        assert [(None,)] == await watched.store.rows(query)

    async def test_failed_is_tried_sooner(self, watched: Watched, trials: Trials) -> None:
        """A trial that failed is a job that failed, and is tried again in five minutes."""
        trials.state = "failed"
        await watched.turn(30)
        failing = await watched.failing()
        trials.state = "ok"
        await watched.turn(300)

        assert {"probe": "recall: it is lost"} == failing
        assert (2, {}) == (trials.count, await watched.failing())

    async def test_degraded_is_told(self, watched: Watched, trials: Trials) -> None:
        """A trial that went well in part has not failed, and its row says what did not answer."""
        trials.state = "degraded"
        await watched.turn(30)

        assert {} == await watched.failing()
        assert "recall: it is lost" == (await watched.job("probe"))["said"]

    async def test_degraded_is_tried_sooner(self, watched: Watched, trials: Trials) -> None:
        """What did not answer is tried again after half a minute, then twice as late each time."""
        trials.state = "degraded"
        counts = []
        for seconds in (30, 30, 59, 1, 119):
            await watched.turn(seconds)
            counts.append(trials.count)
        trials.state = "ok"
        await watched.turn(1)
        await watched.turn(450)
        touch(watched)
        await watched.turn(449)
        well = trials.count
        await watched.turn(1)

        assert ([1, 2, 2, 3, 3], 4, 5) == (counts, well, trials.count)

    async def test_asked_for(self, watched: Watched, trials: Trials) -> None:
        """Somebody who asks for the job hears that it failed."""
        trials.state = "failed"
        with pytest.raises(RoundTripFailed, match="recall: it is lost"):
            await watched.ask("probe")
