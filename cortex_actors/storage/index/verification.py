"""Verification: whether the index holds what the ledger says, and finds it.

Three things are compared for each collection: the ids it holds with those it should hold; every
vector, when a folder has just been opened (`deep`), because a flipped byte moves one without a
word; and whether a sample of its own vectors, asked for, find themselves first. Changes that wait
for the index are left out, and what looks wrong is looked at a second time, because it changes
meanwhile. Requests are small, so that a question never waits for more than one of them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import numpy as np

from cortex_actors.storage.index import pending

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence

    from sqlalchemy import Connection

    from cortex_actors.clock import Clock
    from cortex_actors.storage.embeddings import Matrix

T = TypeVar("T")

#: Ids of one request: 4 ms at 10,000 rows.
PAGE = 1_000

#: Vectors of one request: 10 ms.
ROWS = 250

#: Questions of one request: 10 ms.
QUESTIONS = 8

#: Vectors asked for: at least so many, or this share of a collection; and how many more when too
#: many of them were lost, because one in 256 proves nothing of one in a thousand.
CANARIES, SHARE, MORE = 256, 0.01, 2_048

#: Share of them that must find themselves; the rest is what an approximate index may miss.
FOUND = 0.999

#: Cosine from which two vectors are the same one: float32 has seven digits.
SAME = 1 - 1e-5

#: Wrong items of a collection after which it is not looked at any further.
ENOUGH = 1_000


#: Asks a child that holds the index: an op, its parameters and a body; raises without an answer.
Ask: TypeAlias = "Callable[..., Awaitable[tuple[dict[str, Any], bytes]]]"


class Read(Protocol):
    """Runs queries on the ledger."""

    async def __call__(self, query: Callable[[Connection], T]) -> T:
        """Return what a query returns."""


@dataclass(frozen=True, slots=True)
class CollectionTally:
    """What was found in one collection."""

    collection: str
    #: Items it holds, and items it should hold.
    held: int
    expected: int
    missing: int
    extra: int
    #: Items whose vector is not the ledger's.
    differing: int
    #: Vectors that were asked for, and those of them that did not find themselves.
    canaries: int
    lost: int

    @property
    def damaged(self) -> bool:
        """Whether it holds something else than it should."""
        return bool(self.missing or self.extra or self.differing)

    @property
    def deaf(self) -> bool:
        """Whether it does not find what it holds."""
        return self.lost > (1 - FOUND) * self.canaries


@dataclass(frozen=True, slots=True)
class IndexVerdict:
    """What a verification found: collections that hold anything, or should."""

    #: When it ended, in UTC microseconds, and how long it took.
    at: int
    took_s: float
    deep: bool
    collections: tuple[CollectionTally, ...]
    ok: bool
    text: str

    @property
    def proven(self) -> bool:
        """Whether it was asked for anything: an empty index is good, and that says nothing."""
        return any(each.canaries for each in self.collections)


class Verification:
    """One verification of an open index."""

    def __init__(self, ask: Ask, read: Read, *, model: str, deep: bool) -> None:
        """Compare a child's index with a ledger; `deep` looks at every vector."""
        self._ask = ask
        self._read = read
        self._model = model
        self._deep = deep

    async def run(self, collections: Iterable[str], clock: Clock) -> IndexVerdict:
        """Look at collections; raises what asking and reading raise."""
        began = clock.monotonic()
        tallies = [await self._tally(name) for name in collections]
        found = tuple(each for each in tallies if each.held or each.expected)
        bad = [each for each in found if each.damaged or each.deaf]
        took = round(clock.monotonic() - began, 3)
        text = "; ".join(map(_words, bad)) or "it holds what it should and finds it"
        return IndexVerdict(clock.now(), took, self._deep, found, ok=not bad, text=text)

    async def _tally(self, name: str) -> CollectionTally:
        """Look at one collection."""
        before = await self._read(partial(pending.load_holding, collection=name))
        found, doubtful = await self._pages(name)
        doubtful |= (before.sure - found) | (found - before.sure - before.unsure)
        missing, extra, differing = await self._again(name, doubtful)
        asked = lost = 0
        if not missing and not differing:
            asked, lost = await self._canaries(
                name, [each for each in before.order if each in found]
            )
        return CollectionTally(
            name, len(found), len(before.sure), missing, extra, differing, canaries=asked, lost=lost
        )

    async def _pages(self, name: str) -> tuple[set[str], set[str]]:
        """Return every id that a collection holds, and those whose vector looks wrong."""
        found: set[str] = set()
        wrong: set[str] = set()
        limit = ROWS if self._deep else PAGE
        while True:
            page = {"collection": name, "limit": limit, "offset": len(found), "rows": self._deep}
            answer, body = await self._ask("get", page)
            new = set(answer["ids"]) - found
            if self._deep and new:
                wrong |= await self._differing(name, answer["ids"], _matrix(answer, body))
            found |= new
            if not new or len(wrong) > ENOUGH:
                return found, wrong

    async def _differing(self, name: str, ids: Sequence[str], rows: Matrix) -> set[str]:
        """Return the items whose row is not the ledger's."""
        known = await self._rows_of(name, ids)
        pairs = [
            (each, row, known[each]) for each, row in zip(ids, rows, strict=True) if each in known
        ]
        if not pairs:
            return set()
        if any(row.shape != ours.shape for _, row, ours in pairs):
            return {each for each, row, ours in pairs if row.shape != ours.shape}
        same = _cosines(np.stack([row for _, row, _ in pairs]), np.stack([o for *_, o in pairs]))
        # Written so that a vector that is no number differs.
        return {each for (each, *_), cosine in zip(pairs, same, strict=True) if not cosine >= SAME}

    async def _rows_of(self, name: str, ids: Sequence[str]) -> dict[str, Matrix]:
        """Return the vectors that the ledger has of items, by id."""
        query = partial(pending.load_rows, model=self._model, collection=name, ids=ids)
        return await self._read(query)

    async def _again(self, name: str, doubtful: Collection[str]) -> tuple[int, int, int]:
        """Return how many are missing, extra and different, of those of which no change waits."""
        missing = extra = differing = 0
        ids = sorted(doubtful)
        for start in range(0, len(ids), ROWS):
            some = set(ids[start : start + ROWS])
            before = await self._read(partial(pending.load_holding, collection=name))
            wanted = {"collection": name, "ids": sorted(some), "rows": self._deep}
            answer, body = await self._ask("get", wanted)
            held = answer["ids"]
            wrong = set[str]()
            if self._deep and held:
                wrong = await self._differing(name, held, _matrix(answer, body))
            after = await self._read(partial(pending.load_holding, collection=name))
            some -= before.unsure | after.unsure
            sure = before.sure & after.sure
            missing += len((some & sure) - set(held))
            extra += len((some & set(held)) - before.sure - after.sure)
            differing += len(some & sure & wrong)
            if missing + extra + differing > ENOUGH:
                break
        return missing, extra, differing

    async def _canaries(self, name: str, ids: Sequence[str]) -> tuple[int, int]:
        """Return how many vectors were asked for and how many did not find themselves."""
        first = max(CANARIES, round(SHARE * len(ids)))
        order = random.sample(ids, min(first + MORE, len(ids)))
        asked, lost = await self._asked(name, order[:first])
        if lost > (1 - FOUND) * asked and len(order) > first:
            more, also = await self._asked(name, order[first : first + MORE])
            asked, lost = asked + more, lost + also
        return asked, lost

    async def _asked(self, name: str, ids: Sequence[str]) -> tuple[int, int]:
        """Ask for vectors by themselves, twice for those that are not found at once."""
        asked, lost = await self._round(name, ids)
        return asked, len((await self._round(name, lost))[1]) if lost else 0

    async def _round(self, name: str, ids: Sequence[str]) -> tuple[int, list[str]]:
        """Ask once; return how many were asked for and which were not found."""
        asked, lost = 0, list[str]()
        for start in range(0, len(ids), QUESTIONS):
            rows = await self._rows_of(name, ids[start : start + QUESTIONS])
            if not rows:
                continue
            matrix = np.stack(list(rows.values()))
            params = {"collections": [name], "dimension": matrix.shape[1], "limit": 1}
            answer, _ = await self._ask("query", params, matrix.tobytes())
            asked += len(rows)
            # Another item with the same vector is as good an answer.
            best = (cosines[0] if cosines else -1.0 for cosines in answer[name]["cosines"])
            lost += [each for each, cosine in zip(rows, best, strict=True) if not cosine >= SAME]
        return asked, lost


def _cosines(ours: Matrix, theirs: Matrix) -> Matrix:
    """Return the cosine of each pair of rows."""
    lengths = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    with np.errstate(all="ignore"):
        found: Matrix = np.einsum("ij,ij->i", ours, theirs) / lengths
    return found


def _matrix(answer: dict[str, Any], body: bytes) -> Matrix:
    """Return the rows of an answer."""
    return np.frombuffer(body, np.float32).reshape(len(answer["ids"]), -1)


def _words(tally: CollectionTally) -> str:
    """Return what is wrong with a collection."""
    if not tally.damaged:
        return (
            f"{tally.collection}: {tally.lost} of {tally.canaries} vectors do not find themselves"
        )
    counts = {"missing": tally.missing, "not its own": tally.extra, "changed": tally.differing}
    told = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return f"{tally.collection}: of {tally.expected} items {told}"
