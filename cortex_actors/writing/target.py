"""What is to be written, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be written, and for whom.

    Attributes:
        root: the registered folder's real path.
        path: the file's absolute path below it.
        known: bytes that the file had when it was last read; one that has shrunk to less than half
            may be half saved.
        create: whether the file, and the folders between the root and it, may be made.

    """

    root: str
    path: str
    project_id: str
    agent: str
    run_id: str
    known: int | None = None
    create: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """How a write ended.

    Attributes:
        before: the file as it was; None when there was none.
        after: the file as it is; None when it was taken away.
        changed: whether anything had to be written.

    """

    before: bytes | None
    after: bytes | None
    changed: bool
