"""Who asks over the control socket: the owner, an agent by its token, or nobody."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.process.logfile import Filter
from cortex_actors.process.tokens import Tokens

if TYPE_CHECKING:
    from tests.control.wire import Desk, Wire


@pytest.fixture
def token(desk: Desk) -> str:
    """Give an agent a token."""
    return Tokens(desk.home.tokens).make("AZOTH")


async def ask(wire: Wire, method: str, token: object, **params: object) -> dict[str, Any]:
    """Call a method with a token, whatever that is."""
    request = {"id": 1, "method": method, "params": params, "token": token}
    return await wire.ask(json.dumps(request).encode())


def refused(answer: dict[str, Any]) -> tuple[str, int]:
    """Return the class of an error and its exit code."""
    data = answer["error"]["data"]
    return data["type"], data["exit_code"]


def audit(desk: Desk) -> list[str]:
    """Return what was noted."""
    return [each.text for each in desk.logs.list_recent(Filter(actor="audit"), last=99)]


class TestAgent:
    async def test_known(self, desk: Desk, wire: Wire, token: str) -> None:
        """Who shows a token is that agent, for every request that shows it and for no other."""
        first = await ask(wire, "remember", token, content="a")
        second = await wire.call("remember", content="b")

        assert {"by": "AZOTH", "agent": "AZOTH"} == first["result"]
        assert {"by": "owner", "agent": "CLAUDE"} == second["result"]
        assert [] == audit(desk)

    async def test_not_another(self, desk: Desk, wire: Wire, token: str) -> None:
        """An agent that names another one is refused, and that is noted."""
        for more in ({"agent": "VAJRA"}, {"as_agent": "vajra"}):
            answer = await ask(wire, "remember", token, content="secret", **more)
            assert ("NotYours", 77) == refused(answer)

        assert [] == desk.said
        assert 2 * ["AZOTH was refused remember"] == audit(desk)

    @pytest.mark.parametrize("method", ["status", "publish", "wait", "insights", "shutdown"])
    async def test_owners_verbs(self, desk: Desk, wire: Wire, token: str, method: str) -> None:
        """A verb that does not ask who calls it is the owner's, whatever it would be given."""
        answer = await ask(wire, method, token, topic="custom:now")

        assert ("NotYours", 77) == refused(answer)
        assert ([], []) == (desk.said, desk.stops)

    @pytest.mark.parametrize("more", [{}, {"follow": True}, {"since": 1}, {"nonsense": 1}])
    async def test_logs(self, desk: Desk, wire: Wire, token: str, more: dict[str, object]) -> None:
        """The log is the owner's, however it is asked for, and tells of who asked."""
        assert ("NotYours", 77) == refused(await ask(wire, "logs", token, **more))
        assert ["AZOTH was refused logs"] == audit(desk)

    async def test_unknown(self, wire: Wire, token: str) -> None:
        """Of the methods there are, an agent is told those that it may call."""
        answer = await ask(wire, "frobnicate", token)

        assert answer["error"]["message"].endswith("the methods are: remember")


class TestSession:
    async def said(self, wire: Wire, method: str, agent: object, **more: object) -> dict[str, Any]:
        """Call a method as a session of an agent."""
        request = {"id": 1, "method": method, "agent": agent, **more}
        return await wire.ask(json.dumps(request).encode())

    async def test_known(self, desk: Desk, wire: Wire) -> None:
        """Who names an agent beside the method is that agent, whatever else the owner may."""
        answer = await self.said(wire, "remember", "azoth", params={"content": "a"})
        other = {"content": "b", "agent": "VAJRA"}

        assert {"by": "AZOTH", "agent": "AZOTH"} == answer["result"]
        assert ("NotYours", 77) == refused(await self.said(wire, "remember", "azoth", params=other))
        assert ["AZOTH was refused remember"] == audit(desk)

    @pytest.mark.parametrize("method", ["publish", "wait", "shutdown", "logs"])
    async def test_owners(self, desk: Desk, wire: Wire, method: str) -> None:
        """What is the owner's is refused, also what is answered at once, and that is noted."""
        answer = await self.said(wire, method, "AZOTH", params={"topic": "custom:now"})

        assert ("NotYours", 77) == refused(answer)
        assert "ask the person who owns it" in answer["error"]["message"]
        assert ([], []) == (desk.said, desk.stops)
        assert [f"AZOTH was refused {method}"] == audit(desk)

    @pytest.mark.parametrize("wrong", [None, 7, "", "ä", "owner", "x" * 65])
    async def test_wrong(self, desk: Desk, wire: Wire, wrong: object) -> None:
        """What is no agent's id is refused: it does not make the owner of who sends it."""
        answer = await self.said(wire, "remember", wrong, params={"content": "a"})

        assert ("BadInput", 65) == refused(answer)
        assert [] == desk.said

    async def test_both(self, desk: Desk, wire: Wire, token: str) -> None:
        """A token and an agent in one request are refused: one of them would be believed."""
        answer = await self.said(wire, "remember", "VAJRA", token=token, params={"content": "a"})

        assert ("BadInput", 65) == refused(answer)
        assert [] == desk.said


class TestNobody:
    @pytest.mark.parametrize("wrong", ["", "AZOTH", "AZOTH.x", "x" * 1_000])
    async def test_wrong(self, desk: Desk, wire: Wire, token: str, wrong: str) -> None:
        """A wrong token is nobody's, never the owner's, and no log ever holds one."""
        for method in ("remember", "status", "logs", "shutdown", "frobnicate"):
            assert ("BadToken", 77) == refused(await ask(wire, method, wrong))

        assert "result" in await ask(wire, "remember", token, content="a")
        assert 5 * ["an unknown token was shown"] == audit(desk)
        assert not [
            each for each in desk.logs.list_recent(Filter(), last=99) if token in each.encoded
        ]

    @pytest.mark.parametrize("wrong", [None, 7, True, [], {}])
    async def test_no_text(self, desk: Desk, wire: Wire, wrong: object) -> None:
        """A token that is no text is refused: it does not count as none."""
        assert ("BadInput", 65) == refused(await ask(wire, "remember", wrong, content="a"))
        assert [] == desk.said

    async def test_revoked(self, desk: Desk, wire: Wire, token: str) -> None:
        """A token counts no more from the next request on, even on a connection that is open."""
        assert "result" in await ask(wire, "remember", token, content="a")
        (desk.home.tokens / "AZOTH").unlink()

        assert ("BadToken", 77) == refused(await ask(wire, "remember", token, content="b"))
        assert ["a"] == desk.said


class TestPayload:
    @pytest.mark.parametrize("given", ["AZOTH", None, {"agent": None}, {}])
    async def test_caller(self, desk: Desk, wire: Wire, token: str, given: object) -> None:
        """Nobody says in a request who it is from: there is no such parameter, nor is it told."""
        for shown in ({}, {"token": token}):
            request = {"id": 1, "method": "remember", "params": {"content": "a", "caller": given}}
            answer = await wire.ask(json.dumps({**request, **shown}).encode())
            assert "unexpected keyword argument 'caller'" in answer["error"]["message"]
            assert answer["error"]["message"].endswith("it takes content, agent, as_agent")
        assert [] == desk.said

    async def test_token(self, wire: Wire, token: str) -> None:
        """A token among the parameters makes nobody an agent."""
        answer = await wire.call("remember", content="a", token=token)

        assert ("BadInput", 65) == refused(answer)


class TestAudit:
    async def test_for_another(self, desk: Desk, wire: Wire) -> None:
        """What the owner does for an agent, or sees with its eyes, is noted without the text."""
        await wire.call("remember", content="a secret", agent="vajra")
        await wire.call("remember", content="a secret", as_agent="vajra")
        await wire.call("remember", content="a secret")

        assert ["the owner did remember for VAJRA", "the owner did remember as VAJRA"] == audit(
            desk
        )
        assert not [
            each for each in desk.logs.list_recent(Filter(), last=99) if "secret" in each.encoded
        ]

    async def test_failed(self, desk: Desk, wire: Wire) -> None:
        """What was not done is not noted as done."""
        await wire.call("remember", content="a", agent="../vajra")

        assert [] == audit(desk)

    async def test_at_once(self, desk: Desk, wire: Wire, token: str) -> None:
        """What is answered at once is answered at once to the owner alone."""
        assert (await wire.call("publish", topic="custom:now"))["result"]["now"]
        assert ("NotYours", 77) == refused(await ask(wire, "publish", token, topic="custom:now"))
        assert ["custom:now"] == desk.said
