"""A project: a folder whose instruction files are watched.

A fragment: one section of an instruction file, as a human wrote it.

Fragments are not stored. They live from the parser to the accumulator, which keeps what they say
as insights and where they stood as sources.

A statement: one thing that a section of an instruction file says, complete by itself.

Statements are not stored. The accumulator keeps what they say as insights (granularity
`statement`), and where they stood as sources.

An alert: something in an instruction file that a person should look at.

Trust: where a text came from, what a person said about it, and what was taken back.

A document that was given to read, and what became of reading it.

Knowledge: a document that was given to read, in pieces.
"""

from __future__ import annotations

import hashlib
import posixpath
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


#: Hex digits of the path's hash that a project's id keeps.
ID_DIGITS = 20

#: Folders that are not the project's own words: version control, dependencies, build output.
PRUNED = frozenset(
    ".git .hg .svn .venv venv node_modules vendor third_party site-packages __pycache__ "
    ".mypy_cache .pytest_cache .ruff_cache .tox build dist target third-party bower_components "
    "jspm_packages Pods Carthage .bundle .eggs .gradle .next .nox .nuxt .svelte-kit .terraform "
    ".turbo .yarn".split()
)


#: What a person's own instruction files are called as a project, and where they lie in the home.
OWN = "~"
OWN_FILES = (".claude/CLAUDE.md", ".codex/AGENTS.md", ".gemini/GEMINI.md")
OWN_RULES = ".claude/rules"


@dataclass(frozen=True, slots=True)
class Project:
    """A registered folder; or a person's own instruction files, of which the home is the root.

    Attributes:
        root: the folder's real path, absolute; the caller that registers it resolves links.
        added_at: UTC microseconds.

    """

    id: str
    name: str
    root: str
    added_at: int

    def __str__(self) -> str:
        """Return the name: what a person calls it."""
        return self.name

    @classmethod
    def from_root(cls, root: str, added_at: int) -> Project:
        """Return the project of a real path; the same folder always has the same id."""
        return cls(make_project_id(root), make_project_name(root), root, added_at)

    @classmethod
    def from_person(cls, home: str, added_at: int) -> Project:
        """Return the project of a person's own files, given the real path of the home folder."""
        return cls(make_project_id(home), OWN, home, added_at)

    @property
    def is_own(self) -> bool:
        """Whether it is a person's own files: nothing else of its root is ever looked at."""
        return self.name == OWN != make_project_name(self.root)

    def holds(self, path: str) -> bool:
        """Tell whether a real path is the project's: it lies in the folder, or is it."""
        is_ours = not self.is_own or path == self.root
        return self.contains(path) and (is_ours or is_own_file(posixpath.relpath(path, self.root)))

    def contains(self, path: str) -> bool:
        """Tell whether a real path lies in the root, or is it."""
        return path == self.root or path.startswith(self.root.rstrip("/") + "/")


def is_own_file(relative_path: str) -> bool:
    """Tell whether a path, given from the home folder, is one of a person's own files."""
    folder, name = posixpath.split(relative_path)
    return relative_path in OWN_FILES or (folder == OWN_RULES and name.endswith(".md"))


def find_innermost(projects: Iterable[Project], path: str) -> Project | None:
    """Return the project that a real path belongs to, whatever project holds that one in turn."""
    holding = (each for each in projects if each.holds(path))
    return max(holding, key=lambda each: len(each.root), default=None)


def find_around(projects: Iterable[Project], folder: str) -> list[Project]:
    """Return the projects that hold a folder, given by its real path, or lie below it."""
    return [
        each
        for each in projects
        if each.holds(folder) or each.root.startswith(folder.rstrip("/") + "/")
    ]


def is_pruned(relative_path: str) -> bool:
    """Tell whether a file, given its path from the root, lies in a folder that is never read."""
    return not PRUNED.isdisjoint(posixpath.dirname(relative_path).split("/"))


def make_project_id(root: str) -> str:
    """Return `prj_` and 20 hex digits of the SHA-256 of the real path's bytes."""
    digest = hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()
    return f"prj_{digest[:ID_DIGITS]}"


def make_project_name(root: str) -> str:
    """Return the folder's own name; the file system's root is called `/`."""
    return posixpath.basename(root.rstrip("/")) or "/"


@dataclass(frozen=True, slots=True)
class Fragment:
    """One section of an instruction file: what it says and exactly where it is.

    The id is computed from the path and content held here, so the path that is hashed and the path
    that is stored can never differ. Two sections of one file that say the same have the same id.

    Attributes:
        content: the section without its heading line, trimmed, with LF at its line ends.
        source_path: the expanded, absolute path of the file.
        source_project: the name of the project the file belongs to.
        heading: the heading's text, "" for an empty heading, None before the first one.
        line_start: the first line, counted from 1; the heading line where there is one.
        line_end: the last line, inclusive; a final line end counts one more, empty line.
        byte_start: offset of the section's first byte in the file, heading included.
        byte_end: offset behind its last byte.
        file_hash: the revision of the file, lowercase hex: the SHA-256 of all of it from the
            parser; from the accumulator on, of what in it is a human's.
        above: the headings above the section's own, outermost first.
        applies_to: globs of the files that it holds for, as the file's front matter says; none:
            all that the file holds for.
        imports: the files that it points to with `@path`, as written; they are not followed.
        raw: its bytes, from `byte_start` to `byte_end`, of which statements are made.
        stance: tells it apart from one that says the same under other headings (64 hex digits). Its
            statements are not the same: what a heading forbids, they forbid. Without any heading it
            is the id.

    """

    content: str
    source_path: str
    source_project: str
    heading: str | None
    line_start: int
    line_end: int
    byte_start: int
    byte_end: int
    file_hash: str
    above: tuple[str, ...] = ()
    applies_to: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    raw: bytes = field(default=b"", compare=False, repr=False)
    id: str = field(init=False)
    stance: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Compute the id and the stance: each of its statements needs that."""
        object.__setattr__(self, "id", make_fragment_id(self.source_path, self.content))
        headings = [*self.above, *([] if self.heading is None else [self.heading])]
        stance = make_fragment_id(self.source_path, "\n".join([*headings, self.content]))
        object.__setattr__(self, "stance", stance)


def make_fragment_id(path: str, content: str) -> str:
    """Return SHA-256(path, content) as 64 lowercase hex digits.

    File names that are not UTF-8 are hashed as the bytes they are on disk.
    """
    digest = hashlib.sha256(path.encode("utf-8", "surrogateescape"))
    digest.update(content.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def hash_file(data: bytes) -> str:
    """Return the SHA-256 of a file's bytes as lowercase hex: equal means nothing to do."""
    return hashlib.sha256(data).hexdigest()


class StatementKind(StrEnum):
    """What a statement does."""

    #: Says to do something, or not to.
    RULE = "rule"
    #: Says how something is.
    FACT = "fact"
    #: Says what to type.
    COMMAND = "command"
    #: Shows how a rule looks when it is kept, or broken.
    EXAMPLE = "example"


@dataclass(frozen=True, slots=True)
class Statement:
    """A list item, a paragraph, a table row or a command: what it says and exactly where.

    The ranges are those of the file, and the text is never all of them: list markers, indentation
    and quotation marks of the block are in the range and not in the text.

    Attributes:
        text: what is said, on one line, its inline Markdown as written.
        headings: what is above it, outermost first: headings, then the sentence or the list
            item that it belongs to.
        line_start: the first line, counted from 1.
        line_end: the last line, inclusive.
        byte_start: offset of its first byte in the file.
        byte_end: offset behind its last byte, line end included where it ends a line.
        ordinal: which statement of its fragment, from 0.
        listed: the line on which its list, table or fence of commands begins; 0 outside of any.
            Equal in one file: entries of one list.
        step: its number in an ordered list; 0 in any other, and outside of lists.
        lead_in: the whole sentence that introduces its list, its colon included; "" without one.

    """

    text: str
    kind: StatementKind
    headings: tuple[str, ...]
    line_start: int
    line_end: int
    byte_start: int
    byte_end: int
    ordinal: int
    listed: int = 0
    step: int = 0
    lead_in: str = ""

    @property
    def heading(self) -> str:
        """What is above it, on one line; empty where there is nothing."""
        return " > ".join(self.headings)


class AlertKind(StrEnum):
    """What was met."""

    #: Characters that no person sees and a model reads.
    HIDDEN_UNICODE = "hidden_unicode"
    #: A key or a password, which was taken out before anything was kept.
    SECRET = "secret"  # noqa: S105 - a kind of alert
    #: Words meant to take an agent over.
    INJECTION = "injection"


@dataclass(frozen=True, slots=True)
class Alert:
    """What was met in a fragment; the same thing twice in one fragment is one alert.

    Attributes:
        line_start: the first line, counted from 1.
        line_end: the last line, inclusive.
        detail: what it is, on one line for a person, and never a secret.
        value: the secret itself, for its fingerprint alone; "" for any other alert.

    """

    kind: AlertKind
    path: str
    fragment_id: str
    line_start: int
    line_end: int
    detail: str
    value: str = field(default="", repr=False)


class Trust(StrEnum):
    """Where a text came from."""

    #: A file of a followed project.
    FILE = "file"
    AGENT = "agent"
    #: A file of another person's that was read in.
    IMPORT = "import"
    #: Another store.
    REMOTE = "remote"


class Decision(StrEnum):
    """What a person says about what could become a principle."""

    APPROVED = "approved"
    REJECTED = "rejected"


class SourceKind(StrEnum):
    """What can be taken back, with all that came of it."""

    PROJECT = "project"
    #: A file, or a folder with every file in it.
    PATH = "path"
    #: A text, in any file.
    INSIGHT = "insight"
    PRINCIPLE = "principle"


@dataclass(frozen=True, slots=True)
class Review:
    """What a person said about an insight, when (UTC microseconds) and why."""

    insight_id: str
    decision: Decision
    at: int
    note: str | None = None


class DecisionWay(StrEnum):
    """How a person decided about a principle."""

    #: In the review.
    REVIEW = "review"
    #: By accepting a diff that showed it.
    DIFF = "diff"
    #: It stood in a file that a person had asked to be written before there were approvals.
    EARLIER = "earlier"


@dataclass(frozen=True, slots=True)
class Approval:
    """What a person said about writing a principle into files of other projects.

    Attributes:
        principle_id: made of the text's hash: other words are another id.
        at: when that was said, in UTC microseconds.
        ended_at: when the principle, or its source, was revoked; None while it counts.

    """

    principle_id: str
    decision: Decision
    at: int
    decided_by: str
    way: DecisionWay
    note: str | None = None
    ended_at: int | None = None


@dataclass(frozen=True, slots=True)
class Revocation:
    """A source that counts no more, from `at` until `ended_at` (UTC microseconds).

    Attributes:
        key: the id of a project, an insight or a principle, or a path.

    """

    id: int
    kind: SourceKind
    key: str
    note: str | None
    at: int
    ended_at: int | None = None

    def covers(self, project_id: str, path: str) -> bool:
        """Tell whether a project's file is, or lies in, what was taken back."""
        if self.kind is SourceKind.PATH:
            return path == self.key or path.startswith(self.key.rstrip("/") + "/")
        return self.kind is SourceKind.PROJECT and project_id == self.key


class Became(StrEnum):
    """What came of reading a document."""

    ADDED = "added"
    CHANGED = "changed"
    #: It says what it said, so nothing was written.
    UNCHANGED = "unchanged"
    #: It is there no more, or was taken out.
    WITHDRAWN = "withdrawn"
    #: It cannot be read; what it said before still counts.
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it was last read.

    Attributes:
        source: its path, or the name it was given under.
        content_hash: SHA-256 of its bytes.
        read_as: the version of the reader: another one reads it again.
        size: bytes.
        redacted: secrets that were taken out of it.
        saved_by: `owner`, or the agent whose token it was.
        read_at: UTC microseconds.
        withdrawn_at: UTC microseconds since it is found no more; None while it is.

    """

    source: str
    content_hash: bytes
    read_as: int
    topic: str
    title: str
    size: int
    read_at: int
    tags: tuple[str, ...] = ()
    redacted: int = 0
    saved_by: str = "owner"
    trust: Trust = Trust.FILE
    withdrawn_at: int | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """One piece of a document.

    Attributes:
        source: the document's path or address.
        ordinal: its place in the document, from 0.
        headings: those above it, outermost first.
        language: of a piece of code, where it is known.
        cross_refs: what it points at: ids, paths, addresses.
        read_at: UTC microseconds when the document was read.

    """

    id: str
    source: str
    ordinal: int
    topic: str
    title: str
    text: str
    read_at: int
    headings: tuple[str, ...] = ()
    is_code: bool = False
    language: str | None = None
    tags: tuple[str, ...] = ()
    cross_refs: tuple[str, ...] = ()

    @property
    def searched(self) -> str:
        """The text by which it is found: its title and headings are part of what it says."""
        return "\n".join(
            part for part in (self.title, " > ".join(self.headings), self.text) if part
        )


def chunk_id(source: str, ordinal: int, *, text: str) -> str:
    """Return `kb_` and 20 hex digits: the same place saying the same has the same id for ever."""
    whole = "\0".join((source, str(ordinal), text)).encode("utf-8", "surrogatepass")
    return f"kb_{hashlib.sha256(whole).hexdigest()[:ID_DIGITS]}"
