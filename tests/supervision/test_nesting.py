from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from supervision import Node
    from tests.supervision.conftest import Lab


def _names(node: Node) -> Any:
    return {child.name: _names(child) for child in node.children}


class TestNesting:
    async def test_stops_depth_first(self, lab: Lab) -> None:
        """A tree stops in the reverse order of its start, branch by branch."""
        left = lab.level("left", lab.spec("a"), lab.spec("b"))
        right = lab.level("right", lab.spec("c"))
        top = await lab.top(left, right).start()
        await top.stop(None)

        assert ["start a", "start b", "start c"] == lab.log[:3]
        assert ["stop c", "stop b", "stop a"] == [x for x in lab.log if x.startswith("stop")]
        assert [] == lab.told("shutdown_error")

    async def test_escalates(self, lab: Lab) -> None:
        """A branch that gives up is started again by the level above, with all it declares."""
        branch = lab.level("branch", lab.spec("a"), lab.spec("b"), intensity=0)
        top = await lab.top(branch, lab.spec("c")).start()
        lab.toys["a"].end("boom")
        await lab.saw("restarted", "branch")

        assert {"branch": {"a": {}, "b": {}}, "c": {}} == _names(top.snapshot())
        assert [1, 0] == [child.restarts for child in top.snapshot().children]
        assert 1 == lab.log.count("start c")
        await top.stop(None)

    async def test_gives_up_upwards(self, lab: Lab, end: Any) -> None:
        """When every level has had enough, the tree ends in order."""
        branch = lab.level("branch", lab.spec("a"), intensity=0)
        top = await lab.top(branch, lab.spec("c"), intensity=0).start()
        lab.toys["a"].end("boom")

        assert "shutdown" == await end(top)
        assert "end c shutdown" == lab.log[-1]

    async def test_killed_branch(self, lab: Lab) -> None:
        """A killed branch takes its children down before it is started again."""
        top = await lab.top(lab.level("branch", lab.spec("a"))).start()
        branch: Any = (await top.which_children())[0].handle
        branch.kill()
        await lab.saw("restarted", "branch")

        assert ["start a", "kill a", "end a killed", "start a"] == lab.log
        await top.stop(None)

    async def test_killed_tree(self, lab: Lab) -> None:
        """A killed tree leaves nothing alive at any depth."""
        deep = lab.level("one", lab.level("two", lab.level("three", lab.spec("a"))))
        top = await lab.top(deep).start()
        top.kill()

        assert "killed" == await top.exited()
        assert "end a killed" == lab.log[-1]

    async def test_immortal_leaf(self, lab: Lab) -> None:
        """An immortal leaf is abandoned by its own supervisor, which is not abandoned for it."""
        leaf = lab.spec("a", toy={"immortal": True})
        # Twice this is what each level waits for the one below: a stalled machine stays within it.
        some = {"grace": 0.3}
        two = lab.level("two", leaf, **some)
        top = await lab.top(lab.level("one", two, **some), **some).start()
        top.kill()
        await top.exited()

        assert [("a", "abandoned")] == lab.told("shutdown_error")

    async def test_restarts_what_it_declares(self, lab: Lab) -> None:
        """When a branch gives up, all branches start anew, without what calls had added to them.

        Row: otp tree
        """
        one = lab.level("one", lab.spec("a"), lab.spec("b"), intensity=4)
        two = lab.level("two", intensity=4)
        three = lab.level("three", intensity=4, restart="transient")
        top = await lab.top(one, two, three, strategy="one_for_all", intensity=4).start()
        await top.terminate_child("three")
        assert (3, 2, 3, 0) == tuple((await top.count_children()).values())
        old: Any = [child.handle for child in await top.which_children()]
        for name in "cd":
            await old[1].start_child(lab.spec(name))
        await lab.crash("d")
        assert ["d", "c"] == [child.id for child in await old[1].which_children()]
        assert [lab.toys["b"], lab.toys["a"]] == [c.handle for c in await old[2].which_children()]
        assert 1 == lab.log.count("start c")

        lab.failures["c"] = 99
        lab.toys["c"].end("boom")
        await lab.saw("restarted", "three")
        assert {"one": {"a": {}, "b": {}}, "two": {}, "three": {}} == _names(top.snapshot())
        assert (3, 3, 3, 0) == tuple((await top.count_children()).values())
        assert not {child.handle for child in await top.which_children()} & set(old)
        await top.stop(None)

    async def test_counted_as_supervisors(self, lab: Lab) -> None:
        """Supervisors and workers are counted apart."""
        top = await lab.top(lab.level("one"), lab.spec("a")).start()

        assert (2, 2, 1, 1) == tuple((await top.count_children()).values())
        await top.stop(None)

    async def test_failed_restart_of_a_branch(self, lab: Lab) -> None:
        """A branch that cannot be started is tried again like any child."""
        branch = lab.level("branch", lab.spec("a"), lab.spec("b"), intensity=0)
        top = await lab.top(branch, intensity=5).start()
        lab.failures["b"] = 2
        lab.toys["a"].end("boom")
        await lab.saw("restarted", "branch")

        assert 2 == len([child for child, _ in lab.told("start_error") if child == "branch"])
        await top.stop(None)

    async def test_loop_ends_first(self, lab: Lab) -> None:
        """When the loop cancels everything, as `asyncio.run` does at its end, the tree ends."""
        top = await lab.top(lab.level("branch", lab.spec("a"))).start()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        ours = {task for task in tasks if task.get_name().startswith(("supervisor", "top:", "bra"))}
        for task in ours:
            task.cancel()
        await asyncio.wait(ours)

        assert "killed" == await top.exited()
        assert "end a killed" in lab.log
