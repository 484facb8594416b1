"""The writer: one section in a human's file, and everything else as it was."""

from __future__ import annotations

import asyncio
import os
import stat
import struct
from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import EditedSection, KeepsChanging, Missing, NothingToUndo
from cortex_actors.render import fence
from cortex_actors.render.fence import move_edits_out
from tests.writing.support import BODY, section

if TYPE_CHECKING:
    from tests.writing.support import Desk

#: Bytes of a kind that a program which reads text would change.
_AWKWARD = b"\xef\xbb\xbf# Atlas \xff\xfe\r\n\r\n- Use pnpm\r\nlast line without an end"


class TestWriting:
    async def test_outside(self, desk: Desk) -> None:
        """What a human wrote comes through byte for byte, and can be had back exactly."""
        desk.path.write_bytes(_AWKWARD)

        written = await desk.write()

        assert desk.path.read_bytes() == written.after
        assert (written.after or b"").startswith(_AWKWARD)
        assert _AWKWARD == fence.remove(desk.path.read_bytes())

    async def test_unchanged(self, desk: Desk) -> None:
        """The same section again touches neither the file nor the journal."""
        desk.path.write_bytes(b"# Atlas\n")
        await desk.write()
        before = desk.path.stat()

        assert not (await desk.write()).changed
        after = desk.path.stat()
        assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
        assert ["done"] == desk.states

    async def test_nothing_left(self, desk: Desk) -> None:
        """The folder holds the file and nothing else at once, and in the end no row names more."""
        desk.path.write_bytes(b"# Atlas\n")
        await desk.write()
        assert ["CLAUDE.md"] == desk.names
        await desk.write(BODY + b"- Use uv.\n")
        assert ["CLAUDE.md"] == desk.names
        await desk.writer.undo(desk.target())
        assert ["CLAUDE.md"] == desk.names

        desk.path.unlink()
        await desk.write(create=True)
        await desk.writer.undo(desk.target())
        assert [] == desk.names
        await desk.quiet()
        assert {""} == {aside for _, aside, _ in desk.rows.rows()}

    async def test_attributes(self, desk: Desk) -> None:
        """Mode, owner and extended attributes are those of the file that was there."""
        desk.path.write_bytes(b"# Atlas\n")
        desk.path.chmod(0o640)
        os.setxattr(desk.path, "user.origin", b"mine")
        await desk.write()

        assert 0o640 == stat.S_IMODE(desk.path.stat().st_mode)
        assert b"mine" == os.getxattr(desk.path, "user.origin")

    async def test_access_list(self, desk: Desk) -> None:
        """A user who was given access to the file has it afterwards, too."""
        desk.path.write_bytes(b"# Atlas\n")
        entries = ((1, 6, -1), (2, 4, 12_345), (4, 4, -1), (16, 4, -1), (32, 0, -1))
        listed = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *each) for each in entries)
        os.setxattr(desk.path, "system.posix_acl_access", listed)
        await desk.write()

        assert listed == os.getxattr(desk.path, "system.posix_acl_access")

    async def test_reading(self, desk: Desk) -> None:
        """A file that could be written can be looked at without being touched."""
        assert await desk.writer.read(desk.target()) is None
        desk.path.write_bytes(b"# Atlas\n")

        assert b"# Atlas\n" == await desk.writer.read(desk.target())
        assert [] == desk.states

    async def test_refused_by_maker(self, desk: Desk) -> None:
        """A section that a human edited is refused by whoever makes the bytes, and stands."""
        edited = section().replace(b"pnpm", b"npm")
        desk.path.write_bytes(edited)

        with pytest.raises(EditedSection, match="--edited keep"):
            await desk.write()
        assert edited == desk.path.read_bytes()

        await desk.writer.write(
            desk.target(), lambda data: fence.splice(move_edits_out(data, BODY), BODY)
        )
        assert b"- Use npm.\n\n" + section() == desk.path.read_bytes()

    async def test_saved_each_time(self, desk: Desk) -> None:
        """Whoever saves before each attempt has his last text, and we give up."""
        desk.path.write_bytes(b"# Atlas\n")

        def make(data: bytes) -> bytes:
            desk.path.write_bytes(data + b"- one more\n")
            return fence.splice(data, BODY)

        with pytest.raises(KeepsChanging, match="5 attempts"):
            await desk.writer.write(desk.target(), make)

        assert b"# Atlas\n" + b"- one more\n" * 5 == desk.path.read_bytes()
        assert ["abandoned"] * 5 == desk.states
        assert ["CLAUDE.md"] == desk.names


class TestCreating:
    async def test_only_on_request(self, desk: Desk) -> None:
        """A file that is not there is made only for whoever asks for it."""
        with pytest.raises(Missing, match="--create"):
            await desk.write()
        assert [] == desk.names

        written = await desk.write(create=True)

        assert written.before is None
        assert section() == desk.path.read_bytes()

    async def test_folders(self, desk: Desk) -> None:
        """The folders between the root and a file that is made are made, too."""
        path = desk.root / ".cursor" / "rules" / "cortex.mdc"
        await desk.write(path=path, create=True)

        assert section() == path.read_bytes()
        assert ["cortex.mdc"] == [each.name for each in path.parent.iterdir()]

    async def test_somebody_else(self, desk: Desk) -> None:
        """A file that somebody makes at the same moment is written into and not replaced."""

        def make(data: bytes) -> bytes:
            if not data:
                desk.path.write_bytes(b"# Mine\n")
            return fence.splice(data, BODY)

        await desk.writer.write(desk.target(create=True), make)

        assert b"# Mine\n\n" + section() == desk.path.read_bytes()


class TestUndoing:
    async def test_exact(self, desk: Desk) -> None:
        """The file has the bytes again that it had, one write at a time."""
        desk.path.write_bytes(_AWKWARD)
        await desk.write()
        first = desk.path.read_bytes()
        await desk.write(BODY + b"- Use uv.\n")

        await desk.writer.undo(desk.target())
        assert first == desk.path.read_bytes()
        await desk.writer.undo(desk.target())
        assert _AWKWARD == desk.path.read_bytes()
        with pytest.raises(NothingToUndo):
            await desk.writer.undo(desk.target())

    async def test_later_words(self, desk: Desk) -> None:
        """What a human has written since stays; only our section goes."""
        desk.path.write_bytes(b"# Atlas\n")
        await desk.write()
        desk.path.write_bytes(b"# Harbor\n\n" + section() + b"\n## More\n")

        await desk.writer.undo(desk.target())
        assert b"# Harbor\n\n## More\n" == desk.path.read_bytes()

    async def test_discarded_edit(self, desk: Desk) -> None:
        """An edit in our section that was written over is there again."""
        edited = b"# Atlas\n\n" + section().replace(b"pnpm", b"npm")
        desk.path.write_bytes(edited)
        await desk.writer.write(desk.target(), lambda data: fence.splice(data, BODY, discard=True))
        with desk.path.open("ab") as opened:
            opened.write(b"\n## Later\n")

        await desk.writer.undo(desk.target())
        assert edited + b"\n## Later\n" == desk.path.read_bytes()

    async def test_edited_since(self, desk: Desk) -> None:
        """A section that a human has edited since is not taken away with what he wrote there."""
        desk.path.write_bytes(b"# Atlas\n")
        await desk.write()
        edited = desk.path.read_bytes().replace(b"pnpm", b"npm")
        desk.path.write_bytes(edited)

        with pytest.raises(EditedSection):
            await desk.writer.undo(desk.target())
        assert edited == desk.path.read_bytes()

    async def test_made(self, desk: Desk) -> None:
        """A file that we made goes, unless a human has put something into it."""
        await desk.write(create=True)
        await desk.writer.undo(desk.target())
        assert [] == desk.names

        await desk.write(create=True)
        desk.path.write_bytes(section() + b"\n# Mine\n")
        await desk.writer.undo(desk.target())
        assert b"# Mine\n" == desk.path.read_bytes().lstrip()


class TestTwoAtOnce:
    async def test_order(self, desk: Desk) -> None:
        """Two writes into one file follow each other; neither finds the other half done."""
        desk.path.write_bytes(b"# Atlas\n")
        bodies = [BODY + b"- Rule %d.\n" % number for number in range(6)]
        await asyncio.gather(*map(desk.write, bodies))

        found = fence.find(desk.path.read_bytes())
        assert found is not None
        assert found.body in bodies
        assert found.intact
        assert ["CLAUDE.md"] == desk.names
