"""Requests on the control socket, from the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.gateways import control as module
from cortex_actors.process.logfile import Filter
from tests.control.wire import connect

if TYPE_CHECKING:
    from tests.control.wire import Desk, Wire


class TestRequests:
    async def test_in_order(self, wire: Wire) -> None:
        """Requests on one connection are answered in order, under their ids."""
        wire.writer.write(b'{"id": 1, "method": "status"}\n{"id": "b", "method": "status"}\n')

        assert [1, "b"] == [(await wire.hear())["id"], (await wire.hear())["id"]]

    async def test_notification(self, desk: Desk, wire: Wire) -> None:
        """A request without an id is done and not answered."""
        wire.writer.write(b'{"method": "publish", "params": {"topic": "custom:a"}}\n')

        assert 7 == (await wire.call("status"))["id"]
        assert ["custom:a"] == desk.said

    async def test_meanwhile(self, desk: Desk, wire: Wire) -> None:
        """A request that takes long keeps only its own connection waiting."""
        wire.writer.write(b'{"id": 1, "method": "wait"}\n')
        other = await connect(desk)

        assert "result" in await other.call("status")
        desk.gate.set()
        assert {"waited": True} == (await wire.hear())["result"]
        other.writer.close()

    @pytest.mark.parametrize(
        ("line", "code", "words"),
        [
            (b"{", -32700, "no JSON"),
            (b"\xff", -32700, "no JSON"),
            (b"[" * 100_000, -32700, "nested too deeply"),
            (b'{"id": 1, "method": "publish", "params": {"topic": NaN}}', -32700, "NaN"),
            (b'{"id": 1, "method": "publish", "params": {"topic": "\\ud800"}}', -32700, "valid"),
            (b'{"id": 1e999, "method": "status"}', -32700, "1e999 is too large"),
            (b'{"id": 1, "method": "publish", "params": {"topic": 5}}', -32602, "must be a text"),
            (b'{"id": ' + b"9" * 5_000 + b"}", -32700, "no JSON"),
            (b"[]", -32600, "not a batch"),
            (b"7", -32600, "one JSON object"),
            (b'{"id": {}, "method": "status"}', -32600, "id must be"),
            (b'{"id": 1}', -32600, "no method"),
            (b'{"id": 1, "method": "status", "params": [1]}', -32602, "must be an object"),
            (b'{"id": 1, "method": "frobnicate"}', -32601, "the methods are: insights, logs"),
            (b'{"id": 1, "method": "publish"}', -32602, "missing a required argument: 'topic'"),
            (b'{"id": 1, "method": "status", "params": {"x": 1}}', -32602, "no parameters"),
            (b'{"id": 1, "method": "logs", "params": {"last": "x"}}', -32602, "must be int"),
            (b'{"id": 1, "method": "logs", "params": {"level": "loud"}}', -32602, "levels are"),
        ],
    )
    async def test_unreadable(self, wire: Wire, line: bytes, code: int, words: str) -> None:
        """A request that cannot be understood is told why, and the connection goes on."""
        error = (await wire.ask(line))["error"]

        assert code == error["code"]
        assert words in error["message"]
        assert "result" in await wire.call("status")

    async def test_countless_logs(self, desk: Desk, wire: Wire) -> None:
        """More records than any machine can count are as many as there are."""
        desk.logs.write("info", "hello", actor="a")
        wire.writer.write(b'{"id": 1, "method": "logs", "params": {"last": %s}}\n' % (b"9" * 30))

        assert "hello" == (await wire.hear())["params"]["text"]
        assert {"sent": 1} == (await wire.hear())["result"]

    async def test_too_long(self, wire: Wire) -> None:
        """A line of more than 1 MiB is told so, and costs the connection."""
        answer = await wire.ask(b"x" * ((1 << 20) + 10))

        assert "BadInput" == answer["error"]["data"]["type"]
        assert "1,048,576 bytes" in answer["error"]["message"]
        assert await wire.ended()

    async def test_expected_failure(self, wire: Wire) -> None:
        """An expected failure arrives with its class, its text and its exit code."""
        error = (await wire.call("insights"))["error"]

        assert (-32000, "no project is called x") == (error["code"], error["message"])
        assert {"type": "UnknownProject", "exit_code": 66} == error["data"]

    async def test_fault(self, desk: Desk, wire: Wire) -> None:
        """A mistake of ours arrives as one, and its traceback is in the log."""
        error = (await wire.call("recall"))["error"]
        (record,) = desk.logs.list_recent(Filter("error"))

        assert (-32603, "InternalError") == (error["code"], error["data"]["type"])
        assert "ZeroDivisionError" in str(record.fields["traceback"])

    async def test_deadline(self, desk: Desk, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
        """A verb that does not end is given up."""
        monkeypatch.setattr(module, "DEADLINE", 0.01)

        assert "DeadlineExceeded" == (await wire.call("wait"))["error"]["data"]["type"]
