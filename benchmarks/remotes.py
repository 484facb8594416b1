"""Stores on loopback that answer after a time: what `federation.py` asks beside the ledger.

    python -m benchmarks.remotes SECONDS...

One server for each time, which speaks SerenMemory's contract and always knows the same; ports are
printed on one line. It ends when its standard input does. In a process of its own, so that its work
is nobody else's.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, Popen
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Hits that a store knows, and characters of each: a page.
HITS, LONG = 50, 200

#: Seconds within which the servers end when they are told to.
_ENDING = 10


@dataclass(frozen=True, slots=True)
class Slow:
    """A store that takes its time."""

    seconds: float

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection's requests, one after the other."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                body = await reader.readexactly(_length(head))
                await asyncio.sleep(self.seconds)
                writer.write(_answer(json.loads(body or b"{}")))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def _length(head: bytes) -> int:
    """Return how many bytes follow the head of a request."""
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


def _answer(asked: dict[str, object]) -> bytes:
    """Return the answer to one request."""
    wanted = asked.get("n_results", HITS)
    hits = _KNOWN[: wanted if isinstance(wanted, int) else HITS]
    document = {"query": asked.get("query"), "hits": hits, "searched_tiers": ["short"]}
    body = json.dumps(document).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


_KNOWN = [
    {
        "tier": "short",
        "content": f"memory {number} ".ljust(LONG, "x"),
        "topic": "bench",
        "score": 1 / (1 + number / 10),
        "raw_distance": number / 10,
        "id": f"m{number}",
        "metadata": {"topic": "bench"},
    }
    for number in range(HITS)
]


@contextmanager
def remotes(seconds: Sequence[float]) -> Iterator[list[str]]:
    """Run one store for each of those times; give their addresses."""
    words = [sys.executable, "-m", "benchmarks.remotes", *map(str, seconds)]
    root = Path(__file__).parent.parent
    with Popen(words, stdin=PIPE, stdout=PIPE, cwd=root) as process:  # noqa: S603 - our own program
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            ports = process.stdout.readline().split()
            yield [f"http://127.0.0.1:{int(port)}" for port in ports]
        finally:
            process.stdin.close()
            process.wait(_ENDING)


async def _serve(seconds: Sequence[float]) -> None:
    """Serve until nobody needs it any more."""
    servers = [await asyncio.start_server(Slow(each).serve, "127.0.0.1") for each in seconds]
    print(*(each.sockets[0].getsockname()[1] for each in servers), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for each in servers:
        each.close()


if __name__ == "__main__":
    asyncio.run(_serve([float(each) for each in sys.argv[1:]]))
