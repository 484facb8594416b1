"""A daemon of its own process whose door is open, and somebody who knocks."""

from __future__ import annotations

import json
import shutil
import tempfile
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors.client.connection import Client
from tests.process.commands import Commands, until

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Seconds for one request.
_PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class Heard:
    """What came back: a status, and the document."""

    status: int
    document: Any


@dataclass(frozen=True, slots=True)
class Door:
    """The door of one daemon.

    Attributes:
        url: where it is.
        token: the owner's.

    """

    commands: Commands
    url: str
    token: str

    @property
    def client(self) -> Client:
        """A way to its control socket."""
        return Client(self.commands.home)

    def post(self, path: str, document: object) -> Any:
        """Return what is answered to the owner."""
        heard = knock(f"{self.url}{path}", json.dumps(document), token=self.token)
        assert 200 == heard.status, heard
        return heard.document


@contextmanager
def opened(**env: str) -> Iterator[Door]:
    """Run a daemon with its door open on a free port."""
    commands = Commands(Path(tempfile.mkdtemp(prefix="cx-")))
    commands.env |= {"CORTEX_HTTP__ENABLED": "true", "CORTEX_HTTP__PORT": "0", **env}
    try:
        started = commands("start")
        assert 0 == started.returncode, started.stderr
        client = Client(commands.home)
        door: dict[str, Any] = {}

        def is_there() -> bool:
            door.update(client.call("status")["http"])
            return door["state"] in {"open", "shut"}

        until(is_there, "a door")
        assert "open" == door["state"], door
        yield Door(commands, door["address"], (commands.home / "tokens/owner").read_text().strip())
    finally:
        commands.clean_up()
        shutil.rmtree(commands.home, ignore_errors=True)


def knock(url: str, body: str | None = None, *, token: str = "") -> Heard:
    """Return what is answered, whatever it is: to a POST with a body, to a GET without one."""
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else body.encode()
    request = urllib.request.Request(url, data, headers)  # noqa: S310 - http
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:  # noqa: S310 - http
            return Heard(answer.status, json.load(answer))
    except urllib.error.HTTPError as error:
        with error:
            return Heard(error.code, json.load(error))
