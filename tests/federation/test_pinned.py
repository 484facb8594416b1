from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from cortex_actors.federation.adapters.mcp_session import Pinned
from tests.endpoint.connects import connects
from tests.endpoint.lines import HITS, TOKEN, Names, StoreServer, line_to
from tests.endpoint.server import Reply, listening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from cortex_actors.errors import StoreDown


@asynccontextmanager
async def client_to(url: str, **more: Any) -> AsyncIterator[tuple[httpx2.AsyncClient, Pinned]]:
    """Give a client and its transport, and close it."""
    async with line_to(url, **more) as line:
        transport = Pinned(line)
        async with httpx2.AsyncClient(transport=transport) as found:
            yield found, transport


async def trouble(found: httpx2.AsyncClient, transport: Pinned, url: str) -> StoreDown:
    """Return why a request failed."""
    with pytest.raises(httpx2.TransportError):
        await found.post(url, json={})
    assert transport.trouble is not None
    return transport.trouble


class TestPinned:
    async def test_asked(self) -> None:
        """A library's own request goes to the judged address, with the token and the name."""
        async with listening(StoreServer()) as server:
            url = f"http://store.test:{server.port}"
            names = Names(["::1", "127.0.0.1"], ["169.254.169.254"])
            with connects() as connected:
                async with client_to(url, resolve=names) as (found, transport):
                    assert HITS == (await found.post(f"{url}/mcp", json={"a": 1})).json()
                    assert None is transport.trouble
                    await found.post(f"{url}/mcp", json={})

        assert {"::1", "127.0.0.1"} == set(connected)
        assert 1 == names.looks
        assert f"store.test:{url.rpartition(':')[2]}" == server.requests[0].headers["host"]
        assert "identity" == server.requests[0].headers["accept-encoding"]

    async def test_token(self) -> None:
        """The token goes along by itself."""
        async with (
            listening(StoreServer()) as server,
            client_to(server.url, token=TOKEN) as (found, _),
        ):
            await found.post(server.url, json={})
        assert f"Bearer {TOKEN}" == server.requests[0].headers["authorization"]

    async def test_other_address(self) -> None:
        """A library that wants to go elsewhere gets nowhere."""
        async with (
            listening(StoreServer()) as server,
            listening(StoreServer()) as trap,
            client_to(server.url, token=TOKEN) as (found, transport),
        ):
            with connects() as connected:
                for url in (trap.url, "http://169.254.169.254/", "https://127.0.0.1/"):
                    told = await trouble(found, transport, url)
                    assert "another address" in str(told)
        assert [] == connected

    async def test_redirection(self) -> None:
        """No redirection is followed, not even to the store itself."""
        async with listening(StoreServer()) as server:
            server.script.append(Reply(307, b"", {"Location": f"{server.url}/other"}))
            async with client_to(server.url) as (found, transport):
                assert "redirection" in str(await trouble(found, transport, server.url))
        assert 1 == len(server.requests)

    async def test_too_large(self) -> None:
        """An answer ends where it becomes too large."""
        async with listening(StoreServer()) as server:
            server.script.append(Reply(200, b"x" * 20_000))
            async with client_to(server.url, most=10_000) as (found, transport):
                assert "more than 10000" in str(await trouble(found, transport, server.url))

    async def test_compressed(self) -> None:
        """A compressed answer is not unpacked."""
        async with listening(StoreServer()) as server:
            server.script.append(Reply(200, b"x", {"Content-Encoding": "gzip"}))
            async with client_to(server.url) as (found, transport):
                assert "compressed" in str(await trouble(found, transport, server.url))

    async def test_refused(self) -> None:
        """A store that does not run is told as any other is."""
        server = StoreServer()
        await server.open()
        url = server.url
        await server.close()
        async with client_to(url) as (found, transport):
            assert "refused the connection" in str(await trouble(found, transport, url))

    async def test_clear_text(self) -> None:
        """A token is not sent over plain http to another machine, whoever asks for it."""
        names = Names(["10.0.0.1"])
        async with client_to("http://nas", token=TOKEN, resolve=names) as (found, transport):
            with connects() as connected:
                assert "use https" in str(await trouble(found, transport, "http://nas/mcp"))
        assert [] == connected
