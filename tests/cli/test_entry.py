"""The console script: what it loads, what it prints, how it ends."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors import __version__
from cortex_actors.cli import entry
from cortex_actors.cli.declare import MOVED
from cortex_actors.home import Home
from cortex_actors.process import lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Serve = Callable[[dict[str, Any]], list[dict[str, Any]]]

#: What costs more to import than `status` may take.
_HEAVY = "click rich pydantic sqlalchemy numpy chromadb torch asyncio pykka blinker logging".split()

_STATUS = {
    "state": "degraded",
    "reasons": ["model: loading"],
    "version": "1.2.3",
    "pid": 42,
    "home": "/h",
    "uptime_s": 7200.0,
    "projects": 3,
    "insights": 50,
    "waiting": 1,
    "unembedded": 2,
    "unindexed": 3,
    "dead": 4,
    "model": {"id": "mini", "state": "loading", "reason": ""},
    "index": {"state": "ready", "reason": ""},
    "loop_lag_ms": 0.5,
}


@pytest.fixture
def home(tmp_home: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Give the home that commands without --home use."""
    monkeypatch.setenv("CORTEX_HOME", str(tmp_home))
    return Home(tmp_home)


@pytest.fixture
def serve(home: Home) -> Iterator[Serve]:
    """Give what starts a server with one answer for everything; it returns what was asked."""
    listener = socket.socket(socket.AF_UNIX)
    threads: list[threading.Thread] = []
    locks: list[lock.Lock] = []

    def work(answer: dict[str, Any], asked: list[dict[str, Any]]) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection, connection.makefile("rb") as reader:
                    asked.append(json.loads(reader.readline()))
                    connection.sendall(json.dumps({"id": 1, **answer}).encode() + b"\n")

    def start(answer: dict[str, Any]) -> list[dict[str, Any]]:
        asked: list[dict[str, Any]] = []
        locks.append(lock.acquire(home))
        listener.bind(str(home.socket))
        listener.listen()
        threads.append(threading.Thread(target=work, args=(answer, asked)))
        threads[-1].start()
        return asked

    yield start
    if threads:
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    for held in locks:
        held.close()
    for thread in threads:
        thread.join(10)


@pytest.mark.slow
class TestQuickWay:
    @pytest.mark.parametrize(
        "words", [[], ["status"], ["daemon", "reload"], ["publish", "custom:x"], ["--version"]]
    )
    def test_loads_little(self, tmp_home: Path, words: list[str]) -> None:
        """The quickest commands load the standard library's small modules alone."""
        program = (
            "import sys\n"
            "from cortex_actors.cli import entry\n"
            f"entry.main({words!r})\n"
            f"print(sorted(set({_HEAVY!r}) & set(sys.modules)))"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "CORTEX_HOME": str(tmp_home)},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        )

        assert "[]" == done.stdout.splitlines()[-1]


class TestHome:
    def test_groups(self) -> None:
        """Every command that has others below it is known as one: a home in front reaches them."""
        from cortex_actors.cli import command_line  # noqa: PLC0415 - looks at what is loaded, too

        found = {
            path for path, row in command_line.load_table().items() if "commands" in row and path
        }
        moved = {o.rpartition(" ")[0] or o for o, new in MOVED.items() if " " in o or new in found}

        assert found | moved == entry.GROUPS

    @pytest.mark.parametrize("words", [[], ["list"], ["--as", "AZOTH"], ["list", "--as", "AZOTH"]])
    @pytest.mark.parametrize("home", [["--home", "/nowhere"], ["--home=/nowhere"]])
    def test_in_front(
        self, capsys: pytest.CaptureFixture[str], home: list[str], words: list[str]
    ) -> None:
        """A home that stands in front of a command is that of whatever stands below it, too."""
        assert 69 == entry.main([*home, "agents", *words])
        assert "no daemon answers for /nowhere" in capsys.readouterr().err


class TestErrors:
    @pytest.mark.parametrize(
        ("words", "code", "says"),
        [
            (["nonsense"], 64, "No such command 'nonsense'"),
            (["approve"], 64, "(did you mean cortex review approve?); see: cortex --help"),
            (["contradiction"], 64, "(did you mean cortex contradictions?)"),
            (["serach"], 64, "(did you mean cortex memory search?)"),
            (["triage", "nxt"], 64, "(did you mean cortex triage next?)"),
            (["status", "--nonsense"], 64, "cortex status --help"),
            (["status", "--jsn"], 64, "(did you mean --json?)"),
            (["recall", "x", "--jsn"], 64, "'--json'"),
            (["start", "--timeout", "-1"], 64, "no number of seconds"),
            (["stop", "--timeout", "nan"], 64, "no number of seconds"),
            (["logs", "--nonsense"], 64, "cortex daemon logs --help"),
            (["recall"], 64, "QUESTION"),
            (["publish"], 64, "the following arguments are required: topic"),
            (["publish", "custom:x", "words"], 64, "write key=text, or key:=JSON"),
            (["publish", "custom:x", "a:=1 2"], 65, "the field a is no JSON"),
            (["publish", "custom:x", "--json", "{"], 65, "--json is no JSON"),
            (["publish", "custom:x", "--json", "[1]"], 65, "--json must be an object"),
            (["logs", "--since", "yesterday"], 64, "cannot read --since 'yesterday'"),
            (["logs", "--topic", "file:chnaged"], 66, "near it: file:changed"),
            (["logs", "--topic", "custom:Mine"], 66, "your own are custom:"),
            (["logs", "--level", "loud"], 65, "the levels are: debug"),
            (["publish", "custom:x"], 69, 'start one with "cortex start"'),
            (["recall", "x"], 69, 'start one with "cortex start"'),
            (["tree"], 69, 'start one with "cortex start"'),
            (["remember", "- use tabs"], 64, "begins with a dash write -- "),
            (["demo", "--from", "/nonexistent"], 66, "there is no folder /nonexistent"),
        ],
    )
    def test_one_line(
        self, home: Home, capsys: pytest.CaptureFixture[str], words: list[str], code: int, says: str
    ) -> None:
        """Whatever is wrong, standard error gets one line that says what to do."""
        assert code == entry.main(words)
        said = capsys.readouterr().err

        assert said.startswith("cortex: ")
        assert says in said
        assert 1 == said.count("\n")

    def test_line_ends_in_an_error(self, serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
        """An error's text cannot break out of its line."""
        data = {"type": "BadInput", "exit_code": 65}
        serve({"error": {"message": "one\ntwo\x1b[2J", "data": data}})

        assert 65 == entry.main(["publish", "custom:x"])
        assert "cortex: one two [2J\n" == capsys.readouterr().err

    def test_fault(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A mistake of ours is 70 without a traceback, and says how to see it."""
        monkeypatch.setattr("cortex_actors.cli.fast.run", lambda *_, **__: 1 // 0)

        assert 70 == entry.main(["status"])
        assert 1 == capsys.readouterr().err.count("\n")

    def test_interrupt(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ctrl-C ends a command as a shell expects."""

        def interrupt(*_: object, **__: object) -> int:
            raise KeyboardInterrupt

        monkeypatch.setattr("cortex_actors.cli.fast.run", interrupt)

        assert 130 == entry.main(["status"])


class TestHelp:
    @pytest.mark.parametrize(
        "words",
        [
            [],
            *(
                name.split()
                for name in (
                    "start,stop,restart,reload,status,publish,run,logs,tree,topics,init,projects,remove,"
                    "scan,insights,recall,demo,actor crash"
                ).split(",")
            ),
        ],
        ids=" ".join,
    )
    def test_ends_in_examples(self, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        """Every command's help ends in worked examples."""
        assert 0 == entry.main([*words, "--help"])
        shown = capsys.readouterr().out.rstrip().splitlines()

        assert "examples:" in [line.strip().lower() for line in shown]
        assert "cortex" in shown[-1]

    def test_lists_the_quick_ones(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The list of commands has those that are answered on the quick way."""
        entry.main(["--help"])
        entry.main(["daemon", "--help"])
        shown = capsys.readouterr().out

        # AI clients start that one.
        assert all(f"\n  {name} " in shown for name in entry.FAST - {"mcp"})
        assert "\n  mcp " not in shown


class TestStatus:
    def test_for_people(self, serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
        """A daemon that answers is shown with what it waits for, and why it is degraded."""
        serve({"result": _STATUS})

        assert 0 == entry.main(["status"])
        shown = capsys.readouterr().out
        assert "degraded, pid 42, up 2.0 h, 1.2.3" in shown
        assert "because   model: loading" in shown
        assert "1 to handle, 2 to embed, 3 to index, 4 set aside" in shown

    @pytest.mark.parametrize(("plain", "count"), [("", 1), ("1", 0)])
    def test_colour(
        self,
        serve: Serve,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        plain: str,
        count: int,
    ) -> None:
        """A terminal shows the state in its colour, unless NO_COLOR is set."""
        serve({"result": _STATUS})
        monkeypatch.setenv("NO_COLOR", plain)
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

        assert 0 == entry.main(["status"])
        assert count == capsys.readouterr().out.count("\x1b[33mdegraded\x1b[0m, pid 42")

    def test_for_programs(self, serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
        """`--json` prints the status as it came."""
        serve({"result": _STATUS})

        assert 0 == entry.main(["status", "--json"])
        assert _STATUS == json.loads(capsys.readouterr().out)

    def test_without_a_ledger(self, serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
        """A status that lacks the ledger's numbers is shown all the same."""
        serve({"result": {"state": "degraded", "reasons": ["ledger: away"], "home": "/h"}})

        assert 0 == entry.main(["status"])
        assert "ledger: away" in capsys.readouterr().out

    def test_home_may_come_first(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """`--home` is understood before the command, too."""
        assert 3 == entry.main(["--home", str(tmp_path), "status"])
        assert 3 == entry.main([f"--home={tmp_path}", "status"])
        assert 2 == capsys.readouterr().out.count(str(tmp_path))

    def test_home_before_two_words(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """So it is before a command whose name is two words."""
        assert 69 == entry.main(["--home", str(tmp_path), "actor", "crash", "x"])
        assert f"no daemon answers for {tmp_path}" in capsys.readouterr().err


class TestAlone:
    def test_stopped(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        """Without a word the command line says that nothing runs, and how to start it."""
        assert 0 == entry.main([])
        shown = capsys.readouterr().out
        assert "state  stopped\n" in shown
        assert f"home   {home.root}\n" in shown
        assert "next   cortex start\n" in shown

    @pytest.mark.parametrize(
        ("projects", "shown_as", "step"),
        [
            (0, "0 projects", "cortex init PATH"),
            (1, "1 project", "cortex recall"),
            (3, "3 projects", "cortex recall"),
        ],
    )
    def test_running(
        self,
        serve: Serve,
        capsys: pytest.CaptureFixture[str],
        projects: int,
        shown_as: str,
        step: str,
    ) -> None:
        """Of a daemon that runs it shows the state and what is known, and names the next step."""
        serve({"result": {**_STATUS, "projects": projects}})

        assert 0 == entry.main([])
        shown = " ".join(capsys.readouterr().out.split())
        assert "degraded, pid 42, up 2.0 h, 1.2.3 because model: loading" in shown
        assert f"known {shown_as}, 50 insights next {step}" in shown


class TestStart:
    @pytest.fixture(autouse=True)
    def launched(
        self,
        home: Home,
        serve: Serve,
        monkeypatch: pytest.MonkeyPatch,
    ) -> list[Any]:
        """Have a daemon start that answers at once, in a terminal; give what it is asked."""
        asked: list[Any] = []

        def launch(where: Home, *, timeout: float) -> tuple[Any, float]:
            assert (home.root, 60) == (where.root, timeout)
            asked.append(serve({"result": {"projects": [], "broken": []}}))
            return SimpleNamespace(pid=7), 0.5

        monkeypatch.delenv("CORTEX_AUTOSTART", raising=False)
        monkeypatch.setattr("cortex_actors.cli.lifecycle.launch", launch)
        monkeypatch.setattr(entry, "_is_watched", lambda: True)
        return asked

    def test_starts(self, launched: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
        """In a terminal a command starts the daemon it needs, says so, and asks it once."""
        assert 0 == entry.main(["projects", "--json"])
        shown = capsys.readouterr()
        assert "cortex: started the daemon, pid 7, in 0.50 s" in shown.err
        assert {"projects": [], "broken": []} == json.loads(shown.out)
        assert [1] == [len(each) for each in launched]

    @pytest.mark.parametrize(
        "words", [["publish", "custom:x"], ["daemon", "publish", "custom:x"], ["reload"]]
    )
    def test_not_by_itself(
        self, launched: list[Any], capsys: pytest.CaptureFixture[str], words: list[str]
    ) -> None:
        """What other programs run starts none, in a terminal either."""
        assert 69 == entry.main(words)
        assert 'start one with "cortex start"' in capsys.readouterr().err
        assert [] == launched

    @pytest.mark.parametrize(("name", "value"), [("CORTEX_AUTOSTART", "0"), ("CORTEX_TOKEN", "x")])
    def test_not_wanted(
        self, launched: list[Any], monkeypatch: pytest.MonkeyPatch, name: str, value: str
    ) -> None:
        """CORTEX_AUTOSTART=0 keeps a command from it, and no agent starts a daemon."""
        monkeypatch.setenv(name, value)

        assert 69 == entry.main(["projects"])
        assert [] == launched

    @pytest.mark.parametrize("streams", [(True, False), (False, True), (True, True)])
    def test_in_a_terminal_only(
        self, launched: list[Any], monkeypatch: pytest.MonkeyPatch, streams: tuple[bool, bool]
    ) -> None:
        """A command without a terminal on both sides starts none."""
        monkeypatch.undo()
        for name, is_terminal in zip(("stdin", "stderr"), streams, strict=True):
            stream = SimpleNamespace(isatty=lambda answer=is_terminal: answer)
            monkeypatch.setattr(sys, name, stream)

        assert all(streams) == entry._is_watched()

    @pytest.mark.parametrize("words", [["daemon"], ["model"], []])
    def test_not_needed(self, launched: list[Any], words: list[str]) -> None:
        """What shows how things are without a daemon leaves it so."""
        assert entry.main(words) in {0, 3}
        assert [] == launched


class TestOlderDaemon:
    @pytest.fixture(autouse=True)
    def asked(
        self, home: Home, serve: Serve, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[list[Any]]:
        """Have a daemon of version 0.0.9 that can be restarted; give what was done to it."""
        done: list[Any] = []
        serve({"result": {"projects": [], "broken": []}})
        monkeypatch.setattr(
            "cortex_actors.process.lock.read", lambda home: lock.LockInfo(version="0.0.9")
        )
        monkeypatch.setattr(
            "cortex_actors.process.lock.read_state", lambda home: lock.HomeState.RUNNING
        )

        def launch(where: Home, *, timeout: float) -> tuple[Any, float]:
            done.append("launch")
            return SimpleNamespace(pid=7), 0.5

        monkeypatch.setattr("cortex_actors.cli.lifecycle.end", lambda *a, **k: done.append("end"))
        monkeypatch.setattr("cortex_actors.cli.lifecycle.launch", launch)
        yield done
        monkeypatch.undo()

    @pytest.mark.parametrize(
        ("typed", "done"),
        [("\n", ["end", "launch"]), ("y\n", ["end", "launch"]), ("n\n", []), ("", [])],
    )
    def test_asks(
        self,
        asked: list[Any],
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        typed: str,
        done: list[str],
    ) -> None:
        """In a terminal it is asked once whether to restart it; the command goes on either way."""
        monkeypatch.setattr(entry, "_is_watched", lambda: True)
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))

        assert 0 == entry.main(["projects", "--json"])
        shown = capsys.readouterr()
        assert done == asked
        assert 1 == shown.err.count("the daemon is of version 0.0.9")
        assert [] == json.loads(shown.out)["projects"]

    def test_says_so(self, asked: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
        """Without a terminal it is said on the standard error alone, and nothing is restarted."""
        assert 0 == entry.main(["projects", "--json"])
        shown = capsys.readouterr()
        assert [] == asked
        assert "replace it with: cortex daemon restart" in shown.err
        assert [] == json.loads(shown.out)["projects"]

    @pytest.mark.parametrize("version", ["", __version__, "99.0"])
    def test_not_older(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, version: str
    ) -> None:
        """A daemon of this version, of a newer or an unknown one is asked without a word."""
        monkeypatch.setattr(
            "cortex_actors.process.lock.read", lambda home: lock.LockInfo(version=version)
        )

        assert 0 == entry.main(["projects", "--json"])
        assert "" == capsys.readouterr().err


class TestPublish:
    def test_fields(self, serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
        """Text, JSON values and an object make one payload."""
        asked = serve({"result": {"id": "evt_1", "topic": "custom:x", "seq": 9}})
        words = ["custom:x", "--json", '{"a": 1, "b": 2}', "b:=[3]", "c=4=5", "--source", "me"]

        assert 0 == entry.main(["publish", *words])
        assert "published custom:x, seq 9, evt_1\n" == capsys.readouterr().out
        assert {
            "topic": "custom:x",
            "payload": {"a": 1, "b": [3], "c": "4=5"},
            "source": "me",
            "transient": False,
        } == asked[0]["params"]

    def test_near_topics(self, serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
        """A mistyped topic is told what it may have been."""
        data = {"type": "UnknownTopic", "exit_code": 66}
        serve({"error": {"message": "no topic is called x", "data": data}})

        assert 66 == entry.main(["publish", "file:chnged"])
        assert "near it: file:changed" in capsys.readouterr().err
