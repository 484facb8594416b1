"""Projects on disk and the kernel's hints about them, most of which arrive."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any, NamedTuple

from cortex_actors.domain.insight import Granularity
from cortex_actors.domain.project import project_name
from cortex_actors.parsers.dialect import dialect_of
from cortex_actors.pipeline.findings import Reader

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cortex_actors.simulation import Simulation
    from tests.simulation.weather import Weather

#: The projects there are; one lies in another.
PROJECTS = ("atlas", "borealis", "atlas/inner")

#: Their instruction files.
FILES = ("CLAUDE.md", "AGENTS.md", "docs/CLAUDE.md")

#: What files say, in sections: the same in several places, now and then.
SAYINGS = tuple(
    f"## {heading}\n\nAlways {verb} {what} before you commit anything to this repository.\n"
    for heading, verb, what in (
        ("Tests", "run", "the whole test suite"),
        ("Style", "format", "every file with ruff"),
        ("Types", "check", "the types with mypy"),
        ("Commits", "write", "a message in the imperative"),
        ("Docs", "update", "the page that tells of it"),
        ("Naming", "prefer", "nouns for the names of modules"),
    )
)


class Place(NamedTuple):
    """Where an insight stands."""

    path: str
    insight: str
    first: int
    last: int


class Ear(NamedTuple):
    """Who wants to be woken."""

    folders: frozenset[str]
    wake: Callable[[], None]


class Folders:
    """The projects' files, changed by the scenario; the newest is always newer than all before."""

    def __init__(self, root: Path, simulation: Simulation, weather: Weather) -> None:
        self.root = root
        self._simulation = simulation
        self._weather = weather
        self._written = 1_700_000_000
        self.ears: dict[str, Ear] = {}
        for name in PROJECTS:
            (root / name / "docs").mkdir(parents=True)

    def path(self, project: str) -> str:
        """Return a project's folder."""
        return str(self.root / project)

    def change(self) -> str:
        """Change one file of one project, or remove it; return its path."""
        random = self._simulation.random
        place = self.root / random.choice(PROJECTS) / random.choice(FILES)
        if random.random() < 0.2:
            place.unlink(missing_ok=True)
        else:
            sayings = random.sample(SAYINGS, random.randint(0, 4))
            self._write(place, "".join(sayings))
        self._hint(str(place.parent))
        return str(place)

    def insights(self, followed: set[str]) -> set[Place]:
        """Return what the files of followed projects say, as the pure rules read them."""
        found: set[Place] = set()
        for path in (self.root / name / file for name in PROJECTS for file in FILES):
            roots = [self.root / name for name in followed]
            holding = [root for root in roots if path.is_relative_to(root)]
            if path.exists() and holding:
                found |= self._said(path, max(holding, key=lambda root: len(str(root))))
        return found

    def remove(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.root)

    def _said(self, path: Path, root: Path) -> set[Place]:
        dialect = dialect_of(str(path.relative_to(root)))
        assert dialect is not None
        reader = Reader(dialect, str(path), project_name(str(root)), Granularity.STATEMENT)
        return {
            Place(str(path), each.insight_id, each.source.line_start, each.source.line_end)
            for each in reader.read(path.read_bytes()).findings
        }

    def _write(self, place: Path, text: str) -> None:
        place.write_text(text)
        # The kernel's own times are too coarse for a simulated second, and would differ next time.
        self._written += 1
        os.utime(place, (self._written, self._written))

    def _hint(self, folder: str) -> None:
        if self._weather.strikes("a hint is lost", 0.3):
            return
        for ear in list(self.ears.values()):
            if folder in ear.folders:
                self._simulation.loop.call_later(self._weather.delay(0.1), ear.wake)


class SimulatedHints:
    """The kernel's hints, as far as they are used."""

    def __init__(self, folders: Folders) -> None:
        self._ears = folders.ears = {}
        self.folders: frozenset[str] = frozenset()

    def adopt(self, settings: object) -> None:
        """Follow other settings: there is nothing in them for this."""

    def listen(
        self,
        project_id: str,
        folders: frozenset[str],
        wake: Callable[[], None],
        *,
        polled: bool = False,
    ) -> None:
        """Wake somebody when something happens there."""
        self._ears[project_id] = Ear(folders, wake)

    def described(self) -> dict[str, Any]:
        """Tell that the kernel's events are heard."""
        return {"mode": "events", "modes": dict.fromkeys(self._ears, "events"), "reasons": []}

    def forget(self, project_id: str) -> None:
        """Wake nobody for a project any more."""
        self._ears.pop(project_id, None)

    def close(self) -> None:
        """Wake nobody."""
        self._ears.clear()
