"""`cortex uninstall`: what is ours goes out of other programs' files, and the home stays."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from cortex_actors.cli import service
from cortex_actors.cli.service import make_unit
from cortex_actors.files import clients
from cortex_actors.files.clients import add_lines
from cortex_actors.render import fence
from tests.checkup.conftest import case, learned
from tests.cli.test_setup import HOOKS, OTHERS, TABLES, files, put

if TYPE_CHECKING:
    from pathlib import Path

    from tests.checkup.support import Case
    from tests.cli.conftest import Run

__all__ = ["case", "learned"]

pytestmark = pytest.mark.slow

#: What a section says here.
BODY = b"## Resolved Knowledge from Cortex\n\n- Use pnpm.\n"

_RESOLVED = (
    "INSERT INTO resolved_bullets (path, agent, ordinal, principle_id, text) "
    "VALUES (?, 'claude', 0, 'pri_1', '- Use pnpm.')"
)


@pytest.fixture(autouse=True)
def mine(case: Case, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a user's home folder beside a home of ours that follows two projects."""
    folder = case.folder / "me"
    folder.mkdir()
    for name, value in {
        "HOME": folder,
        "XDG_CONFIG_HOME": folder / ".config",
        "CORTEX_HOME": case.home.root,
        "GIT_CONFIG_GLOBAL": os.devnull,
    }.items():
        monkeypatch.setenv(name, str(value))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(case.projects / "atlas-api")
    return folder


def resolved(case: Case, path: Path) -> bytes:
    """Write a section into a file as `resolve` does, and return what it was before."""
    before = path.read_bytes()
    path.write_bytes(fence.splice(before, BODY))
    case.run(_RESOLVED, str(path))
    return before


def test_everything(case: Case, mine: Path, cortex: Run) -> None:
    """Sections, lines, entries, hooks and hooks of git are gone; all else is there as it was."""
    project = case.projects / "atlas-api"
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    put(mine / ".claude.json", OTHERS)
    put(mine / ".claude" / "settings.json", HOOKS)
    put(mine / ".codex" / "config.toml", TABLES)
    before = files(case.folder / "projects") | files(mine)
    resolved(case, case.file)
    for words in (
        ("setup", "claude-code", "--yes"),
        ("setup", "codex", "--yes", "--instructions"),
        ("setup", "cursor", "--yes", "--scope", "project"),
        ("setup", "claude-code", "--yes", "--scope", "project", "--instructions"),
        ("daemon", "hook", "install", "git"),
    ):
        assert 0 == cortex(*words)[0]

    code, out, err = cortex("uninstall", "--yes")
    assert (0, "") == (code, err)
    assert before == files(case.folder / "projects") | files(mine)
    assert case.home.ledger.exists()
    assert f"rm -r {case.home.root}" in out


def test_dry_run(case: Case, mine: Path, cortex: Run) -> None:
    """--dry-run names each file and changes none; without an answer nothing is done either."""
    put(mine / ".claude.json", OTHERS)
    resolved(case, case.file)
    cortex("setup", "claude-code", "--yes")
    before = files(mine) | files(case.folder / "projects")
    code, out, _ = cortex("uninstall", "--dry-run")

    assert 0 == code
    for path in (case.file, mine / ".claude.json", mine / ".claude" / "settings.json"):
        assert f"will take our part out of {path}" in out
    assert "will stop the daemon, if it runs\n" in out
    assert f"stays: the home {case.home.root} and the copies" in out
    code, _, err = cortex("uninstall")
    assert (77, True) == (code, "--yes" in err)
    assert before == files(mine) | files(case.folder / "projects")


def test_nothing(case: Case, cortex: Run) -> None:
    """Where nothing of ours is anywhere no question is asked, and the home is named."""
    code, out, _ = cortex("uninstall")

    assert 0 == code
    assert out.startswith(f"left: the home {case.home.root}\n")


def test_edited(case: Case, cortex: Run) -> None:
    """A section in which a person has written stays, and is named."""
    resolved(case, case.file)
    text = case.file.read_bytes().replace(b"pnpm", b"npm")
    case.file.write_bytes(text)
    code, out, _ = cortex("uninstall", "--yes")

    assert (0, text) == (code, case.file.read_bytes())
    assert f"stays: the section in {case.file}: it was edited" in out


def test_both(case: Case, cortex: Run) -> None:
    """A section and the lines of set-up go out of one file together."""
    before = case.file.read_text()
    case.file.write_text(add_lines(before))
    resolved(case, case.file)
    cortex("uninstall", "--yes")

    assert before == case.file.read_text()


def test_broken(case: Case, mine: Path, cortex: Run) -> None:
    """A configuration that cannot be read keeps no other part from going."""
    put(mine / ".claude.json", "{")
    before = resolved(case, case.file)
    code, out, _ = cortex("uninstall", "--yes")

    assert (0, before) == (code, case.file.read_bytes())
    assert "stays: " in out
    assert ".claude.json is no JSON" in out


def test_unit(case: Case, mine: Path, cortex: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service goes, where it is this home's; without systemctl as well."""
    monkeypatch.setenv("PATH", "/nowhere")
    path = put(mine / ".config" / "systemd" / "user" / service.NAME, make_unit(case.home))
    code, out, _ = cortex("uninstall", "--yes")

    assert (0, False) == (code, path.exists())
    assert f"will stop and remove the service {path}" in out


def test_plugin(mine: Path, cortex: Run) -> None:
    """The plugin is switched off, and it is named how the client's copy of it goes."""
    enabled = {"enabledPlugins": {clients.PLUGIN: True, "x@y": True}}
    settings = put(mine / ".claude" / "settings.json", json.dumps(enabled))
    code, out, _ = cortex("uninstall", "--yes")

    assert (0, {"enabledPlugins": {"x@y": True}}) == (code, json.loads(settings.read_text()))
    assert f"claude plugin uninstall {clients.PLUGIN}" in out


def test_no_home(mine: Path, cortex: Run) -> None:
    """Without a home the clients' entries go all the same."""
    home = str(mine / "none")
    cortex("setup", "cursor", "--yes", "--home", home)

    assert 0 == cortex("uninstall", "--yes", "--home", home)[0]
    assert {} == files(mine)
