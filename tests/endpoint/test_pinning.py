from __future__ import annotations

import asyncio
import socket
import sys
import threading
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from cortex_actors.endpoint.pinning import KEPT
from cortex_actors.errors import StoreDown, StoreTimeout, StoreUnusable
from tests.endpoint.connects import connects
from tests.endpoint.lines import HITS, TOKEN, Names, StoreServer, line_to
from tests.endpoint.server import listening

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.embedding.support import ManualClock

#: Where clouds hand out credentials.
METADATA = "169.254.169.254"

#: An address of the world at which nobody in a test is asked anything.
FAR = "93.184.216.34"


@contextmanager
def deaf(ip: str, port: int) -> Iterator[None]:
    """Have an address take no connections: its queue is full, and nobody empties it."""
    with ExitStack() as stack:
        there = stack.enter_context(socket.create_server((ip, port), backlog=0))
        for _ in range(3):
            each = stack.enter_context(socket.socket())
            each.setblocking(False)
            with suppress(BlockingIOError):
                each.connect(there.getsockname())
        yield


class TestRebinding:
    async def test_metadata(self, clock: ManualClock) -> None:
        """A name that turns into a forbidden address is not connected to any more."""
        names = Names(["127.0.0.1"], [METADATA])
        async with listening(StoreServer()) as server:
            url = f"http://store.test:{server.port}"
            async with line_to(url, clock, resolve=names, token=TOKEN) as line:
                assert HITS == await line.post("/search", {}, seconds=5)
                await clock.advance(KEPT)
                with connects() as found, pytest.raises(StoreUnusable, match="link-local"):
                    await line.post("/search", {}, seconds=5)

        assert (2, []) == (names.looks, found)

    async def test_between(self, clock: ManualClock) -> None:
        """Between the judgement and the connection nobody asks for the name again."""
        names = Names(["127.0.0.1"], [METADATA])
        async with listening(StoreServer()) as server:
            url = f"http://store.test:{server.port}"
            with connects() as found:
                async with line_to(url, clock, resolve=names) as line:
                    await line.post("/search", {}, seconds=5)

        assert (1, ["127.0.0.1"]) == (names.looks, found)
        assert f"store.test:{url.rpartition(':')[2]}" == server.requests[0].headers["host"]

    @pytest.mark.parametrize("near", ["127.0.0.1", "192.168.0.1", "::1"])
    async def test_nearer(self, clock: ManualClock, near: str) -> None:
        """A name that was far away and turns near is refused: a web page's trick."""
        async with line_to("https://store.test", clock, resolve=Names([FAR], [near])) as line:
            assert (FAR,) == await line.resolve(5)
            await clock.advance(KEPT)
            with pytest.raises(StoreUnusable, match="far away"):
                await line.resolve(5)

    async def test_farther(self, clock: ManualClock) -> None:
        """A store may move away."""
        async with line_to("http://nas.test", clock, resolve=Names(["10.0.0.2"], [FAR])) as line:
            await line.resolve(5)
            await clock.advance(KEPT)
            assert (FAR,) == await line.resolve(5)

    @pytest.mark.parametrize("forbidden", [METADATA, "::ffff:169.254.169.254", "224.0.0.1"])
    async def test_one_of_many(self, clock: ManualClock, forbidden: str) -> None:
        """One forbidden address among those of a name forbids all of them."""
        names = Names(["127.0.0.1", forbidden])
        async with listening(StoreServer()) as server:
            url = f"http://store.test:{server.port}"
            async with line_to(url, clock, resolve=names) as line:
                with connects() as found, pytest.raises(StoreUnusable):
                    await line.post("/search", {}, seconds=5)
        assert [] == found


class TestLook:
    @pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f.1", "0177.0.0.1", "localhost"])
    async def test_spellings(self, clock: ManualClock, host: str) -> None:
        """However an address is spelt, what is judged is what the system makes of it."""
        async with line_to(f"http://{host}", clock) as line:
            assert "127.0.0.1" in await line.resolve(5)

    @pytest.mark.parametrize("host", ["0", "2852039166", "0xa9fea9fe", "169.254.43518"])
    async def test_forbidden_spellings(self, clock: ManualClock, host: str) -> None:
        """A forbidden address is forbidden however it is spelt."""
        async with line_to(f"http://{host}", clock) as line:
            with pytest.raises(StoreUnusable):
                await line.resolve(5)

    async def test_kept(self, clock: ManualClock) -> None:
        """A name is looked up once a minute, however many ask."""
        names = Names(["127.0.0.1"])
        async with line_to("http://store.test", clock, resolve=names) as line:
            await asyncio.gather(*(line.resolve(5) for _ in range(5)))
            await clock.advance(KEPT - 1)
            await line.resolve(5)
            assert 1 == names.looks
            await clock.advance(1)
            await line.resolve(5)
            assert 2 == names.looks

    async def test_moved(self, clock: ManualClock) -> None:
        """A store that is not where it was is looked for again at the next question."""
        names = Names(["::1"], ["127.0.0.1"])
        async with listening(StoreServer()) as server:
            url = f"http://store.test:{server.port}"
            async with line_to(url, clock, resolve=names) as line:
                with pytest.raises(StoreDown, match="refused|reached"):
                    await line.post("/search", {}, seconds=5)
                assert HITS == await line.post("/search", {}, seconds=5)

    async def test_several(self, clock: ManualClock) -> None:
        """Of several addresses the first that can be connected to is used, and used from then."""
        async with listening(StoreServer()) as server:
            url = f"http://store.test:{server.port}"
            names = Names(["::1", "127.0.0.1"])
            async with line_to(url, clock, resolve=names) as line:
                await line.post("/search", {}, seconds=5)
                assert ("127.0.0.1", "::1") == await line.resolve(5)
                await clock.advance(KEPT)
                assert ("127.0.0.1", "::1") == await line.resolve(5)

    @pytest.mark.slow
    @pytest.mark.skipif(sys.platform != "linux", reason="others have one loopback address")
    async def test_black_hole(self, clock: ManualClock) -> None:
        """An address that takes no connections does not use up the time of the next one."""
        async with listening(StoreServer()) as server:
            with deaf("127.0.0.2", server.port):
                url = f"http://store.test:{server.port}"
                names = Names(["127.0.0.2", "127.0.0.1"])
                async with line_to(url, clock, resolve=names) as line:
                    assert HITS == await line.post("/search", {}, seconds=3)

    async def test_no_name_server(self, clock: ManualClock) -> None:
        """While the name server is away, a store stays where it was found."""
        names = Names(["127.0.0.1"], OSError("no name server"))
        async with line_to("http://store.test", clock, resolve=names) as line:
            await line.resolve(5)
            await clock.advance(KEPT)
            assert ("127.0.0.1",) == await line.resolve(5)

    @pytest.mark.parametrize("answer", [OSError("no such name"), []])
    async def test_nobody(self, clock: ManualClock, answer: Sequence[str] | OSError) -> None:
        """A name that nobody knows is told by its name."""
        async with line_to("http://store.test", clock, resolve=Names(answer)) as line:
            with pytest.raises(StoreDown, match=r"the name store\.test has no address now"):
                await line.post("/search", {}, seconds=5)

    async def test_let_go(self, clock: ManualClock) -> None:
        """Whoever waits for a name server when the store is let go of is told so."""
        gate = threading.Event()

        def hangs(_host: str, _port: int) -> list[str]:
            gate.wait(10)
            return []

        async with line_to("http://store.test", clock, resolve=hangs) as line:
            asked = asyncio.create_task(line.resolve(30))
            await asyncio.to_thread(lambda: None)
            await line.close()
            with pytest.raises(StoreDown, match="is closed"):
                await asked
            gate.set()

    async def test_hanging(self, clock: ManualClock) -> None:
        """A name server that does not answer costs a question its time and no more."""
        gate = threading.Event()

        def hangs(_host: str, _port: int) -> list[str]:
            gate.wait(10)
            return ["127.0.0.1"]

        async with line_to("http://store.test", clock, resolve=hangs) as line:
            for _ in range(2):
                with pytest.raises(StoreTimeout):
                    await line.post("/search", {}, seconds=0.05)
            asked = asyncio.create_task(line.resolve(5))
            gate.set()
            assert ("127.0.0.1",) == await asked


class TestPolicy:
    @pytest.mark.parametrize("ips", [["192.168.0.7"], ["127.0.0.1", "10.0.0.1"], [FAR]])
    async def test_clear_text(self, clock: ManualClock, ips: list[str]) -> None:
        """A token goes over plain http to this machine only, whatever the name promises."""
        async with line_to("http://localhost", clock, resolve=Names(ips), token=TOKEN) as line:
            with connects() as found, pytest.raises(StoreUnusable, match="use https") as caught:
                await line.post("/search", {}, seconds=5)
        assert [] == found
        assert TOKEN not in str(caught.value)

    async def test_without_token(self, clock: ManualClock) -> None:
        """Without a token, a store in this house may be asked over plain http."""
        async with line_to("http://nas", clock, resolve=Names(["192.168.0.7"])) as line:
            assert ("192.168.0.7",) == await line.resolve(5)

    async def test_allowed(self, clock: ManualClock) -> None:
        """Where hosts are listed, no other one is even looked up."""
        names = Names(["127.0.0.1"])
        async with line_to("http://b", clock, resolve=names, allow_hosts=("a",)) as line:
            with pytest.raises(StoreUnusable, match="allow_hosts"):
                await line.resolve(5)
        assert 0 == names.looks
