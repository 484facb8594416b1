"""The demonstration, from beginning to end."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from cortex_actors.cli.system import demo
from tests.process.commands import PATIENCE, Commands

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture
def cortex(tmp_home: Path) -> Iterator[Commands]:
    """Give the command line, with temporary files in a folder that the test can look into."""
    commands = Commands(tmp_home / "home")
    (tmp_home / "t").mkdir()
    commands.env["TMPDIR"] = str(tmp_home / "t")
    yield commands
    commands.clean_up()


def _left(cortex: Commands) -> list[Path]:
    """Return what the demonstration left in the folder for temporary files."""
    return list((cortex.home.parent / "t").glob("cortex-demo-*"))


class TestDemo:
    def test_shows_everything(self, cortex: Commands) -> None:
        """Samples are read, a question is answered, one project receives what others agree on."""
        done = cortex("demo")

        assert 0 == done.returncode, done.stderr
        for text in (
            "accumulator",
            "atlas-api",
            "What was learnt",
            "5433",
            "CLAUDE.md:",
            "What projects agree on",
            "independent projects say it",
            "$ cortex review approve ins_",
            "$ cortex resolve ledger-cli",
            "+- Never commit a `.env` file, a token or a private key.",
            "Summary",
        ):
            assert text in done.stdout
        for name in ("promotion", "least"):
            assert name not in done.stdout, "no threshold is lowered for it"
        assert "<- not approved" not in done.stdout, "only what was approved is written"
        assert [] == _left(cortex)
        assert not cortex.home.exists()

    def test_for_programs(self, cortex: Commands) -> None:
        """`--json` prints one object, and the progress on standard error."""
        done = cortex("demo", "--json")
        found = json.loads(done.stdout)

        assert 4 == found["status"]["projects"]
        assert found["recall"]["hits"]
        agreed = found["agreed"]
        assert agreed["offers"]
        assert all(each["files"] for each in agreed["offers"]), "each shows what it would change"
        assert len(agreed["offers"]) == agreed["principles"]["total"]
        assert "ledger-cli" == agreed["project"]["name"]
        assert {"written"} == {each["state"] for each in agreed["files"]}
        asked = [bullet["approved"] for each in agreed["shown"] for bullet in each["bullets"]]
        assert asked
        assert all(asked), "a person approved each, and nothing else is written"
        assert "started a daemon" in done.stderr

    def test_own_projects(self, cortex: Commands, tmp_path: Path) -> None:
        """Projects that say nothing make it fail, on one line, and nothing is left."""
        (tmp_path / "silent").mkdir()
        done = cortex("demo", "--from", str(tmp_path))

        assert 1 == done.returncode
        assert "cortex: the demonstration failed: nothing answers" in done.stderr
        assert 1 == done.stderr.count("\n")
        assert [] == _left(cortex)

    def test_no_projects(self, cortex: Commands, tmp_path: Path) -> None:
        """A folder that is not there, or holds no projects, is not known, and nothing is begun."""
        for folder in (tmp_path / "nowhere", tmp_path):
            done = cortex("demo", "--from", str(folder))
            assert (66, "") == (done.returncode, done.stdout)
            assert str(folder) in done.stderr
        assert [] == _left(cortex)

    def test_warnings(self, cortex: Commands, tmp_path: Path) -> None:
        """What the daemon warned of is told when it fails: its log is gone with its home."""
        (tmp_path / "silent").mkdir()
        (tmp_path / "silent" / "CLAUDE.md").write_bytes(b"\x00\xff")
        done = cortex("demo", "--from", str(tmp_path))

        assert 1 == done.returncode
        assert "silent/CLAUDE.md" in done.stderr
        assert [] == _left(cortex)

    def test_no_daemon(self, cortex: Commands) -> None:
        """A daemon that does not start makes it fail with the daemon's reason."""
        done = cortex("demo", CORTEX_EMBEDDING__PROVIDER="magic")

        assert 1 == done.returncode
        assert "embedding.provider" in done.stderr
        assert [] == _left(cortex)

    def test_below_nohup(self) -> None:
        """A demonstration that is started under nohup is not ended by a hang-up."""
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            with demo._stage([], lambda _: None):
                assert signal.SIG_IGN == signal.getsignal(signal.SIGHUP)
        finally:
            signal.signal(signal.SIGHUP, before)

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_follows_until_interrupted(self, cortex: Commands, number: signal.Signals) -> None:
        """With `--follow` it goes on until it is interrupted, and cleans up then."""
        following = cortex.spawn("demo", "--follow")
        assert following.stdout is not None
        while "following the log" not in (line := following.stdout.readline()):
            assert line, following.communicate()
        following.send_signal(number)
        out, err = following.communicate(timeout=PATIENCE)

        assert (0, "") == (following.returncode, err)
        assert "stopped the daemon" in out
        assert [] == _left(cortex)
