"""A store that speaks SerenMemory's contract and says whatever a test has it say."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: How the store is called where it is added.
NAME = "forger"


class Forger:
    """What is answered: rows to a question, and rows to topics, each of them JSON as it is."""

    def __init__(self) -> None:
        """Know nothing."""
        self.url = ""
        self.found: Sequence[str] = ()
        self.filed: Sequence[str] = ()


def row(id_: str, content: str = "Deploys are easy", **more: Any) -> str:
    """Return a row; `metadata` may be JSON already, for what Python has no value for."""
    metadata = more.pop("metadata", {})
    plain = {"id": id_, "content": content, "tier": "short", "raw_distance": 0.1, **more}
    written = metadata if isinstance(metadata, str) else json.dumps(metadata)
    return json.dumps(plain)[:-1] + f', "metadata": {written}}}'


@contextmanager
def forging() -> Iterator[Forger]:
    """Run such a store."""
    forger = Forger()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send('{"service": "SerenMemory"}')

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            rows = forger.filed if self.path == "/by_topic" else forger.found
            self._send(f'{{"hits": [{", ".join(rows)}]}}')

        def _send(self, document: str) -> None:
            data = document.encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        forger.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield forger
        finally:
            server.shutdown()
            thread.join()
