"""Spellings of the version before, and what help shows of those that took their place."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
import pytest

from cortex_actors.cli import command_line, entry
from cortex_actors.cli.declare import MOVED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: What `cortex --help` may show at most: 22, and two of the seven that were to come, by which
#: agents are connected: `setup` and `brief`. What only programs start is not shown.
MOST = 24


@pytest.fixture
def built() -> Any:
    """Give the command line."""
    return command_line.load_front()


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Give a home where nothing is, and a terminal of 80 columns."""
    monkeypatch.setenv("CORTEX_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")


def below(command: Any) -> dict[str, Any]:
    """Return the commands that a group's help lists."""
    context = click.Context(command)
    names = command.list_commands(context) if isinstance(command, click.Group) else ()
    return {name: command.get_command(context, name) for name in names}


def walk(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every command that help shows, by its name."""
    yield name, command
    for each in below(command).values():
        if not each.hidden:
            yield from walk(each, f"{name} {each.name}".strip())


@pytest.mark.parametrize(("old", "new"), MOVED.items())
class TestMoved:
    def test_runs(
        self,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        old: str,
        new: str,
    ) -> None:
        """An old spelling runs; a terminal is told the new one, and a pipe gets nothing more."""
        assert 0 == entry.main([*old.split(), "--help"])
        shown = capsys.readouterr()
        assert "" == shown.err
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        assert 0 == entry.main([*old.split(), "--help"])
        told = capsys.readouterr()

        assert shown.out == told.out
        assert f"cortex: `cortex {old}` is now `cortex {new}`\n" == told.err

    def test_takes_the_same(self, capsys: pytest.CaptureFixture[str], old: str, new: str) -> None:
        """The new spelling takes the options and the words that the old one takes."""
        shown = []
        for words in (old, new):
            assert 0 == entry.main([*words.split(), "--help"])
            # Behind the usage, in which hooks have both names.
            shown.append(capsys.readouterr().out.partition("\n\n")[2])

        assert shown[0] == shown[1] != ""

    def test_is_hidden(self, built: Any, old: str, new: str) -> None:
        """Help shows the new spelling and not the old one."""
        shown = dict(walk(built))

        assert old not in shown
        assert new in shown

    def test_new_one_runs(self, capsys: pytest.CaptureFixture[str], old: str, new: str) -> None:
        """The new spelling runs on the way that the old one took, and names itself."""
        assert 0 == entry.main([*new.split(), "--help"])

        assert f"cortex {new} " in capsys.readouterr().out.splitlines()[0]


class TestShown:
    def test_few(self, built: Any) -> None:
        """The list of commands is short."""
        assert len(below(built)) <= MOST

    def test_whole_lines(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Help says its sentences to the end, in 80 columns."""
        for words in ([], ["memory"], ["daemon"], ["debug"]):
            assert 0 == entry.main([*words, "--help"])
        shown = capsys.readouterr().out

        assert "..." not in shown.replace("[ARGS]...", "")
        assert all(len(line) <= 80 for line in shown.splitlines())

    def test_daily_first(self, capsys: pytest.CaptureFixture[str]) -> None:
        """What is used every day comes first, and what looks inside last."""
        entry.main(["--help"])
        shown = capsys.readouterr().out

        assert -1 < shown.index("Daily:") < shown.index("  recall") < shown.index("  debug")

    def test_examples_name_what_there_is(self, built: Any) -> None:
        """No example in help is an old spelling."""
        epilogs = "\n".join(each.epilog or "" for _, each in walk(built))
        first = {tuple(line.split()[:3]) for line in epilogs.splitlines() if "cortex " in line}

        assert not [each for each in first if each[1] in MOVED or " ".join(each[1:]) in MOVED]

    @pytest.mark.parametrize("words", ["principles", "insights", "projects"])
    def test_lists_as_before(self, capsys: pytest.CaptureFixture[str], words: str) -> None:
        """A list that has commands below it now is asked with its own options, as before."""
        assert 69 == entry.main([words, "--json"])
        assert "no daemon answers" in capsys.readouterr().err

    def test_words_of_a_list(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Words and options of a list may stand in any order, and are no command's name."""
        assert 69 == entry.main(["insights", "commit", "--limit", "3", "message"])
        assert 64 == entry.main(["insights", "--nonsense"])
        assert "see: cortex insights --help" in capsys.readouterr().err

    @pytest.mark.parametrize(
        "words",
        "agents,agents crumb,contradictions,crumb,debug,insights,knowledge,memory,principles,"
        "projects,review,stores".split(","),
    )
    def test_lists_alone(self, capsys: pytest.CaptureFixture[str], words: str) -> None:
        """A group without a command below it asks the daemon for its list."""
        assert 69 == entry.main(words.split())
        assert 'start one with "cortex start"' in capsys.readouterr().err

    def test_shows_alone(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Two groups show something without a daemon, too: the model, and that none runs."""
        assert (0, 3) == (entry.main(["model"]), entry.main(["daemon"]))
        assert "state  stopped" in capsys.readouterr().out

    def test_unknown(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A command that a group does not have is wrong usage."""
        assert 64 == entry.main(["daemon", "nonsense"])
        assert "No such command 'nonsense'" in capsys.readouterr().err
