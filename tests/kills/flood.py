"""Many events said at once, on connections that wait for no answer before they say the next."""

from __future__ import annotations

import json
import socket
import threading
from typing import TYPE_CHECKING, Any

from cortex_actors import errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

#: Connections that share the work.
CONNECTIONS = 8

#: Seconds without an answer after which a flood has failed.
SILENCE = 60.0


class Flood:
    """What became of each event."""

    def __init__(self) -> None:
        #: Ids of those that were said to be durable.
        self.acknowledged: list[str] = []
        #: Classes of the errors with which others were refused.
        self.refused: list[str] = []
        #: Answers that are neither.
        self.problems: list[str] = []

    def pour(self, home: Path, said: Sequence[tuple[str, dict[str, Any]]]) -> None:
        """Say everything, and return when each has its answer."""
        parts = [said[n::CONNECTIONS] for n in range(CONNECTIONS)]
        threads = [threading.Thread(target=self._pour, args=(home, each)) for each in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _pour(self, home: Path, said: Sequence[tuple[str, dict[str, Any]]]) -> None:
        with socket.socket(socket.AF_UNIX) as sock, sock.makefile("rb") as answers:
            sock.settimeout(SILENCE)
            sock.connect(str(home / "cortex.sock"))
            lines = b"".join(_lines(said))
            sending = threading.Thread(target=sock.sendall, args=(lines,))
            sending.start()
            for _ in said:
                self._take(answers.readline())
            sending.join()

    def _take(self, line: bytes) -> None:
        """Take in one answer."""
        answer = json.loads(line) if line else {}
        kind = answer.get("error", {}).get("data", {}).get("type", "")
        if "result" in answer:
            self.acknowledged.append(answer["result"]["id"])
        elif issubclass(getattr(errors, kind, object), errors.CortexError):
            self.refused.append(kind)
        else:
            self.problems.append(f"no answer: {line[:200]!r}")


def _lines(said: Sequence[tuple[str, dict[str, Any]]]) -> Iterator[bytes]:
    """Yield requests as they are sent."""
    for number, (topic, payload) in enumerate(said):
        params = {"topic": topic, "payload": payload}
        request = {"jsonrpc": "2.0", "id": number, "method": "publish", "params": params}
        yield json.dumps(request).encode() + b"\n"
