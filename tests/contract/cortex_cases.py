"""A second daemon with something in its village, as a store of type `cortex`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.contract.adapters import Case
from tests.gateways.doors import opened

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def cortex(folder: Path) -> Iterator[Case]:
    """Run a daemon that knows of deploys and of paths, and keeps something to itself."""
    with opened() as door:

        def say(text: str, realm: str, *tags: str) -> str:
            given: dict[str, Any] = {"content": text, "realm": realm, "tags": list(tags)}
            given["merge"] = False
            return str(door.client.call("remember", **given)["id"])

        monday = say("Deploys happen on Mondays after lunch", "village", "deploy", "week")
        rollback = say("A failed deploy is rolled back by hand", "village", "Deploy")
        say("The user prefers absolute paths over tildes", "village", "config")
        say("Deploys happen on Mondays, and nobody may know", "private", "deploy")
        yield Case(
            type="cortex",
            url=door.url,
            question="deploys happen on mondays",
            ids=(monday,),
            token=door.token,
            topic="deploy",
            tagged=frozenset({monday, rollback}),
        )
