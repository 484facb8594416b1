"""A migrator on a real ledger, and a seat whose models the test brings along."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from cortex_actors.clock import SystemClock
from cortex_actors.embedding.factory import AbsentProvider, HashingProvider
from cortex_actors.embedding.migrator import Migrator
from cortex_actors.runtime.actor import start_actor
from cortex_actors.runtime.names import NamedActor
from cortex_actors.storage import embeddings, models, passages
from cortex_actors.storage.models import ChosenModel
from cortex_actors.testing import eventually
from tests.storage.support import opened, text_hash
from tests.storage.things import put_passages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from pathlib import Path

    from cortex_actors.embedding.factory import Info
    from cortex_actors.embedding.provider import Provider, Vectors
    from cortex_actors.storage.ledger.actor import Connection
    from tests.storage.support import Store


class Steered(HashingProvider):
    """A hashing provider of a few numbers that fails as the test says."""

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension)
        self.fails: list[Exception] = []
        self.poison: dict[str, Exception] = {}
        self.batches: list[int] = []
        self.closed = 0

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        """Return rows, unless something is to go wrong."""
        self.batches.append(len(texts))
        if self.fails:
            raise self.fails.pop(0)
        for text in texts:
            if text in self.poison:
                raise self.poison[text]
        return await super().embed(texts, urgent=urgent)

    async def close(self) -> None:
        self.closed += 1
        await super().close()


def chosen(dimension: int) -> ChosenModel:
    """Return the hashing model of so many numbers."""
    name = f"hashing-v1-{dimension}"
    return ChosenModel(name, "hashing", name, dimension)


async def no_time() -> None:
    """Wait for nothing."""


class Seat:
    """Who answers, without a daemon around it."""

    def __init__(self) -> None:
        self.provider: Provider = Steered(8)
        #: Models by name: what `make` and `make_candidate` give.
        self.known: dict[str, Provider] = {f"hashing-v1-{n}": Steered(n) for n in (8, 12, 16)}
        self.taken: list[str] = []
        self.settled: ChosenModel | None = None
        #: What compiling gives, or how it fails.
        self.form: ChosenModel | Exception | None = None
        self.compiles = 0
        #: What a compile waits for.
        self.compiling: Callable[[], Awaitable[object]] = no_time

    def make(self, chosen: ChosenModel | None) -> Provider:
        """Return the provider of a model."""
        assert chosen is not None
        missing = AbsentProvider(chosen.model_id, chosen.dimension, "it is not here")
        return self.known.get(chosen.model_id, missing)

    def make_candidate(self, name: str, kind: str | None = None) -> Provider:
        """Return the provider of a name."""
        del kind
        return self.known.get(name, AbsentProvider(name, 1, "it is not here"))

    def make_row(self, provider: Provider, name: str, kind: str | None = None) -> ChosenModel:
        """Return what the ledger is to keep."""
        return ChosenModel(provider.model_id, kind or "hashing", name, provider.dimension)

    def make_first(self) -> ChosenModel:
        """Return the first model."""
        provider = self.provider
        return ChosenModel(provider.model_id, "hashing", provider.model_id, provider.dimension)

    def settle(self, chosen: ChosenModel) -> None:
        """Note what the ledger says."""
        self.settled = chosen

    def explain_difference(self) -> str:
        """Return nothing."""
        return ""

    async def compile_model(
        self, model: ChosenModel, on_step: Callable[[str], None]
    ) -> ChosenModel:
        """Return the compiled form, or fail."""
        del model
        on_step("quantising")
        await self.compiling()
        self.compiles += 1
        if isinstance(self.form, Exception):
            raise self.form
        assert self.form is not None
        return self.form

    async def take(self, chosen: ChosenModel, provider: Provider) -> None:
        """Let another one answer."""
        self.taken.append(chosen.model_id)
        before, self.provider = self.provider, provider
        self.settled = chosen
        await before.close()


class Bench:
    """One ledger, and a migrator that can be ended and started again."""

    def __init__(self, store: Store, seat: Seat) -> None:
        self.store = store
        self.seat = seat
        self.clock = SystemClock()
        self.busy = False
        names = store.names
        self.describe = partial(NamedActor[Any]("migrator", names).ask, Migrator.describe)
        self.migrate = partial(NamedActor[Any]("migrator", names).ask, Migrator.migrate)
        self.cancel = partial(NamedActor[Any]("migrator", names).ask, Migrator.cancel)
        self.prepare = partial(NamedActor[Any]("migrator", names).ask, Migrator.prepare)

    async def says(self, *texts: str) -> None:
        """Let items be found by these texts, each item by its own."""

        def unit(connection: Connection) -> None:
            for text in texts:
                made = passages.make_passages(
                    text, collection="cortex_insights", item_id=f"i-{text}"
                )
                put_passages(connection, made)

        await self.store.write(unit)

    async def embeds(self, dimension: int, *texts: str) -> None:
        """Store a model's vectors."""
        rows = await HashingProvider(dimension).embed(texts)
        found = {text_hash(text): row for text, row in zip(texts, rows, strict=True)}
        unit = partial(embeddings.keep_vectors, model=f"hashing-v1-{dimension}", found=found)
        await self.store.write(unit)

    async def is_done(self, dimension: int) -> None:
        """Wait until the model of that dimension answers."""
        await eventually(lambda: f"hashing-v1-{dimension}" == self.seat.provider.model_id)
        found = await self.store.read(models.find_active)
        assert chosen(dimension) == found

    async def is_at(self, state: str, reason: str = "") -> Info:
        """Wait until the migrator is at something, for a reason that holds these words."""
        found: list[Info] = []

        async def there() -> bool:
            found.append(await self.describe())
            return state == found[-1].state and reason in found[-1].reason

        await eventually(there)
        return found[-1]

    @asynccontextmanager
    async def runs(self, *, compiles: bool = False) -> AsyncIterator[None]:
        """Run the migrator."""

        async def busy() -> bool:
            return self.busy

        make = partial(
            Migrator,
            self.store.records,
            self.seat,
            clock=self.clock,
            compiles=compiles,
            busy=busy,
        )
        handle = await start_actor(self.store.names, "migrator", make)
        try:
            yield
        finally:
            await handle.stop(5)


@asynccontextmanager
async def bench(folder: Path) -> AsyncIterator[Bench]:
    """Give a bench on a ledger in a folder."""
    async with opened(folder) as store:
        yield Bench(store, Seat())
