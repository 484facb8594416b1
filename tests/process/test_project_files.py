"""What a person finds in a project: his file with our section in it, and nothing else of ours."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.process.commands import Commands, kill, until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

AGREED = "- Always run the tests before you push code.\n"

#: What two projects agree on is a principle at once, and every file receives it.
AT_ONCE = {
    "CORTEX_RECONCILIATION__PROMOTION_AGE_DAYS": "0",
    "CORTEX_RECONCILIATION__PROMOTION_OBSERVATIONS": "2",
    "CORTEX_RECONCILIATION__PROMOTION_CONFIDENCE": "0.55",
    "CORTEX_RESOLUTION__LEAST": "0",
}


def git(root: Path, *words: str) -> str:
    """Run git in a project; return what it says."""
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    return subprocess.run(
        ["git", "-C", str(root), *who, *words], capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture
def project(cortex: Commands, tmp_path: Path) -> Path:
    """Give a repository whose file may be given what two other projects agree on."""
    cortex.env.update(AT_ONCE)
    assert 0 == cortex("start").returncode
    for name, text in {"a": AGREED, "b": AGREED, "c": "- Sweep the yard.\n"}.items():
        (root := tmp_path / name).mkdir()
        (root / "CLAUDE.md").write_text(f"# {name}\n\n## Chores\n\n{text}")
        assert 0 == cortex("init", str(root)).returncode
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Begin")

    def distilled() -> object:
        cortex("reconcile")
        cortex("organise")
        return found(cortex, "principles")["principles"]

    until(distilled, "a principle")
    return root


def found(cortex: Commands, *words: str) -> dict[str, Any]:
    """Return what a command answers a program."""
    done = cortex(*words, "--json")
    assert done.stdout, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


class TestGit:
    def test_only_the_file(self, cortex: Commands, project: Path) -> None:
        """Right after the command git sees the file changed, and nothing new; after a kill, too."""
        assert 0 == cortex("resolve", str(project), "--yes").returncode
        assert " M CLAUDE.md\n" == git(project, "status", "--porcelain", "--ignored")

        kill(cortex.status()["pid"])
        assert " M CLAUDE.md\n" == git(project, "status", "--porcelain", "--ignored")
        assert 69 == cortex("resolve", str(project), "--undo").returncode
        cortex("start")
        assert 0 == cortex("resolve", str(project), "--undo").returncode
        assert "" == git(project, "status", "--porcelain", "--ignored")
