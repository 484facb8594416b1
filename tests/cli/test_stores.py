"""What the commands about stores print, and what they ask the daemon for."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest

from cortex_actors.cli import entry
from tests.cli.answering import for_people, for_programs
from tests.cli.stored import ANSWERS

if TYPE_CHECKING:
    from tests.cli.answering import Asked

pytestmark = pytest.mark.usefixtures("asked")

TOKEN = "tok-4f0c9b21"

_SHOWN = {
    "stores": [
        "2 of 3 stores are asked",
        "* notes",
        "seren_memory · http://127.0.0.1:7420 · weight 0.5 · floor 0.25 · has a token",
        "added by command",
        "include_short: false",
        "- team",
        "skipped: it needs options.collection\\x1b[31m",
        "k is 30 until the daemon restarts",
        "away has enabled true until the daemon restarts",
        "to mend: /h/runtime-stores.json",
    ],
    "stores list": ["2 of 3 stores are asked"],
    "stores add notes seren_memory http://127.0.0.1:7420": [
        "added notes: http://127.0.0.1:7420, which is 127.0.0.1 (this machine)",
        "note: the token of notes is kept",
        "cortex stores ping notes",
    ],
    "stores remove notes": ["removed notes\n", "note: a token is still in the keyring"],
    "stores enable notes": ["notes is asked from now on\n"],
    "stores disable notes": ["notes is not asked any more (until the daemon restarts"],
    "stores tune notes --weight 0.5": ["notes: weight 0.5, floor 0.25\n"],
    "stores configure k=30": ["changed k 30, fusion_mode rrf_pct (until the daemon restarts"],
    "stores configure": ["after a restart", "edges_enabled", "true"],
    "stores health": [
        "unknown local not asked since the daemon started",
        "degraded notes 40 asked, 95% answered · usually 12.3 ms, at most 1,234.5 ms",
        "last failure: timeout after 5.00 s",
    ],
    "stores ping notes": [
        "* notes answered in 3 ms",
        "service SerenMemory · version 5.4.0\\x1b[31m",
    ],
}


class TestPrinting:
    @pytest.mark.parametrize("words", _SHOWN)
    def test_for_people(
        self,
        words: str,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A command shows what matters on 80 columns, and no text acts on the terminal."""
        monkeypatch.setattr("cortex_actors.cli.show.PLAIN_WIDTH", 80)
        for_people(words.split(), _SHOWN[words], capsys)

    @pytest.mark.parametrize("words", _SHOWN)
    def test_for_programs(
        self, words: str, capsys: pytest.CaptureFixture[str], asked: Asked
    ) -> None:
        """With `--json` a command prints the daemon's answer whole, and asks once."""
        for_programs(words.split(), ANSWERS, asked, capsys)

    def test_shadowed(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Of two stores of one name it is said which one went, and that the other one stays."""
        gone = {"removed": "notes", "shadowed": True, "active": ["notes"], "warnings": []}
        monkeypatch.setitem(ANSWERS, "remove_store", gone)

        assert 0 == entry.main(["stores", "remove", "notes"])
        shown = capsys.readouterr().out
        assert "removed notes of runtime-stores.json, which was not asked" in shown
        assert "notes of cortex.toml goes on being asked" in shown

    def test_absent(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A store that is not there is shown with why, and the exit code tells scripts."""
        gone = {"name": "notes", "ok": False, "ms": 1.0, "reason": "refused", "says": None}
        monkeypatch.setitem(ANSWERS, "ping_store", {"stores": [gone]})

        assert 1 == entry.main(["stores", "ping"])
        assert "notes: refused" in capsys.readouterr().out
        assert 1 == entry.main(["stores", "ping", "--json"])

    def test_types(self, capsys: pytest.CaptureFixture[str], asked: Asked) -> None:
        """The types there are have a sentence and a command each, and need no daemon."""
        assert 0 == entry.main(["stores", "types"])
        assert "seren_memory" in capsys.readouterr().out
        assert 0 == entry.main(["stores", "types", "--json"])

        types = json.loads(capsys.readouterr().out)["types"]
        assert all(each["about"] for each in types)
        assert all(f" {each['type']} " in each["example"] for each in types)
        assert [] == asked


class TestAsking:
    def test_whole(self, asked: Asked) -> None:
        """Everything that is said of a store reaches the daemon as it was meant."""
        words = "stores add notes chroma http://h:1 --weight 2 --floor 0.3 --disabled --json"
        options = ["collection=a=b", "pages:=[1, 2]", "deep:=false"]
        entry.main([*words.split(), *(f"--option={each}" for each in options)])

        ((verb, params),) = asked
        assert "add_store" == verb
        assert {
            "name": "notes",
            "type": "chroma",
            "url": "http://h:1",
            "weight": 2.0,
            "floor": 0.3,
            "options": {"collection": "a=b", "pages": [1, 2], "deep": False},
            "enabled": False,
        } == params

    def test_knobs(self, asked: Asked) -> None:
        """Numbers, true and false are sent as such, everything else as a word."""
        words = "k=30 authority_margin=.05 edges_enabled=false fusion_mode=rrf_pct hops=null"
        entry.main(["stores", "configure", *words.split()])

        assert {
            "k": 30,
            "authority_margin": ".05",
            "edges_enabled": False,
            "fusion_mode": "rrf_pct",
            "hops": "null",
        } == asked[0][1]["changes"]

    @pytest.mark.parametrize(
        ("words", "code", "text"),
        [
            ("configure k", 64, "write KNOB=VALUE"),
            ("configure =3", 64, "cannot read '=': write KNOB=VALUE"),
            ("configure k=1 k=2", 64, "k is given twice"),
            ("add a b c --option x", 64, "write KEY=TEXT or KEY:=JSON"),
            ("add a b c --option x:=1 --option x:=2", 64, "cortex: x is given twice"),
            ("add a b c --option x:={", 65, "the option x is no JSON"),
            ("add a b c --token-env A --token-keyring b/c", 64, "give one of"),
            ("add a b c --token-stdin --token-env A", 64, "give one of"),
            (f"add a b c --token={TOKEN}", 64, "--token-env"),
            ("add a b c --weight -1", 64, "weight"),
            ("tune a --floor 2", 64, "floor"),
            ("add a b", 64, "URL"),
            ("sing", 64, "sing"),
        ],
    )
    def test_wrong(
        self,
        words: str,
        code: int,
        text: str,
        capsys: pytest.CaptureFixture[str],
        asked: Asked,
    ) -> None:
        """Words that mean nothing are refused with what would, before anything is asked."""
        assert code == entry.main(["stores", *words.split()])
        shown = capsys.readouterr().err

        assert text in shown
        assert TOKEN not in shown
        assert [] == asked


class TestTokens:
    _ADD = ("stores", "add", "notes", "seren_memory", "http://127.0.0.1:7420")

    @pytest.mark.parametrize(
        ("words", "sent"),
        [
            (["--token-env", "NOTES_TOKEN"], {"token_env": "NOTES_TOKEN"}),
            (["--token-keyring", "seren/notes"], {"token_keyring": "seren/notes"}),
            (["--token-stdin"], {"token": TOKEN}),
        ],
    )
    def test_places(
        self,
        words: list[str],
        sent: dict[str, str],
        monkeypatch: pytest.MonkeyPatch,
        asked: Asked,
    ) -> None:
        """A token comes from standard input, a variable or the keyring."""
        monkeypatch.setattr("sys.stdin", io.StringIO(f" {TOKEN}\nsecond line\n"))
        assert 0 == entry.main([*self._ADD, *words])

        params = asked[0][1]
        assert sent == {key: params[key] for key in params if key.startswith("token")}

    def test_unseen(self, monkeypatch: pytest.MonkeyPatch, asked: Asked) -> None:
        """At a terminal it is asked for without being shown."""
        monkeypatch.setattr("sys.stdin", _Terminal())
        monkeypatch.setattr("getpass.getpass", lambda prompt: f"{TOKEN} of {prompt.split()[2]}")
        entry.main([*self._ADD, "--token-stdin"])

        assert f"{TOKEN} of notes:" == asked[0][1]["token"]

    def test_nothing(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        asked: Asked,
    ) -> None:
        """Standard input without a token is an error, not a store without one."""
        monkeypatch.setattr("sys.stdin", io.StringIO("\n"))

        assert 65 == entry.main([*self._ADD, "--token-stdin"])
        assert "no token" in capsys.readouterr().err
        assert [] == asked


class _Terminal(io.StringIO):
    """Standard input that somebody types into."""

    def isatty(self) -> bool:
        """Say so."""
        return True
