"""Operations that carry memories from one home to another: export and import."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from contextlib import aclosing, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from cortex_actors.client.operations import LONG, Operations
from cortex_actors.client.results import Exported, Imported
from cortex_actors.clock import SystemClock, iso
from cortex_actors.errors import BadInput, CortexError, HomeUnwritable
from cortex_actors.render import memorycore
from cortex_actors.rules.interchange import END, FORMAT, VERSION

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

#: Kinds of records in our own form, in the order in which they can be read in again.
KINDS: Final = ("agents", "memories", "changes", "pairs", "crumbs")


class Carrying(Operations):
    """Part of the library."""

    async def export_to(
        self,
        path: Path | str,
        *,
        full: bool = False,
        agent: str | None = None,
        realm: str | None = None,
    ) -> Exported:
        """Write all that may be read into a file: what is found now, as MemoryCore's JSON.

        `full` writes our own form instead, JSON Lines that also hold merged, replaced and archived
        memories, their lineage, since when they were believed and what was done with them. The file
        takes its name when it is complete, in place of an earlier one. Nothing is held in memory
        but a page.

        Example:
            >>> cortex.export_to("memories.json", agent="AZOTH").records
            {'cortex_private': 120, 'cortex_crumbs': 3}

        """
        pieces = _full if full else _core
        target = Path(path).expanduser().absolute()  # noqa: ASYNC240 - touches no disk
        counts: Counter[str] = Counter()
        file = await self._door.on_thread(_begun, target)
        try:
            async with aclosing(pieces(self, counts, agent=agent, realm=realm)) as some:
                async for piece in some:
                    await self._door.on_thread(file.write, piece)
            await self._door.on_thread(_ended, file, target)
        except BaseException:
            _dropped(file)
            raise
        form = FORMAT if full else "memorycore"
        return Exported(path=str(target), format=form, records=dict(counts))

    async def import_from(self, path: Path | str, *, dry_run: bool = False) -> Imported:
        """Take in the memories of a file that are not there yet, in either form.

        The daemon reads the file; only the owner may. All of it is looked at before anything is
        written. What comes is marked as imported, replaces nothing and is merged with nothing; the
        same file adds nothing a second time.

        Example:
            >>> cortex.import_from("memories.json", dry_run=True).added
            {'private': 120, 'crumb': 3}

        """
        whole = str(Path(path).expanduser().absolute())  # noqa: ASYNC240 - touches no disk
        said: dict[str, Any] = {"path": whole, "dry_run": dry_run}
        added: Counter[str] = Counter()
        existing, differing, first = 0, [], None
        while True:
            answer = await self._ask("import_memories", LONG, **said)
            first = first or answer
            added.update(answer["added"])
            existing += answer["existing"]
            differing += answer["differing"]
            if answer["next"] is None:
                break
            said |= {"skip": answer["next"], "stamp": answer["stamp"]}
        total = {**first, "added": dict(added), "existing": existing, "differing": differing}
        return Imported.of(total)

    async def _pages(self, kind: str, **said: object) -> AsyncGenerator[list[dict[str, Any]], None]:
        """Yield the pages of a kind of records."""
        after = ""
        while True:
            page = await self._ask("export", kind=kind, after=after, **said)
            yield page["records"]
            if page["next"] is None:
                return
            after = page["next"]


async def _full(
    door: Carrying, counts: Counter[str], *, agent: str | None, realm: str | None
) -> AsyncGenerator[str, None]:
    """Yield our own form, some lines at a time."""
    head = {"format": FORMAT, "version": VERSION, "exported_at": iso(SystemClock().now())}
    yield json.dumps({**head, "agent": agent, "realm": realm}) + "\n"
    for kind in KINDS:
        async for records in door._pages(kind, agent=agent, realm=realm):  # noqa: SLF001 - our own
            for each in records:
                counts[each.get("realm") or each["kind"]] += 1
            yield "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records)
    yield json.dumps({"kind": END, "records": counts.total()}) + "\n"


async def _core(
    door: Carrying, counts: Counter[str], *, agent: str | None, realm: str | None
) -> AsyncGenerator[str, None]:
    """Yield MemoryCore's form, some records at a time."""
    whose = agent or door._agent  # noqa: SLF001 - our own
    head = {
        "format_version": memorycore.VERSION,
        "agent_id": whose,
        "exported_at": iso(SystemClock().now()),
    }
    yield json.dumps(head)[:-1] + ', "collections": {'
    between = ""
    for name in (*memorycore.COLLECTIONS, memorycore.CRUMBS):
        if realm not in {None, name}:
            continue
        collection = memorycore.COLLECTIONS.get(name, name)
        yield f"{between}\n{json.dumps(collection)}: ["
        kind, how = "memories", {"realm": name, "active": True}
        if name == memorycore.CRUMBS:
            kind, how = "crumbs", {}
        async for records in door._pages(kind, agent=agent, **how):  # noqa: SLF001 - our own
            made = [json.dumps(memorycore.given(each)[1], ensure_ascii=False) for each in records]
            if made:
                first = not counts[collection]
                counts[collection] += len(made)
                yield ("\n" if first else ",\n") + ",\n".join(made)
        yield "]"
        between = ","
    found = {
        "source_backend": FORMAT,
        "embedding_dimension": await _dimension(door),
        "total_memories": counts.total(),
    }
    yield "\n}, " + json.dumps({"metadata": found})[1:] + "\n"


async def _dimension(door: Carrying) -> int | None:
    """Return how long the vectors here are, for who is told."""
    with suppress(CortexError):
        model = (await door._ask("status")).get("model", {})  # noqa: SLF001 - our own
        found = model.get("dimension")
        return found if isinstance(found, int) else None
    return None


def _begun(target: Path) -> IO[str]:
    """Return a file beside the one that is to be written, for us alone to read."""
    try:
        # What is no character becomes an escape, which is what JSON writes for it.
        return tempfile.NamedTemporaryFile(
            "w",
            encoding="utf-8",
            errors="backslashreplace",
            prefix=f".{target.name}-",
            dir=target.parent,
            delete=False,
        )
    except OSError as error:
        message = f"cannot write {target}: {error.strerror}; choose another place with -o"
        raise HomeUnwritable(message) from error


def _ended(file: IO[str], target: Path) -> None:
    """Give a complete file its name; it lasts through a power cut."""
    if target.is_dir():
        raise BadInput(f"cannot write {target}: it is a folder; name a file in it")
    file.flush()
    os.fsync(file.fileno())
    Path(file.name).replace(target)
    file.close()


def _dropped(file: IO[str]) -> None:
    """Remove what was not completed."""
    file.close()
    with suppress(OSError):
        Path(file.name).unlink()
