"""The demonstration, from beginning to end."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

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
            "promotion_age_days = 0        # usually 7",
            "What projects agree on",
            "$ cortex resolve field-notes",
            "+- Write the subject in the imperative mood",
            "Summary",
        ):
            assert text in done.stdout
        assert [] == _left(cortex)
        assert not cortex.home.exists()

    def test_for_programs(self, cortex: Commands) -> None:
        """`--json` prints one object, and the progress on standard error."""
        done = cortex("demo", "--json")
        found = json.loads(done.stdout)

        assert 4 == found["status"]["projects"]
        assert found["recall"]["hits"]
        agreed = found["agreed"]
        assert {"learning", "anti_pattern"} == {
            each["category"] for each in agreed["principles"]["principles"]
        }
        assert "field-notes" == agreed["project"]["name"]
        assert {"written"} == {each["state"] for each in agreed["files"]}
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

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_follows_until_interrupted(self, cortex: Commands, number: signal.Signals) -> None:
        """With `--follow` it goes on until it is interrupted, and cleans up then."""
        demo = cortex.spawn("demo", "--follow")
        assert demo.stdout is not None
        while "following the log" not in (line := demo.stdout.readline()):
            assert line, demo.communicate()
        demo.send_signal(number)
        out, err = demo.communicate(timeout=PATIENCE)

        assert (0, "") == (demo.returncode, err)
        assert "stopped the daemon" in out
        assert [] == _left(cortex)
