"""A flood of events while nobody handles them: each has an answer, and all are handled later."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.client.connection import Client
from tests.kills import audit
from tests.kills.flood import Flood
from tests.kills.gated_daemon import GATE
from tests.kills.kill_loop import follow
from tests.kills.ledger_file import copied, make
from tests.kills.life import Life
from tests.process.commands import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kills.ledger_file import LedgerFile

#: Bytes that a daemon may grow by while nobody handles a flood.
GROWTH = 400 * 2**20

pytestmark = pytest.mark.slow


class Gated:
    """A daemon whose consumers wait at a gate, in a home with one project."""

    def __init__(self, home: Path, root: Path) -> None:
        self.home = home
        self.root = root
        self.client = Client(home)
        root.mkdir()
        make(home)
        self.life = Life(home, program=str(Path(__file__).with_name("gated_daemon.py")))
        assert self.life.ready() is not None
        follow(self.client, [root])

    def burst(self, count: int) -> Flood:
        """Say so much at once."""
        flood, before, began = Flood(), self.memory(), time.monotonic()
        said = [self._event(number) for number in range(count)]
        flood.pour(self.home, said)
        took, self.grown = time.monotonic() - began, self.memory("VmHWM") - before
        print(  # noqa: T201 - what the burst came to
            f"{count} events at once: {len(flood.acknowledged)} acknowledged, "
            f"{len(flood.refused)} refused {sorted(set(flood.refused))} in {took:.1f} s; "
            f"the daemon grew by {self.grown / 2**20:.0f} MiB"
        )
        return flood

    def drain(self, within: float) -> None:
        """Open the gate and wait until everything is handled; then stop the daemon."""
        began = time.monotonic()
        (self.home / GATE).touch()
        until(
            lambda: self.client.call("status").get("waiting") == 0, "the end of it", within=within
        )
        print(f"drained in {time.monotonic() - began:.1f} s")  # noqa: T201 - as above
        assert 0 == self.life.stop()

    def _event(self, number: int) -> tuple[str, dict[str, object]]:
        """Return what is said: some is handled alone, some once for each file, some once at all."""
        match number % 10:
            case 0:
                return "project:added", {"ids": ["prj_1"]}
            case 1 | 2 | 3:
                return "file:changed", {"path": f"{self.root}/p{number // 60}/CLAUDE.md"}
            case _:
                return "reconciliation:requested", {}

    def memory(self, what: str = "VmRSS") -> int:
        """Return the bytes that the daemon has in memory now, or had at most."""
        status = Path(f"/proc/{self.life.pid}/status").read_text()
        found = re.search(rf"{what}:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) * 1024


@pytest.fixture
def gated(tmp_path: Path, tmp_home: Path) -> Iterator[Gated]:
    """Give a daemon whose consumers wait."""
    if not Path("/proc").is_dir():
        pytest.skip("what a process has in memory is read from /proc, which is not here")
    daemon = Gated(tmp_home, tmp_path / "project")
    yield daemon
    daemon.life.kill()


def overtaken(ledger: LedgerFile) -> Iterator[str]:
    """Yield consumers that did not handle the events of one project in their order."""
    # What was handled together counts as its oldest; without a key nothing ever is.
    for consumer, together in {"accumulator": "unit", "watchlist": "n"}.items():
        rows = ledger.query(
            "SELECT min(seq) FROM audit WHERE what = 'gone' AND who = ? "  # noqa: S608 - see above
            f"GROUP BY {together} ORDER BY min(n)",
            consumer,
        )
        if rows != sorted(rows):
            yield f"{consumer} handled {rows}"


def survived(gated: Gated, count: int, within: float) -> None:
    """Pour and drain a burst, and look at what is left."""
    flood = gated.burst(count)
    waiting = gated.client.call("status")["waiting"]
    gated.drain(within)

    assert [] == flood.problems
    assert count == len(flood.acknowledged) + len(flood.refused)
    assert len(flood.acknowledged) <= waiting
    assert gated.grown <= GROWTH
    with copied(gated.home) as ledger:
        assert [] == audit.examine(ledger).problems
        stored = {each for (each,) in ledger.query("SELECT id FROM events")}
        assert set() == set(flood.acknowledged) - stored
        assert [] == list(audit.once(ledger))
        assert [] == list(overtaken(ledger))


class TestBurst:
    def test_three_thousand(self, gated: Gated) -> None:
        """Events that come at once are stored or refused, and handled in order when it goes on."""
        survived(gated, 3_000, within=60)

    @pytest.mark.soak
    def test_a_hundred_thousand(self, gated: Gated) -> None:
        """The same for a hundred thousand."""
        survived(gated, 100_000, within=1_500)
