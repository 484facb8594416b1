"""One daemon for all tests of the door: what it knows, and what is nobody's business."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.gateways.doors import Door, opened
from tests.process.commands import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: What must never be answered to anybody outside.
SECRET = "the launch word is heliotrope"

#: What a project's file says.
FILE = "# Atlas\n\n## Test port\n\nThe tests run on port 5433 because 5432 is taken.\n"


@dataclass(frozen=True, slots=True)
class House:
    """Our daemon, and the ids of what it knows."""

    door: Door
    monday: str
    rollback: str
    before: str
    after: str

    @property
    def memory(self) -> str:
        """Where it answers as a SerenMemory."""
        return f"{self.door.url}/seren/memory"

    @property
    def loci(self) -> str:
        """Where it answers as a SerenLoci."""
        return f"{self.door.url}/seren/loci"


@contextmanager
def furnished(folder: Path) -> Iterator[House]:
    """Run a daemon that knows a project in that folder, the village, and what agents keep."""
    (folder / "atlas").mkdir()
    (folder / "atlas/CLAUDE.md").write_text(FILE)
    with opened() as door:
        _says(door, SECRET, realm="private", tags=["deploy"])
        _says(door, f"{SECRET}, too", realm="bridge", related_agents=["VAJRA"])
        monday = _says(door, "Deploys happen on Mondays", tags=["deploy"])
        rollback = _says(door, "What went wrong is undone by hand", tags=["deploy"])
        deep: dict[str, Any] = {"layer": "long_term", "tags": ["backup"]}
        before = _says(door, "Backups run at night on the big disk", **deep)
        after = _says(door, "Backups run at noon", supersedes=[before], **deep)
        call = door.client.call
        call("add_project", path=str(folder / "atlas"))
        # A ledger that is slow to answer leaves its numbers out.
        until(lambda: 1 == call("status").get("insights"), "an insight")
        until(lambda: 0 == call("status").get("unembedded"), "vectors for all of it")
        yield House(door, monday, rollback, before, after)


def _says(door: Door, text: str, *, realm: str = "village", **more: Any) -> str:
    """Have the daemon remember something by itself; return its id."""
    found = door.client.call("remember", content=text, realm=realm, merge=False, **more)
    return str(found["id"])
