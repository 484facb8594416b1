from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cortex_actors.embedding.pool import Pool
from cortex_actors.embedding.provider import ProviderState, collect_rows
from cortex_actors.errors import BadInput, EmbedderDown, ModelMissing
from cortex_actors.runtime.actor import start_actor
from tests.embedding.asking import Asker
from tests.embedding.endpoint import FakeEndpoint, good, provided, recovered, units
from tests.endpoint.server import Reply, document, error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from cortex_actors.embedding.openai import OpenAIProvider
    from cortex_actors.runtime.names import Names
    from tests.embedding.support import ManualClock

    Items = list[dict[str, Any]]


@pytest.fixture
async def provider(endpoint: FakeEndpoint, clock: ManualClock) -> AsyncIterator[OpenAIProvider]:
    """Give a provider that is ready."""
    async with provided(endpoint, clock) as found:
        await found.wait_settled()
        yield found


def spoilt(change: Callable[[Items], object]) -> Reply:
    """Return a good answer for the texts `a` and `b` whose items were changed."""
    items: Items = json.loads(good(["a", "b"]).body)["data"]
    change(items)
    return document({"data": items})


def row(*numbers: object) -> Callable[[Items], object]:
    """Return a change of the vector of `a`."""
    return lambda items: items[1].update(embedding=list(numbers))


class TestUnusable:
    """Answers of which no row can be believed."""

    @pytest.mark.parametrize(
        ("reply", "reason"),
        [
            (spoilt(lambda items: items.pop()), "1 vectors"),
            (spoilt(lambda items: items.append(items[0])), "3 vectors"),
            (spoilt(lambda items: items[0].pop("index")), "which vector is whose"),
            (spoilt(lambda items: items[0].update(index=0)), "which vector is whose"),
            (spoilt(lambda items: items[0].update(index=2)), "which vector is whose"),
            (spoilt(lambda items: items[0].update(index=True)), "which vector is whose"),
            (spoilt(lambda items: items[0].update(index="1")), "which vector is whose"),
            (spoilt(lambda items: items[0].update(embedding="AACAPw==")), "whose"),
            (spoilt(lambda items: items.__setitem__(0, {})), "which vector is whose"),
            (spoilt(row(1, 2)), "equally many numbers"),
            (spoilt(row("x", 1, 1, 1)), "equally many numbers"),
            (spoilt(row([1], 1, 1, 1)), "equally many numbers"),
            (spoilt(row(10**400, 1, 1, 1)), "equally many numbers"),
            (spoilt(lambda items: [each.update(embedding=[]) for each in items]), "equally many"),
            (document({"data": {}}), "no list of vectors"),
            (document({}), "no list of vectors"),
            (document({"error": "model is loading"}), r"an error \(model is loading\)"),
            (document([]), "something else than a JSON object"),
            (Reply(200, b"[" * 100_000), "something else than a JSON object"),
            (Reply(200, b'{"data": [', {"Content-Type": "application/json"}), "JSON object"),
            (Reply(200, b"<html>Log in</html>", {"Content-Type": "text/html"}), "text/html.*proxy"),
            (Reply(200, b"\xff\xfe"), "something else than a JSON object"),
            (Reply(200, b""), "no type, 0 bytes"),
            (Reply(200, b" " * 600_000), "more than 465536 bytes"),
        ],
    )
    async def test_refused(
        self, provider: OpenAIProvider, endpoint: FakeEndpoint, reply: Reply, reason: str
    ) -> None:
        """It is the endpoint's fault and not the texts', says what is wrong, and is not used."""
        endpoint.script.append(reply)
        with pytest.raises(EmbedderDown, match=reason) as caught:
            await provider.embed(["a", "b"])

        assert EmbedderDown is caught.type
        assert np.allclose(units(["a", "b"]), await provider.embed(["a", "b"]))


class TestNoVector:
    """Rows without a direction, in an answer that is right otherwise."""

    @pytest.mark.parametrize(
        "numbers",
        [
            (float("nan"), 1, 1, 1),
            (float("inf"), 1, 1, 1),
            (None, 1, 1, 1),
            (0, 0, 0, 0),
            (1e300, 1, 1, 1),
            (1e-300, 0, 0, 0),
        ],
        ids=["nan", "infinity", "null", "zero", "overflow", "underflow"],
    )
    async def test_texts_fault(
        self, provider: OpenAIProvider, endpoint: FakeEndpoint, numbers: tuple[object, ...]
    ) -> None:
        """Such a row is its text's fault, so that the pool finds out which text it is."""
        endpoint.script.append(spoilt(row(*numbers)))
        with pytest.raises(BadInput, match="the first is number 1"):
            await provider.embed(["a", "b"])


class TestDimension:
    async def test_changed(
        self, provider: OpenAIProvider, endpoint: FakeEndpoint, clock: ManualClock
    ) -> None:
        """Vectors of another length are another model's: nothing is mixed until it is mended."""
        endpoint.rule = partial(good, dimension=8)
        with pytest.raises(ModelMissing, match=r"8 numbers now where 4 .*model migrate --to"):
            await provider.embed(["a"])
        assert ProviderState.MISSING is provider.state

        endpoint.rule = good
        await clock.next_alarm()
        await clock.advance(60.0)
        await recovered(provider)
        assert (1, 4) == (await provider.embed(["a"])).shape

    async def test_ledgers(self, endpoint: FakeEndpoint, clock: ManualClock) -> None:
        """Where the length of the vectors there are is known, another one is refused at once."""
        async with provided(endpoint, clock, expected=8, dimension=4) as provider:
            assert ProviderState.MISSING is await provider.wait_settled()
            assert 8 == provider.dimension
            assert "4 numbers now where 8" in provider.reason

    async def test_settings(self, endpoint: FakeEndpoint, clock: ManualClock) -> None:
        """So is it where the settings say the length."""
        async with provided(endpoint, clock, dimension=8) as provider:
            assert ProviderState.MISSING is await provider.wait_settled()
            assert "4 numbers now where 8" in provider.reason


class TestRefusedTexts:
    @pytest.mark.parametrize("status", [400, 413, 422])
    async def test_one(self, provider: OpenAIProvider, endpoint: FakeEndpoint, status: int) -> None:
        """A text that the endpoint refuses, in its own words, is that text's fault."""
        endpoint.script.append(error(status, "input is too long"))
        with pytest.raises(BadInput, match=rf"{status} \(input is too long\)"):
            await provider.embed(["a"])
        assert ProviderState.READY is provider.state

    async def test_found(
        self, names: Names, provider: OpenAIProvider, endpoint: FakeEndpoint, clock: ManualClock
    ) -> None:
        """The pool finds the one text that an endpoint refuses, and the others get their rows."""
        texts = ["x" * n for n in range(1, 21)]
        endpoint.rule = lambda given: error(400, "too long") if texts[6] in given else good(given)
        handle = await start_actor(
            names, "pool", partial(Pool, provider, clock, items=20, seconds=0.5, limit=100)
        )
        outcomes = await Asker(names, handle).outcomes(texts)
        await handle.stop(5.0)

        assert [6] == [i for i, each in enumerate(outcomes) if isinstance(each, BadInput)]
        assert np.allclose(units(texts)[7:], collect_rows(texts[7:], outcomes[7:]))

    async def test_everything(
        self, names: Names, provider: OpenAIProvider, endpoint: FakeEndpoint, clock: ManualClock
    ) -> None:
        """An endpoint that refuses every text is in trouble itself: no text is blamed for it."""
        endpoint.rule = lambda _: error(400, "bad model")
        handle = await start_actor(
            names, "pool", partial(Pool, provider, clock, items=4, seconds=0.5, limit=100)
        )
        outcomes = await Asker(names, handle).outcomes(list("abcd"))
        state, reason = provider.state, provider.reason
        await handle.stop(5.0)

        assert [ModelMissing] * 4 == [type(each) for each in outcomes]
        assert ProviderState.MISSING is state
        assert "bad model" in reason
