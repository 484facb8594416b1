"""`cortex stores import`: what of a file is shown, asked and sent."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import click
import pytest

from cortex_actors.cli import entry
from cortex_actors.cli.system import stores
from cortex_actors.federation.callosum import LONGEST
from tests.cli.answering import answering
from tests.cli.stored import ANSWERS, NOTES

if TYPE_CHECKING:
    from pathlib import Path

_PLAIN = """\
federation:
  k: 30
  stores:
    - {name: memory, type: seren_memory, url: "http://me:s3cret@127.0.0.1:7420", token: s3cret}
    - {name: facts, type: seren_loci, url: "http://127.0.0.1:7422", weight: 2, enabled: false}
    - nothing
"""
_LENDING = """\
stores:
  - {name: a, type: seren_memory, url: "http://127.0.0.1:7420", token_keyring: seren/memory}
  - {name: b, type: seren_memory, url: "https://x:s3cret@far.example", bearer_token_env: AWS_KEY}
"""


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch, tmp_home: Path) -> list[tuple[str, dict[str, Any]]]:
    """Answer every call from the table; give what was asked."""
    monkeypatch.setenv("CORTEX_HOME", str(tmp_home))
    monkeypatch.setattr("sys.stdin", io.StringIO())
    return answering(monkeypatch, ANSWERS)


@pytest.fixture
def plain(tmp_path: Path) -> str:
    """Give a file that needs no token of this machine."""
    (tmp_path / "callosum.yaml").write_text(_PLAIN)
    return str(tmp_path / "callosum.yaml")


@pytest.fixture
def lending(tmp_path: Path) -> str:
    """Give a file that wants tokens of this machine sent to its addresses."""
    (tmp_path / "lending.yaml").write_text(_LENDING)
    return str(tmp_path / "lending.yaml")


class TestImport:
    def test_sent(self, plain: str, asked: list[tuple[str, dict[str, Any]]]) -> None:
        """The file goes to the daemon as it is, and wins over what is there only if told to."""
        entry.main(["stores", "import", plain])
        entry.main(["stores", "import", plain, "--replace", "--json"])

        assert [
            ("import_stores", {"text": _PLAIN, "replace": False}),
            ("import_stores", {"text": _PLAIN, "replace": True}),
        ] == asked

    def test_piped(
        self, asked: list[tuple[str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A dash reads the file from standard input."""
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(_PLAIN.encode())))

        assert 0 == entry.main(["stores", "import", "-"])
        assert _PLAIN == asked[0][1]["text"]

    def test_shown(self, plain: str, capsys: pytest.CaptureFixture[str]) -> None:
        """What came of it is told: what was added, turned, and left out with why."""
        assert 0 == entry.main(["stores", "import", plain])

        assert [
            "added memory",
            "replaced notes",
            "turned k 30",
            "that lasts until the daemon restarts; write it into cortex.toml to keep it",
            "left out team: there is no type 'weaviate'",
            "note: the token of memory is kept in runtime-stores.json",
        ] == capsys.readouterr().out.splitlines()

    def test_nothing(
        self, plain: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A file of which nothing was taken is said to have added nothing."""
        nothing: dict[str, Any] = {
            "added": [],
            "replaced": [],
            "skipped": [],
            "changed": {},
            "warnings": [],
        }
        monkeypatch.setitem(ANSWERS, "import_stores", nothing)
        entry.main(["stores", "import", plain])

        assert "the file added nothing\n" == capsys.readouterr().out


class TestDryRun:
    def test_asks(
        self,
        plain: str,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        *,
        asked: list[tuple[str, dict[str, Any]]],
    ) -> None:
        """A daemon that runs is asked what it would take, and in whose place."""
        row = {**NOTES, "name": "memory"}
        answer = {**ANSWERS["import_stores"], "stores": [row], "replaced": ["memory"]}
        monkeypatch.setitem(ANSWERS, "import_stores", answer)
        assert 0 == entry.main(["stores", "import", plain, "--dry-run", "--replace"])
        shown = capsys.readouterr().out

        for text in (
            "its token is in the file · in place of the one there is",
            f"include_short: {stores.shown(value=False)}",
            "would leave out team",
        ):
            assert text in shown
        assert "s3cret" not in shown
        params = {"text": _PLAIN, "replace": True, "dry_run": True}
        assert [("import_stores", params)] == asked


class TestLending:
    def test_nobody_there(
        self,
        lending: str,
        capsys: pytest.CaptureFixture[str],
        asked: list[tuple[str, dict[str, Any]]],
    ) -> None:
        """Tokens of this machine go to a file's addresses only if somebody says so."""
        assert 77 == entry.main(["stores", "import", lending])
        shown = capsys.readouterr().err

        assert "a: the keyring's seren/memory goes to http://127.0.0.1:7420" in shown
        assert "b: the variable AWS_KEY goes to https://" in shown
        assert "s3cret" not in shown
        assert "--yes" in shown
        assert [] == asked

    def test_yes(self, lending: str, asked: list[tuple[str, dict[str, Any]]]) -> None:
        """`--yes` says so beforehand."""
        assert 0 == entry.main(["stores", "import", lending, "--yes"])
        assert ["import_stores"] == [verb for verb, _ in asked]

    @pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 77)])
    def test_asked(
        self,
        answer: str,
        code: int,
        lending: str,
        monkeypatch: pytest.MonkeyPatch,
        asked: list[tuple[str, dict[str, Any]]],
    ) -> None:
        """Somebody at a terminal is asked."""
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        monkeypatch.setattr("click.confirm", lambda _, err: err and answer == "y")

        assert code == entry.main(["stores", "import", lending])
        assert (code == 0) == bool(asked)

    def test_interrupted(
        self,
        lending: str,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        asked: list[tuple[str, dict[str, Any]]],
    ) -> None:
        """Ctrl-C instead of an answer ends it as it ends any other program."""

        def interrupt(_: str, **__: object) -> bool:
            raise click.Abort

        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        monkeypatch.setattr("click.confirm", interrupt)

        assert 130 == entry.main(["stores", "import", lending])
        assert "failed inside" not in capsys.readouterr().err
        assert [] == asked


class TestFiles:
    @pytest.mark.parametrize(
        ("body", "code", "text"),
        [
            (b"\xff\xfe\x00", 65, "is no text in UTF-8"),
            (b"#" * (LONGEST + 1), 65, "has more than"),
            (b"a: &x 1", 65, "line 1 has an anchor"),
            (b"just words", 65, "no `federation`"),
            (b"stores: [", 65, "is no YAML"),
        ],
    )
    def test_wrong(
        self,
        body: bytes,
        code: int,
        text: str,
        *,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        asked: list[tuple[str, dict[str, Any]]],
    ) -> None:
        """A file that is none of a Callosum's is refused before the daemon is asked."""
        (tmp_path / "x.yaml").write_bytes(body)

        assert code == entry.main(["stores", "import", str(tmp_path / "x.yaml")])
        assert text in capsys.readouterr().err
        assert [] == asked

    def test_folder(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A folder is no file."""
        assert 65 == entry.main(["stores", "import", str(tmp_path)])
        assert "cannot be read" in capsys.readouterr().err
