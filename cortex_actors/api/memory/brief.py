"""The verb that briefs: what a new session of an agent should know about its project.

What was left to do comes first, then memories that matter or are new, principles that a person
approved and that the project does not say itself, and what contradicts itself in it. All of it is
read with the caller's rights; nothing of other projects is shown.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from cortex_actors.api import parameters, shapes
from cortex_actors.api.registry import Call, operation
from cortex_actors.clock import DAY
from cortex_actors.domain.hit import format_lines
from cortex_actors.domain.insight import Conflict
from cortex_actors.domain.memory import MERGEABLE, Layer, MemoryStatus
from cortex_actors.render.brief import MEANT, Chapter, Note, compose, format_age, oppose, quote
from cortex_actors.render.section import neutralise
from cortex_actors.rules.standalone import MANIFESTS, find_needs, find_project_stacks
from cortex_actors.storage import agent_records, memory_records
from cortex_actors.storage.memory import memory_lists
from cortex_actors.storage.pipeline import (
    contradictions,
    insight_evidence,
    insight_lists,
    insights,
    principle_lists,
    principles,
    resolutions,
    reviews,
)
from cortex_actors.storage.search.query import Where
from cortex_actors.storage.search.similar_memories import list_conflicts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from cortex_actors.domain.memory import CrumbRecord
    from cortex_actors.domain.project import Project
    from cortex_actors.storage.ledger.actor import Connection

#: Crumbs of how long ago are still of use, in microseconds: a week, as `agents crumb` looks back.
LOOKBACK = 7 * DAY

#: Crumbs that are looked through, and memories of each kind.
CRUMBS, MEMORIES = 10, 8

#: Statements of a project that show its technologies: more tell no others, and take longer.
_STATEMENTS = 400


@dataclass(frozen=True, slots=True)
class Audience:
    """For whom a brief is made.

    Attributes:
        agent: whose crumbs are followed.
        reader: through whose eyes everything is read; None for the owner's.
        project: where it works; None for a folder of no project.
        now: UTC microseconds.
        seen: ids of what it was given already.
        reads_files: whether it may see what projects' files say; a caller with a token may not.

    """

    agent: str
    reader: str | None
    project: Project | None
    now: int
    seen: Collection[str] = frozenset()
    reads_files: bool = True

    @property
    def places(self) -> tuple[str, ...]:
        """The project's id, and that of none."""
        return ("",) if self.project is None else (self.project.id, "")

    @property
    def head(self) -> str:
        """The first lines of a brief."""
        name = "" if self.project is None else neutralise(self.project.name)
        return f"# From memory{f', for {name}' if name else ''}\n{MEANT}"


@operation("brief", http="GET /brief", agents=True)
async def brief(
    call: Call,
    project: str | None = None,
    *,
    budget_tokens: int | None = None,
    as_agent: str | None = None,
    here: str | None = None,
) -> dict[str, Any]:
    """Tell what a new session should know about a project, what is of most use first.

    That is what was left to do, memories that matter or are new, principles, and open
    contradictions. `text` is what is printed, empty where there is nothing to say; the budget
    counts all of it. Without a `project` it is that of the folder `here`, and what is of none.
    Raises `BadInput`, `UnknownProject`, `NotYours`.
    """
    hooks, memory = call.settings().hooks, call.settings().memory
    owner = await call.find_project(project, here)
    reader = call.caller.choose_reader(as_agent)
    may = call.caller.is_owner or call.caller.is_session
    who = reader or memory.agent
    told = Audience(who, reader, owner, call.clock.now(), reads_files=may)
    budget = (
        parameters.read_whole_number(budget_tokens, name="budget_tokens")
        or hooks.start_budget_tokens
    )
    chapters = await call.records.read(partial(list_chapters, told=told))
    made = compose(told.head, chapters, budget=budget)
    name = None if owner is None else owner.name
    return {"project": name, **made.as_json(), "budget_tokens": budget}


def list_chapters(connection: Connection, told: Audience) -> list[Chapter]:
    """Return everything that a session may see, the most useful first. Some ms each."""
    # What each is called, the reader of its notes, and how many of them there are at most.
    parts: tuple[tuple[str, str, Callable[..., Iterator[Note]], int], ...] = (
        ("unfinished", "Left by earlier sessions", _crumbs, 9),
        ("memories", "Remembered", _memories, 16),
        ("principles", "Principles of your other projects", _principles, 5),
        ("contradictions", "Open contradictions", _contradictions, 4),
    )
    found = []
    for name, title, read, most in parts:
        notes = (each for each in read(connection, told) if each.id not in told.seen)
        found.append(Chapter(name, title, [*dict.fromkeys(islice(notes, most))]))
    return [each for each in found if each.notes]


def _crumbs(connection: Connection, told: Audience) -> Iterator[Note]:
    """Yield what the newest session did, and what it and those before it left to do."""
    here = None if told.project is None else told.project.id
    wanted = agent_records.CrumbFilter(
        reader=told.reader,
        agent=told.agent,
        since=told.now - LOOKBACK,
        here=here,
        project_id="" if here is None else None,
    )
    latest: dict[str, CrumbRecord] = {}
    for crumb in agent_records.list_crumbs(connection, wanted, limit=CRUMBS):
        latest.setdefault(crumb.session_id, crumb)
    for number, crumb in enumerate(latest.values()):
        age: tuple[str, ...] = (format_age(crumb.left_at, told.now),)
        if number == 0 and (line := quote(crumb.summary)):
            yield Note("crumb", crumb.id, f"Last session: {line}", "last session", age)
            age = ()  # its tasks follow right below
        for task in crumb.unfinished:
            if line := quote(task):
                yield Note("crumb", crumb.id, f"To do: {line}", "left to do", age)


def _memories(connection: Connection, told: Audience) -> Iterator[Note]:
    """Yield memories that are pinned or lie deepest, then the newest; the project's own first."""
    kinds: dict[str, dict[str, Any]] = {
        "pinned": {},
        "important": {"layers": (Layer.CORTEX,)},
        "new": {"types": MERGEABLE},
    }
    known: set[str] = set()
    for why, place in product(kinds, told.places):
        where = Where(reader=told.reader, project_id=place, **kinds[why])
        wanted = memory_lists.MemoryFilter(where=where, pinned=why == "pinned", limit=MEMORIES)
        found, _ = memory_lists.list_memories(connection, wanted, now=told.now)
        for each in found:
            line = None if each.id in known else quote(each.text, each.abstract)
            known.add(each.id)
            whose = "" if each.agent_id == told.agent else f"said by {each.agent_id}"
            facts = ("" if why == "new" else why, whose, format_age(each.created_at, told.now))
            if line:
                yield Note("memory", each.id, line, why, tuple(filter(None, facts)))


def _principles(connection: Connection, told: Audience) -> Iterator[Note]:
    """Yield what a person approved for all projects, this one has use for and does not say."""
    if told.project is None or not told.reads_files:
        return
    said = principle_lists.PrincipleFilter(project_id=told.project.id)
    known = {*principle_lists.list_ids(connection, said)}
    root = f"{told.project.root}/"
    known |= {
        each.principle_id
        for path, _, each in resolutions.list_standing(connection)
        if path.startswith(root)
    }
    # What it says in other words was evidence for a principle, too.
    ours = {*insights.list_ids(connection, told.project.id)}
    every = insight_evidence.list_agreements(connection)
    near = {each for pair in every if not ours.isdisjoint(pair) for each in pair}
    known |= principles.find_coming_of(connection, near)
    given = principles.filter_given(connection, reviews.load_approved(connection) - known)
    some = sorted(
        principles.load_principles(connection, given).values(), key=lambda e: (-e.rank, e.id)
    )
    if not some:
        return
    mine = insight_lists.InsightFilter(project_id=told.project.id, limit=_STATEMENTS)
    there = [each for each in MANIFESTS if os.path.lexists(root + each)]
    some_said = (
        f"{e.heading or ''} {e.content}" for e in insight_lists.list_insights(connection, mine)
    )
    has = find_project_stacks([*some_said], there)
    places = principles.load_places(connection, given)
    for each in some:
        at = places.get(each.id, [])
        text = principles.word_principle(each, at).text
        line = quote(text) if text else None
        fits = find_needs(each.content, tuple((place.heading, place.scope) for place in at)) <= has
        if line and fits:
            yield Note("principle", each.id, line, f"rank {each.rank:.2f}", ("principle",))


def _contradictions(connection: Connection, told: Audience) -> Iterator[Note]:
    """Yield pairs that cannot both hold: of the project's files, then of what is remembered."""
    if told.project is not None and told.reads_files:
        yield from _in_files(connection, told.project)
    found, _ = list_conflicts(connection, reader=told.reader)
    ids = [side for each in found for side in (each.left, each.right)]
    known = memory_records.read(connection, ids, [MemoryStatus.ACTIVE])
    for each in found:
        two = [known[name] for name in (each.left, each.right) if name in known]
        if all(one.project_id in told.places for one in two):
            pair = [(one.text, f"#{one.id}") for one in two]
            if len(two) > 1 and (line := oppose(pair)):
                yield Note("memory", each.left, line, "undecided")


def _in_files(connection: Connection, project: Project) -> Iterator[Note]:
    """Yield pairs of which a project's own files say both."""
    status, ours = contradictions.OPEN, project.id
    every = contradictions.list_contradictions(
        connection, status=status, project_id=ours, both=True
    )
    some = [each for each in every if each.type != Conflict.CONTEXTUAL]
    some.sort(key=lambda each: -each.confidence)
    texts = shapes.load_briefs(connection, [side for e in some for side in e.pair])
    for each in some:
        pair = [(texts[e]["content"], _place(texts[e], project.root)) for e in each.pair]
        if line := oppose(pair):
            yield Note("contradiction", each.id, line, "undecided")


def _place(side: dict[str, Any], root: str) -> str:
    """Return where a project says something: the first place in its own files."""
    for each in side["sources"]:
        if each["path"].startswith(f"{root}/"):
            lines = format_lines(each["line_start"], each["line_end"])
            return f"{each['path'].removeprefix(f'{root}/')}:{lines}"
    return ""
