"""The real servers of the Seren family, each a process of an environment of its own.

Their licence is not ours, so they are never imported: the python that has them is named by
`CORTEX_SEREN`, or lies in `.seren-venv` at the root (`make seren` makes it).
"""

from __future__ import annotations

import json
import os
import subprocess
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.adapters import STARTING
from tests.process.commands import ROOT, until
from tests.process.server import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

#: The python that has them. Read at once, because the tests' own environment knows no settings.
PYTHON = Path(os.environ.get("CORTEX_SEREN") or ROOT / ".seren-venv/bin/python")

#: Starts SerenMemory with an embedder that needs no model.
_MEMORY = Path(__file__).with_name("seren_memory_server.py")

#: Seconds for one request.
_PATIENCE = 30.0


def require() -> None:
    """Skip a test without the servers, and say why; with `CI` set that is a failure."""
    if PYTHON.is_file():
        return
    missing = f"no SerenMemory, SerenLoci and Corpus Callosum at {PYTHON}: `make seren` installs"
    if os.environ.get("CI"):
        pytest.fail(f"{missing} them")
    pytest.skip(f"{missing} them, and CORTEX_SEREN names another python that has them")


class Server(ServerProcess):
    """One server on a free port; `post` and `get` speak to it as a person would."""

    def __init__(self, folder: Path, *, token: str = "") -> None:
        """Keep its files in a folder, which is its home too."""
        super().__init__()
        self.folder = folder
        self.token = token

    def start(self, words: Sequence[str], settings: Mapping[str, Any]) -> None:
        """Start it with settings; return once it answers."""
        auth = {"bearer_token": self.token} if self.token else {}
        config = self.folder / "config.yaml"  # JSON is YAML
        config.write_text(
            json.dumps(
                {
                    "server": {"host": "127.0.0.1", "port": self.port, **auth},
                    "updates": {"enabled": False},
                    "backup": {"enabled": False},
                    **settings,
                }
            )
        )
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "ANONYMIZED_TELEMETRY": "False",
        }
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(PYTHON), *words, str(config)],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=env,
            )
        what = f"{words} on {self.url}: see {self.folder}/log"
        until(self._answers, what, within=STARTING)

    def get(self, path: str) -> Any:
        """Return what is found there."""
        return self._ask(path, None)

    def post(self, path: str, document: object) -> Any:
        """Return what it answers."""
        return self._ask(path, json.dumps(document).encode())

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "log").read_text()
        try:
            return bool(self.get("/health"))
        except OSError:
            return False

    def _ask(self, path: str, body: bytes | None) -> Any:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        request = urllib.request.Request(f"{self.url}{path}", body, headers)  # noqa: S310 - http
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:  # noqa: S310 - http
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode()
            raise AssertionError(f"{path}: {error.code} {text}") from error


@contextmanager
def memory(folder: Path, *, token: str = "", **storage: str) -> Iterator[Server]:
    """Run a SerenMemory."""
    kept = folder / "chroma"
    kept.mkdir(parents=True, exist_ok=True)
    settings = {"storage": {"persist_dir": str(kept), **storage}}
    words = ["-m", "seren_memory", "-c"] if storage else [str(_MEMORY)]
    with _running(Server(folder, token=token), words, settings) as server:
        yield server


@contextmanager
def loci(folder: Path, *, token: str = "") -> Iterator[Server]:
    """Run a SerenLoci, which finds facts by their words."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"storage": {"db_path": str(folder / "loci.db")}}
    with _running(Server(folder, token=token), ["-m", "seren_loci", "-c"], settings) as server:
        yield server


@contextmanager
def callosum(
    folder: Path, stores: Sequence[Mapping[str, Any]], **federation: object
) -> Iterator[Server]:
    """Run a Corpus Callosum over some stores."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"federation": {"stores": list(stores), **federation}}
    words = ["-m", "seren_corpus_callosum", "-c"]
    with _running(Server(folder), words, settings) as server:
        yield server


@contextmanager
def _running(server: Server, words: Sequence[str], settings: Mapping[str, Any]) -> Iterator[Server]:
    """Run a server until the end of the block."""
    require()
    try:
        server.start(words, settings)
        yield server
    finally:
        server.stop()


def remember(server: Server, text: str, topic: str) -> str:
    """Have a SerenMemory remember something for a while; return its id."""
    return str(server.post("/short", {"content": text, "topic": topic})["id"])


def conclude(server: Server, kind: str, text: str, topic: str, **more: str) -> str:
    """Have a SerenMemory know something for good: what is drafted is approved; return its id."""
    operation = {"kind": kind, "content": text, "topic": topic, **more}
    draft = server.post("/drafts", {"summary": topic, "operations": [operation]})["id"]
    approval = {"decisions": [{"op": 0, "verdict": "approve"}]}
    (result,) = server.post(f"/drafts/{draft}/review", approval)["results"]
    return str(result.get("satellite_id") or result["long_term_id"])


def state(server: Server, project: str, key: str, value: str, **more: str) -> str:
    """Have a SerenLoci hold a fact; return its id."""
    fact = {"project": project, "key": key, "value": value, **more}
    return str(server.post("/fact", fact)["fact"]["id"])
