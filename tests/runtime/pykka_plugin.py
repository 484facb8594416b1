"""What Pykka's own tests need to run on AsyncioActor; copied beside them by the conformance test.

It stands alone: there, `tests` is Pykka's package and not this folder.
"""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.future import AsyncioFuture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def runtime(make: Callable[..., Any]) -> Any:
    """Return one more value for Pykka's table of runtimes; `make` is its Runtime class."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="home loop", daemon=True).start()

    class HomeActor(AsyncioActor):
        """An actor of a loop on a thread of its own, because Pykka's tests block theirs."""

        home_loop = loop

    return make(
        name="asyncio",
        actor_class=HomeActor,
        event_class=threading.Event,
        future_class=AsyncioFuture,
        sleep_func=threading.Event().wait,
    )


@pytest.fixture
def mocker() -> Iterator[SimpleNamespace]:
    """Give the part of pytest-mock that Pykka's tests use."""
    started = []

    def patch(*args: Any, **kwargs: Any) -> Any:
        patcher = mock.patch.object(*args, **kwargs)
        started.append(patcher)
        return patcher.start()

    yield SimpleNamespace(**(vars(mock) | {"patch": SimpleNamespace(object=patch)}))
    for patcher in started:
        patcher.stop()
