"""Provenance: from the lines of files to what came of them, and back.

One chain, whichever link of it is asked about: places, texts that say the same, the cluster, the
principle, the files that have that principle.

A line is looked up as it is in the file now. Within our section it is a bullet, or the nearest one
where a person has changed words: then the chain is that of its principle. Any other line is a
person's, and the chain is that of what was learned from it.
"""

from __future__ import annotations

import asyncio
import difflib
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from cortex_actors.api.shapes import shape_brief, shape_fields
from cortex_actors.domain.project import SourceKind
from cortex_actors.errors import CortexError, NotFound
from cortex_actors.pipeline import selection
from cortex_actors.render import fence
from cortex_actors.storage.pipeline import (
    contradictions,
    insight_lists,
    insights,
    principles,
    reviews,
)
from cortex_actors.storage.pipeline.insight_lists import Named, find
from cortex_actors.storage.pipeline.resolutions import list_standing
from cortex_actors.storage.tables.columns import group_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cortex_actors.domain.insight import Insight
    from cortex_actors.domain.principle import Derivation
    from cortex_actors.domain.project import Approval, Review
    from cortex_actors.storage.ledger.actor import Connection, Records


#: What a history can be asked of by its id, in the order in which a bare beginning is tried.
_KINDS = (Named.INSIGHT, Named.CLUSTER, Named.PRINCIPLE)


@dataclass(frozen=True, slots=True)
class Start:
    """What is asked about: its kind and name, and the links of the chain that these are."""

    kind: str
    name: str
    insights: tuple[str, ...] = ()
    principles: tuple[str, ...] = ()


def find_start(connection: Connection, name: str) -> Start:
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
        " cluster or a principle: cortex insights and cortex principles list them"
    )


async def find_line_start(records: Records, path: str, line: int) -> Start:
    """Return what is known of a line of a file: of our section its principle, else its insights.

    Raises `NotFound` where nothing is known of it.
    """
    bullets = [bullet for at, _, bullet in await records.read(list_standing) if at == path]
    ours = await asyncio.to_thread(_line_of_ours, path, line) if bullets else None
    if ours is not None:
        alike = {_likeness(_plain(ours), _plain(each.text)): each for each in reversed(bullets)}
        if max(alike) < ALIKE:
            raise NotFound(
                f"line {line} of {path} is in our section and is none of its bullets; "
                "give a line that begins with a dash"
            )
        name = alike[max(alike)].principle_id
        return await records.read(lambda c: _start(c, Named.PRINCIPLE, name))
    found = await records.read(lambda c: insight_lists.find_at_line(c, path, line))
    if not found:
        raise NotFound(
            f"nothing was learned from line {line} of {path}; what was is listed by: cortex"
            " insights --in FILE"
        )
    return Start("line", f"{path}:{line}", insights=tuple(found))


def _line_of_ours(path: str, line: int) -> str | None:
    """Return a line of a file where it is in our section now; None for any other. Blocks."""
    data = selection.read(path) or b""
    with suppress(CortexError):
        fenced, lines = fence.find(data), data.splitlines(keepends=True)
        at = sum(map(len, lines[: line - 1]))
        if fenced is not None and fenced.start <= at < fenced.end:
            return lines[line - 1].decode("utf-8", "replace")
    return None


def load_history(connection: Connection, start: Start) -> dict[str, Any]:
    """Return the chain that something is a link of, as clients get it."""
    # Those texts, and all that say the same: text -> the insight for which it counts.
    heads = insights.load_representatives(connection, start.insights)
    whole = {*start.insights, *heads.values()}
    heads |= insights.load_followers(connection, whole)
    family = sorted({*whole, *heads})
    made = sorted({*start.principles, *principles.find_coming_of(connection, family)})
    owed = principles.load_derivations(connection, made)
    against = contradictions.load_contradictions(connection, family)
    pairs = {each.id: each for some in against.values() for each in some}
    # Beside the family what is only mentioned: other sides, and other sources of a principle.
    named = {side for each in pairs.values() for side in each.pair}
    named |= {each.insight_id for some in owed.values() for each in some}
    texts = insight_lists.load_insights(connection, sorted({*family, *named}))
    said = {name: each.content for name, each in texts.items()}
    places = insight_lists.load_lines(connection, family)
    clusters = contradictions.load_clusters(connection, family)
    taken = insight_lists.load_revocations(connection, _sources(family, made, places))
    return {
        "asked": {"kind": start.kind, "id": start.name},
        "insights": _texts(texts, start.insights, heads=heads, family=family, places=places),
        "clusters": [
            {**asdict(each), "members": len(each.members), "ids": list(each.members)}
            for each in contradictions.get_clusters(connection, set(clusters.values()))
        ],
        "contradictions": [
            asdict(each) | {"said": {side: said.get(side, "") for side in each.pair}}
            for each in sorted(pairs.values(), key=lambda each: (each.detected_at, each.id))
        ],
        "reviews": _by_time(reviews.load_reviews(connection, family)),
        "approvals": _by_time(reviews.load_approvals(connection, made)),
        "revocations": [asdict(each) for each in taken],
        "principles": _principles(connection, owed, said, made=made),
        "files": insight_lists.load_bullets(connection, made),
    }


def _texts(
    texts: Mapping[str, Insight],
    first: Sequence[str],
    *,
    heads: Mapping[str, str],
    family: Sequence[str],
    places: Iterable[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Return texts with their places: those asked about first, then the most believed."""
    lines = group_pairs((place["said_id"], place) for place in places)
    order = sorted(
        (texts[each] for each in family if each in texts),
        key=lambda each: (each.id not in first, -each.confidence, each.id),
    )
    return [
        {
            **shape_fields(each, "id", "content", "status", "category", "confidence"),
            **shape_fields(each, "first_seen", "last_seen", observations="observation_count"),
            "counts_for": heads.get(each.id),
            "lines": lines.get(each.id, []),
        }
        for each in order
    ]


def _principles(
    connection: Connection,
    owed: Mapping[str, Sequence[Derivation]],
    said: Mapping[str, str],
    *,
    made: Sequence[str],
) -> list[dict[str, Any]]:
    """Return principles, the highest ranked first, with what each is made of."""
    known = principles.load_principles(connection, made).values()
    return [
        {
            **shape_brief(each),
            **shape_fields(each, "origin", "created_at"),
            "made_of": [
                shape_fields(part, "weight", id="insight_id")
                | {"content": said.get(part.insight_id, "")}
                for part in owed.get(each.id, ())
            ],
        }
        for each in sorted(known, key=lambda each: (-each.rank, each.id))
    ]


def _by_time(found: Mapping[str, Review | Approval]) -> list[dict[str, Any]]:
    """Return what a person said, in the order of time."""
    return [asdict(each) for each in sorted(found.values(), key=lambda each: each.at)]


def _sources(
    family: Iterable[str], made: Iterable[str], places: Iterable[dict[str, Any]]
) -> Iterator[tuple[SourceKind, str]]:
    """Yield every name under which a person may have taken something of a chain back."""
    yield from ((SourceKind.INSIGHT, each) for each in family)
    yield from ((SourceKind.PRINCIPLE, each) for each in made)
    for line in places:
        yield SourceKind.PROJECT, line["project_id"]
        yield SourceKind.PATH, line["path"]
        yield from ((SourceKind.PATH, str(each)) for each in PurePath(line["path"]).parents)


async def filter_in_files(bullets: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return those bullets that are in their files now: people remove sections, too."""
    there = await asyncio.to_thread(selection.read_sections, {each["path"] for each in bullets})
    return [each for each in bullets if selection.has_bullet(there, each["path"], each["text"])]


def _start(connection: Connection, kind: Named, name: str) -> Start:
    """Return what an id is about, with the texts that its chain begins with."""
    if kind is Named.INSIGHT:
        return Start("insight", name, insights=(name,))
    if kind is Named.CLUSTER:
        found = contradictions.get_clusters(connection, [name])
        return Start("cluster", name, insights=found[0].members if found else ())
    made_of = principles.load_derivations(connection, [name]).get(name, [])
    some = tuple(each.insight_id for each in made_of)
    return Start("principle", name, insights=some, principles=(name,))


#: How alike a line and a bullet are, at least, of which one was made of the other (difflib's
#: ratio): a human who corrects a word stays above it.
ALIKE = 0.6

#: What may be before a bullet's text.
_MARKS = ("- ", "* ", "[CONFLICT] ")


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
