"""An agent's session on the owner's socket: every operation there is, and what it is refused."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from cortex_actors.api import desk
from cortex_actors.api.registry import OPERATIONS
from cortex_actors.client.connection import Client
from cortex_actors.domain.agent import Caller
from cortex_actors.errors import NotYours
from cortex_actors.gateways import rpc
from tests.realms import operations
from tests.realms.world import AGENTS, World, lasting, say

#: What is a person's to do: who adds an operation decides whether it belongs here.
REFUSED = {
    # What is written into files, and what may be.
    *("review.approve review.reject projects.revoke projects.lift").split(),
    *("resolve resolve.undo projects.auto projects.add projects.remove").split(),
    # What an agent must not decide, or start for all.
    *("contradictions.resolve contradictions.dismiss contradictions.calibrate").split(),
    *("triage.decide projects.scan projects.rescan insights.reconcile").split(),
    *("principles.organise daemon.run-job daemon.publish").split(),
    # What is gone for good, and what carries everything in or out.
    *("memory.forget memory.export memory.import daemon.backup").split(),
    *("knowledge.ingest knowledge.remove knowledge.restore").split(),
    *("daemon.discard daemon.replay daemon.events daemon.event").split(),
    # The daemon itself.
    *("daemon.reload doctor doctor.round-trip debug.crash debug.actor").split(),
    *("agents.token agents.revoke-token agents.seed projects.follow-own").split(),
    *("stores.add stores.remove stores.enable stores.disable stores.tune").split(),
    "stores.configure",
    *("model.migrate model.cancel model.prepare").split(),
    # For other programs; `recall` has what they tell, and more.
    *("peers.recall peers.memories peers.topics peers.facts peers.counts").split(),
}

#: What changes something and is no agent's, and yet a session's. An operation that is added here
#: must say who gave a verdict.
OPENED: set[str] = set()


class TestEvery:
    def test_decided(self) -> None:
        """What a session may not call is listed: whoever adds an operation decides about it."""
        assert {each.name for each in OPERATIONS.values() if not each.sessions} == REFUSED

    def test_opened(self) -> None:
        """Nothing that changes anything is a session's unless agents may call it, or it says so."""
        changing = {
            each.name
            for each in OPERATIONS.values()
            if each.sessions and not each.agents and not each.http.startswith("GET ")
        }
        assert changing == OPENED

    @pytest.mark.parametrize("name", sorted(OPERATIONS))
    def test_bound(self, name: str) -> None:
        """The door refuses a session those that are listed, and says whom to ask; no others."""
        one = OPERATIONS[name]
        verb = getattr(desk.FrontDesk, one.method).__get__(object())
        needed = [p for p in one.signature.parameters.values() if p.default is p.empty]
        given: dict[str, Any] = {each.name: None for each in needed}
        request = rpc.Request(1, one.method, given)
        caller = Caller("CLAUDE", is_session=True)
        if name in REFUSED:
            with pytest.raises(NotYours, match="ask the person who owns it"):
                rpc.bind_verb({one.method: verb}, request, caller)
            return
        with suppress(rpc.UnreadableRequest):  # its parameters are wrong, which is looked at later
            rpc.bind_verb({one.method: verb}, request, caller)


@pytest.mark.slow
@pytest.mark.parametrize("reader", AGENTS)
class TestRealms:
    def test_same(self, world: World, reader: str) -> None:
        """On memories a session has exactly its agent's rights: each answer is the same."""
        session, agent = Client(world.home, agent=reader), world.client(reader)
        foreign = next(each for each in world.hidden(reader) if each.realm != "crumb")
        asked = [(verb, some[0](foreign)) for verb, some in operations.LOOKS.items()]
        asked += [(verb, about(foreign)) for verb, about in operations.READS.items()]
        asked += [(verb, some[0](foreign)) for verb, some in operations.CHANGES.items()]
        for verb, about in asked:
            if verb in {"export", "forget"}:
                assert isinstance(say(session, verb, about).error, NotYours)
                continue
            if verb == "judge_next":  # of the owner's files, which sessions may read
                continue
            own, same = say(agent, verb, about), say(session, verb, about)
            assert lasting(own.answer) == lasting(same.answer), verb
            assert str(own.error) == str(same.error), verb
