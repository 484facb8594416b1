from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cortex_actors.tree import render
from supervision import Node

if TYPE_CHECKING:
    from tests.supervision.conftest import Lab


class TestSnapshot:
    async def test_tree(self, lab: Lab) -> None:
        """A picture goes down through every level."""
        top = await lab.top(lab.level("one", lab.spec("a"), strategy="rest_for_one")).start()
        one = top.snapshot().children[0]

        assert ("one", "supervisor", "running", "rest_for_one") == (
            *(one.name, one.kind, one.state, one.strategy),
        )
        assert Node("a", "worker", "running") == one.children[0]
        await top.stop(None)

    async def test_info(self, lab: Lab) -> None:
        """What a child says about itself is the detail of its node."""
        top = await lab.top(lab.spec("a", toy={"info": {"mailbox": 3}})).start()

        assert {"mailbox": 3} == top.snapshot().children[0].detail
        await top.stop(None)

    async def test_info_that_raises(self, lab: Lab) -> None:
        """A child that cannot say anything does not spoil the picture."""
        top = await lab.top(lab.spec("a", toy={"info_error": OSError("x")}), lab.spec("b")).start()

        assert {"error": "OSError('x')"} == top.snapshot().children[0].detail
        assert "running" == top.snapshot().children[1].state
        await top.stop(None)

    async def test_stopped_child(self, lab: Lab) -> None:
        """A child that does not run is in the picture, without a detail."""
        top = await lab.top(lab.spec("a", toy={"info": {"mailbox": 3}})).start()
        await top.terminate_child("a")

        assert Node("a", "worker", "stopped") == top.snapshot().children[0]
        await top.stop(None)

    async def test_ended(self, lab: Lab) -> None:
        """A supervisor that has ended can still be looked at."""
        top = await lab.top(lab.spec("a")).start()
        await top.stop(None)

        assert ["stopped", "stopped"] == [top.snapshot().state, top.snapshot().children[0].state]

    async def test_json(self, lab: Lab) -> None:
        """A picture can be sent as JSON."""
        top = await lab.top(lab.level("one", lab.spec("a", toy={"info": {"n": 1}}))).start()
        sent: Any = json.loads(json.dumps(asdict(top.snapshot())))

        assert {
            "name": "a",
            "kind": "worker",
            "state": "running",
            "restarts": 0,
            "strategy": None,
            "detail": {"n": 1},
            "children": [],
        } == sent["children"][0]["children"][0]
        await top.stop(None)


def _tree() -> Node:
    ledger = Node("ledger", "worker", "running", detail={"mailbox": 0, "handled": 12})
    vectors = Node("vectors", "worker", "restarting", restarts=3)
    storage = Node("storage", "supervisor", "running", 0, "rest_for_one", {}, (ledger, vectors))
    judge = Node("judge", "worker", "running", restarts=1)
    return Node("cortex", "supervisor", "running", 0, "one_for_one", {}, (storage, judge))


class TestRender:
    def test_drawing(self) -> None:
        """A tree is drawn with its strategies and whatever is unusual."""
        assert [
            "cortex           one_for_one",
            "├── storage      rest_for_one",
            "│   ├── ledger   mailbox 0, handled 12",
            "│   └── vectors  restarting, restarts 3",
            "└── judge        restarts 1",
        ] == render(_tree()).splitlines()

    def test_without_detail(self) -> None:
        """Without detail, only what is wrong is said of a worker."""
        lines = render(_tree(), detail=False).splitlines()

        assert "│   ├── ledger" == lines[2]
        assert "│   └── vectors  restarting, restarts 3" == lines[3]

    def test_alone(self) -> None:
        """A single worker is its name."""
        assert "ledger" == render(Node("ledger", "worker", "running"))
