"""A home's modes, links and strange contents, as the commands meet them."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.process.commands import PATIENCE, Commands, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

#: Becomes the command that follows, bound by modes as every other user is: root, as whom tests may
#: run, loses CAP_DAC_OVERRIDE (1) and CAP_DAC_READ_SEARCH (2) with PR_CAPBSET_DROP (24).
_BOUND = """
import ctypes, os, sys
for capability in (1, 2) if os.geteuid() == 0 else ():
    if ctypes.CDLL(None, use_errno=True).prctl(24, capability, 0, 0, 0):
        raise SystemExit(f"cannot drop a capability: {os.strerror(ctypes.get_errno())}")
os.execv(sys.executable, [sys.executable, "-m", "cortex_actors", *sys.argv[1:]])
"""

#: A whole life: commands, and what is in the home after each; `ROOT` is a project's folder.
LIFE: tuple[tuple[str, str], ...] = (
    ("start", "cortex.lock cortex.db cortex.db-wal cortex.db-shm cortex.sock logs/stderr.log"),
    ("init ROOT", "logs/cortex.ndjson index/gen-*/*"),
    ("remember The-deploy-needs-two-approvals.", ""),
    ("resolve ROOT", ""),
    ("agents token AZOTH", "tokens/AZOTH"),
    ("stores add notes chroma http://127.0.0.1:9 --option collection=notes", "runtime-stores.json"),
    ("stop", ""),
    ("publish scan:requested", ""),
    ("backup", "backups/*.db"),
    ("restore --yes", "cortex.db.replaced-*"),
)


@pytest.fixture
def cortex(tmp_home: Path) -> Iterator[Commands]:
    """Give the command line of a home that is not there yet."""
    commands = Commands(tmp_home / "home")
    yield commands
    commands.clean_up()


def bound(cortex: Commands, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command that modes bind."""
    return subprocess.run(
        [sys.executable, "-c", _BOUND, *words],
        env=cortex.env,
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
        check=False,
    )


def _found(home: Path, pattern: str) -> bool:
    """Say whether something in the home is called so."""
    return any(home.glob(pattern))


def too_open(folder: Path) -> dict[str, str]:
    """Return what lies in a folder, and the folder, that is not its owner's alone, and its mode."""
    found = {}
    for path in (folder, *folder.rglob("*")):
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            continue  # a daemon's, which runs
        if stat.S_IMODE(mode) != (0o700 if stat.S_ISDIR(mode) else 0o600):
            found[str(path.relative_to(folder))] = stat.filemode(mode)
    return found


class TestModes:
    @pytest.mark.parametrize("umask", [0o000, 0o077])
    def test_whole_life(self, cortex: Commands, tmp_path: Path, umask: int) -> None:
        """Whatever a life leaves in the home is its owner's alone, under any umask."""
        (tmp_path / "CLAUDE.md").write_text("# Rules\n\n- Run the tests before each commit.\n")
        before = os.umask(umask)
        try:
            for words, made in LIFE:
                done = cortex(*words.replace("ROOT", str(tmp_path)).split())
                assert done.returncode in {0, 77}, (words, done.stdout, done.stderr)
                for name in made.split():
                    until(partial(_found, cortex.home, name), f"{name} after {words}")
                assert {} == too_open(cortex.home), words
        finally:
            os.umask(before)

    def test_open_home(self, cortex: Commands) -> None:
        """A home that everybody may write is closed by the start, which says so once."""
        cortex.home.mkdir()
        cortex.home.chmod(0o777)
        first = cortex("start")
        cortex("stop")
        again = cortex("start")

        assert (0, 0) == (first.returncode, again.returncode), first.stderr
        assert f"other users could look into {cortex.home}: now only you can" in first.stderr
        assert 1 == first.stderr.count("\n")
        assert "" == again.stderr
        assert {} == too_open(cortex.home)

    @pytest.mark.skipif(
        sys.platform != "linux" and os.geteuid() == 0, reason="here modes never bind root"
    )
    @pytest.mark.parametrize("words", ["start", "stop", "status", "restart", "run", "backup"])
    def test_closed_home(self, cortex: Commands, words: str) -> None:
        """A home that its owner may not enter either ends every command with 73 and the way out."""
        cortex.home.mkdir(mode=0o000)
        done = bound(cortex, words)
        named = bound(cortex, words, "--home", str(cortex.home))
        cortex.home.chmod(0o700)

        assert (73, 73) == (done.returncode, named.returncode), (done.stderr, named.stderr)
        assert f"Permission denied; chmod 700 {cortex.home}, or give" in done.stderr
        assert 1 == done.stderr.count("\n")
        assert done.stderr == named.stderr


class TestContents:
    @pytest.mark.parametrize("name", ["cortex.lock", "cortex.db", "logs/stderr.log"])
    def test_link(self, cortex: Commands, tmp_path: Path, name: str) -> None:
        """A link where a file is written is named, 73, and what it leads to stays as it was."""
        victim = tmp_path / "victim"
        victim.touch(mode=0o644)
        (cortex.home / name).parent.mkdir(parents=True)
        (cortex.home / name).symlink_to(victim)
        done = cortex("start")

        assert 73 == done.returncode
        assert f"{name} is a link" in done.stderr
        assert ("", 0o644) == (victim.read_text(), stat.S_IMODE(victim.stat().st_mode))

    @pytest.mark.parametrize("make", ["touch", "mkdir"])
    def test_no_socket(self, cortex: Commands, make: str) -> None:
        """Something else at the socket's place is named, and what to do: 78."""
        place = cortex.home / "cortex.sock"
        cortex.home.mkdir(mode=0o700)
        getattr(place, make)()
        done = cortex("start")

        assert 78 == done.returncode
        assert f"cannot listen on {place}: something else than a socket is there" in done.stderr
        assert "then remove it" in done.stderr
        assert place.exists()
