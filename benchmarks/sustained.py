"""A daemon that is asked to remember and to recall at a steady rate, over its control socket."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.statements import statements
from cortex_actors.client.connection import Client
from cortex_actors.home import Home

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from pathlib import Path

#: Connections that share the requests: one carries a request at a time.
CONNECTIONS = 32

#: Seconds between two looks at how late the daemon's loop is, and what waits.
LOOK = 1.0

#: Seconds after the last request in which what waits must be done.
SETTLING = 30.0

#: Milliseconds after which half of the answers must be there that were due in the last tenth of the
#: time. A queue that grows all the while makes those the latest: of a daemon that is asked for a
#: thirtieth more than it can do they are two seconds late after a minute.
GOAL_MS = 2_000.0

#: What two cores stand, of each a second, and the milliseconds at the median that it may take then.
STEADY, P50_MS = 20, 300.0

#: Bytes that a line of an answer may have.
LINE = 16 * 1024 * 1024

#: Which numbers of `status` are work that waits: deliveries, texts without a vector, the index.
WAITING = ("waiting", "unembedded", "unindexed")


@dataclass(slots=True)
class Verb:
    """How the requests of one verb went; milliseconds from when each was due."""

    asked: int = 0
    errors: list[str] = field(default_factory=list)
    #: When each was due, in seconds, and what it took from then on, in the order of the answers.
    due: list[float] = field(default_factory=list)
    took: list[float] = field(default_factory=list)

    def at(self, share: float) -> float:
        """Return the time within which that share of the requests was answered."""
        return round(float(np.percentile(self.took, share)), 2) if self.took else 0.0

    @property
    def last(self) -> float:
        """The median of the tenth of the requests that were due last."""
        took = [took for _, took in sorted(zip(self.due, self.took, strict=True))]
        return round(float(np.median(took[-max(1, len(took) // 10) :])), 2) if took else 0.0


@dataclass(slots=True)
class Minute:
    """What a minute of use came to."""

    seconds: float
    rate: int
    verbs: dict[str, Verb]
    #: Milliseconds by which the daemon's loop was late, at each look: the worst and the median.
    lag_worst_ms: float = 0.0
    lag_p50_ms: float = 0.0
    #: The most that waited at a look, and what waits after `settled_s` seconds.
    most_waiting: int = 0
    left_waiting: int = 0
    settled_s: float = 0.0
    merged: int = 0
    state: str = ""

    @property
    def goals(self) -> list[tuple[str, float, float]]:
        """What is held to a goal, what it is, and the most that it may be."""
        late = [(f"{name}, ms at last", verb.last, GOAL_MS) for name, verb in self.verbs.items()]
        errors = sum(len(verb.errors) for verb in self.verbs.values())
        if self.rate <= STEADY:
            late += [
                (f"{name}, ms at p50", verb.at(50), P50_MS) for name, verb in self.verbs.items()
            ]
        return [("errors", errors, 0), ("left waiting", self.left_waiting, 0), *late]

    @property
    def is_well(self) -> bool:
        """Whether every request was answered, as fast at last, and nothing is left to do."""
        return all(figure <= goal for _, figure, goal in self.goals)

    def plain(self) -> dict[str, Any]:
        """Return it for a program: of each verb the percentiles instead of every time."""
        found = asdict(self)
        for name, verb in self.verbs.items():
            found["verbs"][name] = {
                "asked": verb.asked,
                "errors": verb.errors,
                "p50_ms": verb.at(50),
                "p99_ms": verb.at(99),
                "last_ms": verb.last,
            }
        return found

    def show(self) -> None:
        """Print it."""
        print(f"\n{self.rate} of each a second for {self.seconds:g} s, over the control socket")
        for name, verb in self.verbs.items():
            print(
                f"{name:12}{verb.asked:>9,}{verb.at(50):>9.2f}{verb.at(99):>9.2f}"
                f"  {len(verb.errors)} errors {verb.errors[:1] or ''}"
            )
        print(
            f"loop late by {self.lag_p50_ms:.1f} ms (worst {self.lag_worst_ms:.1f}); at most"
            f" {self.most_waiting} waited, {self.left_waiting} after {self.settled_s:.1f} s;"
            f" {self.merged} merged; {self.state}"
        )
        for what, figure, goal in self.goals:
            print(f"{'met   ' if figure <= goal else 'MISSED'} {what}: {figure:g} (goal: {goal:g})")


def minute(data: Path, *, rate: int, seconds: float, provider: str, models: Path | None) -> Minute:
    """Start a daemon on a home of its own, use it, and stop it."""
    with tempfile.TemporaryDirectory(prefix="cx-") as folder:
        home = Home.find(folder)
        if models is not None and models.is_dir():
            shutil.copytree(models, home.models, dirs_exist_ok=True)
        environment = {**os.environ, "CORTEX_HOME": folder, "CORTEX_EMBEDDING__PROVIDER": provider}
        _cortex("start", environment)
        try:
            while Client(home).call("status")["model"]["state"] == "loading":
                time.sleep(0.1)
            return asyncio.run(_used(home, data, rate=rate, seconds=seconds))
        finally:
            _cortex("stop", environment)


async def _used(home: Home, data: Path, *, rate: int, seconds: float) -> Minute:
    """Ask for everything when it is due, and look meanwhile how the daemon is."""
    count = round(rate * seconds)
    said = statements(data, count)
    found = Minute(seconds, rate, {"remember": Verb(), "recall": Verb()})
    free: asyncio.Queue[Line] = asyncio.Queue()
    lines = [await Line.open(home) for _ in range(CONNECTIONS)]
    for each in lines[1:]:
        free.put_nowait(each)
    lags: list[float] = []
    async with asyncio.TaskGroup() as group:
        looking = group.create_task(_look(lines[0], found, lags))
        begun = time.perf_counter()
        asks = [group.create_task(each) for each in _asks(found, free, said, begun)]
        await asyncio.wait(asks)
        looking.cancel()
    await _settled(lines[0], found)
    found.lag_worst_ms, found.lag_p50_ms = round(max(lags), 2), round(float(np.median(lags)), 2)
    for each in lines:
        each.close()
    return found


def _asks(
    found: Minute, free: asyncio.Queue[Line], said: list[str], begun: float
) -> Iterator[Coroutine[object, object, None]]:
    """Yield every request, due at its time."""
    for number, text in enumerate(said):
        due = begun + number / found.rate
        agent = f"AGENT-{number % 5}"
        keep = {"content": text, "agent": agent, "type": "fact"}
        yield _ask(found, free, "remember", keep, due)
        asked = {"query": said[number // 2], "limit": 5}
        yield _ask(found, free, "recall", asked, due + 0.5 / found.rate)


async def _ask(
    found: Minute, free: asyncio.Queue[Line], verb: str, params: dict[str, Any], due: float
) -> None:
    """Send one request when it is due, on a connection that is free."""
    await asyncio.sleep(max(0.0, due - time.perf_counter()))
    line = await free.get()
    try:
        answer = await line.call(verb, params)
    finally:
        free.put_nowait(line)
    mine = found.verbs[verb]
    mine.asked += 1
    mine.due.append(due)
    mine.took.append((time.perf_counter() - due) * 1_000)
    if "error" in answer:
        mine.errors.append(str(answer["error"]["message"]))
    else:
        found.merged += bool(answer["result"].get("merged"))


async def _look(line: Line, found: Minute, lags: list[float]) -> None:
    """Look every second how late the daemon's loop is, and how much waits."""
    while True:
        status = (await line.call("status", {}))["result"]
        lags.append(float(status["loop_lag_ms"]))
        found.most_waiting = max(found.most_waiting, _waiting(status))
        await asyncio.sleep(LOOK)


async def _settled(line: Line, found: Minute) -> None:
    """Wait until nothing waits, for a while."""
    begun = time.perf_counter()
    while True:
        status = (await line.call("status", {}))["result"]
        found.left_waiting = _waiting(status)
        found.settled_s = round(time.perf_counter() - begun, 2)
        found.state = "; ".join([status["state"], *status["reasons"]])
        if not found.left_waiting or found.settled_s > SETTLING:
            return
        await asyncio.sleep(0.1)


def _waiting(status: dict[str, Any]) -> int:
    """Return how much work waits in a daemon."""
    return sum(int(status.get(each, 0)) for each in WAITING)


class Line:
    """One connection to the control socket: a request, then its answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take over an open connection."""
        self._reader = reader
        self._writer = writer
        self._numbers = itertools.count()

    @classmethod
    async def open(cls, home: Home) -> Line:
        """Connect."""
        return cls(*await asyncio.open_unix_connection(home.socket, limit=LINE))

    async def call(self, verb: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to one request, whatever it is."""
        request = {"jsonrpc": "2.0", "id": next(self._numbers), "method": verb, "params": params}
        self._writer.write(json.dumps(request).encode() + b"\n")
        answer: dict[str, Any] = json.loads(await self._reader.readline())
        return answer

    def close(self) -> None:
        """Hang up."""
        self._writer.close()


def _cortex(command: str, environment: dict[str, str]) -> None:
    """Run a command of the command line."""
    words = [sys.executable, "-m", "cortex_actors", command]
    subprocess.run(words, check=True, env=environment, stdout=subprocess.DEVNULL)  # noqa: S603
