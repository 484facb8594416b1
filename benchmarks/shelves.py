"""What is searched: ledgers in temporary homes, filled and embedded as the product does it."""

from __future__ import annotations

import tempfile
from contextlib import asynccontextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.clock import SystemClock, make_ulid
from cortex_actors.domain.memory import Memory, Realm
from cortex_actors.domain.project import Chunk, chunk_id
from cortex_actors.embedding import manifest
from cortex_actors.embedding.compiler import compile_model
from cortex_actors.embedding.factory import make_provider
from cortex_actors.embedding.models import locate
from cortex_actors.embedding.provider import hash_text
from cortex_actors.embedding.tokens import load_pieces
from cortex_actors.errors import IndexDown
from cortex_actors.home import Home
from cortex_actors.runtime.actor import start_actor
from cortex_actors.runtime.names import Names
from cortex_actors.sections import EmbeddingSettings, StorageSettings
from cortex_actors.storage import documents as knowledge
from cortex_actors.storage import embeddings, memory_records
from cortex_actors.storage.ledger.actor import Ledger, Records
from cortex_actors.storage.models import ChosenModel
from cortex_actors.storage.search.query import Query
from cortex_actors.storage.search.search import Search

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from benchmarks.corpora import Conversation, Document
    from cortex_actors.embedding.provider import Provider
    from cortex_actors.sections import MemorySettings
    from cortex_actors.storage.embeddings import Matrix

PROVIDERS = ("compiled", "sentence-transformers", "hashing")

#: The model that is compiled.
MODEL = "all-MiniLM-L6-v2"

#: Texts of one request, and texts looked for at once.
CHUNK, MANY = 128, 2_000

#: Microseconds between two turns: a minute.
APART = 60_000_000


class Embedder:
    """A provider whose vectors are kept, in memory and in a folder."""

    def __init__(
        self, provider: Provider, cache: Path | None = None, *, models: Path | None = None
    ) -> None:
        """Begin with what the folder has; `models` has the folder of a compiled model."""
        self._provider = provider
        #: Its word pieces, as the daemon has them.
        self.pieces = lru_cache(partial(load_pieces, models and models / provider.model_id))
        self._file = cache and cache / f"{provider.model_id.replace('/', '_')}.npz"
        self._known: dict[bytes, Matrix] = {}
        if self._file and self._file.exists():
            with np.load(self._file) as kept:
                digests = [bytes.fromhex(each) for each in kept["digests"].tolist()]
                self._known = dict(zip(digests, kept["rows"], strict=True))

    @property
    def model(self) -> str:
        """Whose vectors they are."""
        return self._provider.model_id

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Return a row for each text."""
        missing = [text for text in dict.fromkeys(texts) if hash_text(text) not in self._known]
        for begin in range(0, len(missing), CHUNK):
            some = missing[begin : begin + CHUNK]
            rows = await self._provider.embed(some)
            self._known |= {hash_text(text): row for text, row in zip(some, rows, strict=True)}
        if not texts:
            return np.zeros((0, self._provider.dimension), np.float32)
        return np.stack([self._known[hash_text(text)] for text in texts])

    def keep(self) -> None:
        """Write what is known into the folder."""
        if self._file and self._known:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            digests = np.array([each.hex() for each in self._known])
            np.savez(self._file, digests=digests, rows=np.stack([*self._known.values()]))


class Shelf:
    """One ledger, and the way to search it."""

    def __init__(self, records: Records, embedder: Embedder) -> None:
        """Search what the ledger has with vectors of the embedder."""
        self._records = records
        self._embedder = embedder
        self._names: dict[str, str] = {}

    async def remember(self, conversation: Conversation) -> None:
        """Keep every turn of a conversation as a memory; a session is a thread."""
        said = [
            Memory(
                id=f"mem_{make_ulid(APART * number)}",
                realm=Realm.VILLAGE,
                agent_id=turn.speaker.upper(),
                text=f"{turn.speaker}: {turn.text}",
                created_at=APART * number,
                thread=f"{conversation.id}-{turn.session}",
            )
            for number, turn in enumerate(conversation.turns, start=1)
        ]
        turns = zip(said, conversation.turns, strict=True)
        self._names = {memory.id: turn.id for memory, turn in turns}
        await self._records.write(partial(memory_records.save, some=said))
        await self._embed()

    async def read(self, documents: Sequence[Document]) -> None:
        """Keep every document as one piece of knowledge."""
        for each in documents:
            piece = Chunk(
                id=chunk_id(each.id, 0, text=each.text),
                source=each.id,
                ordinal=0,
                topic="documents",
                title=each.title,
                text=each.text,
                read_at=APART,
            )
            self._names[piece.id] = each.id
            await self._records.write(partial(knowledge.learn_chunks, source=each.id, some=[piece]))
        await self._embed()

    def search(self, settings: MemorySettings) -> Search:
        """Return a search that ranks by those settings."""
        model = self._embedder.model
        pieces = self._embedder.pieces
        return Search(self._records, _no_index, model=model, settings=settings, pieces=pieces)

    async def prepare(self, questions: Sequence[str]) -> None:
        """Embed questions, all at once."""
        await self._embedder.embed(questions)

    async def find(self, search: Search, text: str, limit: int) -> list[str]:
        """Return what a question finds, by the names that the collection has for it."""
        (row,) = await self._embedder.embed([text])
        found = await search.find(Query(text, row, self._embedder.model, limit))
        return [self._names[hit.id] for hit in found.hits]

    async def _embed(self) -> None:
        """Embed every passage that has no vector."""
        model = self._embedder.model
        while waiting := await self._records.read(
            lambda c: embeddings.list_unembedded(c, model, MANY)
        ):
            texts = {each[-1]: each[-2] for each in waiting}
            rows = await self._embedder.embed([*texts.values()])
            found = dict(zip(texts, rows, strict=True))
            await self._records.write(partial(embeddings.keep_vectors, model=model, found=found))


@asynccontextmanager
async def shelf(embedder: Embedder) -> AsyncIterator[Shelf]:
    """Run a ledger in a temporary home."""
    with tempfile.TemporaryDirectory() as folder:
        names = Names()
        make = partial(Ledger, Home(Path(folder)), StorageSettings(), SystemClock())
        handle = await start_actor(names, "ledger", make)
        try:
            yield Shelf(Records(names), embedder)
        finally:
            await handle.stop(10)


@asynccontextmanager
async def embedder(kind: str, cache: Path | None = None) -> AsyncIterator[Embedder]:
    """Give an embedder that has loaded, and keep what it made."""
    with tempfile.TemporaryDirectory() as folder:
        provider = await _provider(kind, Path(folder))
        await provider.start()
        await provider.wait_settled()
        models = Path(folder) if kind == PROVIDERS[0] else None
        found = Embedder(provider, cache, models=models)
        try:
            yield found
            found.keep()
        finally:
            await provider.close()


def plot(path: Path, figures: Mapping[str, Mapping[str, float]]) -> None:
    """Save a picture: a group of bars for each collection, a bar for each ranking."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - only where a picture is wanted

    known = {name: scores for name, scores in figures.items() if scores}
    drawing = Figure(figsize=(9, 4), layout="constrained")
    axes = drawing.subplots()
    rankings = list(next(iter(known.values()), {}))
    for number, ranking in enumerate(rankings):
        width = 0.8 / len(rankings)
        places = [group + number * width for group in range(len(known))]
        bars = axes.bar(places, [scores[ranking] for scores in known.values()], width)
        bars.set_label(ranking)
        axes.bar_label(bars, fmt="%.3f", fontsize=7)
    axes.set_xticks([group + 0.35 for group in range(len(known))], list(known))
    axes.set_ylabel("at 10: evidence recall (LoCoMo), nDCG (Cranfield)")
    axes.legend(fontsize=8)
    drawing.savefig(path)


async def _provider(kind: str, models: Path) -> Provider:
    """Return a provider that has not begun to load."""
    clock = SystemClock()
    settings = EmbeddingSettings(provider="hashing" if kind == "hashing" else PROVIDERS[1])
    if kind != "compiled":
        return make_provider(settings, clock)
    source = locate(MODEL)
    made = await compile_model(source, models, clock=clock)
    found = manifest.find_compiled(models, source.model_id)
    assert found is not None, "the model was compiled a moment ago"
    chosen = ChosenModel(made.model_id, PROVIDERS[1], MODEL, made.dimension)
    return make_provider(settings, clock, models=models, chosen=chosen)


async def _no_index(
    collections: Sequence[str], vector: Matrix, limit: int
) -> dict[str, list[tuple[str, float]]]:
    """Be an index that is away: collections of this size are compared as a whole anyway."""
    raise IndexDown(f"{collections} are not indexed: {limit} of {vector.size} numbers are compared")
