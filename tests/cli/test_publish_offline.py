"""`publish` where no daemon runs: into the ledger, under the home's lock."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from cortex_actors.cli import entry, fast
from cortex_actors.domain.project import Project
from cortex_actors.errors import AnswerLost, BadInput, DaemonDown
from cortex_actors.home import Home
from cortex_actors.process import lock
from cortex_actors.storage import projects
from cortex_actors.storage.ledger import connection

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SAID = "(no daemon runs: the next start has it)"


@pytest.fixture
def home(tmp_home: Path, empty: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Give a home with a ledger that follows one project."""
    monkeypatch.setenv("CORTEX_HOME", str(tmp_home))
    home = Home(tmp_home)
    home.create()
    (tmp_home / "atlas").mkdir()
    shutil.copy(empty, home.ledger)
    engine = connection.open_writing(home.ledger)
    with engine.begin() as opened:
        projects.add(opened, Project.from_root(str((tmp_home / "atlas").resolve()), 0))
    engine.dispose()
    return home


def rows(home: Home, query: str) -> list[tuple[object, ...]]:
    """Return what is in the ledger."""
    with closing(sqlite3.connect(home.ledger)) as opened:
        return list(opened.execute(query))


@contextmanager
def starting(home: Home) -> Iterator[None]:
    """Hold the lock as a daemon that starts."""
    with closing(lock.acquire(home)) as owner:
        owner.take_over(started_at=1, version="1")
        yield


class TestStored:
    def test_event(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        """The event is in the ledger, for whoever hears its topic, and the command says so."""
        assert 0 == entry.main(["publish", "scan:requested", "--source", "me"])
        said = capsys.readouterr().out
        ((name,),) = rows(home, "SELECT id FROM events WHERE source = 'me'")

        assert f"published scan:requested, seq 1, {name} {SAID}\n" == said
        assert [("accumulator", 1), ("watchlist", 1)] == rows(
            home, "SELECT consumer, seq FROM deliveries ORDER BY 1"
        )

    def test_path(self, home: Home) -> None:
        """A path tells its project, and has one name, as with a daemon."""
        folder = home.root / "atlas"
        assert 0 == entry.main(["publish", "file:changed", f"path={folder}/./CLAUDE.md"])
        ((key,),) = rows(home, "SELECT key FROM deliveries")

        assert str(folder.resolve() / "CLAUDE.md") == key

    def test_key(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        """Under one key it is stored once, however often it is said."""
        words = ["publish", "custom:x", "n:=1", "--idempotency-key", "k"]
        codes = [entry.main(words), entry.main(words), entry.main([*words, "m=1"])]
        said = capsys.readouterr()

        assert [0, 0, 65] == codes
        assert said.out.splitlines()[1].endswith("(said before under this key)")
        assert "used for another payload" in said.err
        assert [(1,)] == rows(home, "SELECT count(*) FROM events")

    def test_lock_file(self, home: Home) -> None:
        """The lock goes on telling how the last daemon ended."""
        with closing(lock.acquire(home)) as owner:
            owner.take_over(started_at=1, version="1")
            owner.say(lock.HomeState.STOPPED, "it was told to")
        before = home.lock.read_bytes()
        entry.main(["publish", "custom:x"])

        assert before == home.lock.read_bytes()
        assert lock.HomeState.STOPPED == lock.read_state(home)


class TestRefused:
    @pytest.mark.parametrize(
        ("words", "code", "says"),
        [
            (["daemon:ready", "name=x"], 77, "only the daemon says it"),
            (["accumulation:complete"], 77, "only the daemon says it"),
            (["file:chnged"], 66, "near it: file:changed"),
            (["file:changed", "path=/nobody/CLAUDE.md"], 66, "cortex init"),
            (["file:changed", "path=CLAUDE.md"], 65, "absolute"),
            (["scan:requested", "project=a"], 65, "'project'"),
            (["custom:big", "text=" + "x" * 70_000], 65, "the limit is 65536"),
            (["custom:x", "n:=NaN"], 65, "cannot be written as JSON"),
            (["custom:x", "n=\udce9"], 65, "cannot be written as JSON"),
            (["custom:x", "--source", "x" * 201], 65, "the limit is 200"),
            (["custom:x", "--idempotency-key", "x" * 201], 65, "1 to 200"),
            (["custom:x", "--idempotency-key", ""], 65, "1 to 200"),
            (["custom:x", "--transient"], 69, 'start one with "cortex start"'),
            (["custom:x", "--no-offline"], 69, 'start one with "cortex start"'),
        ],
    )
    def test_wrong(
        self,
        home: Home,
        capsys: pytest.CaptureFixture[str],
        words: list[str],
        code: int,
        says: str,
    ) -> None:
        """What a daemon would refuse is refused, and nothing is stored."""
        assert code == entry.main(["publish", *words])
        assert says in capsys.readouterr().err
        assert [(0,)] == rows(home, "SELECT count(*) FROM events")

    def test_too_deep(self, home: Home) -> None:
        """So is what is nested too deeply to be written."""
        nested: dict[str, object] = {}
        for _ in range(2_000):
            nested = {"a": nested}
        with pytest.raises(BadInput, match="cannot be written as JSON"):
            fast.publish_offline(home, dict, topic="custom:x", payload=nested, source="me")

    def test_not_of_the_project(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        """A file that is no instruction file, or of another project, is refused."""
        path = f"path={home.root / 'atlas'}"
        codes = [
            entry.main(["publish", "file:changed", f"{path}/main.py"]),
            entry.main(["publish", "file:changed", f"{path}/CLAUDE.md", "project_id=prj_x"]),
        ]
        said = capsys.readouterr().err

        assert [65, 66] == codes
        assert "not the name of an instruction file" in said
        assert "lies in the project" in said


class TestWhoHasTheLock:
    def said(self, home: Home, *answers: object, key: str | None = None) -> dict[str, object]:
        """Publish, where the socket answers like that."""
        left = list(answers)

        def online() -> dict[str, object]:
            found = left.pop(0)
            if isinstance(found, Exception):
                raise found
            return {"answer": found}

        return fast.publish_offline(
            home, online, topic="custom:x", payload={}, source="me", idempotency_key=key
        )

    def test_a_daemon_that_starts(self, home: Home) -> None:
        """While another process has the lock, the socket is tried again, until it answers."""
        with starting(home):
            found = self.said(home, DaemonDown("not yet"), DaemonDown("not yet"), "hello")

        assert {"answer": "hello"} == found
        assert [(0,)] == rows(home, "SELECT count(*) FROM events")

    def test_for_too_long(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        """After a while the command fails, and nothing is stored."""
        monkeypatch.setattr(fast, "START_PATIENCE", 0.0)
        with starting(home), pytest.raises(DaemonDown, match="still not"):
            self.said(home, DaemonDown("still not"))

        assert [(0,)] == rows(home, "SELECT count(*) FROM events")

    def test_answer_lost(self, home: Home) -> None:
        """What may have been stored is said again under a key, and not without."""
        with starting(home):
            with pytest.raises(AnswerLost):
                self.said(home, AnswerLost("it ended"), "hello")
            found = self.said(home, AnswerLost("it ended"), "hello", key="k")

        assert {"answer": "hello"} == found
