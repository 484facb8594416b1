"""What an AI client's session costs: start, calls, context and memory, in one run.

`cortex mcp` is ready when its first answer, to `initialize`, has come; that is compared with the
start of a bare interpreter. A tool call is compared with the same operation on the control socket.
Goals: ready in 300 ms, the list of tools in 6,000 bytes. Exits 1 when one is missed.

Others' users report, of one memory server's tools: 74,000 of 200,000 tokens
(https://github.com/RedPlanetHQ/core/issues/127), some 296,000 bytes; of all servers of a session
98,700 (https://github.com/anthropics/claude-code/issues/13717). A process of one took 400 to 2,900
MB (https://github.com/basicmachines-co/basic-memory/issues/872, and
https://github.com/major7apps/pensyve/pull/162).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.quick import cortex, timed, wait_for_model
from cortex_actors.client.connection import Client

if TYPE_CHECKING:
    from collections.abc import Callable

#: Milliseconds until a session is ready, and bytes of `tools/list`.
READY_GOAL, LIST_GOAL = 300.0, 6_000

#: Times that each is done, and sessions at once.
ROUNDS, CALLS, SESSIONS = 15, 50, 10

GREETING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


class Session:
    """One `cortex mcp` and its client."""

    def __init__(self) -> None:
        """Start it, and greet it."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "cortex_actors", "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.send("initialize", GREETING)

    def send(self, method: str, params: dict[str, Any]) -> None:
        """Send a request."""
        assert self.process.stdin is not None
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self) -> bytes:
        """Return the next line."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def ready(self) -> None:
        """Wait for the answer to the greeting, and end it."""
        self.hear()
        assert self.process.stdin is not None
        self.process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def call(self, name: str, **given: object) -> None:
        """Call a tool."""
        self.send("tools/call", {"name": name, "arguments": given})
        self.hear()

    def close(self) -> None:
        """End it."""
        self.process.communicate()


def milliseconds(work: Callable[[], object]) -> float:
    """Return how long something takes."""
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1_000


def ready() -> float:
    """Return after how many milliseconds a new session is ready."""
    begun = time.perf_counter()
    session = Session()
    session.hear()
    took = (time.perf_counter() - begun) * 1_000
    session.close()
    return took


def megabytes(pid: int) -> float:
    """Return what a process has in memory, and no other has (Linux; RSS where that is not said)."""
    found = Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8")
    rows = dict(line.split(":", 1) for line in found.splitlines() if ":" in line)
    return sum(int(rows[name].split()[0]) for name in ("Private_Clean", "Private_Dirty")) / 1_024


def resident(pid: int) -> float:
    """Return the megabytes of RSS of a process."""
    found = Path(f"/proc/{pid}/status").read_text("utf-8")
    return int(found.partition("VmRSS:")[2].split()[0]) / 1_024


def at_once(daemon: int) -> None:
    """Start sessions together, and show when they are ready and what they keep."""
    before = resident(daemon)
    begun = time.perf_counter()
    some = [Session() for _ in range(SESSIONS)]
    for each in some:
        each.ready()
    took = (time.perf_counter() - begun) * 1_000
    for each in some:
        each.call("recall", query="which port has redis")
    pids = [each.process.pid for each in some]
    print(f"{SESSIONS} sessions at once     {took:8.0f} ms until all are ready")
    print(f"  RSS of each            {statistics.median(map(resident, pids)):8.1f} MB")
    print(f"  of that, its own       {statistics.median(map(megabytes, pids)):8.1f} MB")
    print(f"  RSS of the daemon      {before:8.1f} MB before, {resident(daemon):.1f} MB with them")
    for each in some:
        each.close()


def main() -> int:
    """Measure, print, and say whether the goals were met."""
    with tempfile.TemporaryDirectory(prefix="cx-") as home:
        os.environ["CORTEX_HOME"] = home
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        cortex("start")
        try:
            return measure(Path(home))
        finally:
            cortex("stop")


def measure(home: Path) -> int:
    """Measure with the daemon of a home."""
    wait_for_model(home)
    client = Client(home)
    client.call("remember", content="Redis listens on port 6379.")
    first = ready()  # the SDK may still have to be imported
    rounds = [(timed("-c", "pass"), ready()) for _ in range(ROUNDS)]
    bare, own = (statistics.median(each) for each in zip(*rounds, strict=True))
    session = Session()
    session.ready()
    session.send("tools/list", {})
    answer = json.loads(session.hear())
    listed = len(json.dumps(answer["result"]["tools"], separators=(",", ":")).encode())
    question = {"query": "which port has redis", "limit": 5}
    pairs = [
        (
            milliseconds(lambda: client.call("recall", **question)),
            milliseconds(lambda: session.call("recall", **question)),
        )
        for _ in range(CALLS)
    ]
    plain, over = (statistics.median(each) for each in zip(*pairs, strict=True))
    session.close()
    print(f"python -c pass           {bare:8.0f} ms")
    print(f"cortex mcp ready         {own:8.0f} ms, {own / bare:.1f} times that")
    print(f"  the first one          {first:8.0f} ms")
    print(f"recall on the socket     {plain:8.1f} ms, a connection for each")
    print(f"recall as a tool         {over:8.1f} ms")
    count = len(answer["result"]["tools"])
    print(f"tools/list               {listed:8,} bytes, {count} tools (others: 296,000)")
    at_once(int(client.call("status")["pid"]))
    return int(own > READY_GOAL or listed > LIST_GOAL)


if __name__ == "__main__":
    raise SystemExit(main())
