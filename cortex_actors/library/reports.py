"""Results about agents and about the health of memories: crumbs, threads, agreement, idleness."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from cortex_actors.library.results import Result
from cortex_actors.library.words import SYNONYMS

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Crumb(Result):
    """What a session left for the next one.

    Attributes:
        text: the crumb as the Neo-Cortex document writes it.
        links: kind of thing -> what to look up.
        left_at: UTC microseconds.

    """

    id: str = ""
    agent: str = ""
    session: str = ""
    type: str = ""
    priority: str = ""
    summary: str = ""
    discoveries: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()
    emotional_state: Mapping[str, Any] = field(default_factory=dict)
    links: Mapping[str, Any] = field(default_factory=dict)
    if_disoriented: tuple[str, ...] = ()
    text: str = ""
    message: str = ""
    left_at: int | None = None

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Self:
        """Return a crumb, whichever words its answer has."""
        said = {SYNONYMS.get(name, name): value for name, value in answer.items()}
        return super(Crumb, cls).of(said)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Thread(Result):
    """A conversation: its messages in the order in which they were said."""

    thread: str = ""
    messages: tuple[Mapping[str, Any], ...] = ()
    total: int = 0
    agents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Convergence(Result):
    """Whether agents say the same about something.

    Attributes:
        convergence_type: CONSENSUS (three agents or more), HARMONY (two) or NONE.
        by_agent: agent -> what it said of it.
        groups: which messages say the same as one another.
        apart: pairs of messages that say the opposite, however alike they are.

    """

    query: str = ""
    has_convergence: bool = False
    convergence_type: str = ""
    converging_agents: tuple[str, ...] = ()
    agent_count: int = 0
    total_messages: int = 0
    threshold: float = 0.0
    by_agent: Mapping[str, Any] = field(default_factory=dict)
    groups: tuple[Any, ...] = ()
    apart: tuple[Any, ...] = ()

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Self:
        """Return an answer; its `type` is called what the Neo-Cortex document calls it."""
        kind = str(answer.get("convergence_type") or answer.get("type") or "")
        made = super(Convergence, cls).of({**answer, "convergence_type": kind})
        return replace(made, raw=answer)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Stale(Result):
    """A memory that nobody has read for long."""

    id: str = ""
    content_preview: str = ""
    layer: str = ""
    agent: str = ""
    realm: str = ""
    last_accessed: int | None = None
    days_since_access: float = 0.0
    access_count: int = 0
    attention_weight: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Duplicate(Result):
    """Two memories that say nearly the same.

    Attributes:
        content1: how the first begins; `cortex.memory(id1).content` is the whole.
        conflict: why the two cannot both hold, where that was found.

    """

    id1: str = ""
    id2: str = ""
    similarity: float = 0.0
    content1: str = ""
    content2: str = ""
    first: Mapping[str, Any] = field(default_factory=dict)
    second: Mapping[str, Any] = field(default_factory=dict)
    conflict: str | None = None

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Self:
        """Return a pair, each side under the names of the Neo-Cortex document as well."""
        sides = {"1": answer.get("first") or {}, "2": answer.get("second") or {}}
        said = {f"id{number}": side.get("id", "") for number, side in sides.items()}
        said |= {f"content{n}": side.get("content_preview", "") for n, side in sides.items()}
        return replace(super(Duplicate, cls).of({**said, **answer}), raw=answer)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Exported(Result):
    """A file that was written: where, in which form, and how many records of each kind."""

    path: str = ""
    format: str = ""
    records: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Imported(Result):
    """What came of a file that was read in.

    Attributes:
        records: how many the file holds.
        added: how many were not there yet, by realm or kind.
        existing: how many were there.
        differing: ids that are there with another text; that one stays.
        redacted: secrets that were left out.

    """

    path: str = ""
    format: str = ""
    records: int = 0
    added: Mapping[str, int] = field(default_factory=dict)
    existing: int = 0
    differing: tuple[str, ...] = ()
    redacted: int = 0
    dry_run: bool = False
