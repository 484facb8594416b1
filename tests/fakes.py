"""Stand-ins for actors by name: what is asked of them is asked of an object of a test."""

from __future__ import annotations

from dataclasses import fields
from inspect import isawaitable
from typing import Any

from cortex_actors.api.registry import Call, TreeLife
from cortex_actors.domain.agent import OWNER
from cortex_actors.runtime.names import NamedActor, Names


class FakeActor(NamedActor[Any]):
    """Runs on an object the method of the same name as the one that the actor has."""

    def __init__(self, actor: object) -> None:
        """Remember the object."""
        super().__init__("fake", Names())
        self._actor = actor

    def limit(self, _timeout: float | None) -> FakeActor:
        """Return itself: nothing is late here."""
        return self

    async def ask(self, method: Any, *args: Any, **kwargs: Any) -> Any:
        """Run the method and return what it returns, or what that gives once it is awaited."""
        found = self._run(method, args, kwargs)
        return await found if isawaitable(found) else found

    def tell(self, method: Any, *args: Any, **kwargs: Any) -> bool:
        """Run the method."""
        self._run(method, args, kwargs)
        return True

    def _run(self, method: Any, args: Any, kwargs: Any) -> Any:
        return getattr(self._actor, method.__name__)(*args, **kwargs)


def partial_call(kind: type[Call] = Call, **given: Any) -> Call:
    """Return a call of the owner that has those parts, a life, and no others."""
    parts: dict[str, Any] = {each.name: given.get(each.name) for each in fields(kind)}
    parts["life"] = parts["life"] or TreeLife(0, 0.0)
    return kind(**parts | {"caller": OWNER})
