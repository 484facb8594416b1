"""What a kill at any moment leaves behind."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = str(Path(__file__).with_name("killed_consumer.py"))

#: Events to be handled.
EVENTS = 300

#: Lives after which a test has failed: each makes some progress.
LIVES = 80

pytestmark = pytest.mark.slow


def life(home: Path, seconds: float | None) -> bool:
    """Run the consumer, killed after so many seconds of work; tell whether it came to its end."""
    with subprocess.Popen(
        [sys.executable, SCRIPT, str(home), str(EVENTS)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        if seconds is not None:
            time.sleep(seconds)
            process.kill()
    return process.returncode == 0


class TestKill:
    def test_every_effect_once(self, tmp_home: Path) -> None:
        """However often the process is killed, every event has its effect exactly once."""
        seed = random.randrange(10**6)
        chance = random.Random(seed)
        lives = 1
        while not life(tmp_home, chance.uniform(0, 0.06) if lives < 12 else None):
            lives += 1
            assert lives < LIVES
        with closing(sqlite3.connect(tmp_home / "cortex.db")) as ledger:
            query = "SELECT kind, count(*), count(DISTINCT path) FROM runs GROUP BY kind"
            effects = ledger.execute(query).fetchall()
            (left,) = ledger.execute("SELECT count(*) FROM deliveries").fetchone()
            (dead,) = ledger.execute("SELECT count(*) FROM dead_letters").fetchone()
            (epoch,) = ledger.execute("SELECT epoch FROM owner").fetchone()
            checked = ledger.execute("PRAGMA integrity_check").fetchall()

        assert [("accumulator", EVENTS, EVENTS), ("reconciler", EVENTS, EVENTS)] == effects
        assert (0, 0) == (left, dead)
        assert [("ok",)] == checked
        assert lives >= epoch >= 2
