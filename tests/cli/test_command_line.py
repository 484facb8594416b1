"""The command line out of its table: what it loads, rows that ask, completion, late answers."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.cli import command_line, entry
from tests.cli.answering import answering

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]

#: What no ordinary command loads before it has something to draw.
HEAVY = "typer rich pydantic sqlalchemy numpy chromadb torch asyncio argparse".split()

#: A row of the second sort: an operation is asked, and a function shows its answer.
SPLIT: dict[str, Any] = {
    "help": "Take a memory apart.",
    "examples": ["cortex memory apart mem_1"],
    "run": {"ask": "split", "show": "somewhere:show", "given": True},
    "params": [
        {"name": "id", "kind": "text", "required": True, "metavar": "ID"},
        {"name": "layer", "kind": "choice", "values": ["a", "b"], "names": ["--layer"]},
        {"name": "file", "kind": "path", "names": ["--file"]},
        {"name": "as_json", "kind": "flag", "names": ["--json"]},
        {"name": "home", "kind": "home", "names": ["--home"]},
    ],
}


def show(found: dict[str, Any], given: dict[str, Any]) -> None:
    """Show an answer as a command of the table does."""
    print(f"{found['id']} for {given['id']}, layer {given['layer']}")  # noqa: T201


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_home: Path) -> list[tuple[str, dict[str, Any]]]:
    """Add the row to the table, and give what the daemon is asked."""
    rows = {**command_line.load_table(), "memory apart": SPLIT}
    monkeypatch.setattr(command_line, "load_table", lambda: rows)
    monkeypatch.setattr(command_line, "load", lambda _: show)
    monkeypatch.setenv("CORTEX_HOME", str(tmp_home))
    names = [{"name": "atlas-api"}, {"name": "beacon"}]
    return answering(monkeypatch, {"split": {"id": "mem_2"}, "projects": {"projects": names}})


class TestAsk:
    def test_shows(
        self, asked: list[tuple[str, dict[str, Any]]], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A row that names an operation asks it for what was given, and shows the answer."""
        assert 0 == entry.main(["memory", "apart", "mem_1", "--file", "x"])
        assert [("split", {"id": "mem_1", "file": str(Path("x").absolute())})] == asked
        assert "mem_2 for mem_1, layer None\n" == capsys.readouterr().out

    def test_json(
        self, asked: list[tuple[str, dict[str, Any]]], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """With `--json` the answer is printed as it came."""
        assert 0 == entry.main(["memory", "apart", "mem_1", "--layer", "b", "--json"])
        assert [("split", {"id": "mem_1", "layer": "b"})] == asked
        assert {"id": "mem_2"} == json.loads(capsys.readouterr().out)

    def test_usage(
        self, asked: list[tuple[str, dict[str, Any]]], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Its words are checked as those of any other command."""
        assert 64 == entry.main(["memory", "apart"])
        assert "Missing argument 'ID'; see: cortex memory apart --help" in capsys.readouterr().err


@pytest.mark.slow
class TestLoads:
    @pytest.mark.parametrize(
        "words",
        [
            ["--help"],
            ["memory", "--help"],
            ["recall", "--help"],
            ["memory", "list", "--json"],
            ["projects"],
            ["insights"],
            ["principles"],
            ["review"],
            ["recall", "x"],
            ["remember", "x"],
        ],
        ids=" ".join,
    )
    def test_little(self, tmp_home: Path, words: list[str]) -> None:
        """An ordinary command loads nothing large before it has an answer to draw."""
        program = (
            "import sys\n"
            "from cortex_actors.cli import entry\n"
            f"entry.main({words!r})\n"
            f"heavy = set({HEAVY!r}) & set(sys.modules)\n"
            "domain = [name for name in sys.modules if name.startswith('cortex_actors.domain.')]\n"
            "print(sorted(heavy), domain)"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "CORTEX_HOME": str(tmp_home)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )

        assert "[] []" == done.stdout.splitlines()[-1]

    def test_targets_exist(self) -> None:
        """Every row names a function that there is."""
        rows = [row for row in command_line.load_table().values() if "run" in row]
        hows = ("call", "show", "offline")
        calls = [row["run"][how] for row in rows for how in hows if how in row["run"]]
        reads = [each["read"] for row in rows for each in row["params"] if "read" in each]

        assert len(calls) > 100
        assert all(callable(command_line.load(each)) for each in [*calls, *reads])

    def test_completes_what_can_be_listed(self) -> None:
        """What a parameter is completed with is something that the daemon lists."""
        named = {
            each["complete"]
            for row in command_line.load_table().values()
            for each in row.get("params", ())
            if "complete" in each
        }

        assert named == {*command_line.SOURCES}


class TestCompletion:
    @pytest.mark.parametrize(
        ("line", "found"),
        [
            ("cortex mem", ["memory"]),
            ("cortex memory sup", ["supersede"]),
            ("cortex memory list --sor", ["--sort"]),
            ("cortex memory list --sort ol", ["oldest"]),
            ("cortex insights --project at", ["atlas-api"]),
            ("cortex projects auto be", ["beacon"]),
            ("cortex daemon restart --stop", ["--stop-timeout"]),
            ("cortex agents show x", []),
        ],
    )
    def test_completes(
        self,
        asked: list[tuple[str, dict[str, Any]]],
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        line: str,
        found: list[str],
    ) -> None:
        """A shell gets commands, options, values, and names out of the daemon."""
        monkeypatch.setenv("_CORTEX_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))

        assert 0 == entry.main([])
        assert [f"plain,{each}" for each in found] == capsys.readouterr().out.split()

    def test_without_a_daemon(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_home: Path
    ) -> None:
        """Where no daemon runs, names are not completed, and nothing is said."""
        monkeypatch.setenv("CORTEX_HOME", str(tmp_home))
        monkeypatch.setenv("_CORTEX_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", "cortex insights --project a")
        monkeypatch.setenv("COMP_CWORD", "3")

        assert 0 == entry.main([])
        assert ("", "") == tuple(each.strip() for each in capsys.readouterr())

    @pytest.mark.parametrize("shell", ["zsh", "fish"])
    def test_script(self, capsys: pytest.CaptureFixture[str], shell: str) -> None:
        """`--show-completion` prints a shell's script."""
        assert 0 == entry.main(["--show-completion", shell])
        assert "_CORTEX_COMPLETE" in capsys.readouterr().out

    def test_unknown_shell(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Another shell is wrong usage."""
        assert 64 == entry.main(["--show-completion", "tcsh"])
        assert "one of bash, zsh, fish" in capsys.readouterr().err


class TestWaiting:
    def test_says_so(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A late answer is waited for in sight, and the line is gone when it comes."""
        monkeypatch.setattr(command_line, "SLOW", 0.01)
        here, there = socket.socketpair()
        with here, there:
            threading.Timer(0.1, lambda: there.sendall(b"x")).start()
            begun = time.monotonic()
            command_line.show_waiting(here, method="recall", seconds=30)

        assert time.monotonic() - begun < 20
        shown = "cortex: still waiting for the daemon (recall)...\r\x1b[K"
        assert shown == capsys.readouterr().err

    def test_steps(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """An answer that tells how far it is shows that, and what it is where that is not known."""
        monkeypatch.setattr(command_line, "SLOW", 0.01)
        monkeypatch.setattr(command_line, "LOOK", 0.01)
        here, there = socket.socketpair()

        def steps() -> Iterator[str]:
            yield ""
            yield "project 2 of 3"
            there.sendall(b"x")
            yield "project 3 of 3"

        with here, there:
            command_line.show_waiting(here, method="resolve", seconds=30, steps=steps())

        told = ("still waiting for the daemon (resolve)", "project 2 of 3", "project 3 of 3")
        assert "".join(f"cortex: {e}...\r\x1b[K" for e in told) == capsys.readouterr().err

    def test_prompt_answer(self, capsys: pytest.CaptureFixture[str]) -> None:
        """An answer that comes at once is shown without a word about it."""
        here, there = socket.socketpair()
        with here, there:
            there.sendall(b"x")
            command_line.show_waiting(here, method="recall", seconds=30)

        assert "" == capsys.readouterr().err

    def test_never(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without an answer the caller's own time is over, too."""
        monkeypatch.setattr(command_line, "SLOW", 0.01)
        here, there = socket.socketpair()
        with here, there:
            command_line.show_waiting(here, method="recall", seconds=0.05)
            with pytest.raises(TimeoutError):
                here.recv(1)
