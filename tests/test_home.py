from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from cortex_actors.errors import HomeUnwritable
from cortex_actors.home import SOCKET_PATH_LIMIT, Home

#: A home whose socket path would be too long for the kernel.
DEEP = "/srv/" + "/".join(["deep"] * 25)


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

        assert Path(expected) == Home.of(root, environ).root

    def test_absolute(self) -> None:
        """A relative home stays where it was when the program changes folders."""
        assert Path.cwd() / "here" == Home.of("here", {}).root


class TestSocket:
    def test_in_the_home(self) -> None:
        """The socket lies in the home where its path is short enough."""
        assert Path("/h/cortex.sock") == Home.of("/h", {}).socket

    def test_long_path(self) -> None:
        """A long home's socket lies under the runtime folder, in a folder of that home."""
        environ = {"XDG_RUNTIME_DIR": "/run/user/1"}
        one, other = (Home.of(root, environ).socket for root in (DEEP, DEEP + "er"))

        assert Path("/run/user/1") == one.parent.parent
        assert one != other
        assert len(os.fsencode(one)) <= SOCKET_PATH_LIMIT
        assert one == Home.of(DEEP, environ).socket

    def test_without_a_runtime_folder(self) -> None:
        """Without one it lies in a folder of the user's in /tmp."""
        assert f"cortex-{os.getuid()}-" in str(Home.of(DEEP, {}).socket)


class TestCreate:
    def test_private(self, tmp_path: Path) -> None:
        """Only the owner may look into a home, and nothing is left behind by the trial."""
        home = Home.of(tmp_path / "new" / "home", {})
        home.create()
        home.create()

        assert 0o700 == stat.S_IMODE(home.root.stat().st_mode)
        assert ["logs"] == [path.name for path in home.root.iterdir()]

    def test_unwritable(self, tmp_path: Path) -> None:
        """A home that cannot be made says which, why, and what to do."""
        (tmp_path / "file").write_text("")
        with pytest.raises(HomeUnwritable, match="Not a directory; give a folder"):
            Home.of(tmp_path / "file" / "home", {}).create()

    def test_a_value(self, tmp_path: Path) -> None:
        """Naming a home touches nothing."""
        home = Home.of(tmp_path / "home", {})

        assert home.lock.parent == home.ledger.parent == home.settings.parent == home.index.parent
        assert not home.root.exists()
