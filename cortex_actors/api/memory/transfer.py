"""Operations that carry memories and crumbs from one home to another, as MemoryCore's JSON.

An export has what its caller may read; only the owner imports. What is imported is marked so for
ever, overwrites nothing, is merged with nothing, and publishes no events. Reading a file blocks and
holds one group of records at a time, however large the file is.
"""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from cortex_actors.api import parameters
from cortex_actors.api.registry import Call, operation
from cortex_actors.domain.agent import format_given, read_agent_id
from cortex_actors.domain.memory import PROBE, CrumbRecord, Memory, Realm
from cortex_actors.errors import BadInput, NotFound, Refused
from cortex_actors.render import memorycore
from cortex_actors.storage import projects
from cortex_actors.storage.memory import memory_transfer
from cortex_actors.text import jsonstream

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cortex_actors.render.memorycore import CarriedRecord
    from cortex_actors.storage.ledger.actor import Connection

#: Records that are imported in one transaction, some ten milliseconds; and those of a page.
GROUP, PAGE = 200, 500

#: Characters that are read at once.
_PIECE: Final = 65_536

#: Seconds after which a call ends and the next one goes on: an operation may take 120.
LONG: Final = 45.0

#: Ids that are named of which something else is known.
_NAMED: Final = 20

#: What can be exported.
KINDS: Final = ("memories", "crumbs")


@operation("memory.export", http="GET /memories/export", agents=True, sessions=False)
async def export(
    call: Call,
    kind: str = "memories",
    *,
    after: str = "",
    limit: int = 200,
    agent: str | None = None,
    realm: str | None = None,
    as_agent: str | None = None,
) -> dict[str, Any]:
    """Return the next memories or crumbs as MemoryCore has them, and what `after` is for more.

    Only active memories are exported. Raises `BadInput`.
    """
    if kind not in KINDS:
        raise BadInput(f"cannot export {kind}; there are {', '.join(KINDS)}")
    parameters.check_page(limit, 0, of=kind)
    wanted = memory_transfer.ExportFilter(
        reader=call.caller.choose_reader(as_agent),
        agent=None if agent is None else read_agent_id(agent),
        realm=parameters.read_word(Realm, realm, what="realm"),
    )
    most = min(limit, PAGE)

    def read(connection: Connection) -> dict[str, Any]:
        found: Sequence[Memory | CrumbRecord] = (
            memory_transfer.list_memories(connection, wanted, after=after, limit=most)
            if kind == "memories"
            else memory_transfer.list_crumbs(connection, wanted, after=after, limit=most)
        )
        names = projects.load_names(connection)
        records = [memorycore.format_record(e, names.get(e.project_id)) for e in found]
        following = found[-1].id if len(found) == most else None
        return {"kind": kind, "records": records, "next": following}

    return await call.records.read(read)


@operation("memory.import", http="POST /memories/import")
async def import_memories(
    call: Call, path: str, *, dry_run: bool = False, skip: int = 0
) -> dict[str, Any]:
    """Import the memories of a file that are not there yet; only the owner may.

    All of it is checked before anything is written. A large file takes several calls: `next` is the
    `skip` of the next one; None at the end. How many records and secrets there are, the first call
    says. The same file adds nothing a second time. `unplaced` are those of projects that are not
    known here, by name: they belong to none from now on. Raises `BadInput` with the place of a
    wrong record, `NotFound`.
    """
    return await call.tasks.run("import", partial(_import, call, path, dry_run=dry_run, skip=skip))


async def _import(call: Call, path: str, *, dry_run: bool, skip: int) -> dict[str, Any]:
    """Import as much as one call may."""
    begun, done = call.clock.monotonic(), skip
    records, redacted = (0, 0) if skip else await asyncio.to_thread(_check, path)
    total, waiting = memory_transfer.Arrived(), read_records(path, skip=skip)
    while group := await asyncio.to_thread(lambda: list(islice(waiting, GROUP))):
        arrive = partial(memory_transfer.import_records, found=[each for _, each in group])
        some = await call.change(arrive, dry_run=dry_run)
        total.added += some.added
        total.existing += some.existing
        total.differing += some.differing
        total.unplaced += some.unplaced
        done = group[-1][0]
        if call.clock.monotonic() - begun > LONG:
            break
    if not (group or dry_run):
        await _answer(call, path)
    return {
        "path": path,
        "dry_run": dry_run,
        "records": records,
        "redacted": redacted,
        "added": dict(total.added),
        "existing": total.existing,
        "differing": total.differing[:_NAMED],
        "unplaced": dict(total.unplaced),
        "next": done if group else None,
    }


def _check(path: str) -> tuple[int, int]:
    """Return how many records a file has, and how many secrets are left out of them.

    Raises `BadInput` with the place of the first wrong one.
    """
    secrets = [each.redacted for _, each in read_records(path)]
    return len(secrets), sum(secrets)


async def _answer(call: Call, path: str) -> None:
    """Write which of the memories answer which, now that all are there."""
    waiting = read_records(path, answering=True)
    while group := await asyncio.to_thread(lambda: list(islice(waiting, GROUP))):
        found = {e.item.id: e.item.replies_to for _, e in group if isinstance(e.item, Memory)}
        await call.records.write(partial(memory_transfer.link_replies, found=found))


def read_records(
    path: str, *, skip: int = 0, answering: bool = False
) -> Iterator[tuple[int, CarriedRecord]]:
    """Yield the records of a file behind the first so many, numbered.

    `answering` leaves out those that answer nothing. What is left out is not checked, which takes
    most of the time. Raises `NotFound`, and `BadInput` with the place of a wrong record.
    """
    place, version = "the beginning", None
    with _opened(path) as file:
        try:
            pieces = iter(lambda: file.read(_PIECE), "")
            numbers = count(1)
            for place, collection, found in jsonstream.read_collections(pieces):
                if not collection:
                    version = _version(found) if place == "format_version" else version
                elif (number := next(numbers)) > skip and not (
                    answering and isinstance(found, dict) and not found.get("responding_to")
                ):
                    made = memorycore.read_record(collection, found)
                    if made.item.agent_id != PROBE:
                        yield number, made
            _version(version)
        except UnicodeDecodeError as error:
            message = f"cannot import {path}: behind {place} it is no text in UTF-8: {error}"
            raise BadInput(message) from error
        except (BadInput, Refused) as error:
            said = str(error)
            where = "" if said.startswith((place, "collections.")) else f"{place}: "
            raise BadInput(f"cannot import {path}: {where}{said}; nothing was written") from error


def _opened(path: str) -> IO[str]:
    """Return a file that was opened. Raises `NotFound`, and `BadInput` for what is none."""
    place = Path(path)
    if not place.is_absolute():
        raise BadInput(f"cannot import {path}: give an absolute path")
    try:
        # A pipe would keep us waiting for its writer.
        if place.exists() and not place.is_file():
            raise BadInput(f"cannot import {path}: it is no regular file")
        return place.open(encoding="utf-8-sig", newline="\n")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"cannot import {path}: there is no such file") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"cannot import {path}: {why}") from error


def _version(found: object) -> str:
    """Return the version of a file's form. Raises `BadInput` for another, and for none."""
    if found is None:
        raise BadInput("there is no format_version: is it MemoryCore's JSON?")
    if found != memorycore.VERSION:
        raise BadInput(
            f"format_version {format_given(found)} is not understood; it is {memorycore.VERSION!r}"
        )
    return memorycore.VERSION
