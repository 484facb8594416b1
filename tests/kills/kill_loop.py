"""A home whose daemon is killed again and again, while others use it."""

from __future__ import annotations

import random
import shutil
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cortex_actors.client.connection import Client
from tests.flow.support import SAMPLES
from tests.kills import audit
from tests.kills.ledger_file import LIVING, Rows, copied, witness
from tests.kills.life import Life
from tests.kills.load import FILES, Editor, Publisher
from tests.process.commands import until

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.kills.audit import Said

#: Publishers and editors.
PUBLISHERS, EDITORS = 4, 2

#: Seconds that a start takes, about: kills land before and after it has come to its end.
START = 0.9

#: Seconds of work up to which a ready daemon is let live.
WORK = 0.9

#: Share of kills that land in a start.
EARLY = 0.4

#: Seconds within which a daemon in peace must have learned everything.
LEARNING = 120.0

#: Kills of the very first start, on an empty home.
FIRST_KILLS = 4


@dataclass(slots=True)
class Tally:
    """What a run of kills came to."""

    seed: int
    landed: int = 0
    before_ready: int = 0
    stopped: int = 0
    acknowledged: int = 0
    unanswered: int = 0
    repeated: int = 0
    lost: int = 0
    doubled: int = 0
    saves: int = 0
    written: int = 0
    slowest_start: float = 0.0
    slowest_orphan: float = 0.0
    problems: list[str] = field(default_factory=list)

    def take(self, found: audit.Findings) -> None:
        """Take in what an audit found."""
        self.lost, self.doubled = max(self.lost, found.lost), max(self.doubled, found.doubled)
        self.problems += found.problems

    def __str__(self) -> str:
        return (
            f"seed {self.seed}: {self.landed} kills landed ({self.before_ready} of them before the "
            f"daemon was ready), {self.stopped} stops; {self.acknowledged} records acknowledged "
            f"({self.unanswered} answers were lost, {self.repeated} of those records were there), "
            f"{self.lost} lost, {self.doubled} doubled; {self.saves} saves by people and "
            f"{self.written} writes by daemons; ready after "
            f"{self.slowest_start:.2f} s at worst; what a kill left running ended after "
            f"{self.slowest_orphan:.2f} s at worst; problems: {self.problems[:5] or 'none'}"
        )


class KillLoop:
    """One home through many lives, each ended at a random moment."""

    def __init__(self, folder: Path, home: Path, seed: int) -> None:
        self._chance = random.Random(seed)
        self.tally = Tally(seed)
        self.home = home
        self._client = Client(home)
        self.roots = [folder / name for name in sorted(p.name for p in SAMPLES.iterdir())]
        for root in self.roots:
            shutil.copytree(SAMPLES / root.name, root)
        paths = [str(root / name) for root in self.roots for name in FILES]
        self._publishers = [
            Publisher(home, f"publisher-{n}", self._dice(), paths) for n in range(PUBLISHERS)
        ]
        self._editors = [
            Editor(f"editor-{n}", self._dice(), self.roots[n::EDITORS]) for n in range(EDITORS)
        ]

    def play(self, kills: int, stops: int, *, every: int = 1) -> None:
        """Kill and stop so many times, with an audit after `every` so many lives."""
        self._begin()
        users: list[Publisher | Editor] = [*self._publishers, *self._editors]
        for user in users:
            user.start()
        try:
            while self.tally.landed < kills:
                self._killed(self._chance.random() < EARLY)
                if self.tally.landed % every == 0:
                    self._examine()
            for _ in range(stops):
                self._stopped()
        finally:
            for user in users:
                user.end()
        self._rest()

    def content(self) -> dict[str, Rows]:
        """Return what the ledger says of the files as they are now."""
        with copied(self.home) as ledger:
            return ledger.content(LIVING)

    @property
    def acknowledged(self) -> list[Said]:
        """Every event that was promised to be durable, as far as it is known by now."""
        return [said for each in self._publishers for said in tuple(each.acknowledged)]

    @property
    def revisions(self) -> dict[str, set[str]]:
        """For each file, the hashes of everything it ever held."""
        return {path: held for each in self._editors for path, held in each.revisions.items()}

    def _begin(self) -> None:
        """Kill the first starts of an empty home; then have its ledger witnessed, and used."""
        while self.tally.landed < FIRST_KILLS:
            life = Life(self.home)
            life.wait(self._chance.uniform(0.1, START))
            self._kill(life)
        life = self._ready(Life(self.home))
        self._kill(life)
        self._examine()
        witness(self.home)
        life = self._ready(Life(self.home))
        follow(self._client, self.roots)
        resolve(self._client, self.roots)
        self._kill(life)

    def _killed(self, early: bool) -> None:
        """Live one life: killed at some moment of its start, or of its work."""
        life = Life(self.home)
        if early:
            life.wait(self._chance.uniform(0.05, START))
        else:
            self._ready(life)
            life.wait(self._chance.choice([0.02, WORK, WORK]) * self._chance.random())
        self._kill(life)

    def _stopped(self) -> None:
        """Live one life that is asked to stop at some moment."""
        life = Life(self.home)
        life.wait(self._chance.uniform(0.3, START))
        if self._chance.random() < 0.7:
            self._ready(life)
            life.wait(self._chance.uniform(0, WORK))
        self._stop(life)

    def _rest(self) -> None:
        """Let a last life learn everything, and look at what it has learned."""
        for each in self._publishers:
            self.tally.problems += each.problems
            self.tally.unanswered += each.unanswered
            self.tally.repeated += each.repeated
        self.tally.acknowledged = len(self.acknowledged)
        self.tally.saves = sum(len(held) for held in self.revisions.values())
        life = self._ready(Life(self.home))
        learn(self._client)
        self._stop(life)
        self._examine()
        with copied(self.home) as ledger:
            self.tally.problems += audit.once(ledger, self.acknowledged)
            self.tally.problems += audit.settled(ledger, self.revisions)
            self.tally.written = ledger.one("SELECT count(*) FROM file_writes")
        self.tally.problems += [each for editor in self._editors for each in editor.problems()]

    def _examine(self) -> None:
        """Look at the ledger as the last life has left it."""
        with copied(self.home) as ledger:
            self.tally.take(audit.examine(ledger, self.acknowledged))

    def _ready(self, life: Life) -> Life:
        """Return a life once it is ready."""
        seconds = life.ready()
        assert seconds is not None, (self.home / "said").read_text()
        self.tally.slowest_start = max(self.tally.slowest_start, seconds)
        return life

    def _kill(self, life: Life) -> None:
        """Kill it; whatever it had started must end by itself."""
        ready = life.is_ready or life.ready(0) is not None
        assert life.kill(), f"a daemon ended by itself: {self._said()}"
        self.tally.landed += 1
        self.tally.before_ready += not ready
        self.tally.slowest_orphan = max(self.tally.slowest_orphan, life.alone())

    def _stop(self, life: Life) -> None:
        """Ask it to stop, which it must do well, unless it cannot hear anything yet."""
        code = life.stop()
        if code != 0 and (life.is_ready or code != -signal.SIGTERM):
            self.tally.problems.append(f"a stop ended with {code}: {self._said()}")
        self.tally.stopped += 1
        life.alone()

    def _said(self) -> str:
        return (self.home / "said").read_text()[-2_000:]

    def _dice(self) -> random.Random:
        return random.Random(self._chance.random())


def follow(client: Client, roots: Iterable[Path]) -> None:
    """Have a daemon follow projects."""
    for root in roots:
        client.call("add_project", path=str(root))


def resolve(client: Client, roots: Iterable[Path]) -> None:
    """Have a daemon bring what projects say into each other's files, from now on."""
    for root in roots:
        client.call("set_auto", project=str(root), on=True)


def learn(client: Client) -> None:
    """Return once a daemon has read every file anew, and everything has come to rest."""
    client.call("scan")

    def rests() -> bool:
        status = client.call("status")
        return not any(status.get(each, 1) for each in ("waiting", "unembedded", "unindexed"))

    try:
        until(rests, "that everything is learned", within=LEARNING)
    except AssertionError as error:
        raise AssertionError(f"{error}; status is {client.call('status')}") from None


def clean(home: Path, roots: Iterable[Path]) -> dict[str, Rows]:
    """Return what one daemon that nobody disturbs learns of projects."""
    life, client = Life(home), Client(home)
    assert life.ready() is not None, (home / "said").read_text()
    follow(client, roots)
    learn(client)
    assert life.stop() == 0
    with copied(home) as ledger:
        return ledger.content(LIVING)
