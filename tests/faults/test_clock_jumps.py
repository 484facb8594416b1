"""The wall clock jumps while the daemon runs: an hour back, an hour ahead, a hundred days ahead."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.client.connection import Client
from tests.faults.ground import Said
from tests.process.commands import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.process.commands import Commands

pytestmark = pytest.mark.slow

#: Where Debian's package faketime has the library that turns a process's hands.
PLACES = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))

#: What the hands are set to, one after another.
JUMPS = ("+0", "-1h", "+1h", "+100d", "+0")


#: Seconds between two runs of a job of the schedule, and the ones that it was done.
OFTEN = 0.4
DONE = "SELECT id FROM events WHERE topic = 'organisation:requested' AND source = 'scheduler'"

#: What was said by the test, in the order of the ledger.
ORDER = "SELECT id FROM events WHERE topic = 'custom:fault' ORDER BY seq"

#: Runs said to be done, different ones, runs that are kept, files heard of; what waits beside what
#: the timer says at any moment, what was set aside; whether the times of events are far apart.
AUDIT = """
SELECT
    (SELECT count(*) FROM events WHERE topic = 'accumulation:complete'),
    (SELECT count(DISTINCT json_extract(payload, '$.run_id')) FROM events
        WHERE topic = 'accumulation:complete'),
    (SELECT count(*) FROM runs WHERE kind = 'accumulator'),
    (SELECT count(*) FROM events WHERE topic = 'file:changed'),
    (SELECT count(*) FROM deliveries JOIN events USING (seq)
        WHERE topic <> 'organisation:requested'),
    (SELECT count(*) FROM dead_letters),
    (SELECT max(at) - min(at) > 90 * 86400 * 1000000 FROM events)
"""


def need_faketime() -> Path:
    """Return the library; skip the test without it, except on a machine that is to test all."""
    if PLACES:
        return PLACES[0]
    reason = "faketime is not installed: `apt-get install faketime` brings it"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def numbers(found: object) -> Iterator[float]:
    """Give every number in an answer."""
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, list):
        for each in found:
            yield from numbers(each)
    elif isinstance(found, int | float):
        yield found


def save(path: Path, text: str) -> None:
    """Save a file at one stroke: a reader in the midst of it would rightly see one change more."""
    beside = path.with_suffix(".new")
    beside.write_text(text)
    beside.replace(path)


def asked(home: Path, query: str) -> list[tuple[Any, ...]]:
    """Ask the ledger."""
    with closing(sqlite3.connect(f"file:{home}/cortex.db?mode=ro", uri=True)) as ledger:
        return ledger.execute(query).fetchall()


def turned(cortex: Commands, hands: Path) -> None:
    """Start a home's daemon whose wall clock shows what a file says."""
    ours = {
        "LD_PRELOAD": str(need_faketime()),
        "FAKETIME_TIMESTAMP_FILE": str(hands),
        "FAKETIME_NO_CACHE": "1",
        "NO_FAKE_STAT": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "CORTEX_SCHEDULE__PRUNE_EVERY_S": "1",
        "CORTEX_SCHEDULE__ORGANISE_EVERY_S": str(OFTEN),
        "CORTEX_SCHEDULE__JITTER_S": "0",
    }
    before = cortex.env
    cortex.env = before | ours
    cortex.spawn("run")
    cortex.env = before
    cortex.wait()


class TestJumps:
    def test_live(self, cortex: Commands, tmp_home: Path, tmp_path: Path) -> None:
        """Whatever the clock says, timers keep pace and nothing is lost, doubled or moved."""
        hands, project = tmp_path / "hands", tmp_path / "project"
        project.mkdir()
        hands.write_text(JUMPS[0])
        begun = time.monotonic()
        turned(cortex, hands)
        client, said, ages = Client(tmp_home), Said(tmp_home), list[float]()
        client.call("add_project", path=str(project))
        for place, jump in enumerate(JUMPS):
            hands.write_text(jump)
            before = len(asked(tmp_home, DONE))
            said.say(5)
            save(project / "CLAUDE.md", f"# Rules\n\nNever skip rule {place}.\n")
            until(lambda n=place: f"rule {n}" in str(client.call("insights")), jump)  # type: ignore[misc]
            until(lambda n=before: len(asked(tmp_home, DONE)) > n, f"a timer after {jump}")  # type: ignore[misc]
            ages += numbers(said.status())
        assert len(asked(tmp_home, DONE)) <= (time.monotonic() - begun) / OFTEN + 1
        # Not `waiting == 0`: on a slow machine what the timer says comes faster than it is handled.
        until(lambda: 0 == asked(tmp_home, AUDIT)[0][4], "everything but the timer's to be handled")
        said.report(f"jumps of the clock: {', '.join(JUMPS)}")
        ((*counts, left, dead, jumped),) = asked(tmp_home, AUDIT)

        assert jumped == 1  # the hands were really turned
        assert said.acknowledged == [row[0] for row in asked(tmp_home, ORDER)]
        assert [len(JUMPS)] * 4 == counts
        assert (0, 0, 1) == (left, dead, client.call("insights")["total"])
        assert min(ages) >= 0
