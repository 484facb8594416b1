from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import truststore

from cortex_actors.embedding.openai import EMBEDDING
from cortex_actors.endpoint.client import Breaker, EndpointClient
from cortex_actors.endpoint.connection import make_context
from cortex_actors.errors import EndpointDown, StoreUnusable
from cortex_actors.sections import EmbeddingSettings, TlsSettings
from cortex_actors.settings import Settings
from tests.endpoint.certificate import NAME, Certificate, certificate
from tests.endpoint.lines import HITS, Names, StoreServer, line_to
from tests.endpoint.server import listening

if TYPE_CHECKING:
    from tests.embedding.support import ManualClock


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """Give a certificate that no machine believes."""
    return certificate(tmp_path_factory.mktemp("papers"))


class TestLine:
    @pytest.mark.parametrize("system", [False, True])
    async def test_believed(
        self, papers: Certificate, monkeypatch: pytest.MonkeyPatch, system: bool
    ) -> None:
        """The name that is pinned to an address is what the certificate is checked against."""
        monkeypatch.setenv("SSL_CERT_FILE", str(papers.authority))
        called: list[str] = []
        tls = papers.server()
        tls.sni_callback = lambda _socket, name, _context: called.append(str(name))
        async with listening(StoreServer(), tls=tls) as server:
            url = f"https://{NAME}:{server.port}"
            names = Names(["127.0.0.1"])
            async with line_to(url, resolve=names, trust_system_store=system) as line:
                assert HITS == await line.post("/search", {}, seconds=5)

        assert [NAME] == called
        assert server.requests[0].headers["host"].startswith(NAME)

    @pytest.mark.parametrize("system", [False, True])
    async def test_unknown(self, papers: Certificate, system: bool) -> None:
        """Nothing is sent to a store whose certificate nobody has signed."""
        async with listening(StoreServer(), tls=papers.server()) as server:
            url = f"https://{NAME}:{server.port}"
            names = Names(["127.0.0.1"])
            async with line_to(url, resolve=names, trust_system_store=system) as line:
                with pytest.raises(StoreUnusable, match="certificate is not believed"):
                    await line.post("/search", {}, seconds=5)

        assert [] == server.requests

    async def test_other_name(self, papers: Certificate, monkeypatch: pytest.MonkeyPatch) -> None:
        """A certificate for another name is none, though it is for the same address."""
        monkeypatch.setenv("SSL_CERT_FILE", str(papers.authority))
        async with listening(StoreServer(), tls=papers.server()) as server:
            url = f"https://other.test:{server.port}"
            async with line_to(url, resolve=Names(["127.0.0.1"])) as line:
                with pytest.raises(StoreUnusable, match="not believed"):
                    await line.post("/search", {}, seconds=5)

    async def test_no_file(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file of certificates that is not there is told with what names it."""
        monkeypatch.setenv("SSL_CERT_FILE", "/nowhere.pem")
        async with line_to("https://127.0.0.1:1") as line:
            with pytest.raises(StoreUnusable, match="SSL_CERT_FILE"):
                await line.post("/search", {}, seconds=5)


class TestClient:
    @pytest.mark.parametrize("system", [False, True])
    async def test_believed(
        self,
        papers: Certificate,
        monkeypatch: pytest.MonkeyPatch,
        clock: ManualClock,
        system: bool,
    ) -> None:
        """The endpoint of a model is believed, or not, by the same certificates."""
        async with listening(StoreServer(), tls=papers.server()) as server:
            url = f"https://127.0.0.1:{server.port}/v1"
            settings = EmbeddingSettings(base_url=url, trust_system_store=system, retries=0)
            stranger, friend = (
                EndpointClient(
                    EMBEDDING,
                    settings,
                    clock=clock,
                    breaker=Breaker(failures=9, pause=1),
                    chance=lambda: 0.0,
                )
                for _ in range(2)
            )
            until = clock.monotonic() + 5
            try:
                with pytest.raises(EndpointDown, match="CERTIFICATE_VERIFY_FAILED"):
                    await stranger.ask({}, lambda answer: answer, most=1_000, until=until)
                monkeypatch.setenv("SSL_CERT_FILE", str(papers.authority))
                found = await friend.ask({}, lambda answer: answer, most=1_000, until=until)
                assert 200 == found.status
            finally:
                await stranger.close()
                await friend.close()


class TestSetting:
    def test_context(self) -> None:
        """`tls.trust_system_store` has the operating system judge certificates."""
        assert isinstance(make_context(system_store=True), truststore.SSLContext)
        assert not isinstance(make_context(system_store=False), truststore.SSLContext)

    @pytest.mark.parametrize(
        "tls", [{"trust_system_store": "yes"}, TlsSettings(trust_system_store=True)]
    )
    def test_everywhere(self, tls: Any) -> None:
        """It holds for the endpoints of models too, whose sections may say otherwise."""
        said = {"trust_system_store": False}
        found = Settings(tls=tls, judging=said)
        given = Settings(tls=tls, embedding=EmbeddingSettings(model="m"))

        assert (True, False, True) == (
            found.embedding.trust_system_store,
            found.judging.trust_system_store,
            found.storage.trust_system_store,
        )
        assert (True, "m") == (given.embedding.trust_system_store, given.embedding.model)

    def test_unsaid(self) -> None:
        """Without it nothing is different."""
        assert not Settings().embedding.trust_system_store
        assert not Settings().judging.trust_system_store
