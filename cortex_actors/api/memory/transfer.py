"""The verbs that carry memories from one home to another: out page by page, in from a file.

Whoever exports gets what it may read; only the owner imports. What is imported is marked so for
ever, overwrites nothing, is merged with nothing, and says no events.

A file of memories that is read in: looked at as a whole first, then taken in group by group.

Two forms are understood: MemoryCore's JSON (`formatters.memorycore`) and our own JSON Lines, whose
first line says what it is and whose last one how many records there were. Everything here blocks
and holds a group of records at a time, however large the file is.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import stat
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from cortex_actors.api import parameters
from cortex_actors.api.registry import Call, operation
from cortex_actors.api.shapes import fields_of
from cortex_actors.domain.agent import agent_id, shown
from cortex_actors.domain.memory import PROBE, Realm
from cortex_actors.errors import BadInput, NotFound, Refused
from cortex_actors.render import memorycore
from cortex_actors.rules import interchange
from cortex_actors.storage.memory import memory_transfer
from cortex_actors.text import jsonstream

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator


#: Records that are taken in at once: one transaction, some ten milliseconds.
GROUP: Final = 200

#: Characters that are read at once.
_PIECE: Final = 65_536


@dataclass(slots=True)
class Checked:
    """What a file holds, once all of it was found to be good.

    Attributes:
        stamp: tells whether it is still the same file.
        counts: records, by realm or kind.
        redacted: secrets that are left out.

    """

    form: str
    stamp: str
    counts: Counter[str] = field(default_factory=Counter)
    redacted: int = 0

    @property
    def records(self) -> int:
        """How many in all."""
        return self.counts.total()


def check(path: str, *, whole: bool = True) -> Checked:
    """Return which file it is, once every record of it was looked at, or at once.

    Raises `BadInput` with the place of the first wrong one.
    """
    with _opened(path) as file:
        about = os.fstat(file.fileno())
        stamp = f"{about.st_dev}:{about.st_ino}:{about.st_size}:{about.st_mtime_ns}"
        found = Checked(_form(file, path), stamp)
        if not whole:
            return found
        for _, each in _records(file, found.form, path):
            found.counts[each.get("realm") or each["kind"]] += 1
            found.redacted += each.get("redacted", 0)
    return found


def groups(
    path: str, form: str, *, skip: int = 0, answering: bool = False
) -> Generator[tuple[int, list[dict[str, Any]]]]:
    """Yield the records of a file that was looked at, behind the first so many, in groups.

    With each group comes how many records of the file lie behind it; `answering` leaves out those
    that answer nothing. What is left out is not looked at again, which takes most of the time.
    """
    with _opened(path) as file:
        records = _records(file, form, path, skip=skip, answering=answering)
        while group := list(islice(records, GROUP)):
            yield group[-1][0], [each for _, each in group]


def _opened(path: str) -> IO[str]:
    """Return a file that was opened. Raises `NotFound`, and `BadInput` for what is none."""
    if not Path(path).is_absolute():
        raise BadInput(f"cannot import {path}: give an absolute path")
    try:
        # A pipe must not keep us waiting for somebody to write into it.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"cannot import {path}: there is no such file") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"cannot import {path}: {why}") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise BadInput(f"cannot import {path}: it is no regular file")
    return os.fdopen(fd, encoding="utf-8-sig", newline="\n")


def _form(file: IO[str], path: str) -> str:
    """Return which of the two forms a file has: by its first line."""
    try:
        first = file.readline(_PIECE)
        file.seek(0)
    except ValueError as error:
        raise BadInput(f"cannot import {path}: it is no text in UTF-8: {error}") from error
    try:
        head = json.loads(first)
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict) or "format" not in head:
        return "memorycore"
    if (head.get("format"), head.get("version")) != (interchange.FORMAT, interchange.VERSION):
        raise BadInput(
            f"cannot import {path}: its first line says {shown(head.get('format'))} "
            f"{shown(head.get('version'))}, and {interchange.FORMAT!r} {interchange.VERSION} is "
            "understood"
        )
    return interchange.FORMAT


def _records(
    file: IO[str], form: str, path: str, *, skip: int = 0, answering: bool = False
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the records of a file in their one form, numbered. Raises `BadInput` with the place."""
    pieces = iter(lambda: file.read(_PIECE), "")
    place = "the beginning"
    try:
        found = _own(pieces) if form == interchange.FORMAT else _theirs(pieces)
        for number, placed in enumerate(found, start=1):
            place = placed.place
            if number <= skip:
                continue
            raw = placed.found
            if form != interchange.FORMAT:
                raw = memorycore.taken(placed.collection, raw)
            if answering and not (isinstance(raw, dict) and raw.get("responding_to")):
                continue
            made = interchange.record(raw)
            if made.get("agent") != PROBE:
                yield number, made
    except UnicodeDecodeError as error:
        message = f"cannot import {path}: behind {place} it is no text in UTF-8: {error}"
        raise BadInput(message) from error
    except BadInput as error:
        said = str(error)
        where = "" if said.startswith((place, "line ", "collections.")) else f"{place}: "
        raise BadInput(f"cannot import {path}: {where}{said}; nothing was written") from error


def _own(pieces: Iterator[str]) -> Iterator[jsonstream.PlacedRecord]:
    """Yield the records of our own form, all of which must be there."""
    count, ended = 0, False
    for number, placed in enumerate(jsonstream.lines(pieces)):
        if ended:
            raise BadInput(f"{placed.place}: there is more behind the last record")
        found = placed.found
        if number == 0:
            continue
        if isinstance(found, dict) and found.get("kind") == interchange.END:
            ended = True
            if found.get("records") != count:
                raise BadInput(f"{placed.place}: {found.get('records')} records were to come")
            continue
        count += 1
        yield placed
    if not ended:
        raise BadInput("the last line is missing: the file is not complete")


def _theirs(pieces: Iterator[str]) -> Iterator[jsonstream.PlacedRecord]:
    """Yield the records of MemoryCore's form."""
    version: object = None
    met = False
    for placed in jsonstream.collections(pieces):
        if placed.collection:
            met = True
            yield placed
        elif placed.place == "format_version":
            version = placed.found
            if version != memorycore.VERSION:
                raise BadInput(
                    f"format_version {shown(version)} is not understood; it is "
                    f"{memorycore.VERSION!r}"
                )
    if version is None:
        raise BadInput(
            "there is no format_version: it is neither MemoryCore's JSON nor our own form"
            if not met
            else "there is no format_version"
        )


#: Records of a page.
PAGE: Final = 500

#: Seconds after which a call ends, to be gone on with: a verb may take 120.
LONG: Final = 45.0

#: Ids that are told of which something else is known.
TOLD: Final = 20

#: What can be exported -> how a page of it is read; the first three are everybody's.
KINDS: Final = {
    "agents": memory_transfer.agent_page,
    "memories": memory_transfer.memory_page,
    "crumbs": memory_transfer.crumb_page,
    "changes": memory_transfer.change_page,
    "pairs": memory_transfer.pair_page,
}

#: What the pages of agents and of changes begin behind.
_NUMBER: Final = re.compile(r"[0-9]{1,18}")

#: What only the owner is told.
_OWNERS: Final = frozenset({"changes", "pairs"})


@operation("memory.export", http="GET /memories/export", agents=True, sessions=False)
async def export(
    call: Call,
    kind: str = "memories",
    *,
    after: str = "",
    limit: int = 200,
    agent: str | None = None,
    realm: str | None = None,
    active: bool = False,
    as_agent: str | None = None,
) -> dict[str, Any]:
    """Return the next records of a kind, and what `after` is for those behind them.

    Kinds are agents, memories, crumbs, and for the owner changes and pairs; `active` leaves out
    what may not be found now. Raises `BadInput`.
    """
    if kind not in KINDS:
        raise BadInput(f"cannot export {kind}; there are {', '.join(KINDS)}")
    parameters.page(limit, 0, of=kind)
    wanted = memory_transfer.ExportFilter(
        reader=call.caller.reader(as_agent),
        agent=None if agent is None else agent_id(agent),
        realm=parameters.chosen(Realm, realm, what="realm"),
        active=active,
    )
    if kind in _OWNERS and wanted.reader is not None:
        return {"kind": kind, "records": [], "next": None}
    if kind in {"agents", "changes"} and not _NUMBER.fullmatch(after or "0"):
        raise BadInput(f"cannot export {kind} behind {after!r}: that is no number")
    page = partial(KINDS[kind], wanted=wanted, after=after, limit=min(limit, PAGE))
    records, following = await call.records.read(page)
    return {"kind": kind, "records": records, "next": following}


@operation("memory.import", http="POST /memories/import")
async def import_memories(
    call: Call, path: str, *, dry_run: bool = False, skip: int = 0, stamp: str | None = None
) -> dict[str, Any]:
    """Import the memories of a file that are not there yet; only the owner may.

    All of it is looked at before anything is written. A large file takes several calls: `next`
    is the `skip` of the next one, with the same `stamp`; None at the end. How many records and
    secrets there are is told by the first. Taken in again, it adds nothing. `unplaced` are those of
    projects that are not known here, by name: they belong to none from now on. Raises `BadInput`
    with the place of a wrong record, `NotFound`, and `Refused` for a file that was changed
    meanwhile.
    """
    work = partial(_import, call, path, dry_run=dry_run, skip=skip, stamp=stamp)
    return await call.tasks.run("import", work)


async def _import(
    call: Call, path: str, *, dry_run: bool, skip: int, stamp: str | None
) -> dict[str, Any]:
    """Import as much as one call may."""
    clock = call.clock
    begun, at = clock.monotonic(), clock.now()
    found = await _looked_at(path, skip, stamp)
    total, done, whole = memory_transfer.Arrived(), skip, False
    waiting = groups(path, found.form, skip=skip)
    try:
        while done == skip or clock.monotonic() - begun < LONG:
            coming = await asyncio.to_thread(next, waiting, None)
            if coming is None:
                whole = True
                break
            done, group = coming
            arrive = partial(memory_transfer.arrive, found=group, at=at)
            some = await call.change(arrive, dry_run=dry_run)
            total.added += some.added
            total.existing += some.existing
            total.differing += some.differing
            total.unplaced.update(some.unplaced)
    finally:
        with suppress(ValueError):  # cancelled, while the thread still reads
            waiting.close()
    if whole and not dry_run:
        # Takes its own while: a call that has taken that long already leaves it to the next.
        whole = done == skip or clock.monotonic() - begun < LONG
        if whole:
            await _answer(call, path, found.form)
    return {
        "path": path,
        "dry_run": dry_run,
        **fields_of(found, "records", "redacted", "stamp", format="form"),
        "added": dict(total.added),
        "existing": total.existing,
        "differing": total.differing[:TOLD],
        "unplaced": dict(total.unplaced),
        "next": None if whole else done,
    }


async def _looked_at(path: str, skip: int, stamp: str | None) -> Checked:
    """Return what a file holds; a part of one that was looked at is not looked at again."""
    found = await asyncio.to_thread(check, path, whole=not skip)
    if skip and stamp != found.stamp:
        raise Refused(
            f"refused to go on with {path}: it was changed meanwhile; import it anew, what was "
            "taken in stays"
        )
    return found


async def _answer(call: Call, path: str, form: str) -> None:
    """Write which of the memories answer which, now that all are there."""
    waiting = groups(path, form, answering=True)
    while (found := await asyncio.to_thread(next, waiting, None)) is not None:
        await call.records.write(partial(memory_transfer.answer, found=found[1]))
