"""What every request must pass: host, origin, token, size, depth and time."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.clock import SystemClock
from cortex_actors.domain.agent import OWNER, Caller
from cortex_actors.gateways import admission
from cortex_actors.gateways.admission import DEPTH, LINES, Admission, Visits
from cortex_actors.process.logfile import Filter
from cortex_actors.process.logs import LogStream
from cortex_actors.process.tokens import Tokens
from cortex_actors.testing import ManualClock
from tests.gateways.asgi import HOST, ask

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Bytes that a body may have here.
MOST = 4_000


class House:
    """An application behind its admission, which tells what came through."""

    def __init__(self, folder: Path) -> None:
        """Keep tokens and a log in a folder."""
        self.tokens = Tokens(folder / "tokens")
        self.owner = self.tokens.ensure_owner().read_text().strip()
        self.agent = self.tokens.make("AZOTH")
        self.logs = LogStream(folder / "log", SystemClock())
        self.passed: list[tuple[Any, bytes]] = []
        self.fails: Exception | None = None
        self.app = Admission(
            self._app,
            tokens=self.tokens,
            hosts=("127.0.0.1", "localhost", "[::1]"),
            public=("/", "/health"),
            most=MOST,
            # A stalled machine makes no request a slow one, which would have a line of its own.
            visits=Visits(self.logs, ManualClock()),
        )

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        self.passed.append((scope["state"].get("caller"), message["body"]))
        if self.fails is not None:
            raise self.fails
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    def lines(self, actor: str = "http") -> list[str]:
        """Return what the log says."""
        return [json.loads(r.encoded)["text"] for r in self.logs.list_recent(Filter(actor=actor))]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """Give a house with an owner and an agent."""
    house = House(tmp_path)
    yield house
    house.logs.close()


class TestTokens:
    async def test_public(self, house: House) -> None:
        """What says that somebody is there needs no token."""
        assert 200 == (await ask(house.app, "/health")).status

    @pytest.mark.parametrize("path", ["/search", "/healthy", "/health/", "//", "/health/stores"])
    async def test_exact(self, house: House, path: str) -> None:
        """What only looks like a public path is none."""
        assert 401 == (await ask(house.app, path)).status

    async def test_who(self, house: House) -> None:
        """The routes are told whose token it was."""
        for token in (house.owner, house.agent):
            await ask(house.app, "/search", token=token)

        assert [OWNER, Caller("AZOTH")] == [caller for caller, _ in house.passed]

    @pytest.mark.parametrize(
        "header",
        [
            b"",
            b"Bearer",
            b"Bearer ",
            b"Basic abc",
            b"Bearer owner.x",
            b"Bearer AZOTH.x",
            b"\xff\xfe",
        ],
    )
    async def test_refused(self, house: House, header: bytes) -> None:
        """Without a token that counts, nobody learns more than that."""
        reply = await ask(house.app, "/search", headers=(HOST, (b"authorization", header)))

        assert (401, "unauthorized") == (reply.status, reply.detail)
        assert "Bearer" == reply.headers["www-authenticate"]
        assert [] == house.passed

    async def test_scheme(self, house: House) -> None:
        """The word Bearer may be written in any case."""
        header = (b"authorization", f"bEaReR {house.agent}".encode())

        assert 200 == (await ask(house.app, "/search", headers=(HOST, header))).status

    async def test_twice(self, house: House) -> None:
        """Two tokens in one request are a question of whose it is, and not answered."""
        header = (b"authorization", f"Bearer {house.agent}".encode())

        assert 400 == (await ask(house.app, "/search", headers=(HOST, header, header))).status

    async def test_revoked(self, house: House) -> None:
        """A token that was revoked counts no more with the next request."""
        house.tokens.revoke("AZOTH")

        assert 401 == (await ask(house.app, "/search", token=house.agent)).status

    async def test_told(self, house: House) -> None:
        """That a wrong token was shown is noted, and no line holds it."""
        await ask(house.app, "/search", token="AZOTH.wrong")

        assert ["an unknown token was shown over http"] == house.lines("audit")
        assert not any("wrong" in line for line in house.lines())


class TestMeantForUs:
    @pytest.mark.parametrize("name", [b"127.0.0.1", b"localhost:1", b"LOCALHOST", b"[::1]:7424"])
    async def test_names(self, house: House, name: bytes) -> None:
        """We are called by the names of this machine, whatever the port."""
        assert 200 == (await ask(house.app, headers=((b"host", name),))).status

    @pytest.mark.parametrize(
        "name", [b"evil.example", b"127.0.0.1.evil.example", b"", b"[::2]", b"0.0.0.0:7424"]
    )
    async def test_others(self, house: House, name: bytes) -> None:
        """A name that somebody else has pointed here is not ours, even with a token."""
        reply = await ask(house.app, "/search", token=house.owner, headers=((b"host", name),))

        assert 421 == reply.status

    @pytest.mark.parametrize(
        "host",
        [
            b"localhost:7424, evil.example",
            b"localhost:7424,evil.example",
            b"localhost:7424 evil.example",
            b"localhost:7424/evil.example",
            b"localhost:7424@evil.example",
            b"evil@localhost:7424",
            b"http://localhost:7424",
            b"localhost:",
            b"localhost:0",
            b"localhost:65536",
            b"localhost:+80",
            b"localhost:80:80",
            b"localhost:x",
            "localhost:\u00b2".encode("latin-1"),
            b"localhost\xa0",
            b"localhost.",
            b"localhost.:7424",
            b"[::1]evil.example",
            b"[::1]:7424, [::1]:7424",
            b"[::1",
            b"::1",
        ],
    )
    @pytest.mark.parametrize("with_origin", [False, True])
    async def test_exact(self, house: House, host: bytes, *, with_origin: bool) -> None:
        """What is not exactly one name with or without a port is none of ours."""
        more = ((b"origin", b"http://" + host),) if with_origin else ()
        given = ((b"host", host), *more)
        public = await ask(house.app, "/health", headers=given)
        private = await ask(house.app, "/search", token=house.owner, headers=given)

        assert (421, 421) == (public.status, private.status)
        assert [] == house.passed

    @pytest.mark.parametrize("name", [b"x-forwarded-host", b"forwarded", b"x-forwarded-for"])
    async def test_forwarded(self, house: House, name: bytes) -> None:
        """What a proxy says of the host counts for nothing, in either direction."""
        evil, ours = (b"host", b"evil.example"), (name, b"host=localhost")
        refused = await ask(house.app, "/search", token=house.owner, headers=(evil, ours))
        passed = await ask(
            house.app, "/search", token=house.owner, headers=(HOST, (name, b"evil.example"))
        )

        assert (421, 200) == (refused.status, passed.status)

    async def test_none(self, house: House) -> None:
        """A request must say for whom it is, once."""
        assert 421 == (await ask(house.app, headers=())).status
        assert 400 == (await ask(house.app, headers=(HOST, HOST))).status

    @pytest.mark.parametrize(
        "origin",
        [
            b"https://evil.example",
            b"null",
            b"",
            b"http://127.0.0.1:1",
            b"http://127.0.0.1:7424, http://evil.example",
            b"http://127.0.0.1:7424 http://evil.example",
            b"http://127.0.0.1:7424/",
            b"http://evil@127.0.0.1:7424",
            b"http://127.0.0.1:7424.",
            b"https://127.0.0.1:7424",
            b"http://127.0.0.1:7424\xa0",
        ],
    )
    async def test_pages(self, house: House, origin: bytes) -> None:
        """A page of another site gets no answer, even with a token."""
        given = (HOST, (b"origin", origin))
        reply = await ask(house.app, "/search", token=house.owner, headers=given)

        assert 403 == reply.status
        assert [] == house.passed

    async def test_two_pages(self, house: House) -> None:
        """A request that names two pages is nobody's, though one of them is ours."""
        ours, other = (b"origin", b"http://" + HOST[1]), (b"origin", b"http://evil.example")

        assert 400 == (await ask(house.app, headers=(HOST, ours, other))).status

    async def test_own_page(self, house: House) -> None:
        """A page of our own does."""
        given = (HOST, (b"origin", b"http://" + HOST[1]))

        assert 200 == (await ask(house.app, headers=given)).status


class TestBodies:
    async def test_whole(self, house: House) -> None:
        """A body that comes in parts is handed over whole."""
        await ask(house.app, "/search", token=house.owner, body=(b'{"a', b'":', b" 1}"))

        assert b'{"a": 1}' == house.passed[0][1]

    async def test_too_large(self, house: House) -> None:
        """More than we read is refused as soon as it is there, or as it is announced."""
        parts = tuple(b"x" * 1_000 for _ in range(5))
        announced = (HOST, (b"content-length", b"4001"))
        silent = await ask(house.app, "/search", token=house.owner, body=parts, hangs=True)
        told = await ask(house.app, "/health", headers=announced, body=(), hangs=True)

        assert (413, 413) == (silent.status, told.status)
        assert 200 == (await ask(house.app, "/health", body=(b" " * MOST,))).status

    @pytest.mark.parametrize("length", [b"-1", b"1e3", b"x", "²".encode("latin-1")])
    async def test_no_number(self, house: House, length: bytes) -> None:
        """A length that is no number is too much."""
        assert 413 == (await ask(house.app, headers=(HOST, (b"content-length", length)))).status

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            (b"[" * DEPTH + b"]" * DEPTH, 200),
            (b"[" * (DEPTH + 1) + b"]" * (DEPTH + 1), 422),
            (b'{"a":' * 40 + b"1" + b"}" * 40, 422),
            (b'"' + b"[" * 40 + b'"', 200),
            (rb'"\"' + b"[" * 40 + b'"', 200),
            (b"[" + b"{}," * 100 + b"{}]", 200),
            (b'"\\', 200),
        ],
    )
    async def test_depth(self, house: House, body: bytes, status: int) -> None:
        """Brackets count where they nest, and not in a text or side by side."""
        assert status == (await ask(house.app, "/search", token=house.owner, body=(body,))).status

    async def test_unending(self, house: House) -> None:
        """What begins a text with every other byte, and ends none, is read once and not n times."""
        body = b"[" * DEPTH + b'["' + rb"\"" * 500_000
        begun = time.process_time()

        assert 0 < admission._depth(body)
        assert time.process_time() - begun < 5

    async def test_large_and_deep(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        """A large body is looked at on a thread, with the same result."""
        monkeypatch.setattr(admission, "_LARGE", 10)
        deep = b"[" * 40 + b"]" * 40

        assert 422 == (await ask(house.app, "/search", token=house.owner, body=(deep,))).status

    async def test_dripping(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        """A body that does not end is not waited for."""
        monkeypatch.setattr(admission, "BODY", 0.01)
        reply = await ask(house.app, "/search", token=house.owner, body=(b"{",), hangs=True)

        assert 408 == reply.status

    async def test_nobody_yet(self, house: House) -> None:
        """Who has no token has nothing read: the body may be as large as it likes."""
        reply = await ask(house.app, "/search", body=(b"x" * 9_999,))

        assert 401 == reply.status


class TestFaults:
    async def test_fault(self, house: House) -> None:
        """What fails inside is told as that, and the log has the rest."""
        house.fails = ZeroDivisionError("secret")
        reply = await ask(house.app, "/search", token=house.owner)

        assert 500 == reply.status
        assert "secret" not in reply.detail
        assert "a request failed inside" in house.lines()

    async def test_late(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        """What takes too long is answered all the same."""
        monkeypatch.setattr(admission, "DEADLINE", 0.01)
        reply = await ask(house.app, "/search", token=house.owner, body=(), hangs=True)

        assert 504 == reply.status

    async def test_sockets(self, house: House) -> None:
        """A socket that stays open is closed before it is accepted."""
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await house.app({"type": "websocket"}, None, send)  # type: ignore[arg-type]

        assert [{"type": "websocket.close", "code": 1008}] == sent
        assert [] == house.passed

    async def test_headers(self, house: House) -> None:
        """Every answer is nobody's to keep."""
        for reply in (await ask(house.app), await ask(house.app, "/search")):
            assert "no-store" == reply.headers["cache-control"]
            assert "nosniff" == reply.headers["x-content-type-options"]


class TestLines:
    async def test_lines(self, house: House) -> None:
        """Refusals have a line each, what went well has none, and a path cannot break it."""
        await ask(house.app, "/health")
        await ask(house.app, "/a\n\x1b[31mred")

        assert 1 == len(house.lines())
        assert r"GET /a\n\x1b[31mred -> 401" in house.lines()[0]

    async def test_faults(self, house: House) -> None:
        """Nor do a thousand that come upon a fault of ours, each with its traceback."""
        house.fails = ZeroDivisionError("broken")
        for _ in range(2 * LINES):
            await ask(house.app, "/search", token=house.owner)

        assert LINES == len(house.logs.list_recent(Filter(actor="http"), last=1_000))

    async def test_flood(self, house: House) -> None:
        """A thousand that knock cost a few lines."""
        for _ in range(10 * LINES):
            await ask(house.app, "/search")

        assert LINES == len(house.logs.list_recent(Filter(actor="http"), last=1_000))
