"""Every verb there is: closed to agents unless it asks who calls it."""

from __future__ import annotations

import gc
import inspect
import itertools
import weakref
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.api.desk import FrontDesk
from cortex_actors.domain.agent import OWNER, Caller
from cortex_actors.errors import NotYours
from cortex_actors.gateways import control, rpc

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

#: Every verb of the front desk, by name.
VERBS: dict[str, Callable[..., Awaitable[Any]]] = {
    name: verb
    for name, verb in inspect.getmembers(FrontDesk, inspect.iscoroutinefunction)
    if not name.startswith("_")
}

#: Those that an agent may call.
OPEN = {name for name, verb in VERBS.items() if "caller" in inspect.signature(verb).parameters}

#: What tells of everybody, or changes what is everybody's: never an agent's, by whatever accident.
CLOSED = {
    "status",
    "events",
    "event",
    "publish",
    "backup",
    "doctor",
    "reload",
    "crash",
    "inspect",
    "tree",
    "agent_token",
    "revoke_token",
    "approve",
    "reject",
    "revoke",
    "resolve",
    "projects",
    "replay",
}

AZOTH = Caller("AZOTH")


class Short:
    """A front desk of one verb, which is soon done with."""

    async def ask(self, what: str = "", *, caller: Caller = OWNER) -> dict[str, Any]:
        """Answer."""
        return {what: caller.by}


class TestVerbs:
    async def test_let_go(self) -> None:
        """What is remembered of verbs keeps no desk alive, and with it a tree that has ended."""
        desk, request = Short(), rpc.Request(1, "ask", {"what": "x"})
        answer = await rpc.bind_verb({"ask": desk.ask}, request, AZOTH)()
        kept = weakref.ref(desk)
        del desk
        gc.collect()

        assert ({"x": "AZOTH"}, None) == (answer, kept())

    def test_closed(self) -> None:
        """What is the owner's has no way in for agents."""
        assert CLOSED <= VERBS.keys() - OPEN

    @pytest.mark.parametrize("name", sorted(VERBS.keys() - OPEN))
    def test_refused(self, name: str) -> None:
        """A verb that does not ask who calls it is refused before its parameters are looked at."""
        for params in ({}, {"nonsense": 1}, {"caller": None}, {"agent": "AZOTH"}):
            with pytest.raises(NotYours, match=name):
                rpc.bind_verb(VERBS, rpc.Request(1, name, params), AZOTH)

    @pytest.mark.parametrize("name", sorted(OPEN))
    def test_open(self, name: str) -> None:
        """A verb that asks who calls it is the owner's where nobody says, and takes no place."""
        caller = inspect.signature(VERBS[name]).parameters["caller"]

        assert OWNER is caller.default
        assert inspect.Parameter.KEYWORD_ONLY is caller.kind

    @pytest.mark.parametrize("name", sorted(OPEN))
    def test_from_the_door(self, name: str) -> None:
        """No request says itself who it is from, and the error does not tell of the parameter."""
        request = rpc.Request(1, name, {"caller": "OWNER"})
        for caller in (OWNER, AZOTH):
            with pytest.raises(rpc.UnreadableRequest) as refused:
                rpc.bind_verb(VERBS, request, caller)
            assert "caller" not in str(refused.value).partition("; it takes ")[2]


class TestAudit:
    def test_every_name(self) -> None:
        """Whoever is named as acting is a parameter of its verb."""
        for name, parameter in control.ACTING.items():
            assert parameter in inspect.signature(VERBS[name]).parameters, name

    def test_eyes(self) -> None:
        """Every verb by which the owner sees with an agent's eyes asks who calls it."""
        seeing = {n for n, v in VERBS.items() if control.EYES in inspect.signature(v).parameters}

        assert seeing <= OPEN
        assert {"recall", "search", "agents"} <= seeing
        assert not set(itertools.chain(*control.ACTING.items())) & {control.EYES}
