"""How something came to be known, and what became of it: from the lines of files and back to them.

One chain, whichever link of it somebody names: places, texts that say the same, the cluster, the
principle, the files that principle stands in; and the same once more in the order of time.

Blame: which principle a bullet is, what that was made of, and where else it stands.

A line is looked up as it stands in the file now. Within our section it is a bullet; a human may
have changed it, so the nearest one is told. Any other line is a human's: then it is the other way
round, and what became of it is told.
"""

from __future__ import annotations

import asyncio
import difflib
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from cortex_actors.api.shapes import brief_principle, fields_of
from cortex_actors.domain.project import Approval, Project, Review, Revocation, SourceKind
from cortex_actors.errors import BadInput, CortexError, NotFound
from cortex_actors.pipeline import reading, selection
from cortex_actors.render import fence
from cortex_actors.storage.pipeline import (
    contradictions,
    insight_lists,
    insights,
    principles,
    reviews,
)
from cortex_actors.storage.pipeline.insight_lists import (
    InsightFilter,
    Named,
    TextPlace,
    WrittenBullet,
    find,
)
from cortex_actors.storage.pipeline.principle_lists import PrincipleFilter, listed
from cortex_actors.storage.pipeline.resolutions import standing
from cortex_actors.text.markdown import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from cortex_actors.domain.insight import Insight
    from cortex_actors.domain.principle import Derivation, GivenBullet, Principle
    from cortex_actors.storage.ledger.actor import Connection


#: What a history can be asked of by its id, in the order in which a bare beginning is tried.
_KINDS = (Named.INSIGHT, Named.CLUSTER, Named.PRINCIPLE)


@dataclass(frozen=True, slots=True)
class Start:
    """What somebody asks about: its kind and name, and the links of the chain that these are."""

    kind: str
    name: str
    insights: tuple[str, ...] = ()
    principles: tuple[str, ...] = ()


@dataclass(slots=True)
class _Chain:
    """Every link there is, as rows."""

    insights: dict[str, Insight] = field(default_factory=dict)
    #: Text -> the insight for which it counts, where that is another one; and where it stands.
    heads: dict[str, str] = field(default_factory=dict)
    lines: dict[str, list[TextPlace]] = field(default_factory=dict)
    clusters: list[contradictions.StoredCluster] = field(default_factory=list)
    against: list[contradictions.Contradiction] = field(default_factory=list)
    reviewed: list[Review] = field(default_factory=list)
    approved: list[Approval] = field(default_factory=list)
    revoked: list[Revocation] = field(default_factory=list)
    #: Principle -> what it comes of.
    made_of: dict[str, list[Derivation]] = field(default_factory=dict)
    principles: dict[str, Principle] = field(default_factory=dict)
    bullets: list[WrittenBullet] = field(default_factory=list)
    #: Whatever is only mentioned: the other side of a contradiction, another source of a principle.
    mentioned: dict[str, str] = field(default_factory=dict)

    @property
    def places(self) -> Iterator[TextPlace]:
        """Every place of every text."""
        return (line for some in self.lines.values() for line in some)


def named(connection: Connection, name: str) -> Start:
    """Return what an id, or the beginning of one, is about: an insight, a cluster, a principle.

    Without what ids begin with, an insight is meant where there is one. Raises `NotFound`, and
    `BadInput` for what means several.
    """
    wanted = name.strip().lower()
    for kind in _KINDS:
        if wanted.startswith(kind):
            return _start(connection, kind, find(connection, kind, wanted))
    for kind in _KINDS:
        with suppress(NotFound):
            return _start(connection, kind, find(connection, kind, wanted))
    raise NotFound(
        f"nothing is called {name or 'nothing'!r}; give FILE:LINE, or the id of an insight, a"
        " cluster or a principle: cortex insights, cortex insights clusters and cortex principles"
        " list them"
    )


def standing_at(connection: Connection, path: str, line: int) -> Start:
    """Return what is known of a line of a file. Raises `NotFound` where nothing was learned."""
    found = insight_lists.at_line(connection, path, line)
    if not found:
        raise NotFound(
            f"nothing was learned from line {line} of {path}; what was is listed by: cortex"
            " insights --in FILE, and what we wrote there by: cortex insights blame FILE:LINE"
        )
    return Start("line", f"{path}:{line}", insights=tuple(found))


def history(connection: Connection, start: Start) -> dict[str, Any]:
    """Return the chain that something is a link of, as clients get it; `events` by their time."""
    chain = _chain(connection, start)
    return {
        "asked": {"kind": start.kind, "id": start.name},
        "insights": [
            {
                **fields_of(each, "id", "content", "status", "category", "confidence"),
                **fields_of(each, "first_seen", "last_seen", observations="observation_count"),
                "counts_for": chain.heads.get(each.id),
                "lines": [asdict(line) for line in chain.lines.get(each.id, ())],
            }
            for each in _ordered(chain, start.insights)
        ],
        "clusters": [
            {**asdict(each), "members": len(each.members), "ids": list(each.members)}
            for each in chain.clusters
        ],
        "contradictions": [
            asdict(each) | {"said": {side: chain.mentioned.get(side, "") for side in each.pair}}
            for each in chain.against
        ],
        "reviews": [asdict(each) for each in chain.reviewed],
        "approvals": [asdict(each) for each in chain.approved],
        "revocations": [asdict(each) for each in chain.revoked],
        "principles": [
            {
                **brief_principle(each),
                **fields_of(each, "origin", "created_at"),
                "made_of": [
                    fields_of(owed, "weight", id="insight_id")
                    | {"content": chain.mentioned.get(owed.insight_id, "")}
                    for owed in chain.made_of.get(each.id, ())
                ],
            }
            for each in chain.principles.values()
        ],
        "files": [asdict(each) for each in chain.bullets],
        "events": sorted(_events(chain), key=lambda each: (each["at"], each["what"])),
    }


async def in_files(bullets: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return those bullets that stand in their files now: people remove sections, too."""
    there = await asyncio.to_thread(selection.sections, {each["path"] for each in bullets})
    return [each for each in bullets if selection.says(there, each["path"], each["text"])]


async def as_it_is(found: dict[str, Any]) -> dict[str, Any]:
    """Return a history without the files in which nothing of it stands now."""
    files = await in_files(found["files"])
    gone = [_file_event(each) for each in found["files"] if each not in files]
    return {
        **found,
        "files": files,
        "events": [each for each in found.get("events", ()) if each not in gone],
    }


def _start(connection: Connection, kind: Named, name: str) -> Start:
    """Return what an id is about, with the texts that its chain begins with."""
    if kind is Named.INSIGHT:
        return Start("insight", name, insights=(name,))
    if kind is Named.CLUSTER:
        found = contradictions.get_cluster(connection, name)
        return Start("cluster", name, insights=found.members if found else ())
    made_of = principles.load_derivations(connection, [name]).get(name, [])
    some = tuple(each.insight_id for each in made_of)
    return Start("principle", name, insights=some, principles=(name,))


def _chain(connection: Connection, start: Start) -> _Chain:
    """Return all rows of a chain, and what a person took back under any of its names."""
    found = _Chain()
    # Those texts, and all that say the same.
    heads = insights.representatives(connection, start.insights)
    whole = {*start.insights, *heads.values()}
    found.heads = {**heads, **insights.followers(connection, whole)}
    family = sorted({*whole, *found.heads})
    found.insights = insight_lists.by_ids(connection, family)
    for line in insight_lists.lines(connection, family):
        found.lines.setdefault(line.said_id, []).append(line)
    named = sorted(set(contradictions.load_clusters(connection, family).values()))
    clusters = (contradictions.get_cluster(connection, each) for each in named)
    found.clusters = [each for each in clusters if each is not None]
    against = contradictions.of(connection, family)
    found.against = sorted(
        {each.id: each for some in against.values() for each in some}.values(),
        key=lambda each: (each.detected_at, each.id),
    )
    said = reviews.of(connection, family)
    found.reviewed = sorted(said.values(), key=lambda each: (each.at, each.insight_id))
    made = {*start.principles, *principles.coming_of(connection, family)}
    found.made_of = principles.load_derivations(connection, sorted(made))
    ranked = sorted(
        principles.by_ids(connection, sorted(made)).values(), key=lambda each: (-each.rank, each.id)
    )
    found.principles = {each.id: each for each in ranked}
    found.bullets = insight_lists.bullets(connection, sorted(made))
    written = reviews.load_approvals(connection, made).values()
    found.approved = sorted(written, key=lambda each: (each.at, each.principle_id))
    names = [(SourceKind.INSIGHT, each) for each in found.insights]
    names += [(SourceKind.PRINCIPLE, each) for each in made]
    for line in found.places:
        paths = (line.path, *map(str, PurePath(line.path).parents))
        names += [(SourceKind.PROJECT, line.project_id), *((SourceKind.PATH, e) for e in paths)]
    found.revoked = insight_lists.taken_back(connection, names)
    sides = {side for each in found.against for side in each.pair}
    some = {each.insight_id for few in found.made_of.values() for each in few}
    told = insight_lists.by_ids(connection, sorted({*sides, *some} - set(found.insights)))
    found.mentioned = {each.id: each.content for each in (*found.insights.values(), *told.values())}
    return found


def _ordered(chain: _Chain, seeds: Sequence[str]) -> Iterator[Insight]:
    """Yield what was asked about first, then what says the same, the most believed first."""
    yield from (chain.insights[each] for each in seeds if each in chain.insights)
    rest = [each for each in chain.insights.values() if each.id not in set(seeds)]
    yield from sorted(rest, key=lambda each: (-each.confidence, each.id))


def _events(chain: _Chain) -> Iterator[dict[str, Any]]:
    """Yield all that happened and left its time: what, to whom, and where."""
    for line in chain.places:
        yield from _line_events(line)
    for each in chain.clusters:
        yield _event(each.made_at, "clustered", each.id, f"{len(each.members)} alike")
    for pair in chain.against:
        yield _event(pair.detected_at, "contradicted", pair.id, pair.reason)
        if pair.resolved_at is not None:
            yield _event(pair.resolved_at, "decided", pair.id, pair.resolution or pair.status)
    for review in chain.reviewed:
        yield _event(review.at, review.decision.value, review.insight_id, review.note or "")
    for said in chain.approved:
        how = said.note or f"to be written, by {said.decided_by} ({said.way.value})"
        yield _event(said.at, said.decision.value, said.principle_id, how)
    for made in chain.principles.values():
        yield _event(made.created_at, "distilled", made.id, made.category.value)
    yield from (_file_event(asdict(each)) for each in chain.bullets)
    for taken in chain.revoked:
        yield _event(taken.at, "revoked", taken.key, taken.note or taken.kind.value)
        if taken.ended_at is not None:
            yield _event(taken.ended_at, "restored", taken.key, taken.kind.value)


def _line_events(line: TextPlace) -> Iterator[dict[str, Any]]:
    """Yield when a file began to say something, said it last, and said it no more."""
    yield _event(line.first_at, "read", line.said_id, f"{line.path}:{line.line_start}")
    if line.last_at > line.first_at:
        many = f"{line.path}, {line.revisions} revisions so far"
        yield _event(line.last_at, "confirmed", line.said_id, many)
    if line.withdrawn_at is not None:
        yield _event(line.withdrawn_at, "withdrawn", line.said_id, line.path)


def _file_event(bullet: Mapping[str, Any]) -> dict[str, Any]:
    """Return when a file was last resolved in which it stands."""
    where = f"{bullet['path']} for {bullet['agent']}, bullet {bullet['ordinal'] + 1}"
    return _event(bullet["resolved_at"], "resolved", bullet["principle_id"], where)


def _event(at: int, what: str, about: str, text: str) -> dict[str, Any]:
    """Return one thing that happened."""
    return {"at": at, "what": what, "about": about, "text": text}


#: Matches of a text that are told, each with all that it came of.
MOST = 10

#: How alike a line and a bullet are, at least, of which one was made of the other (difflib's
#: ratio): a human who corrects a word stays above it.
ALIKE = 0.6

#: What may stand before a bullet's text.
_MARKS = ("- ", "* ", "[CONFLICT] ")


@dataclass(frozen=True, slots=True)
class LineSeen:
    """A line of a file as it stands there now."""

    path: str
    line: int
    text: str
    is_ours: bool


async def look(path: str, line: int, *, project: Project) -> LineSeen:
    """Return a line of a project's file. Raises `NotFound`, `BadInput`."""
    try:
        found = await reading.look(path, project, limit=MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"there is no file {path}; give a file as it is called now") from None
    if found.data is None:
        raise BadInput(found.state.error or f"cannot read {path}")
    lines = found.data.splitlines(keepends=True)
    if not 1 <= line <= len(lines):
        raise BadInput(f"there is no line {line} in {path}: it has {len(lines)}")
    at = sum(len(each) for each in lines[: line - 1])
    text = lines[line - 1].decode("utf-8", "replace").strip()
    fenced = None
    with suppress(CortexError):
        fenced = fence.find(found.data)
    is_ours = fenced is not None and fenced.start <= at < fenced.end
    return LineSeen(path, line, text, is_ours)


def of_line(connection: Connection, seen: LineSeen) -> dict[str, Any]:
    """Return where a line comes from, if it is ours, or what became of it. Raises `NotFound`."""
    asked = {"path": seen.path, "line": seen.line, "text": seen.text, "ours": seen.is_ours}
    if not seen.is_ours:
        start = standing_at(connection, seen.path, seen.line)
        return {"asked": asked, "matches": [{**history(connection, start), "bullet": None}]}
    rows = [row for row in standing(connection) if row[0] == seen.path]
    wanted = _plain(seen.text)
    scored = [(_likeness(wanted, _plain(row[2].text)), row) for row in rows]
    likeness, found = max(scored, key=lambda each: each[0], default=(0.0, None))
    if found is None or likeness < ALIKE:
        raise NotFound(
            f"line {seen.line} of {seen.path} is in our section and is none of its bullets; "
            "give a line that begins with a dash"
        )
    return {"asked": asked, "matches": [_match(connection, *found)]}


def of_text(connection: Connection, text: str, sections: Container[str]) -> dict[str, Any]:
    """Return where a text comes from: what stands in files first, then principles, then insights.

    `sections` are the files that have a section of ours now. Raises `NotFound`.
    """
    wanted = _plain(text)
    if not wanted:
        raise BadInput("say a text to look for, or FILE:LINE")
    first: dict[str, tuple[str, str, GivenBullet]] = {}
    for row in standing(connection):
        if row[0] in sections and wanted in _plain(row[2].text):
            first.setdefault(row[2].principle_id, row)
    matches = [_match(connection, *row) for row in list(first.values())[:MOST]]
    if not matches:
        words = tuple(text.split())
        some = PrincipleFilter(words=words)
        others = InsightFilter(words=words, limit=MOST)
        names = listed(connection, some, limit=MOST) or [
            each.id for each in insight_lists.listed(connection, others)
        ]
        matches = [_whole_chain(connection, each) for each in names]
    if not matches:
        message = f"nothing that is known says {text.strip()!r}; look around with: cortex recall"
        raise NotFound(message)
    return {"asked": {"text": text.strip()}, "matches": matches}


def _match(connection: Connection, path: str, agent: str, given: GivenBullet) -> dict[str, Any]:
    """Return a bullet with everything that it came of."""
    bullet = {"path": path, "agent": agent}
    bullet |= fields_of(given, "text", "conflict", principle="principle_id")
    if given.principle_id not in principles.by_ids(connection, [given.principle_id]):
        return {"bullet": bullet, "principles": [], "insights": [], "files": []}
    return {**_whole_chain(connection, given.principle_id), "bullet": bullet}


def _whole_chain(connection: Connection, name: str) -> dict[str, Any]:
    """Return an insight or a principle with everything that it came of."""
    return {**history(connection, named(connection, name)), "bullet": None}


def _likeness(line: str, bullet: str) -> float:
    """Return how alike a line and a bullet are, 1 where one holds the other."""
    if not line or not bullet:
        return 0.0
    if line in bullet or bullet in line:
        return 1.0 if line == bullet else 0.99
    return difflib.SequenceMatcher(None, line, bullet, autojunk=False).ratio()


def _plain(text: str) -> str:
    """Return a text without what a bullet has beside its words; code is what it says."""
    line = " ".join(text.replace("`", "").split())
    for mark in _MARKS:
        line = line.removeprefix(mark)
    return " ".join(line.split()).casefold()
