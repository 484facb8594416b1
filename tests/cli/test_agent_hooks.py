"""`cortex hook session-start` and the others: JSON in, JSON or nothing out, and never a failure."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.cli import agenthooks, entry, fast
from cortex_actors.client.connection import Client
from cortex_actors.errors import AlreadyRunning, DaemonDown, NotYours
from cortex_actors.files.clients import HOOK_TIMEOUT
from cortex_actors.home import Home
from tests.process.commands import Commands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Answer = Callable[..., dict[str, Any]]

#: What Claude Code says at each event, and Codex at all but the last; more keys than are read.
PAYLOADS: dict[str, dict[str, Any]] = {
    "session-start": {"hook_event_name": "SessionStart", "source": "startup", "model": "m"},
    "prompt": {"hook_event_name": "UserPromptSubmit", "prompt": "which port", "turn_id": "t"},
    "pre-compact": {"hook_event_name": "PreCompact", "trigger": "auto", "custom_instructions": ""},
    "session-end": {"hook_event_name": "SessionEnd", "reason": "prompt_input_exit"},
}
COMMON = {
    "session_id": "abc",
    "transcript_path": "/home/me/t.jsonl",
    "cwd": "/code/atlas",
    "permission_mode": "default",
}

#: What each is asked for with that.
ASKED: dict[str, tuple[str, dict[str, str]]] = {
    "session-start": ("hook_start", {"source": "startup"}),
    "prompt": ("hook_prompt", {"prompt": "which port"}),
    "pre-compact": ("hook_compact", {"transcript": "/home/me/t.jsonl"}),
    "session-end": ("hook_end", {"transcript": "/home/me/t.jsonl"}),
}


@pytest.fixture
def home(tmp_home: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Give the home that commands without --home use, with its folders."""
    monkeypatch.setenv("CORTEX_HOME", str(tmp_home))
    monkeypatch.setenv("CORTEX_AUTOSTART", "0")
    found = Home(tmp_home)
    found.create()
    return found


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch) -> Callable[[object], None]:
    """Give what puts something on standard input: bytes, or what becomes JSON."""

    def put(what: object) -> None:
        data = what if isinstance(what, bytes) else json.dumps(what).encode()
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))

    return put


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, object]]]:
    """Have every call answered with a context, and give what was asked."""
    asked: list[tuple[str, dict[str, object]]] = []

    def call(_self: Client, method: str, /, **params: object) -> dict[str, Any]:
        asked.append((method, params))
        said = {"hookEventName": "SessionStart", "additionalContext": "caf\u00e9"}
        return {"output": {"hookSpecificOutput": said}}

    monkeypatch.setattr(Client, "call", call)
    return asked


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Have every call fail."""

    def call(*_given: object, **_params: object) -> None:
        raise error

    monkeypatch.setattr(Client, "call", call)


def failure(home: Home) -> dict[str, str]:
    """Return what is known of the last hook that failed."""
    found: dict[str, str] = json.loads((home.logs / "hook-failure.json").read_text())
    return found


class TestAsks:
    @pytest.mark.parametrize("event", PAYLOADS)
    def test_events(
        self,
        event: str,
        say: Callable[[object], None],
        calls: list[tuple[str, dict[str, object]]],
        capsys: pytest.CaptureFixture[str],
        home: Home,
    ) -> None:
        """Each event asks one operation for what its client says, and prints the answer."""
        say({**COMMON, **PAYLOADS[event]})
        assert 0 == entry.main(["hook", event])
        method, more = ASKED[event]

        assert [(method, {**more, "session_id": "abc", "here": "/code/atlas"})] == calls
        out = capsys.readouterr()
        assert "caf\u00e9" == json.loads(out.out)["hookSpecificOutput"]["additionalContext"]
        assert "" == out.err
        assert not (home.logs / "hook-failure.json").exists()

    def test_agent(
        self,
        say: Callable[[object], None],
        calls: list[tuple[str, dict[str, object]]],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """The command says as which agent it asks; the long spelling is the same command."""
        asked_as: list[object] = []
        made = Client.__init__

        def make(self: Client, home: Home, **how: Any) -> None:
            asked_as.append(how["agent"])
            made(self, home, **how)

        monkeypatch.setattr(Client, "__init__", make)
        say({"compact_summary": "Moved."})
        assert 0 == entry.main(["daemon", "hook", "session-end", "--agent", "VAJRA"])

        assert [("hook_end", {"summary": "Moved."})] == calls
        assert ["VAJRA"] == asked_as

    @pytest.mark.parametrize("words", [["session-start", "--help"], ["prompt", "-h"]])
    def test_help(self, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        """A person who asks for help gets it, and nothing is read from their terminal."""
        assert 0 == entry.main(["hook", *words])

        assert "what an agent's client runs" in capsys.readouterr().out

    def test_known(self) -> None:
        """The events that the help names are those that there are."""
        assert fast.ACTIONS[3:] == tuple(agenthooks.EVENTS)


class TestNeverFails:
    @pytest.mark.parametrize(
        "said", [b"", b"garbage", b"[1, 2]", b"\xff\xfe", b"{", b"[" * 100_000, b'{"cwd": 3}']
    )
    def test_garbage(
        self,
        said: bytes,
        say: Callable[[object], None],
        home: Home,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """Whatever stands on standard input, it ends with 0 and prints nothing."""
        say(said)
        assert 0 == entry.main(["hook", "prompt", "--nonsense"])

        assert ("", "") == capsys.readouterr()
        assert "prompt" == failure(home)["event"]

    @pytest.mark.parametrize(
        "error", [NotYours("not yours"), DaemonDown("down"), RuntimeError("x"), KeyboardInterrupt()]
    )
    def test_errors(
        self,
        error: Exception,
        say: Callable[[object], None],
        home: Home,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """An error of the daemon's, or none that answers, is noted and shown by --last."""
        failing(monkeypatch, error)
        say({**COMMON, **PAYLOADS["prompt"]})
        assert 0 == entry.main(["hook", "prompt"])
        assert ("", "") == capsys.readouterr()
        failing(monkeypatch, DaemonDown("down"))
        assert 0 == entry.main(["hook", "--last"])

        assert "/code/atlas" in capsys.readouterr().out
        assert str(error) in failure(home)["error"]

    def test_silent_daemon(
        self, say: Callable[[object], None], home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A daemon that hangs costs a session no more than the limit."""
        with closing(socket.socket(socket.AF_UNIX)) as silent:
            silent.bind(str(home.socket))
            silent.listen()
            say({**COMMON, **PAYLOADS["prompt"]})
            assert 0 == agenthooks.run(["hook", "prompt"], limit=0.2)

        assert "" == capsys.readouterr().out
        assert "gave up after 0.2 s" in failure(home)["error"]

    def test_before_its_client(self) -> None:
        """A hook gives up while its client still waits, with time for Python to start."""
        assert agenthooks.LIMIT + 0.5 <= HOOK_TIMEOUT

    def test_off(
        self,
        say: Callable[[object], None],
        home: Home,
        monkeypatch: pytest.MonkeyPatch,
        calls: list[tuple[str, dict[str, object]]],
    ) -> None:
        """`CORTEX_OFF=1` silences everything: nothing is read, asked or written."""
        monkeypatch.setenv("CORTEX_OFF", "1")
        say(b"garbage")
        for event in PAYLOADS:
            assert 0 == entry.main(["hook", event])

        assert [] == calls
        assert not (home.logs / "hook-failure.json").exists()

    def test_no_home(
        self, say: Callable[[object], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A hook makes no home by itself."""
        monkeypatch.setenv("CORTEX_AUTOSTART", "0")
        say({**COMMON, **PAYLOADS["session-start"]})
        assert 0 == entry.main(["hook", "session-start", "--home", str(tmp_path / "none")])

        assert not (tmp_path / "none").exists()


class TestBegins:
    @pytest.mark.parametrize("event", ["session-start", "prompt"])
    def test_down(
        self,
        event: str,
        say: Callable[[object], None],
        home: Home,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """A session that starts has the daemon started, apart; one that ends is not waited for."""
        started: list[tuple[list[str], dict[str, Any]]] = []

        def start(words: list[str], **how: Any) -> SimpleNamespace:
            started.append((words, how))
            return SimpleNamespace(poll=lambda: 78)

        monkeypatch.setattr(subprocess, "Popen", start)
        failing(monkeypatch, DaemonDown("down"))
        for switch in ("1", "0"):
            monkeypatch.setenv("CORTEX_AUTOSTART", switch)
            say({**COMMON, **PAYLOADS[event]})
            assert 0 == entry.main(["hook", event])

        assert int(event == "session-start") == len(started)
        for words, how in started:
            assert [*words[1:4], words[-1]] == ["-m", "cortex_actors", "start", str(home.root)]
            assert (True, "/") == (how["start_new_session"], how["cwd"])
        assert "" == capsys.readouterr().out

    def test_ending(
        self, say: Callable[[object], None], home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where the last daemon was still ending, the next one is started once it has ended."""
        codes = iter([AlreadyRunning.exit_code, 78])
        started: list[object] = []

        def start(words: list[str], **_: Any) -> SimpleNamespace:
            started.append(words)
            return SimpleNamespace(poll=partial(int, next(codes)))

        monkeypatch.setattr(subprocess, "Popen", start)
        monkeypatch.setenv("CORTEX_AUTOSTART", "1")
        failing(monkeypatch, DaemonDown("down"))
        say({**COMMON, **PAYLOADS["session-start"]})

        assert (0, 2) == (entry.main(["hook", "session-start"]), len(started))

    def test_leaves_time(self) -> None:
        """What a hook waits for a daemon leaves its answer as long as the goal of a start."""
        assert agenthooks.LIMIT - agenthooks.ANSWER >= 2 * agenthooks.ANSWER


@pytest.fixture
def stopped(tmp_home: Path, tmp_path: Path) -> Iterator[tuple[Commands, Path]]:
    """Give a home without a daemon that holds, for a folder, what was remembered and left to do."""
    commands, folder = Commands(tmp_home), tmp_path / "atlas"
    folder.mkdir()
    try:
        assert 0 == commands("start").returncode
        owner, here = Client(tmp_home), str(folder)
        owner.call("add_project", path=here)
        owner.call("remember", content="Heron answers on port 5433.", here=here)
        left = {"session_summary": "Moved heron.", "unfinished_business": ["Tell ops"]}
        owner.call("leave_crumb", here=here, **left)
        assert 0 == commands("stop").returncode
        yield commands, folder
    finally:
        commands.clean_up()


@pytest.mark.slow
class TestNoDaemon:
    """Real processes: a hook, and the daemon that it starts."""

    def hooked(self, commands: Commands, folder: Path, event: str, *, limit: float) -> str:
        """Return what a client's session reads of a hook that may take so many seconds."""
        program = (
            f"import cortex_actors.cli.agenthooks as hooks; hooks.run(['{event}'], limit={limit})"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            input=json.dumps({**COMMON, **PAYLOADS[event], "cwd": str(folder)}),
            env=commands.env,
            capture_output=True,
            text=True,
            check=True,
        )
        assert "" == done.stderr
        return done.stdout

    def test_answers_at_once(self, stopped: tuple[Commands, Path]) -> None:
        """A start that meets no daemon begins one, and answers with the brief of its folder."""
        brief = self.hooked(*stopped, "session-start", limit=60.0)

        assert "# From memory, for atlas" in brief
        assert "Heron answers on port 5433." in brief
        assert "To do: Tell ops" in brief

    def test_late(self, stopped: tuple[Commands, Path]) -> None:
        """Where the daemon takes longer the start says nothing, and the first prompt briefs."""
        start = self.hooked(*stopped, "session-start", limit=agenthooks.ANSWER)
        failed = failure(Home(stopped[0].home))
        stopped[0].wait()
        prompt = self.hooked(*stopped, "prompt", limit=60.0)

        assert ("", True) == (start, "first prompt brings the brief" in failed["error"])
        assert "To do: Tell ops" in prompt


class TestLast:
    def test_text(self, home: Home, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
        """What was given is shown with why, what failed behind it; in JSON as it is."""
        item = {"id": "mem_1", "why": "near the prompt", "score": 0.714, "text": "Port 6380."}
        run = {"at": 0, "event": "prompt", "agent": "CLAUDE", "session": "abc", "folder": "/x"}
        runs = [{**run, "items": [item], "tokens": 31, "reason": "", "crumb": ""}]
        runs += [{**run, "items": [], "tokens": 0, "reason": "nothing is near", "crumb": "crm_1"}]
        monkeypatch.setattr(Client, "call", lambda *_: {"hooks": runs})
        entry.main(["hook", "--last"])
        text = capsys.readouterr().out
        entry.main(["hook", "--last", "--json"])

        assert [
            "1970-01-01T00:00:00Z  prompt  CLAUDE  session abc  /x",
            "  gave 31 tokens:",
            "    near the prompt 0.71  #mem_1  Port 6380.",
            "1970-01-01T00:00:00Z  prompt  CLAUDE  session abc  /x",
            "  gave nothing: nothing is near",
            "    left the crumb #crm_1",
        ] == text.splitlines()
        assert {"hooks": runs, "failed": None} == json.loads(capsys.readouterr().out)

    @pytest.mark.parametrize("words", [[], ["install"], ["session-start-not"]])
    def test_git_stays(self, words: list[str], home: Home, capsys: Any) -> None:
        """The forms of git are as they were: what is missing, or unknown, is an error."""
        assert 64 == entry.main(["hook", *words])

        said = capsys.readouterr().err
        assert "see: cortex hook --help" in said
        assert ("install: cortex hook install git;" in said) == (words == ["install"])

    @pytest.mark.parametrize("words", [["hook"], ["daemon", "hook"]])
    def test_usage(self, words: list[str], capsys: Any) -> None:
        """Help shows the command as it was typed."""
        assert 0 == entry.main([*words, "--help"])
        assert capsys.readouterr().out.startswith(f"usage: cortex {' '.join(words)} [")


@pytest.mark.slow
class TestProcess:
    def test_light(self, home: Home) -> None:
        """The command loads nothing that a prompt should not wait for, and says nothing."""
        program = (
            "import sys; from cortex_actors.cli import entry\n"
            "code = entry.main(['hook', 'prompt'])\n"
            "heavy = {*'asyncio click rich pydantic argparse subprocess numpy logging'.split()};"
            "print(code, sorted(heavy & {*sys.modules}), file=sys.stderr)"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            input=json.dumps({**COMMON, **PAYLOADS["prompt"]}),
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            text=True,
            check=True,
        )

        assert ("", "0 []\n") == (done.stdout, done.stderr)
