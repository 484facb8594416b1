"""The migrator: every text gets its vector of the other model, and only then that one answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.embedding.provider import ProviderState
from cortex_actors.errors import BadInput, EmbedderDown, ModelMissing, NotFound, Refused
from cortex_actors.storage import embeddings, memory_records, models
from cortex_actors.storage.embeddings import Progress
from cortex_actors.storage.memory import memory_states
from cortex_actors.storage.models import Retired
from cortex_actors.testing import EPOCH, eventually
from tests.embedding.migrating import Bench, Steered, bench, chosen
from tests.storage.support import text_hash
from tests.storage.things import memory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.storage.ledger.actor import Connection

#: More than two units.
MANY = tuple(f"text number {n}" for n in range(40))


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Bench]:
    """Give a ledger with some texts, for which the model of eight numbers answers."""
    async with bench(tmp_path) as found:
        await found.says(*MANY)
        await found.embeds(8, *MANY)
        await found.store.write(lambda c: models.settle(c, chosen(8), 1))
        yield found


def coming(home: Bench, dimension: int = 12) -> Steered:
    """Return the provider that a migration will have."""
    found = home.seat.known[f"hashing-v1-{dimension}"]
    assert isinstance(found, Steered)
    return found


class TestFirstStart:
    async def test_written_down(self, tmp_path: Path) -> None:
        """The model that answers in a home that has none is written down, and stays."""
        async with bench(tmp_path) as home, home.runs():
            await eventually(lambda: chosen(8) == home.seat.settled)
            assert chosen(8) == await home.store.read(models.find_active)
            assert "idle" == (await home.describe()).state

    async def test_missing(self, tmp_path: Path) -> None:
        """A model that is not on this machine is not written down: the settings may be mended."""
        async with bench(tmp_path) as home:
            home.seat.provider.state = ProviderState.MISSING
            async with home.runs():
                await home.is_at("idle")
                assert None is await home.store.read(models.find_active)

    async def test_ledger_decides(self, home: Bench) -> None:
        """A switch that nobody followed before the process ended is followed at the next start."""
        await home.embeds(12, *MANY)
        await home.store.write(lambda c: models.begin(c, chosen(12), 2))
        await home.store.write(lambda c: models.switch(c, "hashing-v1-12", but=(), at=3))
        async with home.runs():
            await home.is_done(12)

        assert ["hashing-v1-12"] == home.seat.taken


class TestMigration:
    async def test_everything(self, home: Bench) -> None:
        """Every text has its vector, bit for bit, before the other model answers."""
        async with home.runs():
            assert chosen(12) == await home.migrate("hashing-v1-12")
            await home.is_done(12)
            found = await home.store.read(
                lambda c: embeddings.load_vectors(c, "hashing-v1-12", [text_hash(t) for t in MANY])
            )
            expected = await Steered(12).embed(MANY)

        assert {text_hash(text): list(row) for text, row in zip(MANY, expected, strict=True)} == {
            digest: list(row) for digest, row in found.items()
        }
        assert max(coming(home).batches) <= 16

    async def test_handed_over(self, home: Bench) -> None:
        """The provider that embedded everything is the one that answers: nothing loads again."""
        async with home.runs():
            await home.migrate("hashing-v1-12")
            await home.is_done(12)
            await home.is_at("idle")

            assert coming(home) is home.seat.provider
            assert 0 == coming(home).closed

    @pytest.mark.slow
    async def test_new_texts(self, home: Bench) -> None:
        """What is said while it embeds is not missing at the switch."""
        provider = coming(home)
        embed = provider.embed

        async def while_it_embeds(texts: list[str], *, urgent: bool = False) -> object:
            if len(provider.batches) < 10:
                await home.says(f"new with batch {len(provider.batches)}")
            return await embed(texts, urgent=urgent)

        provider.embed = while_it_embeds  # type: ignore[method-assign,assignment]
        async with home.runs():
            await home.migrate("hashing-v1-12")
            await home.is_done(12)

        found = await home.store.read(lambda c: embeddings.count_progress(c, "hashing-v1-12"))
        assert found.total == found.done > len(MANY)

    async def test_inactive(self, home: Bench) -> None:
        """What an archived memory says gets its vector, too: it is found as of a date."""
        said = memory("long ago", id="a")
        await home.store.write(lambda c: memory_records.save(c, [said]))
        await home.store.write(lambda c: memory_states.archive(c, [said.id], EPOCH + 5))
        async with home.runs():
            await home.migrate("hashing-v1-12")
            await home.is_done(12)

        digest, model = text_hash(said.text), "hashing-v1-12"
        found = await home.store.read(lambda c: embeddings.load_vectors(c, model, [digest]))
        assert [digest] == list(found)

    async def test_poison(self, home: Bench) -> None:
        """A text that cannot be embedded is counted, and holds up neither others nor the switch."""
        coming(home).poison = {MANY[3]: BadInput("indigestible"), MANY[39]: BadInput("too hot")}
        async with home.runs():
            await home.migrate("hashing-v1-12")
            await home.is_done(12)

        found = await home.store.read(lambda c: embeddings.count_progress(c, "hashing-v1-12"))
        assert Progress(total=40, done=38) == found

    async def test_same_again(self, home: Bench) -> None:
        """Asked for the model that is coming already, it goes on; for another one, it refuses."""
        coming(home).fails = [EmbedderDown("away")] * 100
        async with home.runs():
            await home.migrate("hashing-v1-12")
            assert chosen(12) == await home.migrate("hashing-v1-12")
            with pytest.raises(Refused, match="migration to hashing-v1-12 runs"):
                await home.migrate("hashing-v1-16")

    async def test_unknown(self, home: Bench) -> None:
        """A model that is not there is refused with the mend, and nothing begins."""
        async with home.runs():
            with pytest.raises(ModelMissing, match="cannot migrate to nonesuch: .* give the path"):
                await home.migrate("nonesuch")
            with pytest.raises(Refused, match="it is the model that answers now"):
                await home.migrate("hashing-v1-8")

            assert None is await home.store.read(models.find_coming)

    async def test_makes_way(self, home: Bench) -> None:
        """While the pool has texts in hand it rests, and goes on afterwards."""
        home.busy = True
        async with home.runs():
            await home.migrate("hashing-v1-12")
            await eventually(lambda: 1 == len(coming(home).batches))
            home.busy = False
            await home.is_done(12)

        assert [16, 16, 8] == coming(home).batches


class TestTrouble:
    @pytest.mark.slow
    async def test_away(self, home: Bench) -> None:
        """A provider that is away makes it wait, with the reason, and it goes on by itself."""
        coming(home).fails = [EmbedderDown("nobody at home")]
        await home.store.write(lambda c: models.begin(c, chosen(12), 2))
        async with home.runs():
            info = await home.is_at("waiting", "nobody at home; next attempt within 1 s")
            await home.is_done(12)

        assert chosen(12) == info.coming

    async def test_fault(self, home: Bench) -> None:
        """A fault of the program is logged and tried again, and ends nobody."""
        coming(home).fails = [ZeroDivisionError("a bug")]
        await home.store.write(lambda c: models.begin(c, chosen(12), 2))
        async with home.runs():
            await home.is_at("waiting", "it failed inside: ZeroDivisionError('a bug')")
            await home.prepare()
            await home.is_done(12)

    async def test_gone(self, home: Bench) -> None:
        """A model that is no longer on the machine makes it wait until it is back."""
        provider = home.seat.known.pop("hashing-v1-12")
        await home.store.write(lambda c: models.begin(c, chosen(12), 2))
        async with home.runs():
            await home.is_at("waiting", "it is not here")
            home.seat.known["hashing-v1-12"] = provider
            await home.prepare()
            await home.is_done(12)

    async def test_resumes(self, home: Bench) -> None:
        """Ended in the middle and begun again, it makes no vector twice."""
        coming(home).fails = []
        home.busy = True
        async with home.runs():
            await home.migrate("hashing-v1-12")
            await eventually(lambda: 1 == len(coming(home).batches))
        assert 1 == coming(home).closed
        home.busy = False
        async with home.runs():
            await home.is_done(12)

        assert len(MANY) == sum(coming(home).batches)


class TestEnd:
    @pytest.mark.slow
    async def test_cancel(self, home: Bench) -> None:
        """Called off, it leaves the model before; begun again, it goes on from where it was."""
        home.busy = True
        async with home.runs():
            await home.migrate("hashing-v1-12")
            await eventually(lambda: 1 == len(coming(home).batches))
            assert chosen(12) == await home.cancel()
            await home.is_at("idle")
            assert chosen(8) == await home.store.read(models.find_active)
            with pytest.raises(NotFound, match="no migration runs"):
                await home.cancel()
            kept = await home.store.read(lambda c: embeddings.count_progress(c, "hashing-v1-12"))
            home.busy = False
            before = len(coming(home).batches)
            await home.migrate("hashing-v1-12")
            await home.is_done(12)

        assert kept.done >= 16
        assert len(MANY) == kept.done + sum(coming(home).batches[before:])

    @pytest.mark.slow
    async def test_week(self, home: Bench) -> None:
        """A model that was replaced over a week ago is forgotten; a later one is kept."""
        now = home.clock.now()
        await home.embeds(12, *MANY)
        await home.embeds(16, *MANY)

        def unit(connection: Connection) -> None:
            for dimension, days in ((12, 8), (16, 6)):
                models.begin(connection, chosen(dimension), now)
                models.cancel(connection, now - days * 86_400 * 1_000_000)

        await home.store.write(unit)
        kept = Retired("hashing-v1-16", now - 6 * 86_400 * 1_000_000)

        async def forgotten() -> bool:
            return [kept] == await home.store.read(models.list_retired)

        async with home.runs():
            await eventually(forgotten)
        assert Progress(40, 0) == await home.store.read(
            lambda c: embeddings.count_progress(c, "hashing-v1-12")
        )
