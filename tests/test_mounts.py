"""Mounts: on which file systems the kernel's events are silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortex_actors.files.ignores import TABLE, find_silent, is_silent, read_mounts

_LINES = """\
22 27 0:21 / / rw,relatime - ext4 /dev/vda rw
23 22 0:22 / /home/me/share rw shared:1 master:2 - nfs4 server:/x rw
24 22 0:23 / /mnt/with\\040space rw - fuse.sshfs me@host: rw
25 23 0:24 / /home/me/share/local rw - xfs /dev/vdb rw
26 22 0:25 / /over rw - nfs server:/y rw
27 22 0:26 / /over rw - tmpfs tmpfs rw
odd line
"""


class TestMounts:
    def test_table(self, tmp_path: Path) -> None:
        """Each mount is known by its folder, and of two on one the later counts."""
        table = tmp_path / "mountinfo"
        table.write_text(_LINES)

        assert {
            "/": "ext4",
            "/home/me/share": "nfs4",
            "/mnt/with space": "fuse.sshfs",
            "/home/me/share/local": "xfs",
            "/over": "tmpfs",
        } == read_mounts(str(table))

    def test_silent(self, tmp_path: Path) -> None:
        """The nearest mount above a folder decides."""
        table = tmp_path / "mountinfo"
        table.write_text(_LINES)
        folders = ["/home/me", "/home/me/share/a/b", "/home/me/share/local/x", "/home/me/shared"]

        assert {folders[1]} == find_silent(folders, read_mounts(str(table)))
        assert {"/mnt/with space"} == find_silent(
            ["/mnt/with space", "/over"], read_mounts(str(table))
        )

    def test_no_table(self, tmp_path: Path) -> None:
        """Where nothing tells of mounts no folder is silent."""
        assert {} == read_mounts(str(tmp_path / "none"))
        assert frozenset() == find_silent([str(tmp_path)], {})

    @pytest.mark.skipif(not Path(TABLE).exists(), reason="no Linux")
    def test_here(self) -> None:
        """The kernel's own table is understood."""
        assert "/" in read_mounts()
        assert not is_silent(read_mounts()["/dev/shm"])

    @pytest.mark.parametrize("kind", ["nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "virtiofs"])
    def test_kinds(self, kind: str) -> None:
        """What somebody else may write to is silent; disks, and layers of them, are not."""
        assert is_silent(kind)
        assert not any(map(is_silent, ("ext4", "btrfs", "tmpfs", "overlay", "fuse.mergerfs", "")))
