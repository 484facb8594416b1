"""A home that has learned two projects, made once and copied for each test, and its checkups."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any

from cortex_actors.clock import SystemClock
from cortex_actors.doctor import checks, doctor
from cortex_actors.doctor.models import Patient
from cortex_actors.home import Home
from cortex_actors.settings import Settings
from cortex_actors.storage.ledger.files import Halt
from tests.flow.support import copied, follow, grown

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.doctor.checks import CheckRound
    from cortex_actors.domain.hit import Diagnosis

#: Where paths of the projects stand in the ledger.
_PATHS = (("projects", "root"), ("file_states", "path"), ("insight_sources", "path"))

#: The projects that are learned.
PROJECTS = ("atlas-api", "harbor-web")


class Case:
    """One home and the projects it follows."""

    def __init__(self, folder: Path, made: Path) -> None:
        """Copy what was learned once into a folder."""
        self.folder = folder
        self.home = Home(folder / "home")
        shutil.copytree(made / "home", self.home.root)
        shutil.copytree(made / "projects", folder / "projects")
        self.clock = SystemClock()
        self.settings = Settings.model_validate({"embedding": {"provider": "hashing"}})
        old, new = str(made / "projects"), str(self.projects)
        for table, column in _PATHS:
            self.run(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", old, new)  # noqa: S608

    @property
    def projects(self) -> Path:
        """The folder of the projects, by its one name."""
        return (self.folder / "projects").resolve()

    @property
    def file(self) -> Path:
        """One instruction file that was read."""
        return self.projects / "atlas-api" / "CLAUDE.md"

    def run(self, statement: str, *values: object) -> None:
        """Change the ledger behind everybody's back, and close it in order."""
        with closing(sqlite3.connect(self.home.ledger)) as opened, opened:
            opened.execute(statement, values)

    def ask(self, query: str) -> Any:
        """Return the first value of a query."""
        with closing(sqlite3.connect(self.home.ledger)) as opened:
            return opened.execute(query).fetchone()[0]

    def look(self, **circumstances: Any) -> CheckRound:
        """Run every check but the index's own."""
        given = {"online": False, **circumstances}
        return checks.run_checks(Patient(self.home, self.settings, self.clock, **given), Halt())

    def ill(self, **circumstances: Any) -> dict[str, Diagnosis]:
        """Return what is worse than a note, by the name of its check; the last of several."""
        found = self.look(**circumstances).diagnoses
        return {each.check: each for each in found if each.severity in ("warning", "error")}

    async def visit(self, *, repair: bool = False) -> dict[str, Any]:
        """Call the doctor, without a daemon and with the index's child."""
        return await doctor.examine_offline(self.home, self.clock, repair=repair, thorough=False)


def noticed(found: dict[str, Any], check: str) -> list[str]:
    """Return what a visit found under a check that is not well, worst or not."""
    return [
        each["found"]
        for each in found["checks"]
        if each["check"] == check and each["severity"] != "ok"
    ]


def learn(folder: Path) -> Path:
    """Make a home that has learned two projects in a folder, and return the folder."""
    (folder / "projects").mkdir()
    roots = copied(folder / "projects", *PROJECTS)

    async def live() -> None:
        async with grown(folder / "home") as tree:
            await follow(tree, *roots)
        # A text that was replaced while it was embedded may leave a vector without use.
        await doctor.examine_offline(
            Home(folder / "home"), SystemClock(), repair=True, thorough=False
        )

    # On a thread of its own: the tests' loop is not to be disturbed.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, live()).result()
    return folder
