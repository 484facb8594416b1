"""Trust: where a text came from, what a person said about it, and what was taken back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Trust(StrEnum):
    """Where a text came from."""

    #: A file of a followed project.
    FILE = "file"
    AGENT = "agent"
    #: A file of somebody else's that was read in.
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
    #: A text, whoever says it.
    INSIGHT = "insight"
    PRINCIPLE = "principle"


@dataclass(frozen=True, slots=True)
class Review:
    """What a person said about an insight, when (UTC microseconds) and why."""

    insight_id: str
    decision: Decision
    at: int
    note: str | None = None


class Way(StrEnum):
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
    way: Way
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
