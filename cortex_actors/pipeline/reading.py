"""Reading one instruction file: what it looks like, then its bytes, never more than allowed.

Whatever else can lie at such a path (a folder, a pipe, a link that leads out of the project, a
file of gigabytes) is recognised before anything is read.

What a file says: its statements, or its sections, as insights, and how many it may have.

Admission: what of a section may be kept as it is, before anything of it is.

Secrets are removed, and what is left is what everyone sees from then on. Hidden characters
are written out, and a text that had some waits for a person, as does one that reads as if it
were meant to take an agent over. Nothing is dropped and nothing is cleaned in silence: there is an
alert for each.

Page: what a human says in a file, as principles are compared with it; and what it is about.

Our own section is left out, so that a file that was written is the same page as before. Secrets are
removed before anything is embedded: an embedder may be another person's machine.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import stat
import unicodedata
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from cortex_actors.domain.insight import (
    Claim,
    Granularity,
    InsightSource,
    hash_section,
    hash_statement,
    make_insight_id,
)
from cortex_actors.domain.project import Alert, AlertKind, StatementKind, hash_file
from cortex_actors.errors import BadInput, FileTooLarge, Refused
from cortex_actors.pipeline.likeness import embed_texts
from cortex_actors.render import fence
from cortex_actors.rules.classification import classify
from cortex_actors.rules.promotion import FILE_CHARACTERS, find_file_domains
from cortex_actors.rules.sameness import says_something
from cortex_actors.runtime.threads import read_file
from cortex_actors.storage.embeddings import Embed, Matrix, make_text
from cortex_actors.storage.pipeline.insights import FIRST_CONFIDENCE, Finding
from cortex_actors.storage.projects import LEFT_OUT, FileState
from cortex_actors.text import hazards
from cortex_actors.text.sections import Dialect, count_left_out
from cortex_actors.text.statements import find_statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Executor

    from cortex_actors.domain.project import Fragment, Project, Statement


#: Bytes whose hash takes less than a tenth of a millisecond.
SHORT = 65_536


@dataclass(frozen=True, slots=True)
class FileLook:
    """A file as it is now; `data` is None when it could not be read and `state.error` says why."""

    state: FileState
    data: bytes | None
    #: Where the path leads, every link resolved.
    real: str = ""


def resolve_place(path: str) -> str:
    """Return the one name of a file: its folder's real path and its own name. Blocks.

    A link at its end is left as it is: what it means is for `read_file_state`. Raises `BadInput`
    for what is no absolute path.
    """
    given = Path(path)
    whole = given.name in ("", "..")
    try:
        path.encode()  # the ledger holds text
        real = os.path.realpath(given if whole else given.parent)
    except ValueError:
        real = ""
    if not real or not given.is_absolute():
        raise BadInput(f"there can be no file at {path!r}; give an absolute path in UTF-8")
    return real if whole else str(Path(real, given.name))


async def read_file_state(
    path: str, project: Project, *, limit: int, executor: Executor | None = None
) -> FileLook:
    """Return the file at a path; whatever may hang on a disk runs on the executor's threads.

    Raises `FileNotFoundError` or `NotADirectoryError` when there is none. What else goes wrong,
    a link that leads nowhere included, is in the state's `error`: it is recorded and concerns
    that file alone.
    """
    loop = asyncio.get_running_loop()
    try:
        seen = await loop.run_in_executor(executor, partial(_seen, path, project, limit=limit))
    except (OSError, ValueError) as error:
        state = await loop.run_in_executor(executor, _astray, path, project, error)
        return FileLook(state, None)
    state, real = seen.state, seen.real
    if state.error:
        return seen
    try:
        data, size = await read_file(path, limit=limit, executor=executor)
        if size > limit:  # it has grown since it was looked at
            raise FileTooLarge(_too_large(path, size, limit))
    except (BadInput, Refused) as error:
        return FileLook(replace(state, error=str(error)), None)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        reason = f"cannot read {path}: {error.strerror}; give its owner the right to read it"
        return FileLook(replace(state, error=reason), None)
    # A way to a thread and back takes longer than the hash of a page.
    is_short = len(data) <= SHORT
    digest = hash_file(data) if is_short else await loop.run_in_executor(executor, hash_file, data)
    return FileLook(replace(state, sha256=digest), data, real)


def _seen(path: str, project: Project, *, limit: int) -> FileLook:
    """Return what lies at a path, not read yet (on a thread); raises what `os.stat` does."""
    found = Path(path).stat()
    state = FileState.from_stat(path, project.id, found=found)
    reason, real = "", ""
    if not stat.S_ISREG(found.st_mode):
        reason = f"cannot read {path}: it is not a regular file; put a text file there"
    elif found.st_size > limit:
        reason = _too_large(path, found.st_size, limit)
    elif not project.contains(real := os.path.realpath(path)):
        reason = (
            f"refused to read {path}: it leads to {real}, outside the project {project.root}; "
            "register that folder or copy the file"
        )
    return FileLook(replace(state, error=reason) if reason else state, None, real)


def _astray(path: str, project: Project, error: OSError | ValueError) -> FileState:
    """Return the state of what cannot be reached (on a thread).

    Raises `FileNotFoundError` or `NotADirectoryError` when not even a link is there. A file that
    came in between has no size and time here: the next scan sees another one, and has it read.
    """
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except (OSError, ValueError):
        found = None
    why = getattr(error, "strerror", None) or str(error)
    reason = f"cannot read {path}: {why}; mend the path to it"
    if found is not None and stat.S_ISLNK(found.st_mode):
        reason = f"cannot read {path}: it is a link that leads nowhere ({why}); mend the link"
    else:
        found = None
    return replace(FileState.from_stat(path, project.id, found=found), error=reason)


def _too_large(path: str, size: int, limit: int) -> str:
    """Return the text for a file over the limit."""
    return (
        f"cannot read {path}: it has {size} bytes, an instruction file may have {limit}; split it"
    )


#: Bytes that are no UTF-8 must come out as they went in.
_AS_IT_IS = "surrogateescape"


#: Why a person has to look at a text first.
Doubt: TypeAlias = "tuple[AlertKind, str]"


def remove_secrets(fragment: Fragment) -> tuple[Fragment, tuple[Alert, ...]]:
    """Return a section without its secrets, on the lines on which it was, and what they were.

    Its id is that of what may be kept: no secret could be guessed from it.
    """
    whole = hazards.mask_secrets(fragment.raw.decode("utf-8", _AS_IT_IS))
    if not whole.secrets:
        return fragment, ()
    clean = replace(
        fragment,
        content=hazards.mask_secrets(fragment.content).text,
        heading=None if fragment.heading is None else hazards.mask_secrets(fragment.heading).text,
        raw=whole.text.encode("utf-8", _AS_IT_IS),
    )
    return clean, _told(clean, whole)


def admit(text: str, *, under: str | None) -> tuple[str, Doubt | None]:
    """Return a text of a section with everything in it to be seen, and why it may not be used yet.

    `under` is its heading. Hidden characters of that count as the text's: it is shown and searched
    with it.
    """
    shown = hazards.show_hidden(text)
    if hidden := hazards.find_hidden(f"{under or ''}\n{text}"):
        return shown, (AlertKind.HIDDEN_UNICODE, hazards.describe_hidden(hidden))
    reason = hazards.find_suspicion(text)
    return shown, (AlertKind.INJECTION, reason) if reason else None


def find_hidden(fragment: Fragment) -> tuple[Alert, ...]:
    """Return the alert for a section with hidden characters where it says nothing, if it has any.

    Such as in a comment: nothing of it is used, and still someone put them there.
    """
    hidden = hazards.find_hidden(fragment.content)
    return _alerts(
        fragment, (AlertKind.HIDDEN_UNICODE, hazards.describe_hidden(hidden)) if hidden else None
    )


def _alerts(
    fragment: Fragment,
    doubt: Doubt | None,
    *,
    of: str = "",
    lines: tuple[int, int] | None = None,
) -> tuple[Alert, ...]:
    """Return the alert for a section, or for a part of it: `of` is the id of that one's source."""
    if doubt is None:
        return ()
    first, last = lines or (fragment.line_start, fragment.line_end)
    kind, why = doubt
    return (Alert(kind, fragment.source_path, of or fragment.id, first, last, why),)


def _told(fragment: Fragment, found: hazards.Redacted) -> tuple[Alert, ...]:
    """Return an alert for each secret of a section, with the lines it stood on."""
    # As many lines as before: what was taken out can be counted in what is left.
    text = fragment.raw.decode("utf-8", _AS_IT_IS)
    at, alerts = 0, []
    for each in found.secrets:
        marker = f"[secret: {each.kind}]"
        at = text.index(marker, at)
        first = fragment.line_start + text.count("\n", 0, at)
        last = first + each.value.count("\n")
        (alert,) = _alerts(fragment, (AlertKind.SECRET, each.kind), lines=(first, last))
        alerts.append(replace(alert, value=each.value))
        at += len(marker)
    return tuple(alerts)


#: What is made of a file, and the version of its reader: raised when the same bytes say
#: something else to a new release, so that they are read again.
READ_AS = {Granularity.STATEMENT: "statement/2", Granularity.SECTION: "section/3"}

#: Sections of one file, and statements: a file of more is data, and would keep the ledger's writer
#: for seconds.
SECTIONS, STATEMENTS = 2_000, 5_000

#: What is left of a new insight's confidence if it says what tools write into every file.
BOILERPLATE = 0.2


@dataclass(frozen=True, slots=True)
class Said:
    """What a file says, what a person should look at, and how many sections were read.

    Attributes:
        left_out: lines that another tool keeps up to date, which are not read.

    """

    findings: tuple[Finding, ...] = ()
    alerts: tuple[Alert, ...] = ()
    fragments: int = 0
    left_out: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """What the audit tells; of what is rare only what there was."""
        met = Counter(str(each.kind) for each in self.alerts)
        waiting = sum(each.review is not None for each in self.findings)
        rare = {"review": waiting, "secrets": met[AlertKind.SECRET], LEFT_OUT: self.left_out}
        said = {"fragments": self.fragments, "insights": len(self.findings)}
        return said | {name: count for name, count in rare.items() if count}


@dataclass(frozen=True, slots=True)
class FileReader:
    """How a file is read.

    Attributes:
        folder: where in the project what it says holds; "" for all of it.

    """

    dialect: Dialect
    path: str
    project: str
    granularity: Granularity
    folder: str = ""

    def read(self, data: bytes) -> Said:
        """Return what a file says, without what only names or points to something.

        A large file takes a while: run it on a thread. Raises `BadInput`, naming the path, for what
        is no text or says too much.
        """
        return self.read_sections(self.parse(data), data)

    def parse(self, data: bytes) -> Sequence[Fragment]:
        """Return the sections of a file that a human wrote; raises `BadInput`."""
        return self.dialect.parse(data, path=self.path, project=self.project)

    def read_sections(self, found: Sequence[Fragment], data: bytes) -> Said:
        """Return what the sections of a file say, as `read` does."""
        self._limit(len(found), SECTIONS, "sections")
        findings: list[Finding] = []
        alerts: list[Alert] = []
        read, revision = 0, fence.hash_human_part(data)
        for each in found:
            if not says_something(each.content):
                continue
            read += 1
            # Of what in it is a human's: what we write ourselves is no new observation.
            fragment, secrets = remove_secrets(replace(each, file_hash=revision))
            alerts += secrets
            met: list[Alert] = []
            for finding, some in self._findings(fragment):
                findings.append(finding)
                met += some
            alerts += met or find_hidden(fragment)
            self._limit(len(findings), STATEMENTS, "statements")
        return Said(tuple(findings), tuple(alerts), read, count_left_out(data, path=self.path))

    def _findings(self, fragment: Fragment) -> Iterator[tuple[Finding, tuple[Alert, ...]]]:
        """Yield what a section says, with what was met in it, and where in the project it holds."""
        globs = fragment.applies_to
        some = [f"{self.folder}/{each}" if self.folder else each for each in globs]
        scope = ",".join(some) if globs else self.folder
        if self.granularity is Granularity.SECTION:
            yield _section(fragment, scope)
            return
        for each in find_statements(fragment):
            yield _statement(fragment, each, scope)

    def _limit(self, count: int, most: int, what: str) -> None:
        """Raise `BadInput` for a file that says too much."""
        if count > most:
            raise BadInput(
                f"cannot read {self.path}: it has {count} {what} or more, an instruction file may "
                f"have {most}; split it"
            )


def _section(fragment: Fragment, scope: str) -> tuple[Finding, tuple[Alert, ...]]:
    """Return a section as the insight it is, as the document has it."""
    kept, doubt = admit(fragment.content, under=fragment.heading)
    heading = None if fragment.heading is None else hazards.show_hidden(fragment.heading)
    digest = hash_section(kept)
    plain = InsightSource.from_fragment(make_insight_id(digest), fragment, scope=scope)
    text = make_text(heading, kept)
    made = _finding(kept, digest, source=replace(plain, heading=heading), doubt=doubt)
    hashed = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return replace(made, text_hash=hashed), _alerts(fragment, doubt)


def _finding(text: str, digest: str, *, source: InsightSource, doubt: Doubt | None) -> Finding:
    """Return a text as the insight that it is."""
    taken = classify(text, source.heading)
    return Finding(
        insight_id=make_insight_id(digest),
        content=text,
        content_hash=digest,
        category=str(taken.category),
        tags=taken.tags,
        domain=taken.domain,
        verdict=taken.confidence,
        text_hash=bytes.fromhex(digest),
        source=source,
        review=doubt[1] if doubt else None,
    )


def _statement(
    fragment: Fragment, statement: Statement, scope: str
) -> tuple[Finding, tuple[Alert, ...]]:
    """Return one statement of a section as the insight it is.

    Its text is in normal form, as its hash is made of, and is embedded alone.
    """
    lines = statement.line_start, statement.line_end
    kept, doubt = admit(statement.text, under=statement.heading)
    text = " ".join(unicodedata.normalize("NFC", kept).split())
    heading = hazards.show_hidden(statement.heading) or None
    digest = hash_statement(text)
    plain = InsightSource.from_statement(make_insight_id(digest), fragment, statement, scope=scope)
    finding = replace(
        _finding(text, digest, source=replace(plain, heading=heading), doubt=doubt),
        granularity=Granularity.STATEMENT,
        confidence=FIRST_CONFIDENCE * (BOILERPLATE if hazards.is_boilerplate(text) else 1),
    )
    return finding, _alerts(fragment, doubt, of=fragment.stance, lines=lines)


#: A file that only says where to look: statements at most, names of files it may point to, and how
#: it leaves its conventions to a page: "[Coding standards](docs/standards.md)".
POINTER, _POINTS = 15, re.compile(r"\b(?:AGENTS|CLAUDE|GEMINI)\.md\b")
_CONVENTIONS = r"\b(?:conventions?|guidelines?|(?:coding )?standards?|style ?guides?)\b"
_PAGE = r"\w(?<!readme)(?<!changelog)\.mdx?\b"
_LEAVES = re.compile(rf"(?im){_CONVENTIONS}[^\n]{{0,80}}{_PAGE}|{_PAGE}[^\n]{{0,80}}{_CONVENTIONS}")


@dataclass(frozen=True, slots=True)
class FileStatement:
    """A statement of a file: what a principle may repeat, or contradict."""

    claim: Claim
    embedded: str
    domain: str | None = None
    #: An example shows something: it does not ask for it.
    is_example: bool = False
    #: A command says what one does, and not that one should.
    is_command: bool = False
    #: Which other file of the project says it, from the root; "" for the file itself.
    file: str = ""
    #: Its file and first line, for a person.
    where: str = ""


@dataclass(frozen=True, slots=True)
class PlacedTexts:
    """A page with the vectors of its texts, as far as there is a model that makes them now."""

    page: ComparedTexts
    vectors: Mapping[str, Matrix] = field(default_factory=dict)

    def load_rows(self, texts: Sequence[str]) -> Matrix | None:
        """Return the vectors of several of its texts; None unless every one has one."""
        found = [self.vectors[each] for each in texts if each in self.vectors]
        return np.stack(found) if found and len(found) == len(texts) else None


@dataclass(frozen=True, slots=True)
class ComparedTexts:
    """What is compared with principles.

    Attributes:
        text: the beginning of what the human says, which represents all of it.
        sections: the sections, as they are embedded.
        elsewhere: what the project's other files say: they may contradict a principle, and no more.
        stacks: the technologies that the project has; None where they were not looked for.

    """

    text: str = ""
    sections: tuple[str, ...] = ()
    lines: tuple[FileStatement, ...] = ()
    domains: tuple[str, ...] = ()
    elsewhere: tuple[FileStatement, ...] = ()
    stacks: frozenset[str] | None = None

    @property
    def is_silent(self) -> bool:
        """Whether no human says anything, so that nothing can be near it."""
        return not self.text.strip()

    @property
    def is_pointer(self) -> bool:
        """Whether the file leaves to another one, or to a page, what it does not say."""
        if len(self.lines) > POINTER:
            return False
        is_told = bool(self.elsewhere) and _POINTS.search(self.text) is not None
        return is_told or _LEAVES.search(self.text) is not None

    @property
    def embedded(self) -> list[str]:
        """Every text of it that is embedded, each once."""
        said = [each.embedded for each in (*self.lines, *self.elsewhere)]
        return [e for e in dict.fromkeys([self.text, *self.sections, *said]) if e.strip()]


#: Sections of a file that are compared as wholes; each is embedded, in some 20 ms.
WHOLES = 300


def make_page(data: bytes, dialect: Dialect, *, path: str, project: str) -> ComparedTexts:
    """Return what a human says in a file. Blocks: a large file takes a while.

    Raises `BadInput`, naming the path, for what is no text or says too much.
    """
    reader = FileReader(dialect, path, project, Granularity.STATEMENT)
    parsed = reader.parse(data)
    found, said = [remove_secrets(e)[0] for e in parsed], reader.read_sections(parsed, data)
    text = "\n\n".join(make_text(each.heading, each.content) for each in found)
    lines = (
        FileStatement(
            Claim(each.content, each.source.heading, each.source.scope),
            each.embedded,
            each.domain,
            is_example=each.source.kind is StatementKind.EXAMPLE,
            is_command=each.source.kind is StatementKind.COMMAND,
            where=f"{path}:{each.source.line_start}",
        )
        for each in said.findings
    )
    return _whole(text, (make_text(each.heading, each.content) for each in found), lines)


def join_pages(pages: Iterable[ComparedTexts]) -> ComparedTexts:
    """Return several files as one: what an agent reads that has to read them all."""
    every = list(pages)
    if len(every) == 1:
        return every[0]
    text = "\n\n".join(each.text for each in every if each.text)
    sections = (section for each in every for section in each.sections)
    return _whole(text, sections, (line for each in every for line in each.lines))


def _whole(text: str, sections: Iterable[str], lines: Iterable[FileStatement]) -> ComparedTexts:
    """Return what texts say as a page."""
    short, some = text[:FILE_CHARACTERS], tuple(islice(sections, WHOLES))
    return ComparedTexts(short, some, tuple(lines), find_file_domains(text))


async def embed_page(page: ComparedTexts, embed: Embed, *, model: str) -> PlacedTexts:
    """Return a page with its vectors; without any while there is no embedder."""
    return PlacedTexts(page, await embed_texts(embed, {e: e for e in page.embedded}, model=model))
