from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.embedding.pool import ENTRIES, FIRST, LONGEST, Poison
from cortex_actors.embedding.provider import rows_of
from cortex_actors.errors import BadInput, EmbedderDown, Unembeddable
from tests.embedding.asking import Asker, expected
from tests.embedding.support import fails_with_down

if TYPE_CHECKING:
    from tests.embedding.support import ManualClock, StagedProvider

TWENTY = [f"rule {i}" for i in range(20)]

REFUSED = BadInput("indigestible")


class TestIsolation:
    async def test_alone(self, pool: Asker, provider: StagedProvider) -> None:
        """Only the caller of a refused text fails; its nineteen neighbours get their vectors."""
        provider.poison = {"poison"}
        good, bad = pool.later(*TWENTY[:19]), pool.later("poison")

        assert np.array_equal(await expected(*TWENTY[:19]), await good)
        with pytest.raises(BadInput, match=r"text 1 of 1 \(6 characters\).*indigestible"):
            await bad

    async def test_attempts(self, pool: Asker, provider: StagedProvider) -> None:
        """One poison among twenty is found in eleven requests: two for each halving."""
        provider.poison = {TWENTY[13]}
        with pytest.raises(Unembeddable):
            await pool.embed(TWENTY)

        assert len(provider.calls) <= 11

    async def test_named(self, pool: Asker, provider: StagedProvider) -> None:
        """The error names every refused text of a request, and the others have their rows."""
        provider.poison = {"c", "d"}
        with pytest.raises(Unembeddable, match=r"text 3 of 4 .*and 1 more") as caught:
            await pool.embed(list("abcd"), urgent=True)
        outcomes = await pool.outcomes(list("abcd"), urgent=True)

        assert (2, 3) == caught.value.numbers
        assert np.array_equal(await expected("a", "b"), rows_of("ab", outcomes[:2]))
        assert [BadInput, BadInput] == [type(each) for each in outcomes[2:]]

    async def test_other_trouble(self, pool: Asker, provider: StagedProvider) -> None:
        """When the model is in trouble, too, the request says so: asking again may help."""
        provider.poison = {"poison"}
        with pytest.raises(Unembeddable):
            await pool.embed(["poison"], urgent=True)
        provider.fails = fails_with_down()

        with pytest.raises(EmbedderDown, match="the process died"):
            await pool.embed(["poison", "good"], urgent=True)

    async def test_at_the_door(self, pool: Asker, provider: StagedProvider) -> None:
        """What no model could read never reaches the model."""
        with pytest.raises(BadInput):
            await pool.embed(["\ud800"], urgent=True)
        assert [] == provider.calls


class TestRemembered:
    async def test_not_again(self, pool: Asker, provider: StagedProvider) -> None:
        """A refused text does not fail its batch again: it is refused without another try."""
        provider.poison = {"poison"}
        for _ in range(3):
            with pytest.raises(Unembeddable, match="indigestible"):
                await pool.embed(["poison"], urgent=True)
        info = await pool.describe()

        assert [["poison"]] == provider.calls
        assert (1, 2, 1) == (info.failed, info.spared, info.poison)

    async def test_tried_again(
        self, pool: Asker, provider: StagedProvider, clock: ManualClock
    ) -> None:
        """After a while it gets another chance, and is forgiven when that goes well."""
        provider.poison = {"poison"}
        with pytest.raises(Unembeddable):
            await pool.embed(["poison"], urgent=True)
        provider.poison.clear()
        await clock.advance(FIRST)

        assert np.array_equal(await expected("poison"), await pool.embed(["poison"], urgent=True))
        assert 0 == (await pool.describe()).poison


class TestTable:
    def test_doubles(self) -> None:
        """Each further refusal doubles the pause, up to an hour."""
        poison, at, pauses = Poison(), 0.0, []
        for _ in range(10):
            poison.remember("x", REFUSED, at)
            pauses.append(_pause(poison, at))
            at += pauses[-1]

        assert [30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600, LONGEST] == pauses

    def test_limited(self) -> None:
        """It never remembers more than its limit, and forgets the oldest."""
        poison = Poison()
        for number in range(ENTRIES + 1):
            poison.remember(str(number), REFUSED, 0.0)

        assert ENTRIES == len(poison)
        assert poison.refused("0", 0.0) is None
        assert REFUSED is poison.refused("1", 0.0)


def _pause(poison: Poison, at: float) -> float:
    """Return the seconds after which a text is tried again."""
    return next(
        float(seconds) for seconds in range(1, 4_000) if poison.refused("x", at + seconds) is None
    )
