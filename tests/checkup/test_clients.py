"""What the doctor says of the AI clients that are set up."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cortex_actors.files import clients
from cortex_actors.files.clients import CLIENTS, Wiring

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.domain.hit import Diagnosis
    from tests.checkup.support import Case


@pytest.fixture(autouse=True)
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a user's home folder without any client."""
    folder = tmp_path / "me"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


def wire(folder: Path, wiring: Wiring, name: str = "claude-code") -> Path:
    """Set a client up in a folder of the user's or a project's, and return the file."""
    client = CLIENTS[name]
    path = folder / (client.servers.user if folder.name == "me" else client.servers.project)
    path.parent.mkdir(exist_ok=True)
    path.write_text(clients.add_server(client, "", wiring=wiring, path=str(path)))
    return path


def seen(case: Case) -> list[Diagnosis]:
    """Return what the check says."""
    return [each for each in case.look().diagnoses if each.check == "clients"]


def test_none(case: Case) -> None:
    """Without a client all is well, and the command is named that lists them."""
    (found,) = seen(case)

    assert ("ok", True) == (found.severity, "cortex setup" in found.found)


def test_right(case: Case, mine: Path) -> None:
    """Entries of this program for this home are well, a project's among them."""
    wiring = Wiring.from_home("CLAUDE", case.home)
    wire(mine, wiring)
    wire(case.projects / "atlas-api", wiring, "cursor")
    (found,) = seen(case)

    text = "Claude Code, Cursor: set up, for this program and this home"
    assert ("ok", text) == (found.severity, found.found)


def test_plugin(case: Case, mine: Path) -> None:
    """The plugin counts as set up."""
    settings = mine / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"enabledPlugins": {clients.PLUGIN: True}}))

    assert ["Claude Code: set up, for this program and this home"] == [e.found for e in seen(case)]


@pytest.mark.parametrize(
    ("wiring", "severity", "said", "mend"),
    [
        (Wiring("A", "{home}", ("/gone/cortex",)), "warning", "/gone/cortex, which is not", ""),
        (Wiring("A", "{home}", ("/bin/sh", "-m", "cortex_actors")), "note", "another cortex", ""),
        (Wiring("A", "/other"), "note", "is for the home /other", " --home {home}"),
    ],
)
def test_wrong(
    case: Case, mine: Path, *, wiring: Wiring, severity: str, said: str, mend: str
) -> None:
    """A program that is gone, another one, and another home are named, with what to do."""
    home = str(case.home.root)
    path = wire(mine, Wiring("A", wiring.home.format(home=home), wiring.program))
    (found,) = seen(case)

    assert (severity, True) == (found.severity, said in found.found)
    assert found.found.startswith(str(path))
    assert f"cortex setup claude-code{mend.format(home=home)}" == found.mend


def test_hooks(case: Case, mine: Path) -> None:
    """Hooks that run a program that is gone are one finding, whatever their number."""
    path = mine / ".codex" / "hooks.json"
    path.parent.mkdir()
    wiring = Wiring("A", str(case.home.root), ("/gone/cortex",))
    path.write_text(clients.add_hooks(CLIENTS["codex"], "", wiring=wiring, path=str(path)))

    assert [f"{path} runs /gone/cortex, which is not there"] == [e.found for e in seen(case)]


def test_broken(case: Case, mine: Path) -> None:
    """A configuration that cannot be read is a warning, and keeps no other from being seen."""
    (mine / ".claude.json").write_text("{")
    wire(mine, Wiring("A", "/other"), "cursor")

    assert ["note", "warning"] == sorted(str(each.severity) for each in seen(case))
