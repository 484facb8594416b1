"""What the product shows of projects after days of daily scans, in virtual time.

A whole tree with the settings that are shipped lives in a fresh home; only its wall clock is moved:
a day at a time, once nothing is left to do. On each day the scheduler's daily jobs run, one after
another.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import unicodedata
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from benchmarks.repositories import DIGITS
from cortex_actors.clock import DAY, SystemClock
from cortex_actors.home import Home
from cortex_actors.process.logs import LogStream
from cortex_actors.settings import Settings
from cortex_actors.storage import embeddings, events
from cortex_actors.storage.index import pending
from cortex_actors.testing import eventually
from cortex_actors.tree import grow

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterator,
        Awaitable,
        Callable,
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from pathlib import Path

    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.tree import Tree

#: Seconds until everything that was asked for must be done, and for a model to be compiled.
PATIENCE = 900.0

#: Seconds between two looks whether it is: each costs more than a job that finds nothing to do.
PAUSE = 0.1

#: What the schedule does once a day, in the order in which one needs the other.
DAILY = ("scan", "reconcile", "organise", "decay")

#: More than there is of anything.
MOST = 100_000

#: What is shown, in the order of the summary.
KINDS = ("contradiction", "merge", "principle", "offer", "review", "bullet")

#: How far apart the places of two texts are.
FILE, PROJECT, BETWEEN = "file", "project", "between"


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that is shown; of what is one text the second is empty, or where it is written."""

    kind: str
    digest: str
    #: The repository, or the portfolio.
    setup: str
    place_a: str
    place_b: str
    text_a: str
    text_b: str
    scope: str = ""
    confidence: str = ""
    #: Who says so and why.
    how: str = ""
    heading_a: str = ""
    heading_b: str = ""
    #: Which planted sentence it is about.
    planted: str = ""


@dataclass(slots=True)
class Life:
    """What came of one home."""

    setup: str
    rows: list[Row] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)
    #: Runs of the pipeline that failed, and why.
    failed: list[str] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """Return it for another process."""
        return asdict(self)

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Life:
        """Return what another process made."""
        return cls(**{**plain, "rows": [Row(**each) for each in plain["rows"]]})


class Ahead(SystemClock):
    """The machine's clocks, with a wall clock that somebody puts forward by days."""

    def __init__(self) -> None:
        """Be on time."""
        self.days = 0

    def now(self) -> int:
        """Return the wall-clock time in UTC microseconds."""
        return super().now() + self.days * DAY


def pair_hash(one: str, other: str) -> str:
    """Return what two texts are known by, whichever comes first."""
    both = "\n".join(sorted(_normal(each) for each in (one, other)))
    return hashlib.sha256(both.encode()).hexdigest()[:DIGITS]


async def live(
    setup: str,
    roots: Mapping[str, Path],
    *,
    days: int,
    sections: Mapping[str, object],
    models: Path | None = None,
    refused: Collection[str] = (),
) -> Life:
    """Follow those roots (by name) for so many days, and return what is shown then.

    `refused` are digests of offers that readers called wrong: a person approves none of these.
    """
    clock = Ahead()
    began = clock.monotonic()
    home = Home.find(next(iter(roots.values())).parent.parent / "home", {})
    async with grown(home, clock, sections=sections, models=models) as tree:
        ready = clock.monotonic()
        for root in roots.values():
            await tree.cortex.add_project(str(root))
        await eventually(lambda: len(tree.watchers.list_watched()) >= len(roots), PATIENCE)
        for day in range(days + 1):
            clock.days = day
            for job in DAILY:
                await tree.cortex.run_job(job)
                await settled(tree)
        passed = clock.monotonic()
        found = await _Look(tree, setup, roots, refused=refused).all()
        found.figures |= {
            "ready_s": round(ready - began, 1),
            "days_s": round(passed - ready, 1),
            "look_s": round(clock.monotonic() - passed, 1),
        }
    return found


@asynccontextmanager
async def grown(
    home: Home, clock: Ahead, *, sections: Mapping[str, object], models: Path | None
) -> AsyncIterator[Tree]:
    """Run a tree whose model is the one that answers in the long run: the compiled form."""
    await asyncio.to_thread(_prepare, home, models)
    logs = LogStream(home.logs / "cortex.ndjson", clock)
    chosen = Settings.model_validate(sections)
    tree = grow(home, chosen, clock, logs)
    await tree.start()
    try:
        if chosen.embedding.provider == "sentence-transformers":
            await _until(partial(_is_compiled, tree))
            await asyncio.to_thread(_keep, home, models)
        yield tree
    finally:
        await tree.stop(8)
        logs.close()


def _prepare(home: Home, models: Path | None) -> None:
    """Make a home with the compiled model that an earlier run left."""
    home.create()
    if models is not None and models.is_dir():
        shutil.copytree(models, home.models, dirs_exist_ok=True)


def _keep(home: Home, models: Path | None) -> None:
    """Leave the compiled model for later runs."""
    if models is not None and not models.exists():
        shutil.copytree(home.models, models)


async def _is_compiled(tree: Tree) -> bool:
    """Tell whether the compiled model answers."""
    model = (await tree.cortex.status())["model"]
    return bool(model["state"] == "ready" and "+" in model["id"])


async def settled(tree: Tree) -> None:
    """Return once every event is handled and every text embedded and indexed."""
    idle = partial(_is_idle, model=tree.parts.model)
    await _until(lambda: tree.parts.records.read(idle))


async def _until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Return once something holds that nobody says."""
    async with asyncio.timeout(PATIENCE):
        while not await holds():  # noqa: ASYNC110
            await asyncio.sleep(PAUSE)


def _is_idle(connection: Connection, *, model: str) -> bool:
    """Tell whether nothing waits."""
    waits = events.count_waiting(connection) or pending.count_pending(connection)
    return not (waits or embeddings.count_unembedded(connection, model))


class _Look:
    """Looks at everything that a person is shown, with the places by repository."""

    def __init__(
        self, tree: Tree, setup: str, roots: Mapping[str, Path], *, refused: Collection[str]
    ) -> None:
        """Look at a tree; paths are told from the roots."""
        self._tree = tree
        self._refused = refused
        self._ask = tree.cortex
        self._setup = setup
        self._roots = {str(root.resolve()): repo for repo, root in roots.items()}

    async def all(self) -> Life:
        """Return all of it, with what the numbers say."""
        found = Life(self._setup)
        some = [self._contradictions, self._merges, self._principles, self._reviews, self._bullets]
        for each in some:
            found.rows += [row async for row in each(found.figures)]
        failed = (await self._ask.runs(failed=True, limit=MOST))["runs"]
        found.failed = [f"{each['kind']} {each['path'] or ''}: {each['error']}" for each in failed]
        return found

    async def _contradictions(self, figures: dict[str, float]) -> AsyncIterator[Row]:
        """Yield what `cortex contradictions` lists."""
        found = await self._ask.contradictions(limit=MOST)
        figures["contextual"] = found["contextual"]
        for each in found["contradictions"]:
            how = f"{each['type']}, {each['decided_by']}: {each['reason']}"
            yield self._pair("contradiction", each["a"], each["b"], how=how)

    async def _merges(self, figures: dict[str, float]) -> AsyncIterator[Row]:
        """Yield each text that counts for another one, beside that one."""
        found = await self._ask.insights(limit=MOST, status="all")
        every = {each["id"]: each for each in found["insights"]}
        shown = [each for each in every.values() if each["status"] in {"active", "contradicted"}]
        confidence = sorted((each["confidence"] for each in shown), reverse=True)
        figures["insights"] = len(shown)
        figures["most_confident"] = confidence[0] if confidence else 0.0
        figures["of_several_projects"] = sum(len(each["projects"]) > 1 for each in shown)
        for head in shown:
            for said in sorted({each["said"] for each in head["sources"]} - {head["id"]}):
                follower = every.get(said, {**head, "content": f"({said})"})
                yield self._pair(
                    "merge",
                    {**head, "sources": _of(head, head["id"])},
                    {**follower, "sources": _of(head, said)},
                    how=f"{head['kind']} / {follower['kind']}",
                )

    async def _principles(self, figures: dict[str, float]) -> AsyncIterator[Row]:
        """Yield what `cortex principles` lists."""
        found = await self._ask.principles(limit=MOST, status="all")
        figures["principles"] = len(found["principles"])
        for each in found["principles"]:
            whole = await self._ask.principle(each["id"])
            places = [place for made in whole["made_of"] for place in made["sources"]]
            told = {"content": each["content"], "sources": places}
            how = f"rank {each['rank']:.3f}, {each['status']}, {','.join(each['domains'])}"
            yield self._one("principle", {**told, "confidence": each["confidence"]}, how=how)

    async def _reviews(self, _figures: dict[str, float]) -> AsyncIterator[Row]:
        """Yield what `cortex review` lists."""
        for each in (await self._ask.reviews(limit=MOST))["reviews"]:
            kind = "review" if each["asks"] == "use" else "offer"
            yield self._one(kind, each, how=f"{each['asks']}: {each['because']}")

    async def _bullets(self, figures: dict[str, float]) -> AsyncIterator[Row]:
        """Yield the bullets that `cortex resolve --all` would write after approvals."""
        if not self._roots:
            return
        await self._approve()
        found = await self._ask.resolve(everything=True, dry_run=True)
        figures["files"] = len(found["files"])
        for file in found["files"]:
            into = self._where(file["path"])
            for each in file["bullets"]:
                how = "approved" if each["approved"] else "not approved"
                yield Row(
                    "bullet",
                    pair_hash(each["text"], into),
                    self._setup,
                    into,
                    each["id"],
                    each["text"],
                    "",
                    how=how,
                )

    async def _approve(self) -> None:
        """Approve each offer that no reader called wrong, and have it written."""
        for _ in range(2):
            for each in (await self._ask.reviews(limit=MOST))["reviews"]:
                if each["asks"] != "use" and pair_hash(each["content"], "") not in self._refused:
                    await self._ask.approve(each["id"])
            await self._ask.run_job("organise")
            await settled(self._tree)

    def _pair(self, kind: str, one: dict[str, Any], other: dict[str, Any], *, how: str) -> Row:
        """Return a row about two texts."""
        texts = one["content"], other["content"]
        return Row(
            kind,
            pair_hash(*texts),
            self._setup,
            self._places(one["sources"]),
            self._places(other["sources"]),
            *texts,
            scope=_scope(one["sources"], other["sources"]),
            confidence=f"{one['confidence']:.3f} {other['confidence']:.3f}",
            how=how,
            heading_a=_heading(one["sources"]),
            heading_b=_heading(other["sources"]),
        )

    def _one(self, kind: str, thing: dict[str, Any], *, how: str) -> Row:
        """Return a row about one text, with its first place and its others."""
        places = self._places(thing["sources"]).split("; ")
        several = len({each["project"] for each in thing["sources"]}) > 1
        return Row(
            kind,
            pair_hash(thing["content"], ""),
            self._setup,
            places[0],
            "; ".join(places[1:]),
            thing["content"],
            "",
            scope=BETWEEN if several else PROJECT,
            confidence=f"{thing['confidence']:.3f}",
            how=how,
            heading_a=_heading(thing["sources"]),
        )

    def _places(self, sources: Iterable[Mapping[str, Any]]) -> str:
        """Return places, from the roots of their repositories."""
        told = (f"{self._where(each['path'])}:{each['line_start']}" for each in sources)
        return "; ".join(dict.fromkeys(told))

    def _where(self, path: str) -> str:
        """Return a file as repository and path."""
        for root, repo in self._roots.items():
            if path.startswith(f"{root}/"):
                return f"{repo}:{path[len(root) + 1 :]}"
        return path


def _of(head: Mapping[str, Any], said: str) -> list[dict[str, Any]]:
    """Return the places of an insight where that very text stands."""
    return [each for each in head["sources"] if each["said"] == said]


def _scope(one: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]]) -> str:
    """Return how far apart two texts stand at the nearest."""
    files = [{each["path"] for each in some} for some in (one, other)]
    projects = [{each["project"] for each in some} for some in (one, other)]
    if files[0] & files[1]:
        return FILE
    return PROJECT if projects[0] & projects[1] else BETWEEN


def _heading(sources: Iterable[Mapping[str, Any]]) -> str:
    return next((str(each["heading"]) for each in sources if each["heading"]), "")


def _normal(text: str) -> str:
    """Return a text as its digest is made of it."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def by_kind(rows: Iterable[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield the rows of each kind, merges and contradictions by how far apart the two stand."""
    every = list(rows)
    for kind in KINDS:
        some = [each for each in every if each.kind == kind]
        yield kind, some
        scopes = sorted({each.scope for each in some if kind in KINDS[:2]})
        yield from chain(
            (f"  {scope}", [each for each in some if each.scope == scope]) for scope in scopes
        )
