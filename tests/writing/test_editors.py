"""Editors of every kind save while our section is written over and over: no save is ever lost."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import CortexError, Refused
from cortex_actors.files.place import Pace
from cortex_actors.render import fence
from cortex_actors.render.fence import move_edits_out
from tests.power.strace import scratch
from tests.writing.support import Desk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Which lines are written where; read when the module is, as no test sees the user's variables.
SEED = int(os.environ.get("CORTEX_EDITORS_SEED", random.randrange(1_000_000)))

#: Saves of each editor in `make test`, and in `make soak`.
FEW, MANY = 400, 2_000

#: How editors save: over the file at once or slowly, by a rename, behind a backup, at the end of
#: the file, and between our marks.
MODES = ("in_place", "slow", "rename", "backup", "append", "inside")

_EDITOR = Path(__file__).parents[1] / "process" / "editor.py"

#: As impatient as a writer can be: in the product, a tenth of a second of rest comes first, and
#: hardly a save would ever cross a write.
_IMPATIENT = Pace(settle=0.0, limit=0.05, grace=0.05, look=0.005)

#: Sections that must have been written, and that must have given way, in all the files together:
#: else the test would prove nothing.
_LEAST = 20

#: How a whole text of the editor ends.
_WHOLE = re.compile(rb"\xef\xbb\xbf# notes.*END \d+[\r\n]*", re.DOTALL)

#: What stands in the file before anybody saves.
_START = b"# Atlas\n\n- line 0\n"


class _Spinning:
    """A resolver that writes one file without pause while an editor saves it."""

    def __init__(self, folder: Path, mode: str) -> None:
        """Begin with a file that has no section."""
        self.mode = mode
        self.desk = Desk(folder / mode, _IMPATIENT)
        self.desk.path.write_bytes(_START)
        self.torn = self.written = self.refused = self.gave_way = 0

    async def run(self, count: int) -> list[str]:
        """Let the editor save so many times; return what is wrong, and print the figures."""
        words = (str(_EDITOR), self.mode, str(count), str(SEED), str(self.desk.path))
        process = await asyncio.create_subprocess_exec(
            sys.executable, *words, stdout=asyncio.subprocess.PIPE
        )
        said = asyncio.ensure_future(process.communicate())
        try:
            for number in itertools.count():
                await self._write(number)
                if said.done():
                    break
        finally:
            if process.returncode is None and not said.done():
                process.kill()
            out, _ = await said
        await self.desk.quiet()
        problems = [*self._problems(json.loads(out))]
        await self.desk.close()
        return problems

    async def _write(self, number: int) -> None:
        """Write once, with another section each time."""
        try:
            self.written += (
                await self.desk.writer.write(self.desk.target(), self._make(number))
            ).changed
        except Refused:
            self.refused += 1

    def _make(self, number: int) -> Callable[[bytes], bytes]:
        """Return how the file is written this time; an edit of ours is moved out every other."""
        body = b"## Resolved\n\n- Rule %d\n- Rule one\n- Rule two\n" % number

        def make(data: bytes) -> bytes:
            try:
                human = fence.remove(data)
            except CortexError:
                human = data
            is_whole = _WHOLE.fullmatch(human) or human.startswith(_START[:8])
            self.torn += not is_whole
            if self.mode == "inside" and number % 2:
                found = fence.find(data)
                written = b"\n".join(
                    line
                    for line in (found.body.split(b"\n") if found else ())
                    if not line.startswith(b"- edited")
                )
                data = move_edits_out(data, written)
            return fence.splice(data, body)

        return make

    def _problems(self, said: dict[str, object]) -> list[str]:
        """Return what is wrong in the end."""
        data = self.desk.path.read_bytes()
        human, last = fence.remove(data), bytes.fromhex(str(said["last"]))
        states = self.desk.states
        self.gave_way = states.count("abandoned")
        print(  # noqa: T201 - shown with `-rP`
            f"{self.mode}: {said['saves']} saves, human saves lost {said['lost']}, torn reads "
            f"{self.torn}; {self.written} sections written, {self.gave_way} gave way, "
            f"{len(self.desk.late)} came late, {self.refused} refused (CORTEX_EDITORS_SEED={SEED})"
        )
        found = [f"{self.mode}: saves {said['lost']} were lost"] if said["lost"] else []
        if self.torn:
            found.append(f"{self.mode}: {self.torn} texts were read half saved")
        if self.mode == "append":
            lines = b"".join(b"- line %d\n" % n for n in range(1, int(str(said["saves"])) + 1))
            last = _START + lines
        if human != last and self.mode != "inside":
            found.append(f"{self.mode}: outside the section stands {human[:80]!r}")
        if last not in data and self.mode != "append":
            found.append(f"{self.mode}: the last save is not there")
        if "pending" in states or self.desk.names != ["CLAUDE.md"]:
            found.append(f"{self.mode}: {self.desk.names} and {states[-3:]} are left")
        return found


async def _problems(folder: Path, count: int) -> list[str]:
    """Let every editor save its own file, all at the same time; return what is wrong."""
    spinning = [_Spinning(folder, mode) for mode in MODES]
    found = await asyncio.gather(*(each.run(count) for each in spinning))
    crossed = (sum(each.written for each in spinning), sum(each.gave_way for each in spinning))
    if min(crossed) < _LEAST:
        found.append([f"only {crossed} sections were written, and gave way"])
    return [each for problems in found for each in problems]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give a folder in memory: there are more writes in a second."""
    yield from scratch()


class TestEditors:
    @pytest.mark.slow
    async def test_no_save_lost(self, folder: Path) -> None:
        """No save is lost, no half saved text is read, and what stands outside is identical."""
        assert [] == await _problems(folder, FEW)

    @pytest.mark.soak
    @pytest.mark.slow
    async def test_at_length(self, folder: Path) -> None:
        """That holds for thousands of saves."""
        assert [] == await _problems(folder, MANY)
