"""Librarian: reads documents that it is given, piece by piece.

hears   -
says    -
asks    ledger
keeps   - (a document that is being read is lost on a crash; its caller gets an error)

Shelves: the documents that lie in a folder, which blocks, and the bytes of each, which does not.

Cataloguing: what is kept of a document's bytes, before anything of it is.

As with instruction files: secrets are removed first, hidden characters are written out,
and each is reported. A document is only found and read, never written anywhere, so what reads as
if it were meant to take an agent over is kept and reported, too.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors.domain.project import Became, Chunk, Document, Trust, chunk_id
from cortex_actors.errors import BadInput, CortexError, LedgerDown, NotFound
from cortex_actors.runtime.actor import AsyncioActor, deferred
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.runtime.threads import Threads
from cortex_actors.storage import documents
from cortex_actors.text import hazards, terms
from cortex_actors.text.documents import READ_AS, cut_pieces, parse_document
from cortex_actors.text.markdown import MAX_BYTES, require_room

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from cortex_actors.clock import Clock
    from cortex_actors.sections import MemorySettings
    from cortex_actors.storage.ledger.actor import Records


#: What a document's name ends in.
SUFFIXES = frozenset({".md", ".markdown", ".mdx"})

#: Documents that are read at once; a caller who hands in a disk means a folder of it.
MOST = 10_000

#: Topic of what lies in the folder itself, and in none below it.
GENERAL = "general"


@dataclass(slots=True)
class FolderDocuments:
    """What lies in a folder.

    Attributes:
        files: the documents, each with its topic: the first folder below the root.
        skipped: folders that were passed over, with everything in them, and documents that are
            hidden, or links to somewhere else.
        closed: folders that cannot be read.

    """

    root: str
    files: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)


def load_shelf(path: str, *, skips: Collection[str]) -> FolderDocuments:
    """Return the documents at a path: one file, or all in a folder and below it, by name.

    Folders of those names and hidden ones are passed over; links to folders are not followed.
    Raises `NotFound`, and `BadInput` for what holds no documents or too many of them.
    """
    given = Path(path)
    if not given.is_absolute():
        raise BadInput(f"cannot read documents at {path!r}: give an absolute path")
    try:
        root = given.resolve(strict=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise NotFound(f"cannot read documents at {path!r}: there is nothing there") from error
    if not root.is_dir():
        return FolderDocuments(str(root), [(str(root), root.parent.name or GENERAL)])
    found = FolderDocuments(str(root))
    _walk(root, found, skips)
    if len(found.files) > MOST:
        raise BadInput(
            f"cannot read the documents in {root}: there are more than {MOST:,}; hand in its "
            "folders one by one"
        )
    return found


async def read(path: str, threads: Threads) -> bytes:
    """Return a document's bytes. Raises `NotFound`, `FileTooLarge`, and `BadInput` for no file."""
    try:
        data, size = await threads.read(path, limit=MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"cannot read {path}: there is no such file") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"cannot read {path}: {why}; mend the path or its mode") from error
    require_room(size, path=path, what="a document")
    return data


def mark_gone(sources: Iterable[str]) -> list[str]:
    """Return those documents whose file is there no more; one behind a link is not there."""
    gone = []
    for each in sources:
        try:
            is_there = str(Path(each).resolve(strict=True)) == each and Path(each).is_file()
        except (FileNotFoundError, NotADirectoryError, ValueError, RuntimeError):
            is_there = False
        except OSError:  # what cannot be looked at is taken to be there
            is_there = True
        if not is_there:
            gone.append(each)
    return gone


def _walk(root: Path, found: FolderDocuments, skips: Collection[str]) -> None:
    """Collect the documents of a folder."""

    def note(error: OSError) -> None:
        found.closed.append(str(error.filename))

    for folder, names, files in os.walk(root, onerror=note):
        left = [name for name in names if name in skips or name.startswith(".")]
        found.skipped += [str(Path(folder, name)) for name in sorted(left)]
        names[:] = sorted(set(names) - set(left))
        inside = Path(folder).relative_to(root).parts
        topic = inside[0] if inside else GENERAL
        for name in sorted(files):
            path = Path(folder, name)
            if path.suffix.lower() not in SUFFIXES:
                continue
            if name.startswith(".") or path.is_symlink():
                found.skipped.append(str(path))
            else:
                found.files.append((str(path), topic))
        if len(found.files) > MOST:
            return


#: Bytes that are no UTF-8 must come out as they went in.
_AS_IT_IS = "surrogateescape"

#: Findings that are reported of one document, at most.
TOLD = 20


@dataclass(frozen=True, slots=True)
class GivenDocument:
    """A document as it came: its bytes, and who handed it in under which name.

    `title` is what it is called where it has no heading; its source's name otherwise.
    """

    source: str
    data: bytes
    topic: str
    saved_by: str = "owner"
    trust: Trust = Trust.FILE
    title: str = ""

    @property
    def content_hash(self) -> bytes:
        """What tells whether it has changed."""
        return sha256(self.data).digest()


@dataclass(frozen=True, slots=True)
class Catalogued:
    """A document as it may be kept; `told` lists what people should see of it."""

    document: Document
    chunks: tuple[Chunk, ...]
    told: tuple[str, ...] = ()


def catalogue_document(given: GivenDocument, *, at: int) -> Catalogued:
    """Return what is kept of a document. Raises `FileTooLarge` and `NotText`; linear."""
    whole = hazards.mask_secrets(given.data.decode("utf-8", _AS_IT_IS))
    read = parse_document(whole.text.encode("utf-8", _AS_IT_IS), path=given.title or given.source)
    title = hazards.show_hidden(read.title)
    tags = tuple(_tags(read.tags))
    made = []
    for number, piece in enumerate(cut_pieces(read.passages)):
        text = hazards.show_hidden(piece.text)
        made.append(
            Chunk(
                id=chunk_id(given.source, number, text=text),
                source=given.source,
                ordinal=number,
                topic=given.topic,
                title=title,
                text=text,
                read_at=at,
                headings=tuple(map(hazards.show_hidden, piece.headings)),
                is_code=piece.is_code,
                language=piece.language,
                tags=tags,
                cross_refs=tuple(map(hazards.show_hidden, piece.refs)),
            )
        )
    names = ("source", "content_hash", "topic", "saved_by", "trust")
    same: dict[str, Any] = {name: getattr(given, name) for name in names}
    kept = Document(
        **same,
        read_as=READ_AS,
        title=title,
        size=len(given.data),
        read_at=at,
        tags=tags,
        redacted=len(whole.secrets),
    )
    secrets = [f"a secret ({each.kind}) was taken out" for each in whole.secrets]
    told = dict.fromkeys([*secrets, *_strange(whole.text)])
    return Catalogued(kept, tuple(made), tuple(told)[:TOLD])


def _tags(said: tuple[str, ...]) -> Iterator[str]:
    """Yield the tags of a document in their one form; what can be none is passed over."""
    for each in said[: terms.MOST]:
        with suppress(BadInput):
            yield from terms.normalise_tags([each])


def _strange(text: str) -> Iterator[str]:
    """Yield what in a text a person should see."""
    if hidden := hazards.find_hidden(text):
        yield hazards.describe_hidden(hidden)
    if reason := hazards.find_suspicion(text):
        yield reason


#: Documents that are read at once: their transactions share an fsync.
TOGETHER = 16

#: Threads that read and parse them; parsing keeps the interpreter to itself, so more gain nothing.
THREADS = 2


class Librarian(AsyncioActor):
    """Reads documents; each is one transaction, and one that has not changed costs a hash.

    Texts are embedded by the indexer when their turn comes; until then they are found by their
    words.
    """

    #: Documents handed in at once: two hundred are a flood, and wait.
    mailbox_limit = 200
    overflow = Overflow.BACK_PRESSURE

    def __init__(self, records: Records, *, clock: Clock, settings: MemorySettings) -> None:
        """Begin without any work."""
        super().__init__()
        self._records = records
        self._clock = clock
        self._settings = settings
        self._threads = Threads("librarian", THREADS)
        self.actor_ref.on_end(self._threads.close)
        self._room = asyncio.Semaphore(TOGETHER)

    @deferred
    async def ingest(self, path: str, topic: str | None = None) -> dict[str, Any]:
        """Read a document, or all in a folder; return what became of each.

        A folder's documents that are there no more are withdrawn; one that was handed in alone
        and is none that a folder is read for stays while its file is there. One that cannot be read
        is listed under `failed`, and what it said before counts. Raises `NotFound`, `BadInput`;
        of a single document whatever hinders reading it.
        """
        skips = frozenset(self._settings.knowledge_skips)
        shelf = await self._threads.run(load_shelf, path, skips=skips)
        sources = [source for source, _ in shelf.files]
        known = await self._records.read(lambda c: documents.load_documents(c, sources))
        single = sources == [shelf.root]
        # The topic that a document has, or else that of where it lies.
        topics = {each: one.topic for each, one in known.items()}
        work = (
            self._one(source, topic or topics.get(source, place), known, single=single)
            for source, place in shelf.files
        )
        done = await asyncio.gather(*work)
        if not (single or shelf.closed):
            # The documents of the folder that lie there no more.
            below = await self._records.read(lambda c: documents.list_below(c, shelf.root))
            left, at = sorted({*below} - {*sources}), self._clock.now()
            lost = await self._threads.run(mark_gone, left)
            gone = await self._records.write(lambda c: documents.withdraw(c, lost, at=at))
            done += [_became(source, Became.WITHDRAWN) for source in gone]
        return {
            "root": shelf.root,
            "documents": done,
            "counts": dict(Counter(each["state"] for each in done)),
            "pieces": sum(each.get("pieces", 0) for each in done),
            "skipped": shelf.skipped,
            "closed": shelf.closed,
        }

    @deferred
    async def take(self, given: GivenDocument) -> dict[str, Any]:
        """Read a document that is handed in with its bytes; return what became of it.

        Raises `FileTooLarge`, `NotText`.
        """
        known = await self._records.read(lambda c: documents.load_documents(c, [given.source]))
        return await self._keep(given, known.get(given.source))

    async def _one(
        self, source: str, topic: str, known: Mapping[str, Document], *, single: bool
    ) -> dict[str, Any]:
        """Read one file; one of several that cannot be read is listed as failed."""
        async with self._room:
            try:
                data = await read(source, self._threads)
                return await self._keep(GivenDocument(source, data, topic), known.get(source))
            except LedgerDown:
                raise
            except CortexError as error:
                if single:
                    raise
                return {**_became(source, Became.FAILED), "error": str(error)}

    async def _keep(self, given: GivenDocument, known: Document | None) -> dict[str, Any]:
        """Keep a document, unless it is known as it is."""
        is_found = known is not None and known.withdrawn_at is None
        same = (given.content_hash, READ_AS, given.topic)
        if known and is_found and (known.content_hash, known.read_as, known.topic) == same:
            return _became(given.source, Became.UNCHANGED, known)
        # The moment tells the pieces of one reading from those of every other.
        at = max(self._clock.now(), known.read_at + 1 if known else 0)
        made = await self._threads.run(catalogue_document, given, at=at)
        await self._records.write(lambda c: documents.learn(c, made.document, made.chunks))
        state = Became.CHANGED if is_found else Became.ADDED
        became = _became(given.source, state, made.document)
        return {**became, "pieces": len(made.chunks), "told": list(made.told)}


def _became(source: str, state: Became, document: Document | None = None) -> dict[str, Any]:
    """Return what became of a document, as JSON."""
    told: dict[str, Any] = {"source": source, "state": str(state)}
    if document is not None:
        told |= {"title": document.title, "topic": document.topic, "redacted": document.redacted}
    return told
