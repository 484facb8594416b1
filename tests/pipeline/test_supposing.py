"""What would come of an insight if it were promoted now."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.domain.principle import LinkType, Origin
from cortex_actors.pipeline.organiser import Organiser, Would
from cortex_actors.runtime.names import NamedActor
from cortex_actors.storage.pipeline import insight_lists, principle_decay, principles
from tests.pipeline.distilling import Guild
from tests.pipeline.histories import ids
from tests.storage.promoted import make_principle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.pipeline.organiser import Supposed
    from tests.pipeline.support import Office

UTC = "Write all times in UTC."
NEAR = "Write each of the times in UTC."
NEVER = "Never write times in UTC."
LOGS = "Log in JSON."

#: Three ways to say nearly the same, which the rules do not take for one claim.
SIZES = (
    "Keep pull requests small.",
    "Split large changes into pieces.",
    "One change should do one thing.",
)


@pytest.fixture
async def guild(office: Office, tmp_path: Path) -> AsyncIterator[Guild]:
    """Give three projects and an organiser at work."""
    found = Guild(office, tmp_path)
    found.plant(UTC, cosine=1.0, around=0)
    found.plant(NEAR, cosine=0.95, around=0)
    found.plant(NEVER, cosine=0.94, around=0)
    found.plant(LOGS, cosine=1.0, around=1)
    await found.open()
    yield found
    found.world.close()


async def _suppose(guild: Guild, text: str) -> Supposed:
    """Return what would come of a text, and hold that asking changes nothing."""
    before = await guild.state()
    found = await NamedActor[Any]("organiser", guild.office.names).ask(
        Organiser.suppose, ids(text)[0]
    )
    assert before == await guild.state()
    return found


class TestPromote:
    async def test_as_it_becomes(self, guild: Guild) -> None:
        """The principle that is foretold is the one that is made, with its rank and its links."""
        await guild.say(LOGS, UTC)
        await guild.reconcile()
        await guild.say(LOGS, UTC, NEVER, by=[2], name="AGENTS.md")
        await guild.world.reconcile(weigh=True)
        found = await _suppose(guild, NEVER)
        assert (Would.PROMOTE, None, True) == (found.would, found.same_as, found.is_compared)
        assert [LinkType.CONTRADICTS] == [each.type for each in found.links]

        await guild.say(NEVER, by=[0, 1], name="GEMINI.md")
        await guild.say(by=[0, 1])
        await guild.say(by=[2], name="AGENTS.md")
        await guild.world.reconcile(weigh=True)
        found = await _suppose(guild, NEVER)
        await guild.everything()
        made = (await guild.principles())[NEVER]
        assert found.principle is not None
        assert found.evidence is not None
        assert replace(made, created_at=0, rank=0) == replace(found.principle, created_at=0, rank=0)
        now = guild.office.clock.now()
        counted = await guild.office.read(lambda c: principle_decay.load_evidence(c, [made.id]))
        drawn = await guild.office.read(lambda c: principles.load_links(c, [made.id]))
        assert counted[made.id] == found.evidence
        assert made.rank == pytest.approx(found.evidence.rank(now, principle_decay.DecayScales()))
        assert tuple(drawn.get(made.id, ())) == found.links

    async def test_without_a_vector(self, guild: Guild) -> None:
        """What has no vector yet is a principle as far as its words tell, and that is said."""
        await guild.world.write(guild.projects[0], "CLAUDE.md", [UTC], embedded=False)
        found = await _suppose(guild, UTC)

        assert (Would.PROMOTE, False) == (found.would, found.is_compared)


class TestPartOf:
    async def test_already(self, guild: Guild) -> None:
        """What is a principle is part of it already, and so is what says the same."""
        await guild.say(UTC)
        await guild.reconcile()
        await guild.say(NEAR, by=[2])
        await guild.reconcile()
        for text in (UTC, NEAR):
            found = await _suppose(guild, text)
            assert Would.ALREADY == found.would
            assert found.same_as is not None
            assert (UTC, ids(UTC)[0]) == (found.same_as.content, found.lead)

    async def test_alike(self, guild: Guild) -> None:
        """What is near would only add to the principle, unless it says the opposite."""
        await guild.say(UTC)
        await guild.reconcile()
        await guild.say(NEAR, NEVER, by=[2])
        found = await _suppose(guild, NEAR)

        assert Would.PROMOTE == (await _suppose(guild, NEVER)).would
        assert (Would.ALIKE, UTC) == (found.would, found.same_as and found.same_as.content)
        assert 0.95 == pytest.approx(found.cosine, abs=1e-6)
        assert (False, set(ids(UTC, NEAR))) == (found.replaces, set(found.members))
        assert () == found.links

    async def test_takes_the_place(self, guild: Guild) -> None:
        """What more projects say than the principle that says the same takes its place."""
        await guild.say(UTC)
        await guild.reconcile()
        await guild.say(UTC, NEAR)
        await guild.say(NEAR, by=[2])
        found = await _suppose(guild, NEAR)
        await guild.name(*ids(NEAR))

        assert (Would.ALIKE, True) == (found.would, found.replaces)
        assert [NEAR] == list(await guild.principles())

    async def test_word_for_word(self, guild: Guild) -> None:
        """What a principle says word for word, made of other texts, would only add to it."""
        await guild.say(UTC)
        await guild.reconcile()
        made = (await guild.principles())[UTC]
        await guild.say(LOGS, by=[2])
        same = make_principle(
            (await guild.office.read(lambda c: insight_lists.load_insights(c, ids(LOGS))))[
                ids(LOGS)[0]
            ],
            0,
        )
        written = replace(same, origin=Origin.SYNTHESIS)
        await guild.office.write(lambda c: principles.add(c, [written]))
        found = await _suppose(guild, LOGS)

        assert made.id != same.id
        assert (Would.EXACT, same.id) == (found.would, found.same_as and found.same_as.id)


class TestTogether:
    async def test_cluster(self, guild: Guild) -> None:
        """What a cluster has earned together is said of one of it that has not earned it alone."""
        guild.plant(*SIZES, cosine=0.9, around=2)
        for number, text in enumerate(SIZES):
            await guild.say(text, by=[number])
        await guild.world.reconcile(weigh=True)
        for text in SIZES:
            assert set(ids(*SIZES)) == set((await _suppose(guild, text)).together)
        assert () == (await _suppose_alone(guild)).together


async def _suppose_alone(guild: Guild) -> Supposed:
    """Return what would come of a text that is in no cluster."""
    await guild.say(LOGS, by=[2])
    return await _suppose(guild, LOGS)


class TestNothing:
    async def test_gone(self, guild: Guild) -> None:
        """Of what no file says any more nothing would come."""
        await guild.say(UTC)
        await guild.say(by=[0, 1])
        found = await _suppose(guild, UTC)

        assert (Would.NOTHING, None) == (found.would, found.principle)
