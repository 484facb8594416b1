"""A resolution: what is known, brought into one instruction file for one agent."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Ending(StrEnum):
    """How a resolution ended."""

    WRITTEN = "written"
    #: The file says already what it would be given.
    UNCHANGED = "unchanged"
    #: A human wrote inside our section; nothing was touched.
    EDITED = "edited"
    #: The file is not one that may be written; nothing was touched.
    REFUSED = "refused"
    #: Nobody wanted it written: a dry run, or the text alone.
    SHOWN = "shown"


class Edits(StrEnum):
    """What becomes of what a human wrote inside our section."""

    #: It moves out, above the section, and is the human's from then on.
    KEEP = "keep"
    #: Ours takes its place; what stood there can be brought back.
    DISCARD = "discard"


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants resolved.

    Attributes:
        path: a file, or a project's root: then each of its files, or that of the agent.
        agent: for whom; None for everybody whose file is there.
        dry_run: nothing is written, and what would be is returned.
        create: a file that is not there may be made.
        adopt: a section of ours without its marks may be replaced.
        edits: what becomes of a human's edit inside our section; None refuses to write.
        metadata: confidence and rank stand beside each bullet.
        text_only: the section is wanted and no file is looked for.
        refresh: only a section that stands in the file is written; none is added.

    """

    path: str
    agent: str | None = None
    dry_run: bool = False
    create: bool = False
    adopt: bool = False
    edits: Edits | None = None
    metadata: bool = False
    text_only: bool = False
    refresh: bool = False


@dataclass(frozen=True, slots=True)
class Given:
    """One bullet of a section: a principle as it stands there."""

    principle_id: str
    text: str
    #: What the file says against it, "" when nothing does.
    conflict: str = ""
    #: Whether it may be written there without asking a person: approved, or the project's own.
    is_approved: bool = True


@dataclass(frozen=True, slots=True)
class Resolved:
    """What came of one file.

    Attributes:
        path: the file, "" for text that belongs in none.
        reason: why it was refused; None when all is well.
        refusal: one word for that, for programs; None when nothing was refused.
        diff: what changed in the file, or would; of an edited one what a human changed there.
        section: what stands between the marks now, or would; with its line ends as LF.
        counts: what was looked at and left out, as the audit has it.

    """

    path: str
    agent: str
    ending: Ending
    reason: str | None = None
    refusal: str | None = None
    diff: str = ""
    section: str = ""
    bullets: tuple[Given, ...] = ()
    tokens: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unwritten:
    """A file that is nobody's to write now, and why, as a person reads it."""

    path: str
    agent: str
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """What came of several wishes."""

    files: tuple[Resolved, ...] = ()
    left: tuple[Unwritten, ...] = ()
