"""`cortex stores` with a real daemon, a real keyring library and a store that wants a token."""

from __future__ import annotations

import io
import json
import shutil
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from cortex_actors.cli import entry
from cortex_actors.client.connection import Client
from tests.federation import filering
from tests.process.commands import Commands

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = "tok-4f0c9b21e7"

HIT = {
    "tier": "short",
    "content": "The test database listens on port 5433.",
    "score": 0.9,
    "raw_distance": 0.1,
    "id": "mem-1",
    "metadata": {"topic": "database"},
}


class Store(BaseHTTPRequestHandler):
    """Speaks as much of SerenMemory's contract as a recall and a ping need."""

    #: What stood in the header, one each request.
    shown: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        """Say what this is."""
        self._say({"service": "SerenMemory", "version": "5.4.0"})

    def do_POST(self) -> None:
        """Answer every question with the one hit."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._say({"query": "", "hits": [HIT], "searched_tiers": ["short"]})

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _say(self, document: dict[str, Any]) -> None:
        token = self.headers.get("Authorization", "")
        self.shown.append(token)
        body = json.dumps(document).encode()
        self.send_response(200 if token == f"Bearer {TOKEN}" else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Give the address of a store that wants a token."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Store)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """Give the home of a daemon that has a keyring."""
    folder = Path(tempfile.mkdtemp(prefix="cx-"))
    commands = Commands(folder / "home")
    commands.env |= {filering.BACKEND: filering.CHOSEN, filering.FILE: str(folder / "ring.json")}
    commands.env |= {"NOTES_TOKEN": TOKEN}
    started = commands("start")
    assert 0 == started.returncode, started.stderr
    yield folder / "home"
    commands.clean_up()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def run(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Run]:
    """Give the commands, and leave no store behind."""
    monkeypatch.setenv("CORTEX_HOME", str(home))
    run = Run(home, capsys, monkeypatch)
    yield run
    for each in run.daemon.call("stores")["stores"]:
        if each["managed"]:
            run.daemon.call("remove_store", name=each["name"])


class Run:
    """The command line of one home, in this process."""

    def __init__(
        self, home: Path, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch
    ) -> None:
        self.home = home
        self.daemon = Client(home)
        self.error = ""
        self._capsys = capsys
        self._patch = patch

    def __call__(self, *words: str, stdin: str = "") -> tuple[int, str]:
        """Return the exit code, and what was printed."""
        self._patch.setattr("sys.stdin", io.StringIO(stdin))
        code = entry.main(words)
        shown = self._capsys.readouterr()
        self.error = shown.err
        assert TOKEN not in shown.out + shown.err
        return code, shown.out

    def told(self, *words: str) -> dict[str, Any]:
        """Return the JSON of a command."""
        found: dict[str, Any] = json.loads(self(*words, "--json")[1])
        return found

    def asked(self) -> list[str]:
        """Return the stores that a recall asks."""
        names: list[str] = self.daemon.call("stores")["active"]
        return names

    def files(self) -> str:
        """Return what stands in the home's overlay and log."""
        overlay, log = self.home / "runtime-stores.json", self.home / "logs" / "cortex.ndjson"
        return "".join(each.read_text() for each in (overlay, log) if each.exists())


@pytest.mark.slow
class TestToken:
    def test_of_its_own(self, run: Run, url: str, home: Path) -> None:
        """A token that is typed goes into the keyring, reaches its store, and goes with it."""
        ring = home.parent / "ring.json"
        Store.shown.clear()
        words = ("stores", "add", "notes", "seren_memory", url, "--token-stdin")
        code, shown = run(*words, stdin=f"{TOKEN}\n")

        assert (0, {"cortex-actors/notes": TOKEN}) == (code, json.loads(ring.read_text()))
        assert "note:" not in shown
        assert TOKEN not in run.files()
        assert [True] == [each["ok"] for each in run.told("stores", "ping", "notes")["stores"]]
        hits = run.told("recall", "which port has the database")["hits"]
        assert [("notes", "remote")] == [(each["store"], each["trust"]) for each in hits]
        assert {f"Bearer {TOKEN}"} == set(Store.shown)

        run("stores", "remove", "notes")
        assert {} == json.loads(ring.read_text())

    def test_of_a_variable(self, run: Run, url: str) -> None:
        """A variable of the daemon's holds a token; the overlay only names it."""
        run("stores", "add", "notes", "seren_memory", url, "--token-env", "NOTES_TOKEN")

        assert [True] == [each["ok"] for each in run.told("stores", "ping", "notes")["stores"]]
        assert "NOTES_TOKEN" in run.files()
        assert TOKEN not in run.files()

    def test_wrong(self, run: Run, url: str) -> None:
        """A store that refuses its token is said to want another one."""
        run("stores", "add", "notes", "seren_memory", url, "--token-stdin", stdin="wrong")
        code, shown = run("stores", "ping", "notes")

        assert 1 == code
        assert "token" in shown


@pytest.mark.slow
class TestStores:
    def test_life(self, run: Run, url: str) -> None:
        """A store is added, turned off and on, tuned and removed, each at once and for good."""
        run("stores", "add", "notes", "seren_memory", url, "--token-env", "NOTES_TOKEN")
        assert ["local", "notes"] == run.asked()
        run("stores", "disable", "notes")
        assert ["local"] == run.asked()
        run("stores", "enable", "notes")
        code, shown = run("stores", "tune", "notes", "--weight", "0.5", "--floor", "0.2")

        assert (0, "notes: weight 0.5, floor 0.2\n") == (code, shown)
        assert ["local", "notes"] == run.asked()
        health = {each["name"]: each for each in run.told("stores", "health")["stores"]}
        assert "unknown" == health["notes"]["status"]

    def test_knobs(self, run: Run) -> None:
        """What is turned is seen at once, and one wrong value turns nothing."""
        code, shown = run("stores", "configure", "k=30", "fusion_mode=rrf_pct")
        assert (0, True) == (code, "until the daemon restarts" in shown)
        assert 65 == run("stores", "configure", "k=40", "n_results=0")[0]
        knobs = {each["name"]: each for each in run.told("stores", "configure")["knobs"]}

        assert (30, 60, True) == tuple(knobs["k"][key] for key in ("live", "settings", "twiddled"))
        assert "rrf_pct" == knobs["fusion_mode"]["live"]
        run.daemon.call("configure", changes={"k": 60, "fusion_mode": "rrf"})

    @pytest.mark.parametrize(
        ("words", "code", "text"),
        [
            ("add x weaviate http://127.0.0.1:1", 65, "there is no type 'weaviate'"),
            ("add local seren_memory http://127.0.0.1:1", 65, "what is kept here"),
            ("add x seren_memory http://169.254.169.254", 78, "link-local"),
            ("add x seren_memory http://127.0.0.1:1 --token-env GONE", 78, "variable GONE"),
            ("add x seren_memory http://127.0.0.1:1 --option colour=red", 78, "'colour'"),
            ("remove gone", 66, "no store named 'gone'"),
            ("remove local", 77, "always takes part"),
            ("ping gone", 66, "no store named 'gone'"),
            ("tune gone --weight 1", 66, "no store named 'gone'"),
            ("configure fusion_mode=zip", 65, "unknown fusion_mode 'zip'"),
        ],
    )
    def test_wrong(self, run: Run, words: str, code: int, text: str) -> None:
        """What cannot be is refused in one line that says why."""
        assert code == run("stores", *words.split())[0]
        assert text in run.error
        assert ["local"] == run.asked()
