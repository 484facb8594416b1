from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.embedding.provider import collect_rows
from cortex_actors.errors import BadInput, EmbedderDown, Unembeddable
from tests.embedding.asking import Asker, expected
from tests.embedding.support import fails_with_down

if TYPE_CHECKING:
    from tests.embedding.support import StagedProvider

TWENTY = [f"rule {i}" for i in range(20)]


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
        assert np.array_equal(await expected("a", "b"), collect_rows("ab", outcomes[:2]))
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
