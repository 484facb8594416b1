"""`cortex lint`: what it prints, how it ends, and that it needs nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.cli import entry
from tests.architecture.source import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CLAUDE = """# Atlas

- Use npm for installing packages.
- The app is in `src/app one.py` and `src/gone.py`.
- Always write a test for every bug that you fix.
"""
AGENTS = """# Atlas

- Use pnpm for installing packages.
- Name modules after the one thing that they do.
- Always write a test for every bug that you fix.
- Keep the public interface as small as possible.
"""


#: How SARIF weighs what it reports.
LEVELS = {"none", "note", "warning", "error"}

#: Of the schema of SARIF 2.1.0 what we write: object -> property -> its kind, or what it holds (of
#: a list, each item). What is required begins with a star, and no object has other properties.
SARIF: dict[str, dict[str, object]] = {
    "sarifLog": {"$schema": str, "*version": {"2.1.0"}, "*runs": "run"},
    "run": {
        "*tool": "tool",
        "originalUriBaseIds": "bases",
        "invocations": "invocation",
        "results": "result",
    },
    "tool": {"*driver": "toolComponent"},
    "toolComponent": {"*name": str, "version": str, "rules": "reportingDescriptor"},
    "reportingDescriptor": {
        "*id": str,
        "shortDescription": "message",
        "defaultConfiguration": "reportingConfiguration",
    },
    "reportingConfiguration": {"level": LEVELS},
    "bases": {"*PROJECTROOT": "artifactLocation"},
    "invocation": {"*executionSuccessful": bool, "toolExecutionNotifications": "notification"},
    "notification": {"*message": "message", "level": LEVELS, "locations": "location"},
    "result": {
        "*message": "message",
        "ruleId": str,
        "level": LEVELS,
        "locations": "location",
        "relatedLocations": "location",
    },
    "message": {"*text": str},
    "location": {"id": int, "message": "message", "physicalLocation": "physicalLocation"},
    "physicalLocation": {"*artifactLocation": "artifactLocation", "region": "region"},
    "artifactLocation": {"*uri": str, "uriBaseId": str},
    "region": {"*startLine": int, "endLine": int},
}


def broken(found: Any, where: str, name: str) -> Iterator[str]:
    """Yield where an object is none of SARIF's by `SARIF`."""
    known = {key.removeprefix("*"): kind for key, kind in SARIF[name].items()}
    required = {key[1:] for key in SARIF[name] if key.startswith("*")}
    yield from (f"{where}.{key} is required" for key in required - found.keys())
    for key, value in found.items():
        kind = known.get(key)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(kind, str):
                yield from broken(each, f"{where}.{key}", kind)
            elif not (each in kind if isinstance(kind, set) else kind and type(each) is kind):
                yield f"{where}.{key} is {each!r}"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a project with something wrong, and a home that cannot be made."""
    root = tmp_path / "my atlas"
    (root / "src").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / "CLAUDE.md").write_text(CLAUDE, "utf-8")
    (root / "AGENTS.md").write_text(AGENTS, "utf-8")
    monkeypatch.chdir(root)
    monkeypatch.setenv("CORTEX_HOME", "/dev/null/nowhere")
    return root


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """Return what the command prints for a program."""
    assert 1 == entry.main(["lint", *words])
    return json.loads(capsys.readouterr().out)


class TestPrinted:
    def test_findings(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Each finding is a line with file and line, then the other place and why, then a sum."""
        assert 1 == entry.main(["lint"])

        assert [
            "CLAUDE.md:3: contradiction: Use npm for installing packages.",
            "    AGENTS.md:3: Use pnpm for installing packages.",
            "CLAUDE.md:4: stale-reference: src/gone.py",
            "    there is no src/gone.py",
            "CLAUDE.md:5: duplicate: Always write a test for every bug that you fix.",
            "    AGENTS.md:5: Always write a test for every bug that you fix.",
            "    the same text",
            "1 contradiction, 1 duplicate, 1 stale reference in 2 instruction files",
        ] == [line for line in capsys.readouterr().out.splitlines() if "against" not in line]

    def test_nothing(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A project without a finding, or a file, ends with 0 and says how much was read."""
        (project / "CLAUDE.md").unlink()
        assert 0 == entry.main(["lint", str(project)])
        assert "nothing found in 1 instruction file\n" == capsys.readouterr().out
        (project / "AGENTS.md").unlink()
        assert 0 == entry.main(["lint"])
        shown = capsys.readouterr()
        assert "nothing found in 0 instruction files\n" == shown.out
        assert "looked for CLAUDE.md, AGENTS.md and the like" in shown.err

    def test_elsewhere(
        self, project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A file outside the current folder is named by its whole path."""
        monkeypatch.chdir(project / "src")
        entry.main(["lint", str(project)])

        assert f"{project}/CLAUDE.md:3: contradiction:" in capsys.readouterr().out

    def test_control_codes(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """What would move the cursor is written out."""
        (project / "CLAUDE.md").write_text(CLAUDE.replace("npm for", "npm \x1b[2Jfor"), "utf-8")
        entry.main(["lint"])

        assert "\x1b" not in capsys.readouterr().out


class TestForPrograms:
    def test_json(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """JSON has each project with its files, its findings and both places."""
        (found,) = asked(capsys, "--json")["projects"]
        first = found["findings"][0]

        assert (str(project), ["AGENTS.md", "CLAUDE.md"]) == (found["root"], found["files"])
        assert ("contradiction", "CLAUDE.md", 3) == (
            first["rule"],
            first["spot"]["path"],
            first["spot"]["line"],
        )
        assert ("AGENTS.md", 3, 3) == tuple(first["other"][key] for key in ("path", "line", "last"))

    def test_sarif(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """SARIF names rules, places and the other place, relative to the project's root."""
        found = asked(capsys, "--sarif")
        (run,) = found["runs"]
        first, stale, _ = run["results"]
        place = first["locations"][0]["physicalLocation"]

        assert "2.1.0" == found["version"]
        assert {each["ruleId"] for each in run["results"]} == {
            each["id"] for each in run["tool"]["driver"]["rules"]
        }
        assert ("error", {"startLine": 3, "endLine": 3}) == (first["level"], place["region"])
        assert {"uri": "CLAUDE.md", "uriBaseId": "PROJECTROOT"} == place["artifactLocation"]
        assert "AGENTS.md" in json.dumps(first["relatedLocations"])
        assert "relatedLocations" not in stale
        assert run["originalUriBaseIds"]["PROJECTROOT"]["uri"].endswith("/my%20atlas/")
        assert run["invocations"][0]["executionSuccessful"]

    def test_sarif_required(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """SARIF has what the schema of 2.1.0 requires of it, in the kinds and words it has."""
        (project / "GEMINI.md").write_bytes(b"\xff")
        entry.main(["lint", "--sarif"])
        found = json.loads(capsys.readouterr().out)

        assert [] == list(broken(found, "", "sarifLog"))
        assert found["runs"][0]["invocations"][0]["toolExecutionNotifications"]

    def test_unread(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A file that cannot be checked is 65, after what was found, and SARIF says so, too."""
        (project / "GEMINI.md").write_bytes(b"\0")

        assert 65 == entry.main(["lint", "--sarif"])
        shown = capsys.readouterr()
        (run,) = json.loads(shown.out)["runs"]
        assert (3, False) == (len(run["results"]), run["invocations"][0]["executionSuccessful"])
        assert "GEMINI.md: byte 0 is NUL; save the file as UTF-8" in shown.err


class TestRefused:
    @pytest.mark.parametrize(
        ("words", "code"),
        [
            (["nowhere"], 66),
            (["src/app one.py"], 66),
            (["notes.md"], 65),
            (["--json", "--sarif"], 64),
            (["--nonsense"], 64),
        ],
    )
    def test_codes(self, project: Path, words: list[str], code: int) -> None:
        """What cannot be checked ends with 64 or above."""
        (project / "notes.md").write_text("# Notes\n", "utf-8")

        assert code == entry.main(["lint", *words])


@pytest.mark.slow
class TestNeeds:
    def test_little(self, project: Path) -> None:
        """It loads no settings, database, index, network or model, and makes no home."""
        program = (
            "import sys; from cortex_actors.cli import entry; code = entry.main(['lint'])\n"
            "print(code, sorted({each.partition('.')[0] for each in sys.modules} & {'asyncio',\n"
            "'chromadb', 'httpx2', 'numpy', 'onnxruntime', 'pydantic', 'sqlalchemy'}))"
        )
        asked = subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True
        )

        assert "1 []" == asked.stdout.splitlines()[-1]

    def test_hook(self) -> None:
        """The definition for pre-commit runs a command that there is, for the whole project."""
        text = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
        (words,) = re.findall(r"^  entry: cortex (.+)$", text, re.MULTILINE)

        assert 0 == entry.main([*words.split(), "--help"])
        assert "pass_filenames: false" in text
