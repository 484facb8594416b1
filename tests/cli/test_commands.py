"""What commands print of what the daemon answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from cortex_actors.cli import entry
from cortex_actors.cli.system.events import parse_moment
from cortex_actors.clock import SECOND, SystemClock
from cortex_actors.errors import BadInput, UsageError
from cortex_actors.home import Home
from cortex_actors.process.logs import LogStream
from tests.cli.answering import answering

if TYPE_CHECKING:
    from tests.cli.answering import Asked

pytestmark = pytest.mark.usefixtures("asked")

ANSWERS: dict[str, dict[str, Any]] = {
    "tree": {
        "root": {
            "name": "cortex",
            "detail": {},
            "children": [
                {
                    "name": "ledger",
                    "detail": {
                        "depth": 3,
                        "high": 17,
                        "limit": 1000,
                        "overflow": "back-pressure",
                        "dropped": 2,
                        "waited_ms": 0.26,
                        "longest_ms": 41.0,
                        "handled": 75,
                        "searches": {"narrow filter": 2, "index": 1_500},
                    },
                }
            ],
        },
        "text": "cortex\n└── storage\x1b[31m",
    },
    "projects": {
        "projects": [
            {
                "id": "prj_1",
                "name": "atlas",
                "root": "/a",
                "files": 3,
                "insights": 14,
                "watch_mode": "poll",
                "auto": False,
            }
        ],
        "broken": [
            {"path": "/a/X.md", "reason": "no text"},
            {"path": "/a/L.md", "reason": "cannot read /b/L.md: it is a folder"},
        ],
        "left_out": [{"path": "/a/AGENTS.md", "lines": 14}],
    },
    "project_files": {
        "id": "prj_1",
        "name": "atlas",
        "root": "/a",
        "insights": 9,
        "files": [
            {"path": "/a/AGENTS.md", "statements": 9, "left_out": 14, "error": None},
            {"path": "/a/B.md", "statements": 0, "left_out": 0, "error": "cannot read /a/B.md: x"},
            {"path": "/a/CLAUDE.md", "statements": 0, "left_out": 0, "error": None},
        ],
    },
    "pace": {"scans": 0, "files": 0, "texts": 0, "others": 0},
    "add_project": {"id": "prj_1", "name": "atlas", "root": "/a", "new": True},
    "remove_project": {"id": "prj_1", "name": "atlas", "root": "/a"},
    "scan": {"id": "evt_1", "topic": "scan:requested", "seq": 7},
    "reload": {
        "changed": ["federation.k"],
        "restarted": ["federation"],
        "needs_restart": ["embedding.model"],
    },
    "crash": {"crashed": "accumulator"},
    "insights": {
        "total": 14,
        "insights": [
            {
                "id": "ins_1",
                "content": "Use [bold]tabs[/bold].\nAlways.",
                "category": "convention",
                "confidence": 0.5,
                "observations": 2,
                "projects": ["atlas"],
                "sources": [{"path": "/a/CLAUDE.md", "line_start": 3, "line_end": 5}],
            }
        ],
    },
    "recall": {
        "query": "q",
        "hits": [
            {
                "text": "Port 5433.\n\x1b]0;title\x07",
                "score": 0.61234,
                "store": "cortex_insights",
                "heading": "Tests",
                "project": "atlas",
                "path": "/a/CLAUDE.md",
                "line_start": 3,
                "line_end": 5,
                "extra": {
                    "agent": "VAJRA",
                    "thread": "daily",
                    "explain": {
                        "dense_alone": {"rank": 7, "score": 0.61},
                        "words_paired": {"rank": 11},
                        "plan": {"kind": "exact", "why": "few rows"},
                        "terms": ["port", '"test database"'],
                        "profile": "measured",
                    },
                },
            }
        ],
        "failed": [{"store": "far", "reason": "refused"}],
        "skipped": [{"store": "local", "reason": "2 below the floor"}],
        "took_ms": 12.3,
    },
}

_SHOWN = {
    "tree": ["└── storage\\x1b[31m"],
    "tree --stats": [
        *("ledger", "3", "17", "1000", "back-pressure", "2", "75", "0.3", "41.0"),
        "Searches by meaning: 1,500 index, 2 narrow filter",
    ],
    "projects": [
        "atlas",
        "14",
        "poll",
        "cannot read /a/X.md: no text",
        "\ncannot read /b/L.md: it is a folder",
        "/a/AGENTS.md: 14 lines not learned, programs write them",
    ],
    "projects files atlas": ["/a/AGENTS.md", "9", "14", "cannot read /a/B.md: x"],
    "init": ["following atlas (prj_1) in /a"],
    "remove /a": ["no longer following atlas (prj_1)"],
    "scan": ["reading all projects again, seq 7"],
    "reload": [
        "changed    federation.k",
        "restarted  federation",
        "embedding.model: followed after",
    ],
    "actor crash accumulator": ["accumulator crashes now"],
    "insights": ["1 of 14 insights", "Use [bold]tabs[/bold]. Always.", "/a/CLAUDE.md:3", "0.50"],
    "recall which port --explain": [
        "1. 0.612",
        "7 (0.610)",
        "11",
        "vectors: exact (few rows)",
        'words: port, "test database"',
        "ranking: measured",
    ],
    "recall which port": [
        "1. 0.612  Tests  atlas  /a/CLAUDE.md:3-5  VAJRA  daily",
        "Port 5433.",
        "\\x1b]0;title",
        "the store far did not answer: refused",
        "note: 2 below the floor",
        "1 found in 12 ms",
    ],
}


class TestPrinting:
    @pytest.mark.parametrize("words", _SHOWN)
    def test_for_people(self, words: str, capsys: pytest.CaptureFixture[str]) -> None:
        """A command shows what matters, and no text of others can act on the terminal."""
        assert 0 == entry.main(words.split())
        shown = capsys.readouterr().out

        assert [] == [text for text in _SHOWN[words] if text not in shown]
        assert "\x1b" not in shown

    @pytest.mark.parametrize("words", _SHOWN)
    def test_for_programs(
        self, words: str, capsys: pytest.CaptureFixture[str], asked: Asked
    ) -> None:
        """With `--json` a command prints the daemon's answer."""
        assert 0 == entry.main([*words.split(), "--json"])
        answer = ANSWERS[asked[0][0]]

        assert answer.get("root" if words.startswith("tree") else "", answer) == json.loads(
            capsys.readouterr().out
        )

    def test_parameters(self, asked: Asked) -> None:
        """The words of a question are one question, and options are passed on."""
        entry.main(["recall", "which", "port", "--limit", "3", "--project", "atlas"])

        flags = {"explain": False, "sure": False, "track": True, "here": str(Path.cwd())}
        given = {"query": "which port", "limit": 3, "project": "atlas"}
        assert [("recall", {**given, **flags})] == asked

    @pytest.mark.parametrize("word", ["~", "atlas"])
    def test_scan(self, word: str, asked: Asked) -> None:
        """A word that is no folder is a project's name, such as that of one's own files."""
        assert 0 == entry.main(["projects", "scan", word, "--no-wait"])

        assert [("scan", {"path": word})] == asked

    def test_explain(self, asked: Asked) -> None:
        """That answers are to be explained is passed on, where it is asked for."""
        entry.main(["recall", "port", "--explain"])

        assert asked[0][1]["explain"]

    def test_nothing_found(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An empty answer says what to do next."""
        nothing = {"insights": [], "total": 0}
        monkeypatch.setitem(ANSWERS, "insights", nothing)

        assert 0 == entry.main(["insights"])
        assert "cortex init PATH" in capsys.readouterr().out


class TestInit:
    def test_read(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Once all is read, what was read of this project is said, and of which file not all."""
        assert 0 == entry.main(["init", "/a", "--wait"])
        following, known, *rest = capsys.readouterr().out.splitlines()

        assert "following atlas (prj_1) in /a" == following
        assert "atlas: 9 insights in 3 files; see: cortex insights --project atlas" == known
        assert [
            "  /a/AGENTS.md: 14 lines not learned, programs write them",
            "  cannot read /a/B.md: x",
            "  /a/CLAUDE.md: nothing in it could be learned",
        ] == rest[:-1]

    def test_nothing(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A project without instruction files is told what is looked for."""
        nothing = {**ANSWERS["project_files"], "files": []}
        monkeypatch.setitem(ANSWERS, "project_files", nothing)

        assert 0 == entry.main(["init", "/a", "--wait"])
        assert "atlas: no instruction file is there, such as CLAUDE.md" in capsys.readouterr().out

    def test_several(self, capsys: pytest.CaptureFixture[str], asked: Asked) -> None:
        """Several paths are followed by one command, and are a list for programs."""
        assert 0 == entry.main(["init", "/a", "/b", "--json"])

        assert [{"path": "/a"}, {"path": "/b"}] == [given for _, given in asked]
        assert {"projects": [ANSWERS["add_project"]] * 2} == json.loads(capsys.readouterr().out)

    def test_one_is_wrong(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A path that cannot be followed keeps no other from it, and its error ends the command."""

        def call(_: object, method: str, /, **given: object) -> dict[str, Any]:
            if given.get("path") in ("/b", "/c"):
                raise BadInput(f"cannot follow {given['path']}: it is a file, not a folder")
            return ANSWERS[method]

        monkeypatch.setattr("cortex_actors.client.connection.Client.call", call)

        assert BadInput.exit_code == entry.main(["init", "/b", "/a", "/c"])
        shown = capsys.readouterr()
        assert "following atlas (prj_1) in /a" in shown.out
        assert ["/b", "/c"] == [line.split()[3].rstrip(":") for line in shown.err.splitlines()]


class TestOwnFiles:
    """A person's own files are followed after one question, or where it is said."""

    known: ClassVar[dict[str, Any]] = {"root": "/h", "files": ["/h/.claude/CLAUDE.md"]}

    def init(
        self, monkeypatch: pytest.MonkeyPatch, *words: str, followed: bool | None, says: bool
    ) -> list[object]:
        """Follow a project at a terminal; return what was decided about a person's own files."""
        own = {"own_files": {**self.known, "followed": followed}, "follow_own": {"id": "prj_2"}}
        asked = answering(monkeypatch, {**ANSWERS, **own})
        for name in ("stdin", "stdout"):
            monkeypatch.setattr(f"sys.{name}.isatty", lambda: True)
        monkeypatch.setattr("click.confirm", lambda _question, _default: says)
        assert 0 == entry.main(["init", "/a", "--no-wait", *words])
        return [given["on"] for verb, given in asked if verb == "follow_own"]

    @pytest.mark.parametrize("says", [True, False])
    def test_asked_once(self, monkeypatch: pytest.MonkeyPatch, says: bool) -> None:
        """A person is asked where nothing is decided yet, and what they say is kept."""
        assert [says] == self.init(monkeypatch, followed=None, says=says)
        assert [] == self.init(monkeypatch, followed=says, says=True)

    def test_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An option decides without a question."""
        assert [True] == self.init(monkeypatch, "--user-files", followed=False, says=False)
        assert [False] == self.init(monkeypatch, "--no-user-files", followed=None, says=True)

    def test_unasked(self, asked: Asked) -> None:
        """Where nobody can be asked, nothing is followed unasked."""
        assert 0 == entry.main(["init", "/a", "--no-wait"])

        assert ["add_project"] == [verb for verb, _ in asked]


class TestReload:
    def test_nothing(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Settings that are as they were are said to be so."""
        nothing: dict[str, Any] = {"changed": [], "restarted": [], "needs_restart": []}
        monkeypatch.setitem(ANSWERS, "reload", nothing)

        assert 0 == entry.main(["reload"])
        assert "nothing changed\n" == capsys.readouterr().out


class TestTopics:
    def test_lists(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The catalogue can be read without a daemon."""
        assert 0 == entry.main(["topics", "--json"])
        found = {topic["name"]: topic["durable"] for topic in json.loads(capsys.readouterr().out)}

        assert found["file:changed"]
        assert not found["daemon:ready"]


class TestLogsFromTheFile:
    @pytest.fixture(autouse=True)
    def _written(self, tmp_home: Path) -> None:
        """Leave a log behind, as a daemon that has ended."""
        home = Home(tmp_home)
        home.create()
        stream = LogStream(home.logs / "cortex.ndjson", SystemClock())
        for number in range(20):
            stream.write("info" if number % 2 else "error", f"text {number}", actor="a", n=number)
        stream.close()

    def test_last_ten(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Ten lines are shown, unless asked otherwise."""
        assert 0 == entry.main(["logs"])
        lines = capsys.readouterr().out.splitlines()

        assert 10 == len(lines)
        assert lines[-1].endswith("info     a: text 19 n=19")

    def test_filtered(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Level, actor and number narrow what is shown; JSON keeps the record."""
        assert 0 == entry.main(["logs", "--level", "ERROR", "--since", "15", "--json"])
        found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

        assert [17, 19] == [record["seq"] for record in found]
        assert [16, 18] == [record["n"] for record in found]

    @pytest.mark.parametrize("topic", ["fiel:*", "custom:mine", "[x]"])
    def test_possible_topics(self, topic: str) -> None:
        """A pattern may match nothing, and so may a name of one's own."""
        assert 0 == entry.main(["logs", "--topic", topic])

    def test_more_than_memory(self, capsys: pytest.CaptureFixture[str]) -> None:
        """More than the daemon remembers is read from the files."""
        assert 0 == entry.main(["logs", "-n", "100000"])
        assert 20 == len(capsys.readouterr().out.splitlines())


class TestSince:
    def test_kinds(self) -> None:
        """A number, a duration and a time are understood."""
        now = 1_000_000 * SECOND

        assert (0, 0) == parse_moment(None, now=now)
        assert (42, 0) == parse_moment("42", now=now)
        assert (0, now - 600 * SECOND) == parse_moment("10m", now=now)
        assert (0, 0) == parse_moment("1970-01-01T00:00:00+00:00", now=now)

    @pytest.mark.parametrize("text", ["", "10x", "-5", "tomorrow", "0000-01-01"])
    def test_others(self, text: str) -> None:
        """Anything else is a mistake in usage."""
        with pytest.raises(UsageError, match="cannot read --since"):
            parse_moment(text, now=0)
