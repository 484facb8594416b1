"""A forward crumb: what an agent leaves for whoever it is in its next session."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class CrumbType(StrEnum):
    """What a crumb is mainly for."""

    #: Where things stand.
    ORIENTATION = "orientation"
    TECHNICAL = "technical"
    EMOTIONAL = "emotional"
    #: Something is left to do.
    TASK = "task"


class Priority(StrEnum):
    """How urgently the next session should read it."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


@dataclass(frozen=True, slots=True)
class Crumb:
    """What one session left, in parts; it is never changed.

    Only its agent reads it, and the owner.

    Attributes:
        session_id: what the session is called; two crumbs of one second may share the default.
        left_at: UTC microseconds.
        emotional_state: a feeling, and how strong or of what kind it is.
        references: a kind of thing (`message_ids`, `thread_ids`, `files` ...) -> what to look up.
        if_disoriented: what to do first, in that order.
        saved_by: `owner`, or the agent whose token it was.

    """

    id: str
    agent_id: str
    session_id: str
    summary: str
    left_at: int
    type: CrumbType = CrumbType.ORIENTATION
    priority: Priority = Priority.MEDIUM
    discoveries: tuple[str, ...] = ()
    emotional_state: Mapping[str, str] = field(default_factory=dict, hash=False)
    unfinished: tuple[str, ...] = ()
    references: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    if_disoriented: tuple[str, ...] = ()
    saved_by: str = "owner"

    @property
    def has_unfinished(self) -> bool:
        """Whether something is left to do."""
        return bool(self.unfinished)

    @property
    def searched(self) -> str:
        """The text by which it is found: everything it says, without the frame around it."""
        told = (f"{name}: {value}" for name, value in self.emotional_state.items())
        named = (each for some in self.references.values() for each in some)
        parts = (*self.discoveries, *self.unfinished, *told, *named, *self.if_disoriented)
        return "\n".join((self.summary, *parts))


def default_type(unfinished: object) -> CrumbType:
    """Return what a crumb is for where nobody says so: a task if something is unfinished."""
    return CrumbType.TASK if unfinished else CrumbType.ORIENTATION
