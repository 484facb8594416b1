from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.embedding.openai import BULK, PROBE, OpenAIProvider
from cortex_actors.embedding.provider import ProviderState
from cortex_actors.errors import BadInput, EmbedderDown, EmbedderLoading
from cortex_actors.sections import EmbeddingSettings
from tests.embedding.endpoint import FakeEndpoint, good, provided, units
from tests.embedding.support import is_provider
from tests.endpoint.server import Reply, document, error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.embedding.support import ManualClock

#: A key that must be seen nowhere.
KEY = "sk-very-secret-0123456789"


@pytest.fixture
async def provider(endpoint: FakeEndpoint, clock: ManualClock) -> AsyncIterator[OpenAIProvider]:
    """Give a provider that is ready."""
    async with provided(endpoint, clock) as found:
        assert ProviderState.READY is await found.wait_settled()
        yield found


class TestEmbed:
    async def test_rows(self, provider: OpenAIProvider, endpoint: FakeEndpoint) -> None:
        """Texts come back as unit rows in their order, however the endpoint orders its answer."""
        texts = ["a", "bb", "ccc"]

        assert np.allclose(units(texts), await is_provider(provider).embed(texts))
        assert {"model": "m", "input": texts, "encoding_format": "float"} == (
            endpoint.requests[-1].body
        )
        assert "POST /v1/embeddings HTTP/1.1" == endpoint.requests[-1].line

    async def test_no_texts(self, provider: OpenAIProvider, endpoint: FakeEndpoint) -> None:
        """Nothing asked is answered with no rows of the right width, and without a request."""
        assert (0, 4) == (await provider.embed([])).shape
        assert 1 == len(endpoint.requests)

    async def test_connection(self, provider: OpenAIProvider, endpoint: FakeEndpoint) -> None:
        """Requests one after another share a connection."""
        for text in "abc":
            await provider.embed([text])

        assert (4, 1) == (len(endpoint.requests), endpoint.connections)

    async def test_many(self, provider: OpenAIProvider, endpoint: FakeEndpoint) -> None:
        """More texts than any server takes at once go in several requests."""
        texts = ["x" * n for n in range(1, BULK + 3)]

        assert np.allclose(units(texts), await provider.embed(texts))
        assert [1, BULK, 2] == [len(each) for each in endpoint.texts]

    async def test_beside(self, provider: OpenAIProvider, endpoint: FakeEndpoint) -> None:
        """An urgent request does not wait for a patient one."""
        endpoint.gate.clear()
        endpoint.asked.clear()
        patient = asyncio.create_task(provider.embed(["patient"]))
        await endpoint.asked.wait()
        endpoint.asked.clear()
        urgent = asyncio.create_task(provider.embed(["q"], urgent=True))
        await endpoint.asked.wait()
        endpoint.gate.set()

        assert np.allclose(units(["q"]), await urgent)
        assert np.allclose(units(["patient"]), await patient)

    async def test_no_text(self, provider: OpenAIProvider, endpoint: FakeEndpoint) -> None:
        """What no model could read is not sent."""
        with pytest.raises(BadInput):
            await provider.embed(["\ud800"])
        assert [[PROBE]] == endpoint.texts

    async def test_counters(self, provider: OpenAIProvider) -> None:
        """Requests and tokens are counted, tokens as the endpoint tells them."""
        before = provider.counters["tokens"]
        await provider.embed(["one two", "three"])

        assert 3 == provider.counters["tokens"] - before
        assert (2, 0, 0) == tuple(
            provider.counters[name] for name in ("requests", "retries", "breaker_opened")
        )


class TestLongTexts:
    async def test_split(self, endpoint: FakeEndpoint, clock: ManualClock) -> None:
        """A text longer than the model reads is embedded in pieces, and nothing of it is lost."""
        text = "Use tabs. " * 20
        async with provided(endpoint, clock, max_tokens=16) as provider:
            await provider.wait_settled()
            found = await provider.embed(["short", text])
        sent = endpoint.texts[-1]

        assert ["short", text] == [sent[0], "".join(sent[1:])]
        assert all(len(piece.encode()) <= 3 * 16 for piece in sent)
        assert np.allclose(units(["short"])[0], found[0])
        assert np.allclose(1.0, np.linalg.norm(found[1]))
        assert 1 == provider.counters["split"]


class TestSpace:
    async def test_id(self, provider: OpenAIProvider, endpoint: FakeEndpoint) -> None:
        """The vector space is named by the model and the host that serves it."""
        host = endpoint.url.removeprefix("http://").removesuffix("/v1")

        assert f"openai:m@{host}" == provider.model_id

    async def test_dimension(self, endpoint: FakeEndpoint, clock: ManualClock) -> None:
        """The dimension is unknown until the endpoint was asked, once, for a word."""
        endpoint.gate.clear()
        async with provided(endpoint, clock) as provider:
            before = provider.dimension
            with pytest.raises(EmbedderLoading):
                await provider.embed(["a"])
            endpoint.gate.set()
            await provider.wait_settled()

            assert (0, 4) == (before, provider.dimension)
            assert [[PROBE]] == endpoint.texts

    async def test_no_counts(self, endpoint: FakeEndpoint, clock: ManualClock) -> None:
        """Where the endpoint tells no tokens they are estimated."""
        endpoint.rule = _uncounted
        async with provided(endpoint, clock) as provider:
            await provider.wait_settled()
            before = provider.counters["tokens"]
            await provider.embed(["twelve bytes"])

            assert 4 == provider.counters["tokens"] - before


class TestKey:
    async def test_sent(self, endpoint: FakeEndpoint, clock: ManualClock) -> None:
        """The key goes into the header, and into nothing else."""
        async with provided(endpoint, clock, api_key=KEY) as provider:
            await provider.wait_settled()
            await provider.embed(["a"])

        assert f"Bearer {KEY}" == endpoint.requests[-1].headers["authorization"]
        assert KEY not in repr(vars(provider))
        assert KEY not in provider.model_id

    async def test_none(self, provider: OpenAIProvider, endpoint: FakeEndpoint) -> None:
        """Without a key there is no header."""
        assert "authorization" not in endpoint.requests[-1].headers

    async def test_not_shown(
        self, endpoint: FakeEndpoint, clock: ManualClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        """No log line, error or reason holds the key, even when the endpoint repeats it."""
        endpoint.rule = lambda _: error(403, f"the key {KEY} may not")
        with caplog.at_level(logging.DEBUG):
            async with provided(endpoint, clock, api_key=KEY) as provider:
                assert ProviderState.MISSING is await provider.wait_settled()
                with pytest.raises(EmbedderDown) as caught:
                    await provider.embed(["a"])
                reason = provider.reason

        assert KEY not in f"{caplog.text} {caught.value} {reason}"
        assert "[key]" in reason


class TestEnvironment:
    @pytest.mark.parametrize(
        ("variable", "value"),
        [
            ("ALL_PROXY", "socks5://127.0.0.1:1"),
            ("HTTPS_PROXY", "nonsense://127.0.0.1:1"),
            ("SSL_CERT_FILE", "/nowhere/at/all.pem"),
        ],
    )
    async def test_no_client(
        self, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
    ) -> None:
        """What the environment asks of connections and is not there is a reason with its mend."""
        monkeypatch.setenv(variable, value)
        settings = EmbeddingSettings(base_url="https://example.invalid/v1")
        provider = OpenAIProvider("m", clock, settings=settings)
        await provider.start()
        async with asyncio.timeout(30):
            state, reason = await provider.wait_settled(), provider.reason
        await provider.close()

        assert ProviderState.MISSING is state
        assert variable in reason


class TestLife:
    async def test_again(self, endpoint: FakeEndpoint, clock: ManualClock) -> None:
        """A provider that was closed can be started again; a second start changes nothing."""
        async with provided(endpoint, clock) as provider:
            await provider.wait_settled()
            await provider.close()
            with pytest.raises(EmbedderLoading):
                await provider.embed(["a"])
            await provider.start()
            await provider.start()
            await provider.wait_settled()

            assert (1, 4) == (await provider.embed(["a"])).shape
            assert [[PROBE], [PROBE], ["a"]] == endpoint.texts

    async def test_close_while_asked(
        self, provider: OpenAIProvider, endpoint: FakeEndpoint
    ) -> None:
        """Closing it ends a request in flight with an error that the port knows."""
        endpoint.gate.clear()
        endpoint.asked.clear()
        asked = asyncio.create_task(provider.embed(["a"]))
        await endpoint.asked.wait()
        await provider.close()

        with pytest.raises(EmbedderDown):
            await asked

    @pytest.mark.slow
    def test_import(self) -> None:
        """Neither the command line's quick path nor the provider's module imports httpx2."""
        code = (
            "import sys, cortex_actors.cli.fast, cortex_actors.embedding.factory\n"
            "sys.exit('httpx2' in sys.modules)"
        )

        assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode


def _uncounted(texts: list[str]) -> Reply:
    """Return a good answer without the number of tokens."""
    return document({"data": json.loads(good(texts).body)["data"]})
