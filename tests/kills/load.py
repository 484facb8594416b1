"""Those who use a daemon while it is killed: publishers that insist, editors that know nothing."""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.client.connection import Client
from cortex_actors.errors import (
    ActorAway,
    AnswerLost,
    DaemonDown,
    DaemonStopping,
    DeadlineExceeded,
    LedgerDown,
)
from cortex_actors.render import fence
from tests.kills.audit import Said
from tests.kills.story import is_read

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

#: What a publisher hears from a daemon that is away, or goes: it says the same again.
AWAY = (ActorAway, DaemonDown, DaemonStopping, DeadlineExceeded, LedgerDown)

#: Seconds after which a publisher tries again.
AGAIN = 0.03

#: Seconds up to which an editor rests between two saves.
REST = 0.3

#: Files an editor writes, from its project's root.
FILES = ("CLAUDE.md", "AGENTS.md", "docs/CLAUDE.md")

#: Statements, the same in several files, now and then.
SECTIONS = tuple(
    f"## {what.title()}\n\nAlways {verb} {what} before anything is merged here.\n\n"
    for verb in ("check", "rebuild", "review", "sign")
    for what in ("schemas", "fixtures", "licences", "changelogs", "snapshots", "migrations")
)


class Publisher(threading.Thread):
    """Says one event after another, each until it is told that it is durable."""

    def __init__(self, home: Path, name: str, chance: random.Random, paths: Sequence[str]) -> None:
        super().__init__(name=name, daemon=True)
        self._client = Client(home, timeout=10.0)
        self._chance = chance
        self._paths = paths
        self._over = threading.Event()
        #: What was promised to be durable.
        self.acknowledged: list[Said] = []
        #: Times that an answer was lost, and that what was said again was there already.
        self.unanswered = self.repeated = 0
        #: Errors that nobody may be told here.
        self.problems: list[str] = []

    def run(self) -> None:
        number = 0
        while not self._over.is_set():
            number += 1
            topic, payload = self._event(number)
            self._insist(topic, payload, key=f"{self.name}-{number}")

    def end(self) -> None:
        """Say nothing more, and return once it has come to its end."""
        self._over.set()
        self.join()

    def _event(self, number: int) -> tuple[str, dict[str, object]]:
        """Return what to say: mostly something of its own, else what makes the daemon work."""
        match self._chance.randrange(300):
            case 0:
                return "scan:requested", {}
            case 1 | 2 | 3:
                return "reconciliation:requested", {}
            case n if n < 15:
                return "file:changed", {"path": self._chance.choice(self._paths)}
            case _:
                return "custom:load", {"by": self.name, "number": number}

    def _insist(self, topic: str, payload: dict[str, object], *, key: str) -> None:
        """Say one event until it is durable, or until it is time to end."""
        while not self._over.is_set():
            try:
                told = self._client.call(
                    "publish", topic=topic, payload=payload, idempotency_key=key
                )
            except AWAY as error:
                self.unanswered += isinstance(error, AnswerLost)
                self._over.wait(AGAIN)
            except Exception as error:  # noqa: BLE001 - the test says which
                self.problems.append(f"publishing {topic} failed: {error!r}")
                return
            else:
                self.repeated += told.get("duplicate", False)
                self.acknowledged.append(Said(told["id"], topic, payload))
                return


class Editor(threading.Thread):
    """Saves the instruction files of some projects as an editor does: a new file takes the name."""

    def __init__(self, name: str, chance: random.Random, roots: Sequence[Path]) -> None:
        super().__init__(name=name, daemon=True)
        self._chance = chance
        self._roots = roots
        self._over = threading.Event()
        #: Path -> hashes of all that was ever saved there.
        self.revisions: dict[str, set[str]] = defaultdict(set)
        #: Path -> what was saved there last; None where it was removed.
        self.saved: dict[str, bytes | None] = {}
        #: Every file that may be there.
        self._known = {str(root / name) for root in roots for name in FILES}
        for root in roots:
            (root / "docs").mkdir(exist_ok=True)
            for path in root.rglob("*"):
                self._known.add(str(path))
                if is_read(path, root):
                    self._note(path, path.read_bytes())

    def run(self) -> None:
        while not self._over.wait(self._chance.uniform(0, REST)):
            self._save(self._chance.choice(self._roots) / self._chance.choice(FILES))

    def end(self) -> None:
        """Save nothing more, and return once it has come to its end."""
        self._over.set()
        self.join()

    def problems(self) -> Iterator[str]:
        """Yield what lies in its projects otherwise than it was saved, beside sections of ours."""
        for name, saved in self.saved.items():
            path = Path(name)
            now = path.read_bytes() if path.exists() else None
            theirs = None if now is None else fence.remove(now)
            if theirs != saved:
                yield f"{path} was saved as {saved!r} and is {now!r}"
        there = {str(path) for root in self._roots for path in root.rglob("*") if path.is_file()}
        yield from (f"nobody has saved {name}" for name in sorted(there - self._known))

    def _save(self, path: Path) -> None:
        if self._chance.random() < 0.1:
            self.saved[str(path)] = None
            path.unlink(missing_ok=True)
            return
        chosen = self._chance.sample(SECTIONS, self._chance.randint(1, 6))
        text = "".join(chosen).encode()
        beside = path.with_name(f".{path.name}.new")
        beside.write_bytes(text)
        self._note(path, text)
        beside.replace(path)

    def _note(self, path: Path, text: bytes) -> None:
        self.saved[str(path)] = text
        self.revisions[str(path)].add(hashlib.sha256(text).hexdigest())
