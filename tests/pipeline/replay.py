"""Replaying the revisions of instruction files, and what must be left of it, however it went."""

from __future__ import annotations

import os
import random
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.domain.event import FileChanged
from cortex_actors.domain.insight import Granularity
from cortex_actors.domain.project import hash_file
from cortex_actors.pipeline.reading import FileReader
from cortex_actors.testing import eventually
from cortex_actors.text.sections import find_dialect, find_folder
from cortex_actors.topics import FILE_CHANGED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cortex_actors.domain.project import Project
    from tests.pipeline.support import Embedder, Office

#: Rules that the revisions of a history shuffle.
_RULES = tuple(
    f"{how} {what}."
    for how in ("Always run", "Never skip", "Prefer", "Document")
    for what in ("the linter", "the slow tests", "small commits", "the migrations", "type hints")
)
_HEADINGS = ("Style", "Tests", "Commits", "Never")

#: What is the same however files were read: everything but times, numbers of rows and weights.
_STATE = {
    "texts": "SELECT id, content, heading, kind, category, tags, domain, status, superseded_by,"
    " granularity, review FROM insights WHERE status <> 'withdrawn'",
    "places": "SELECT fragment_id, ordinal, said_id, insight_id, project_id, path, heading, kind,"
    " scope, line_start, line_end FROM insight_sources WHERE withdrawn_at IS NULL",
    "found": "SELECT item_id, place, text FROM passages",
    "vectors": "SELECT DISTINCT i.id, hex(v.vector) FROM insights AS i JOIN vectors AS v"
    " USING (text_hash) WHERE i.status <> 'withdrawn'",
    "files": "SELECT path, project_id, sha256, read_as, error FROM file_states",
    "alerts": "SELECT kind, path, fragment_id, line_start, detail FROM alerts"
    " WHERE ended_at IS NULL",
}

#: In which revisions files say which texts.
_EVIDENCE = (
    "SELECT DISTINCT path, said_id, file_hash FROM observations"
    " JOIN insight_sources ON id = source_id"
)


@dataclass(frozen=True)
class Revision:
    """What one file says from some moment on; None: it is gone."""

    name: str
    data: bytes | None


def invented(seed: int, *, files: int, revisions: int) -> list[Revision]:
    """Return a history of small edits, moves between headings, removals and returns."""
    dice = random.Random(seed)
    said: dict[str, list[tuple[str, str]]] = {}
    names = ["CLAUDE.md", "AGENTS.md", "api/CLAUDE.md", "CLAUDE.local.md"][:files]
    found = []
    for _ in range(revisions):
        name = dice.choice(names)
        if name in said and dice.random() < 0.1:
            del said[name]
            found.append(Revision(name, None))
            continue
        rules = said.setdefault(name, [])
        for _ in range(dice.randint(1, 3)):
            if rules and dice.random() < 0.4:
                rules.pop(dice.randrange(len(rules)))
            else:
                rules.append((dice.choice(_HEADINGS), dice.choice(_RULES)))
        found.append(Revision(name, _text(rules).encode()))
    return found


def committed(*, files: int | None = None) -> dict[str, list[Revision]]:
    """Return the committed revisions of real files by repository; nothing without the data.

    Whatever they say is data for a program.
    """
    folder = os.environ.get("CORTEX_TEST_DATA")
    archive = Path(folder) / "history.tar.xz" if folder else None
    if archive is None or not archive.is_file():
        return {}
    found: dict[str, list[tuple[str, Revision]]] = {}
    with tarfile.open(archive) as packed:
        for member in packed:
            parts = Path(member.name).parts
            if member.isfile() and member.name.endswith(".md") and len(parts) > 3:
                _, repository, *inner, number = parts
                opened = packed.extractfile(member)
                assert opened is not None
                revision = Revision("/".join(inner), opened.read())
                found.setdefault(repository, []).append((number, revision))
    histories = {
        name: [each for _, each in sorted(some, key=lambda pair: pair[0])]
        for name, some in sorted(found.items())
    }
    return dict(sorted(histories.items(), key=lambda each: len(each[1]))[:files])


async def replay(
    office: Office, project: Project, history: Sequence[Revision], embed: Embedder, seed: int
) -> None:
    """Have each revision read in its turn, by accumulators that are killed again and again."""
    dice = random.Random(seed)
    make = office.accumulator(embed)
    await office.employ("accumulator", make)
    for revision in history:
        path = _put(project, revision)
        office.clock.advance(1)
        payload = FileChanged(project.id, str(path))
        for _ in range(dice.choice((1, 1, 2, 3))):
            await office.bus.publish(FILE_CHANGED, payload, source="test")
        if dice.random() < 0.3:
            for _ in range(dice.randrange(6)):  # so that it dies in different places
                await office.waiting("accumulator")
            await office.dismiss("accumulator")
            await office.employ("accumulator", make)
        await done(office, "accumulator")


async def done(office: Office, consumer: str) -> None:
    """Return once a consumer has nothing left to do.

    Whoever was killed right after a commit has woken nobody: the clock goes on until they look.
    """

    async def nothing() -> bool:
        office.clock.advance(1)
        return await office.waiting(consumer) == 0

    await eventually(nothing, within=20)


async def ingest(
    office: Office, project: Project, history: Sequence[Revision], embed: Embedder
) -> None:
    """Have the last revision of each file read, once."""
    await office.employ("accumulator", office.accumulator(embed))
    last = {each.name: each for each in history}
    paths = [_put(project, each) for each in last.values()]
    await office.changed(project, *paths)


async def state(office: Office) -> dict[str, list[str]]:
    """Return what the ledger says of the files as they are."""
    return await office.read(
        lambda c: {
            name: sorted(repr(tuple(row)) for row in c.exec_driver_sql(query))
            for name, query in _STATE.items()
        }
    )


async def evidence(office: Office) -> set[tuple[str, str, str]]:
    """Return in which revision which file said what, as the ledger has it."""
    return set(await office.read(lambda c: [tuple(row) for row in c.exec_driver_sql(_EVIDENCE)]))


def expected(project: Project, history: Sequence[Revision]) -> set[tuple[str, str, str]]:
    """Return in which revision which file said what, as the reader alone reads them."""
    return {each for revision in history for each in _said(project, revision)}


def _said(project: Project, revision: Revision) -> Iterator[tuple[str, str, str]]:
    """Yield what one revision says."""
    dialect = find_dialect(revision.name)
    if revision.data is None or dialect is None:
        return
    path = str(Path(project.root, revision.name))
    folder = find_folder(revision.name)
    reader = FileReader(dialect, path, project.name, Granularity.STATEMENT, folder)
    for each in reader.read(revision.data).findings:
        yield path, each.insight_id, hash_file(revision.data)


def _put(project: Project, revision: Revision) -> Path:
    """Make a file what a revision says; return its path."""
    path = Path(project.root, revision.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    if revision.data is None:
        path.unlink(missing_ok=True)
    else:
        path.write_bytes(revision.data)
    return path


def _text(rules: Sequence[tuple[str, str]]) -> str:
    """Return rules as a file, each under its heading."""
    parts = []
    for heading in dict.fromkeys(heading for heading, _ in rules):
        parts.append(f"## {heading}\n")
        parts += [f"- {rule}" for under, rule in rules if under == heading]
        parts.append("")
    return "\n".join(parts)
