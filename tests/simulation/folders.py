"""Projects on disk and the kernel's hints about them, most of which arrive."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any, NamedTuple

from cortex_actors.domain.insight import Granularity
from cortex_actors.domain.project import make_project_name
from cortex_actors.pipeline.reading import FileReader
from cortex_actors.render import fence
from cortex_actors.text.sections import find_dialect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.simulation.simulated_loop import Simulation
    from tests.simulation.weather import Weather

#: The projects there are; one lies in another.
PROJECTS = ("atlas", "borealis", "atlas/inner")

#: Their instruction files.
FILES = ("CLAUDE.md", "AGENTS.md", "docs/CLAUDE.md")

#: What files say, in sections: the same in several places, now and then. Each is a rule that stands
#: alone, and none is near another one: for few shared words the simulated cosine is .58 already.
SAYINGS = tuple(
    f"## {heading}\n\n{saying}\n"
    for heading, saying in (
        ("Style", "Never mix tabs and spaces in one file."),
        ("Types", "Prefer narrow types over wide ones."),
        ("Commits", "Write every message in the imperative."),
        ("Docs", "Update documentation together with changed behaviour."),
        ("Naming", "Choose nouns for the names of modules."),
        ("Tests", "Always run the whole test suite before you commit anything."),
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
        #: Path -> what a person last saved there; None where it was removed.
        self._saved: dict[Path, bytes | None] = {}
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
            self._saved[place] = None
        else:
            sayings = random.sample(SAYINGS, random.randint(0, 4))
            self._save(place, "".join(sayings).encode())
        self._hint(str(place.parent))
        return str(place)

    def problems(self) -> Iterator[str]:
        """Yield what is in the files and no person has saved, or was saved and is not there."""
        there = {path for path in self.root.rglob("*") if path.is_file()}
        strange = there - self._saved.keys()
        yield from (f"nobody has saved {path}" for path in sorted(strange))
        for path, saved in self._saved.items():
            now = path.read_bytes() if path in there else None
            if (now is None) != (saved is None):
                yield f"{path} {'is gone' if now is None else 'is there again'}"
            elif now is not None and saved is not None:
                yield from _difference(path, saved, now)

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
        dialect = find_dialect(str(path.relative_to(root)))
        assert dialect is not None
        reader = FileReader(dialect, str(path), make_project_name(str(root)), Granularity.STATEMENT)
        return {
            Place(str(path), each.insight_id, each.source.line_start, each.source.line_end)
            for each in reader.read(path.read_bytes()).findings
        }

    def _save(self, place: Path, text: bytes) -> None:
        """Save a text as people do: over all, around our section, or with a word in it."""
        ours = _section(place.read_bytes()) if place.exists() else b""
        if ours and (way := self._simulation.random.random()) < 0.7:
            text += b"\n" + (ours if way < 0.6 else ours.replace(b"\n- ", b"\n- My word: "))
        self._saved[place] = text
        self._write(place, text)

    def _write(self, place: Path, text: bytes) -> None:
        place.write_bytes(text)
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

    def describe(self) -> dict[str, Any]:
        """Tell that the kernel's events are heard."""
        return {"mode": "events", "modes": dict.fromkeys(self._ears, "events"), "reasons": []}

    def forget(self, project_id: str) -> None:
        """Wake nobody for a project any more."""
        self._ears.pop(project_id, None)

    def close(self) -> None:
        """Wake nobody."""
        self._ears.clear()


def _section(data: bytes) -> bytes:
    """Return our section of a file with its marks, or nothing."""
    found = fence.find(data)
    return data[found.start : found.end] if found else b""


def _difference(path: Path, saved: bytes, now: bytes) -> Iterator[str]:
    """Yield in what a file is not what a person saved: beside a section of ours, as we wrote it."""
    ours, theirs = fence.find(now), fence.find(saved)
    if fence.remove(now) != fence.remove(saved):
        yield f"{path} was saved as {saved!r} and is {now!r}"
    elif theirs is not None and not theirs.intact and now != saved:
        yield f"{path} was edited within our marks, {saved!r}, and is {now!r}"
    elif ours is not None and not ours.intact and now != saved:
        yield f"{path} has half a section: {now!r}"
