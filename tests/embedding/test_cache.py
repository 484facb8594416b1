from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cortex_actors.embedding.cache import Cache, EmbedderInfo
from cortex_actors.embedding.factory import HashingProvider
from cortex_actors.embedding.pool import Pool
from cortex_actors.embedding.provider import ProviderState, hash_text
from cortex_actors.errors import (
    BadInput,
    EmbedderDown,
    EmbedderLoading,
    LedgerDown,
    ModelChanged,
    Unembeddable,
)
from cortex_actors.runtime.actor import start_actor
from cortex_actors.runtime.names import NamedActor
from tests.embedding.support import StagedProvider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence

    from cortex_actors.embedding.provider import Row, Vectors
    from cortex_actors.runtime.names import Names
    from tests.embedding.support import ManualClock


class Stored:
    """The ledger's vectors, as far as the cache knows it."""

    def __init__(self) -> None:
        self.rows: dict[bytes, Row] = {}
        self.asked: list[tuple[str, list[bytes]]] = []
        self.error: LedgerDown | None = None

    async def look_up(self, model: str, keys: Sequence[bytes]) -> dict[bytes, Row]:
        """Return those that are stored, and more than was asked for."""
        self.asked.append((model, list(keys)))
        if self.error is not None:
            raise self.error
        return dict(self.rows)


class Asker:
    """Asks the cache by its name, as the rest of the system does."""

    def __init__(self, names: Names) -> None:
        self.embed: Callable[..., Coroutine[Any, Any, Vectors]] = partial(
            NamedActor[Any]("cache", names).ask, Cache.embed
        )
        self.describe: Callable[[], Awaitable[EmbedderInfo]] = partial(
            NamedActor[Any]("cache", names).ask, Cache.describe
        )


@pytest.fixture
def stored() -> Stored:
    """Give a ledger without vectors."""
    return Stored()


@pytest.fixture
async def cache(
    names: Names, provider: StagedProvider, clock: ManualClock, stored: Stored
) -> AsyncIterator[Asker]:
    """Give a running cache of three vectors before a running pool that never gathers."""
    make_cache = partial(
        Cache,
        provider,
        entries=3,
        stored=stored.look_up,
        embed=partial(NamedActor[Any]("pool", names).ask, Pool.embed),
    )
    make_pool = partial(Pool, provider, clock, items=20, seconds=0.0, limit=100)
    handles = [
        await start_actor(names, "cache", make_cache),
        await start_actor(names, "pool", make_pool),
    ]
    yield Asker(names)
    for handle in handles:
        handle.kill()
        await handle.exited()


class TestHits:
    async def test_second_time(self, cache: Asker, provider: StagedProvider) -> None:
        """A text is embedded once, and gets the same vector again."""
        first, second = await cache.embed(["a"]), await cache.embed(["a"])

        assert np.array_equal(first, second)
        assert [["a"]] == provider.calls

    async def test_mixed(self, cache: Asker, provider: StagedProvider) -> None:
        """Only what is not known is embedded; rows come in the order asked for."""
        await cache.embed(["b"])
        rows = await cache.embed(["a", "b", "c", "a"])

        assert np.array_equal(await HashingProvider().embed(["a", "b", "c", "a"]), rows)
        assert [["b"], ["a", "c"]] == provider.calls

    async def test_own_copy(self, cache: Asker) -> None:
        """A caller may change its rows; the cache keeps its own."""
        rows = await cache.embed(["a"])
        rows[:] = 0.0

        assert np.linalg.norm(await cache.embed(["a"])) > 0.99

    async def test_no_texts(self, cache: Asker) -> None:
        """Nothing asked is answered with no rows of the right width."""
        assert (0, 384) == (await cache.embed([])).shape

    async def test_forgets(self, cache: Asker, provider: StagedProvider) -> None:
        """The text unused for longest is forgotten, whatever came first."""
        for text in "abcad":
            await cache.embed([text])
        await cache.embed(["a"])
        await cache.embed(["b"])

        assert ["a", "b", "c", "d", "b"] == [text for call in provider.calls for text in call]

    async def test_more_than_it_holds(self, cache: Asker) -> None:
        """A request larger than the whole cache is answered in full."""
        texts = list("abcdefgh")

        assert np.array_equal(await HashingProvider().embed(texts), await cache.embed(texts))

    async def test_other_model(self, cache: Asker, provider: StagedProvider) -> None:
        """A vector of another model is never served."""
        await cache.embed(["a"])
        provider.model_id = "another"
        await cache.embed(["a"])

        assert [["a"], ["a"]] == provider.calls


class TestLedger:
    async def test_stored(self, cache: Asker, stored: Stored, provider: StagedProvider) -> None:
        """A stored vector is used without the model, and looked up once."""
        stored.rows = {hash_text("a"): (await HashingProvider().embed(["a"]))[0]}
        first, second = await cache.embed(["a"]), await cache.embed(["a"])

        assert np.array_equal(first, second)
        assert [(provider.model_id, [hash_text("a")])] == stored.asked
        assert [] == provider.calls

    async def test_while_loading(
        self, cache: Asker, stored: Stored, provider: StagedProvider
    ) -> None:
        """Known texts are answered while the model is loading; unknown ones say so."""
        stored.rows = {hash_text("a"): (await HashingProvider().embed(["a"]))[0]}
        provider.become(ProviderState.LOADING)

        assert (1, 384) == (await cache.embed(["a"])).shape
        with pytest.raises(EmbedderLoading):
            await cache.embed(["b"])

    async def test_away(self, cache: Asker, stored: Stored) -> None:
        """A ledger that cannot be asked costs time and no answer."""
        stored.error = LedgerDown("closed for repair")

        assert (1, 384) == (await cache.embed(["a"])).shape
        assert 1 == (await cache.describe()).unread

    @pytest.mark.parametrize(
        "row",
        [
            np.eye(7)[0],
            np.full(384, np.nan),
            np.full(384, np.inf),
            np.eye(384)[:1],
            np.ones(384),
            np.zeros(384),
            np.full(384, 1e38),
        ],
        ids=["dimension", "nan", "infinity", "shape", "long", "zero", "overflow"],
    )
    async def test_damaged(
        self, cache: Asker, stored: Stored, provider: StagedProvider, row: Row
    ) -> None:
        """A stored row that is no unit vector of this model is made again, and counted."""
        stored.rows = {hash_text("a"): row.astype(np.float32)}

        assert np.array_equal(await HashingProvider().embed(["a"]), await cache.embed(["a"]))
        assert [["a"]] == provider.calls
        assert 1 == (await cache.describe()).damaged

    async def test_rounded(self, cache: Asker, stored: Stored, provider: StagedProvider) -> None:
        """A stored row whose length is off by rounding only is used as it is."""
        stored.rows = {hash_text("a"): (np.eye(384)[0] * (1 + 1e-6)).astype(np.float32)}

        assert np.array_equal([stored.rows[hash_text("a")]], await cache.embed(["a"]))
        assert [] == provider.calls


class TestOtherModel:
    async def test_refused(self, cache: Asker, provider: StagedProvider) -> None:
        """Who means another model is told so, before anything is looked up or made."""
        with pytest.raises(ModelChanged, match="never compared"):
            await cache.embed(["a"], model="another")

        assert [] == provider.calls

    async def test_the_same(self, cache: Asker, provider: StagedProvider) -> None:
        """Who means the model that answers gets its rows."""
        assert (1, 384) == (await cache.embed(["a"], model=provider.model_id)).shape

    async def test_pool_is_ahead(self, names: Names, clock: ManualClock, stored: Stored) -> None:
        """A pool that has the next model already gives no row to a cache of the model before."""
        before, after = StagedProvider(), StagedProvider()
        after.model_id = "the next one"
        embed = partial(NamedActor[Any]("pool", names).ask, Pool.embed)
        cache = partial(Cache, before, entries=3, stored=stored.look_up, embed=embed)
        pool = partial(Pool, after, clock, items=20, seconds=0.0, limit=100)
        handles = [
            await start_actor(names, "cache", cache),
            await start_actor(names, "pool", pool),
        ]
        with pytest.raises(ModelChanged, match="now"):
            await Asker(names).embed(["a"], model=before.model_id)
        for handle in handles:
            handle.kill()
            await handle.exited()

        assert [] == after.calls

    async def test_is_embedder_down(self) -> None:
        """A change of the model is a case of an embedder that cannot answer now."""
        assert issubclass(ModelChanged, EmbedderDown)


class TestPartly:
    async def test_refused_text(self, cache: Asker, provider: StagedProvider) -> None:
        """What was made beside a refused text is kept: asking for the rest costs nothing."""
        provider.poison = {"b"}
        with pytest.raises(Unembeddable, match="text 2 of 3") as caught:
            await cache.embed(["a", "b", "c"])
        before = len(provider.calls)

        assert (1,) == caught.value.numbers
        assert (2, 384) == (await cache.embed(["a", "c"])).shape
        assert before == len(provider.calls)

    async def test_numbers(self, cache: Asker, provider: StagedProvider) -> None:
        """The numbers are those of the whole request, whatever of it was known before."""
        provider.poison = {"b"}
        await cache.embed(["a"])
        with pytest.raises(Unembeddable) as caught:
            await cache.embed(["a", "b", "a", "b"])

        assert (1, 3) == caught.value.numbers


class TestAsks:
    async def test_urgent(self, cache: Asker, provider: StagedProvider) -> None:
        """Urgency and patience go through to the pool."""
        provider.become(ProviderState.LOADING)
        asked = asyncio.create_task(cache.embed(["a"], urgent=True, patience=9.0))
        done, _ = await asyncio.wait([asked], timeout=0)
        provider.become(ProviderState.READY)

        assert set() == done
        assert (1, 384) == (await asked).shape

    async def test_refused(self, cache: Asker, stored: Stored) -> None:
        """What no model could read costs no look-up."""
        with pytest.raises(BadInput):
            await cache.embed(["\ud800"])
        assert [] == stored.asked


class TestDescribe:
    async def test_counters(self, cache: Asker, stored: Stored, provider: StagedProvider) -> None:
        """The description says what embeds and where vectors came from."""
        stored.rows = {hash_text("s"): (await HashingProvider().embed(["s"]))[0]}
        await cache.embed(["s", "a"])
        await cache.embed(["s", "a"])
        info = await cache.describe()

        assert (provider.model_id, 384, ProviderState.READY) == (
            info.model_id,
            info.dimension,
            info.state,
        )
        assert (2, 1, 1, 2) == (info.hits, info.found, info.embedded, info.entries)
        assert (0.5, 2 * 384 * 4) == (info.hit_rate, info.bytes)
        assert {"restarts": 0} == info.provider
