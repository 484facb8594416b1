"""Assignment: one file to be brought up to date, for whom, and what it is compared with."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.errors import CortexError
from cortex_actors.render import fence, section
from cortex_actors.render.targets import PLACES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.domain.principle import Wish
    from cortex_actors.domain.project import Project
    from cortex_actors.pipeline.vectors import Embed
    from cortex_actors.render.section import Formatter
    from cortex_actors.render.targets import Present, Target

#: The agent whose reader sees none of the files that a principle may stand in already.
APART = "chatgpt"


@dataclass(frozen=True, slots=True)
class Assignment:
    """One file in hand.

    Attributes:
        target: the file, from the project's root; None for text that belongs in none.
        present: the instruction files at the root, as they were when the wish was looked at.
        embed: makes the vectors, shared by the files of one wish; None for whoever makes all.

    """

    project: Project
    formatter: Formatter
    target: Target | None
    wish: Wish
    present: Sequence[Present] = ()
    embed: Embed | None = None

    @property
    def path(self) -> str:
        """The file's absolute path; "" without a file."""
        return "" if self.target is None else posixpath.join(self.project.root, self.target.path)

    @property
    def place(self) -> str | None:
        """Where the file lies that an agent reads, written or not; None where there is none."""
        there = [each.path for each in self.present if each.path in self.formatter.places]
        if self.target is not None:
            return self.path
        return posixpath.join(self.project.root, there[0]) if there else None

    def base(self, data: bytes | None) -> bytes:
        """Return what a section is put into: the file, or what a new one begins with."""
        if data is None:
            return b"" if self.target is None else self.target.fresh or b""
        return data

    @property
    def is_new(self) -> bool:
        """Whether the file is to be made."""
        return self.target is not None and self.target.fresh is not None

    def texts(self, data: bytes) -> dict[str, bytes]:
        """Return what the principles are compared with: path from the root -> bytes.

        That is the file itself. Where no human has said anything in it, it is the project's other
        files: they tell what it is about.
        """
        own = self._own
        return {own: data} if own and self._is_human(data) else self._around()

    def others(self, data: bytes) -> dict[str, bytes]:
        """Return what may contradict the principles, too, as `texts`: the project's other files."""
        own = self.texts(data)
        return {path: text for path, text in self._around().items() if path not in own}

    @property
    def _own(self) -> str:
        """The path of the file itself, from the root; "" for a reader of no file."""
        if self.target is not None:
            return self.target.path
        place = None if self.wish.agent == APART else self.place
        return "" if place is None else posixpath.relpath(place, self.project.root)

    def _around(self) -> dict[str, bytes]:
        """Return the project's other files in which a human says something."""
        some = [each for each in self.present if each.path in PLACES and each.path != self._own]
        return {each.path: each.data for each in some if self._is_human(each.data)}

    def _is_human(self, data: bytes) -> bool:
        """Tell whether a human has said anything in a file."""
        try:
            said = fence.removed(data)
        except CortexError:
            return True
        tops = {each.top.strip() for each in section.FORMATTERS}
        return said.decode("utf-8", "replace").strip() not in tops | {""}
