from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.api.pipeline import contradictions
from cortex_actors.cli import lifecycle
from cortex_actors.errors import CortexError, HomeUnwritable
from cortex_actors.home import SOCKET_PATH_LIMIT, Home, replace_file, write_private
from cortex_actors.process import lock
from cortex_actors.process.logfile import RotatingFile
from cortex_actors.storage.ledger import backups, faults

if TYPE_CHECKING:
    from collections.abc import Callable

#: A home whose socket path would be too long for the kernel.
DEEP = "/srv/" + "/".join(["deep"] * 25)

#: Files that we make in a home, or truncate.
OURS = (
    "cortex.lock",
    "cortex.db",
    "cortex.db-wal",
    "cortex.db.suspect",
    "calibration.toml",
    "runtime-stores.json",
    "logs/cortex.ndjson",
    "logs/stderr.log",
)


class TestChoice:
    @pytest.mark.parametrize(
        ("root", "environ", "chosen"),
        [
            ("/given", {"CORTEX_HOME": "/variable"}, "/given"),
            (None, {"CORTEX_HOME": "/variable", "XDG_DATA_HOME": "/xdg"}, "/variable"),
            (None, {"XDG_DATA_HOME": "/xdg"}, "/xdg/cortex-actors"),
            (None, {}, f"{Path.home()}/.local/share/cortex-actors"),
            ("", {"CORTEX_HOME": "", "XDG_DATA_HOME": ""}, None),
            ("~/mine", {}, f"{Path.home()}/mine"),
        ],
    )
    def test_order(self, root: str | None, environ: dict[str, str], chosen: str | None) -> None:
        """What is given wins over the variable, that over XDG; what is empty was not said."""
        expected = chosen or f"{Path.home()}/.local/share/cortex-actors"

        assert Path(expected) == Home.find(root, environ).root

    def test_absolute(self) -> None:
        """A relative home stays where it was when the program changes folders."""
        assert Path.cwd() / "here" == Home.find("here", {}).root


class TestSocket:
    def test_in_the_home(self) -> None:
        """The socket lies in the home where its path is short enough."""
        assert Path("/h/cortex.sock") == Home.find("/h", {}).socket

    def test_long_path(self) -> None:
        """A long home's socket lies under the runtime folder, in a folder of that home."""
        environ = {"XDG_RUNTIME_DIR": "/run/user/1"}
        one, other = (Home.find(root, environ).socket for root in (DEEP, DEEP + "er"))

        assert Path("/run/user/1") == one.parent.parent
        assert one != other
        assert len(os.fsencode(one)) <= SOCKET_PATH_LIMIT
        assert one == Home.find(DEEP, environ).socket

    def test_without_a_runtime_folder(self) -> None:
        """Without one it lies in a folder of the user's in /tmp."""
        assert f"cortex-{os.getuid()}-" in str(Home.find(DEEP, {}).socket)


class TestCreate:
    def test_private(self, tmp_path: Path) -> None:
        """Only the owner may look into a home, and nothing is left behind by the trial."""
        home = Home.find(tmp_path / "new" / "home", {})
        home.create()
        home.create()

        assert 0o700 == stat.S_IMODE(home.root.stat().st_mode)
        assert ["logs"] == [path.name for path in home.root.iterdir()]

    def test_unwritable(self, tmp_path: Path) -> None:
        """A home that cannot be made says which, why, and what to do."""
        (tmp_path / "file").write_text("")
        with pytest.raises(HomeUnwritable, match="Not a directory; give a folder"):
            Home.find(tmp_path / "file" / "home", {}).create()

    def test_a_value(self, tmp_path: Path) -> None:
        """Naming a home touches nothing."""
        home = Home.find(tmp_path / "home", {})

        assert home.lock.parent == home.ledger.parent == home.settings.parent == home.index.parent
        assert not home.root.exists()


class TestPrivacy:
    @pytest.mark.parametrize("mode", [0o777, 0o770, 0o755, 0o711])
    def test_open_home(self, tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int) -> None:
        """A home that others could enter is closed to them, its folders too, and said so once."""
        home = Home.find(tmp_path / "home", {})
        for folder in (home.root, home.tokens, home.backups, home.logs):
            folder.mkdir()
            folder.chmod(mode)
        home.settings.touch()
        home.create()
        said = caplog.text
        home.create()

        folders = (home.root, home.tokens, home.backups, home.logs)
        assert [0o700] * 4 == [stat.S_IMODE(each.stat().st_mode) for each in folders]
        assert all(str(each) in said for each in folders)
        assert said == caplog.text

    @pytest.mark.parametrize(("mode", "name"), [(0o777, "notes.md"), (0o1777, "cortex.lock")])
    def test_shared(self, tmp_path: Path, mode: int, name: str) -> None:
        """A folder that others write in, and that is more than a home, is refused as it is."""
        (tmp_path / name).touch()
        tmp_path.chmod(mode)
        home = Home.find(tmp_path, {})

        for use in (home.create, lambda: lock.acquire(home)):
            with pytest.raises(HomeUnwritable, match="other users may write"):
                use()
        assert mode == stat.S_IMODE(tmp_path.stat().st_mode)
        assert [name] == [each.name for each in tmp_path.iterdir()]

    def test_more_than_a_home(self, tmp_path: Path) -> None:
        """A folder with other things in it that others may only read keeps its mode."""
        (tmp_path / "notes.md").touch()
        tmp_path.chmod(0o755)
        for _ in range(2):
            Home.find(tmp_path, {}).create()

        assert 0o755 == stat.S_IMODE(tmp_path.stat().st_mode)
        assert 0o700 == stat.S_IMODE((tmp_path / "logs").stat().st_mode)

    def test_another_users(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Another user's folder is refused, and nothing is made in it."""
        monkeypatch.setattr("cortex_actors.home.os.getuid", lambda: os.geteuid() + 1)
        home = Home.find(tmp_path, {})

        for use in (home.create, lambda: lock.acquire(home)):
            with pytest.raises(HomeUnwritable, match="belongs to another user; give a folder"):
                use()
        assert [] == list(tmp_path.iterdir())

    @pytest.mark.parametrize("name", ["cortex.db", "cortex.toml", "backups/checked", "index/gen-1"])
    def test_planted(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        """What another user put into a home while it was open is named and not used."""
        home = Home.find(tmp_path, {})
        home.create()
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
        real = Path.lstat

        def planted(path: Path) -> os.stat_result:
            found = real(path)
            owner = 4711 if path == tmp_path / name else found.st_uid
            return os.stat_result([*found[:4], owner, *found[5:]])

        # Only root could give a file away.
        monkeypatch.setattr(Path, "lstat", planted)
        with pytest.raises(HomeUnwritable, match=f"{name} belongs to another user"):
            home.create()

    @pytest.mark.parametrize("name", OURS)
    @pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, None])
    def test_link(self, tmp_path: Path, name: str, make: Callable[[Path], None] | None) -> None:
        """A link, a pipe or a folder where we write a file is named; nothing goes through it."""
        home, victim = Home.find(tmp_path / "home", {}), tmp_path / "victim"
        home.create()
        place = home.root / name
        if make is None:
            place.symlink_to(victim)
        else:
            make(place)

        for use in (home.create, lambda: lock.acquire(home)):
            with pytest.raises(HomeUnwritable, match=f"{name} is a link, or no file.* remove it"):
                use()
        assert not victim.exists()

    def test_links_of_the_owner(self, tmp_path: Path) -> None:
        """Settings may be links, as to a folder of dotfiles, and folders may lie elsewhere."""
        home = Home.find(tmp_path / "home", {})
        home.create()
        (tmp_path / "dotfiles").touch()
        (tmp_path / "disk").mkdir(mode=0o755)
        for path in (home.settings, home.rules):
            path.symlink_to(tmp_path / "dotfiles")
        home.backups.symlink_to(tmp_path / "disk")
        home.create()
        lock.acquire(home).close()

        assert 0o755 == stat.S_IMODE((tmp_path / "disk").stat().st_mode)

    def test_socket_elsewhere(self, tmp_home: Path) -> None:
        """A socket's folder outside the home is a folder of ours and no link, and is closed."""
        deep = Home.find(tmp_home / Path(DEEP).relative_to("/"), {"XDG_RUNTIME_DIR": str(tmp_home)})
        deep.socket.parent.mkdir(mode=0o777)
        deep.socket.parent.chmod(0o777)
        deep.create()
        mode = stat.S_IMODE(deep.socket.parent.stat().st_mode)
        deep.socket.parent.rename(tmp_home / "elsewhere")
        deep.socket.parent.symlink_to(tmp_home / "elsewhere")

        assert 0o700 == mode
        with pytest.raises(HomeUnwritable, match="is no folder"):
            deep.create()

    @pytest.mark.parametrize("umask", [0o000, 0o277])
    def test_umask(self, tmp_path: Path, umask: int) -> None:
        """Folders are 0700 and files 0600 under any umask, and so are the parents that are made."""
        home = Home.find(tmp_path / "share" / "cortex", {})
        before = os.umask(umask)
        try:
            home.create()
            write_private(home.calibration, "a = 1\n")
        finally:
            os.umask(before)

        folders = (home.root.parent, home.root, home.logs)
        assert [0o700] * 3 == [stat.S_IMODE(each.stat().st_mode) for each in folders]
        assert 0o600 == stat.S_IMODE(home.calibration.stat().st_mode)


#: What writes a file of the home, by the name that it is given there.
WRITERS: dict[str, Callable[[Home], object]] = {
    "cortex.lock": lambda home: lock._opened(home, os.O_RDWR | os.O_CREAT),
    "cortex.db.suspect": lambda home: faults.suspect(home.ledger, "torn"),
    "calibration.toml": lambda home: contradictions.format_calibration(home.calibration, [], at=0),
    ".calibration.toml.new": lambda home: contradictions.format_calibration(
        home.calibration, [], at=0
    ),
    "logs/cortex.ndjson": lambda home: RotatingFile(home.logs / "cortex.ndjson"),
    "logs/stderr.log": lambda home: lifecycle.spawn(home, lock_fd=0, ready=1),
    "backups/checked": lambda home: backups.note_check(home.backups, 0),
    "index/server": lambda home: write_private(home.index / "server", "{}"),
    "cortex.db-probe": lambda home: faults.probe_disk(home.ledger),
}


class TestWriters:
    @pytest.mark.parametrize("name", WRITERS)
    def test_links(self, tmp_path: Path, name: str) -> None:
        """No writer of a file in the home writes through a link that came after the checks."""
        home, victim = Home.find(tmp_path / "home", {}), tmp_path / "victim"
        home.create()
        (home.root / name).parent.mkdir(exist_ok=True)
        victim.write_text("precious")
        victim.chmod(0o644)
        (home.root / name).symlink_to(victim)
        with contextlib.suppress(OSError, CortexError):
            WRITERS[name](home)

        assert ("precious", 0o644) == (victim.read_text(), stat.S_IMODE(victim.stat().st_mode))


def refuse(*_given: object, **_named: object) -> None:
    """Fail as a disk does that is full."""
    raise OSError(errno.ENOSPC, "No space left on device")


class TestReplaced:
    @pytest.mark.parametrize("step", ["fsync", "replace"])
    def test_half_way(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
        """Wherever replacing a file fails, the old one is whole and no draft is left beside it."""
        path = tmp_path / "calibration.toml"
        replace_file(path, b"old")
        with monkeypatch.context() as cut:
            cut.setattr(*{"fsync": (os, "fsync"), "replace": (Path, "replace")}[step], refuse)
            with pytest.raises(OSError, match="No space left"):
                replace_file(path, b"new")

        assert (b"old", [path]) == (path.read_bytes(), [*tmp_path.iterdir()])
        replace_file(path, b"new")
        assert (b"new", [path]) == (path.read_bytes(), [*tmp_path.iterdir()])

    def test_killed(self, tmp_path: Path) -> None:
        """A draft of a process that was killed while it wrote is gone after the next writing."""
        path, left = tmp_path / "stores.json", tmp_path / ".stores.json.0123456789abcdef"
        left.write_bytes(b"half of a tok")
        replace_file(path, b"new")

        assert [path] == [*tmp_path.iterdir()]
        assert 0o600 == stat.S_IMODE(path.stat().st_mode)
