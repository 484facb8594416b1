from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.errors import InternalError
from cortex_actors.runtime.actor import start_actor
from cortex_actors.runtime.names import NamedActor, Names
from supervision import ChildSpec, StartError, Supervisor
from tests.runtime.support import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervision import Handle


class Stack(Recorder):
    """Gives back what it was started with, from the top; "leave" ends it."""

    def __init__(self, *content: str) -> None:
        super().__init__()
        self.content = [*content]

    def pop(self) -> str:
        """Return the topmost element, which is gone then."""
        return self.content.pop()


def _worker(names: Names, name: str, *content: str) -> ChildSpec:
    """Return the spec of a stack under a name."""

    async def start() -> Handle:
        return await start_actor(names, name, Stack, *content)

    return ChildSpec(name, start)


def _branch(names: Names) -> ChildSpec:
    """Return the spec of a branch with one named actor."""

    async def start() -> Handle:
        branch = Supervisor(
            [_worker(names, "server")], name="middle", strategy="one_for_all", intensity=3
        )
        return await branch.start()

    return ChildSpec("middle", start, type="supervisor")


async def _successor(names: Names, name: str, old: Any) -> Any:
    """Wait until somebody else has the name."""
    await old.join()
    return await names.find(name, 5.0)


class TestNames:
    @pytest.mark.parametrize("how", ["branch killed", "killed", "ends", "by hand"])
    async def test_come_back(self, how: str) -> None:
        """Whether a branch or its worker is killed, ends or is restarted, its name comes back.

        Row: otp simple_global_supervisor
        """
        names = Names()
        top = Supervisor([_branch(names)], name="top", strategy="one_for_all", intensity=3)
        await top.start()
        branch: Any = (await top.which_children())[0].handle
        old: Any = names.whereis("server")
        if how == "branch killed":
            branch.kill()
        elif how == "killed":
            old.kill()
        elif how == "ends":
            old.stop(block=False)
        else:
            await branch.terminate_child("server")
            await branch.restart_child("server")
        new = await _successor(names, "server", old)

        assert new is not old
        await top.count_children()
        picture = top.snapshot().children[0]
        assert ("middle", ["server"]) == (picture.name, [child.name for child in picture.children])
        top.kill()
        assert "killed" == await top.exited()
        assert names.whereis("server") is None

    async def test_taken(self) -> None:
        """A name that an actor outside the tree has starts no child; the caller is told why.

        Row: otp already_started_outside_supervisor
        """
        names = Names()
        outside = await start_actor(names, "server", Stack)
        top = await Supervisor(name="top").start()
        with pytest.raises(StartError, match="a living actor has that name") as failure:
            await top.start_child(_worker(names, "server"))

        assert isinstance(failure.value.reason, InternalError)
        assert outside.ref is names.whereis("server")
        assert [] == await top.which_children()
        await top.stop(None)
        outside.kill()
        await outside.exited()


class TestStack:
    async def test_of_a_list(self) -> None:
        """An actor that ends is started again under its name, with what it first had.

        Row: elixir supervisor start_link/2
        """
        names = Names()
        pop: Callable[[], Any] = partial(NamedActor[Any]("stack", names).ask, Stack.pop)
        top = await Supervisor([_worker(names, "stack", "hello")], name="top").start()
        assert "hello" == await pop()
        first: Any = names.whereis("stack")
        first.stop(block=False)
        await _successor(names, "stack", first)

        assert "hello" == await pop()
        await top.stop(None)
        assert names.whereis("stack") is None

    async def test_of_a_class(self) -> None:
        """A class may make itself the supervisor of what it is given.

        Row: elixir supervisor start_link/3
        """

        class Stacks(Supervisor):
            def __init__(self, names: Names, **stacks: str) -> None:
                specs = [_worker(names, name, content) for name, content in stacks.items()]
                super().__init__(specs, name="stacks")

        names = Names()
        top = await Stacks(names, stack="hello").start()

        assert "hello" == await NamedActor[Any]("stack", names).ask(Stack.pop)
        await top.stop(None)
        assert "shutdown" == await top.exited()
