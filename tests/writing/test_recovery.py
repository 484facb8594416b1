"""What a write that was cut off has left is put in order, whatever it is."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.project import hash_file
from cortex_actors.errors import LedgerDown
from cortex_actors.files.swap import PART, WriteEntry, WriteState
from cortex_actors.render import fence
from tests.writing.support import BODY, section

if TYPE_CHECKING:
    from tests.writing.support import Desk

_BASE = b"# One\n"
_AFTER = fence.splice(_BASE, BODY)
_THEIRS = b"# Saved meanwhile\n"
_ASIDE = ".CLAUDE.md.cortex-1"


async def _cut_off(desk: Desk, **given: object) -> WriteEntry:
    """Note a write whose end nobody saw."""
    target = desk.target()
    entry = WriteEntry(
        run_id=target.run_id,
        project_id=target.project_id,
        root=target.root,
        path=target.path,
        agent=target.agent,
        before=_BASE,
        after_sha256=hash_file(_AFTER),
        aside=_ASIDE,
        began_at=1,
    )
    return await desk.journal.begin(replace(entry, **given))  # type: ignore[arg-type]


class TestExchanging:
    @pytest.mark.parametrize(
        ("there", "aside", "state", "stands"),
        [
            (_BASE, None, "abandoned", _BASE),
            (_BASE, _AFTER, "abandoned", _BASE),
            (_AFTER, None, "done", _AFTER),
            (_AFTER, _BASE, "done", _AFTER),
            (_AFTER, _THEIRS, "abandoned", _THEIRS),
            (_THEIRS, _AFTER, "abandoned", _THEIRS),
            (_THEIRS, _BASE, "done", _THEIRS),
            (_THEIRS, None, "abandoned", _THEIRS),
            (None, _BASE, "done", None),
            (None, _AFTER, "abandoned", None),
        ],
    )
    async def test_each_state(
        self,
        desk: Desk,
        there: bytes | None,
        aside: bytes | None,
        state: str,
        stands: bytes | None,
    ) -> None:
        """Of whatever lies there and aside, a human's newest text stands, and the rest is gone."""
        for path, data in ((desk.root / _ASIDE, aside), (desk.path, there)):
            if data is not None:
                path.write_bytes(data)
        (desk.root / (_ASIDE + PART)).write_bytes(_AFTER[:20])
        await _cut_off(desk)

        await desk.writer.recover()
        await desk.quiet()

        assert ([state], "") == (desk.states, desk.rows.rows()[0][1])
        assert (["CLAUDE.md"] if stands is not None else []) == desk.names
        assert stands is None or stands == desk.path.read_bytes()

    @pytest.mark.parametrize("newest", ["there", "aside"])
    async def test_two_saves(self, desk: Desk, newest: str) -> None:
        """Of two texts of a human's the one saved last stands, and the other is kept."""
        other = b"# Saved, too\n"
        desk.path.write_bytes(_THEIRS)
        (desk.root / _ASIDE).write_bytes(other)
        os.utime(desk.path if newest == "aside" else desk.root / _ASIDE, (1, 1))
        await _cut_off(desk)

        await desk.writer.recover()
        await desk.quiet()

        stands, kept = (_THEIRS, other) if newest == "there" else (other, _THEIRS)
        assert (stands, kept) == (desk.path.read_bytes(), desk.rows.rows()[0][2])
        assert ["CLAUDE.md"] == desk.names


class TestMaking:
    async def test_both_names(self, desk: Desk) -> None:
        """A file that has its name and the other one, too, keeps its own."""
        desk.path.write_bytes(section())
        (desk.root / _ASIDE).hardlink_to(desk.path)
        await _cut_off(desk, before=None, after_sha256=hash_file(section()))

        await desk.writer.recover()
        assert (["CLAUDE.md"], ["done"]) == (desk.names, desk.states)
        await desk.write(BODY + b"- Use uv.\n")

    async def test_not_yet(self, desk: Desk) -> None:
        """One that had no name yet is not made."""
        (desk.root / _ASIDE).write_bytes(section())
        await _cut_off(desk, before=None, after_sha256=hash_file(section()))

        await desk.writer.recover()
        assert ([], ["abandoned"]) == (desk.names, desk.states)


class TestTakingAway:
    @pytest.mark.parametrize(("aside", "names"), [(_BASE, []), (_THEIRS, ["CLAUDE.md"])])
    async def test_taken(self, desk: Desk, aside: bytes, names: list[str]) -> None:
        """A file that was taken away comes back only if it was another one."""
        (desk.root / _ASIDE).write_bytes(aside)
        await _cut_off(desk, after_sha256="")

        await desk.writer.recover()
        await desk.quiet()
        assert names == desk.names
        assert not names or desk.path.read_bytes() == _THEIRS


class TestBeforeTheNextWrite:
    async def test_same_file(self, desk: Desk) -> None:
        """A write begins by bringing an unfinished one in its file to an end."""
        desk.path.write_bytes(_AFTER)
        (desk.root / _ASIDE).write_bytes(_THEIRS)
        await _cut_off(desk)

        await desk.write()
        assert _THEIRS + b"\n" + section() == desk.path.read_bytes()
        assert [WriteState.ABANDONED, WriteState.DONE] == desk.states

    async def test_folder_away(self, desk: Desk) -> None:
        """A write whose folder is not there stays as it is until the folder is back."""
        entry = await _cut_off(desk, path=f"{desk.root}/usb/CLAUDE.md")
        assert [] == await desk.writer.recover()
        assert ["pending"] == desk.states

        (desk.root / "usb").mkdir()
        (desk.root / "usb" / _ASIDE).write_bytes(_AFTER)
        (found,) = await desk.writer.recover()
        assert (entry.seq, WriteState.ABANDONED) == (found.seq, found.state)

    @pytest.mark.parametrize("call", ["begin", "end", "clear"])
    async def test_journal_away(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch, call: str
    ) -> None:
        """A journal that is away for a moment leaves nothing behind, in the folder or in itself."""
        desk.path.write_bytes(_BASE)
        answer, away = getattr(desk.journal, call), [LedgerDown("away")]

        async def asked(*words: object, **named: object) -> object:
            found = await answer(*words, **named)
            if away:
                raise away.pop()  # as when the answer is lost
            return found

        monkeypatch.setattr(desk.journal, call, asked)
        with contextlib.suppress(LedgerDown):
            await desk.write()
        await desk.quiet()

        assert ["CLAUDE.md"] == desk.names
        assert [("abandoned" if call == "begin" else "done", "", None)] == desk.rows.rows()
