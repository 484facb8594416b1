"""Searches of a ledger by vectors: an index that stands for Chroma's, and what is expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from cortex_actors.errors import IndexDown
from cortex_actors.storage.tables.schema import index_ops, passages
from tests.storage.vectored import MODEL, Vectored, held_by, naive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.search.dense import Dense, DenseResult

#: Neighbours that are looked for.
DEPTH = 5

#: What an answer says of each list.
Lists = dict[str, list[tuple[str, str]]]


class Index:
    """An index that can be told everything, be away, or name what is no more."""

    def __init__(self, ledger: Vectored) -> None:
        """Know what the ledger knew when it was told last."""
        self._ledger = ledger
        self._known: dict[str, list[tuple[str, Matrix]]] = {}
        self.asked: list[str] = []
        self.limits: list[int] = []
        self.is_away = False
        #: Whether it names what it should in no order, with cosines that are not so.
        self.is_confused = False

    def told(self) -> None:
        """Learn all there is, so that nothing waits."""
        with self._ledger.writing.begin() as connection:
            everything = select(passages.c.collection, passages.c.place).distinct()
            connection.execute(index_ops.delete())
            for collection, place in connection.execute(everything).all():
                name = f"{collection}_paired" if place == "paired" else collection
                self._known[name] = held_by(connection, name)

    async def __call__(
        self, collections: Sequence[str], vector: Matrix, limit: int
    ) -> dict[str, list[tuple[str, float]]]:
        """Return the nearest that it knows."""
        self.asked += collections
        self.limits.append(limit)
        if self.is_away:
            raise IndexDown("the index is away")
        return {name: self._nearest(name, vector, limit=limit) for name in collections}

    def _nearest(self, name: str, vector: Matrix, *, limit: int) -> list[tuple[str, float]]:
        known = self._known.get(name, [])
        found = sorted((-float(row @ vector), item) for item, row in known)
        if self.is_confused:
            return sorted((item, 0.5) for _, item in found[:limit])
        return [(item, -cosine) for cosine, item in found[:limit]]


def filled(ledger: Vectored, count: int = 60) -> None:
    """Store items, every third of which follows another; two are equal to the last bit."""
    twin = ledger.unit()
    pairs = {number: f"t{number - 1}" for number in range(0, count, 3)}
    ledger.put_all({f"i{n:02}": (f"t{n}", pairs.get(n)) for n in range(count)})
    texts = [f"t{n}" for n in range(count)]
    ledger.embed(*texts, rows=[twin if n in (7, 8) else ledger.unit() for n in range(count)])
    ledger.embed(*(f"{before}\nt{number}" for number, before in pairs.items()))


async def ask(
    ledger: Vectored,
    dense: Dense,
    vector: Matrix,
    *,
    model: str = MODEL,
    allowed: tuple[str, ...] | None = None,
    collections: tuple[str, ...] = (),
) -> tuple[DenseResult, Lists]:
    """Search, and return the answer with what each list names."""
    asked = await dense.ask(
        vector, model=model, depth=DEPTH, narrowed=allowed, collections=collections
    )
    query = None
    if allowed is not None:
        query = select(passages.c.id).where(passages.c.item_id.in_(allowed))
    with ledger.reading.begin() as connection:
        answer = dense.find_nearest(connection, asked, query)
    lists = {
        name: [(each.collection, each.item_id) for each in some]
        for name, some in answer.lists.items()
    }
    return answer, lists


def expected(ledger: Vectored, vector: Matrix, model: str = MODEL) -> Lists:
    """Return what each list should name."""
    with ledger.reading.begin() as connection:
        return naive(connection, vector, model=model, depth=DEPTH)
