"""Daemons that are asked to stop at a moment chosen by chance, and what is there afterwards."""

from __future__ import annotations

import random
import signal
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cortex_actors.client.connection import Client
from cortex_actors.errors import CortexError
from cortex_actors.home import Home
from cortex_actors.process import lock
from cortex_actors.process.lock import HomeState
from tests.process.commands import ROOT, Commands, until
from tests.storage.ledgers import template

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

#: What a daemon does when it is asked to stop.
KINDS = ("starting", "migrating", "running", "draining", "flooded")

#: Seconds until a moment, at most, and after which a stop is too late.
LATEST, LIMIT = {"starting": 1.0, "migrating": 1.0, "running": 0.3, "draining": 0.3}, 10.0

#: Daemons at once: the machine may have two cores.
AT_ONCE = 3

#: Connections that publish at once while a daemon is flooded.
PUBLISHERS = 8

#: A daemon that has something to migrate.
_LATER = str(ROOT / "tests/process/later_daemon.py")


@dataclass(slots=True)
class Tally:
    """What came of all moments."""

    seed: int
    stops: dict[str, int] = field(default_factory=dict)
    acknowledged: int = 0
    lost: int = 0
    longest: float = 0.0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Return the numbers on a line."""
        landed = ", ".join(f"{count} {kind}" for kind, count in sorted(self.stops.items()))
        return (
            f"SIGTERM, seed {self.seed}: {sum(self.stops.values())} landed ({landed}), "
            f"{self.acknowledged} events acknowledged, {self.lost} lost, "
            f"the longest stop took {self.longest:.2f} s"
        )


class Stops:
    """Plays moments, some at once, each with a home of its own."""

    def __init__(self, folder: Path, seed: int) -> None:
        """Begin with nothing played."""
        self._folder = folder
        self.tally = Tally(seed)
        self._guard = threading.Lock()

    def play(self, count: int) -> None:
        """Stop so many daemons, each kind as often as the others."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(self._one, range(count)))

    def _one(self, number: int) -> None:
        """Stop one daemon."""
        kind = KINDS[number % len(KINDS)]
        chance = random.Random(f"{self.tally.seed} {number}")
        home = Home(self._folder / f"{number}")
        home.create()
        commands = Commands(home.root)
        if kind == "migrating":
            home.ledger.write_bytes(template())
            daemon = commands.spawn(str(self._folder / f"later{number}"), "run", program=_LATER)
        else:
            daemon = commands.spawn("run")
        try:
            acknowledged, took = _stopped(home, daemon, kind, chance=chance)
            with self._guard:
                self._judge(f"{kind} {number}", daemon, took=took)
                self._count(home, kind, acknowledged=acknowledged)
        finally:
            daemon.kill()
            daemon.communicate()

    def _judge(self, name: str, daemon: subprocess.Popen[str], *, took: float) -> None:
        """Note how it ended."""
        self.tally.longest = max(self.tally.longest, took)
        if daemon.returncode != 0 or took > LIMIT:
            _, said = daemon.communicate()
            words = f"{name}: ended with {daemon.returncode} after {took:.2f} s: {said[-300:]}"
            self.tally.problems.append(words)

    def _count(self, home: Home, kind: str, *, acknowledged: list[str]) -> None:
        """Note what is in the ledger, and that the lock says it was stopped."""
        there = _events(home)
        self.tally.stops[kind] = self.tally.stops.get(kind, 0) + 1
        self.tally.acknowledged += len(acknowledged)
        self.tally.lost += len(set(acknowledged) - there)
        if lock.read_state(home) is not HomeState.STOPPED:
            self.tally.problems.append(f"{kind}: the lock says {lock.read(home)}")


def _stopped(
    home: Home, daemon: subprocess.Popen[str], kind: str, *, chance: random.Random
) -> tuple[list[str], float]:
    """Stop a daemon at a moment; return what it acknowledged, and the seconds that took."""
    acknowledged: list[str] = []
    publishers: list[threading.Thread] = []
    # From here on it hears signals; before, nobody has anything to lose.
    until(lambda: lock.read(home).pid == daemon.pid, "an owner")
    if kind not in ("starting", "migrating"):
        until(lambda: lock.read(home).state == HomeState.RUNNING, "a daemon")
        publishers = [
            threading.Thread(target=_publish, args=(home, acknowledged))
            for _ in range(PUBLISHERS if kind == "flooded" else 1)
        ]
        for publisher in publishers:
            publisher.start()
    time.sleep(chance.uniform(0, LATEST.get(kind, 0.5)))
    begun = time.monotonic()
    daemon.send_signal(signal.SIGTERM)
    if kind == "draining":
        time.sleep(chance.uniform(0, 0.2))
        with suppress(ProcessLookupError):
            daemon.send_signal(signal.SIGTERM)
    daemon.wait(3 * LIMIT)
    took = time.monotonic() - begun
    for publisher in publishers:
        publisher.join()
    return acknowledged, took


def _publish(home: Home, acknowledged: list[str]) -> None:
    """Say durable events until nobody takes them any more, and note those that were taken."""
    client = Client(home)
    payload = {"text": "x" * 200}
    with suppress(CortexError):
        while True:
            topic = ("custom:noise", "scan:requested")[len(acknowledged) % 2]
            said = payload if topic == "custom:noise" else {}
            acknowledged.append(client.call("publish", topic=topic, payload=said)["id"])


def _events(home: Home) -> set[str]:
    """Return the ids of the events in a ledger that nobody has open."""
    if not home.ledger.exists():
        return set()
    with closing(sqlite3.connect(home.ledger)) as ledger:
        sound = ledger.execute("PRAGMA quick_check").fetchone()
        assert ("ok",) == sound, sound
        if not ledger.execute("PRAGMA user_version").fetchone()[0]:
            return set()
        return {found for (found,) in ledger.execute("SELECT id FROM events")}
