"""What a file says: its statements, or its sections, as insights, and how many it may have."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cortex_actors.domain.insight import (
    Granularity,
    InsightSource,
    insight_id,
    section_hash,
    statement_hash,
)
from cortex_actors.domain.project import AlertKind
from cortex_actors.errors import BadInput
from cortex_actors.pipeline.admission import Where, admit, unseen, without_secrets
from cortex_actors.render import fence
from cortex_actors.rules.classification import classify
from cortex_actors.rules.sameness import says_something
from cortex_actors.storage.embeddings import embedded_text
from cortex_actors.storage.insights import FIRST_CONFIDENCE, Finding
from cortex_actors.text import hazards
from cortex_actors.text.statements import statements
from cortex_actors.text.suspicion import is_boilerplate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_actors.domain.project import Alert, Fragment, Statement
    from cortex_actors.text.sections import Dialect

#: What is made of a file, and the version of whoever makes it: raised when the same bytes say
#: something else to a new release, so that they are read again.
READ_AS = {Granularity.STATEMENT: "statement/1", Granularity.SECTION: "section/2"}

#: Sections of one file, and statements: a file of more is data, and would keep the ledger's writer
#: for seconds.
SECTIONS, STATEMENTS = 2_000, 5_000

#: What is left of a new insight's confidence if it says what tools write into every file.
BOILERPLATE = 0.2


@dataclass(frozen=True, slots=True)
class Said:
    """What a file says, what somebody should look at, and how many sections were read."""

    findings: tuple[Finding, ...] = ()
    alerts: tuple[Alert, ...] = ()
    fragments: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """What the audit tells; of what is rare only what there was."""
        met = Counter(str(each.kind) for each in self.alerts)
        waiting = sum(each.review is not None for each in self.findings)
        rare = {"review": waiting, "secrets": met[AlertKind.SECRET]}
        said = {"fragments": self.fragments, "insights": len(self.findings)}
        return said | {name: count for name, count in rare.items() if count}


@dataclass(frozen=True, slots=True)
class Reader:
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
        found = self.dialect.parse(data, path=self.path, project=self.project)
        self._limit(len(found), SECTIONS, "sections")
        findings: list[Finding] = []
        alerts: list[Alert] = []
        read, revision = 0, fence.revision(data)
        for each in found:
            if not says_something(each.content):
                continue
            read += 1
            # Of what in it is a human's: what we write ourselves is no new observation.
            fragment, secrets = without_secrets(replace(each, file_hash=revision))
            alerts += secrets
            met: list[Alert] = []
            for finding, some in self._findings(fragment):
                findings.append(finding)
                met += some
            alerts += met or unseen(fragment)
            self._limit(len(findings), STATEMENTS, "statements")
        return Said(tuple(findings), tuple(alerts), read)

    def _findings(self, fragment: Fragment) -> Iterator[tuple[Finding, tuple[Alert, ...]]]:
        """Yield what a section says, with what was met in it."""
        scope = self._scope(fragment)
        if self.granularity is Granularity.SECTION:
            yield _section(fragment, scope)
            return
        for each in statements(fragment):
            yield _statement(fragment, each, scope)

    def _scope(self, fragment: Fragment) -> str:
        """Return where in the project a section holds."""
        globs = fragment.applies_to
        if not globs:
            return self.folder
        return ",".join(f"{self.folder}/{each}" if self.folder else each for each in globs)

    def _limit(self, count: int, most: int, what: str) -> None:
        """Raise `BadInput` for a file that says too much."""
        if count > most:
            message = (
                f"cannot read {self.path}: it has {count} {what} or more, an instruction file may "
                f"have {most}; split it"
            )
            raise BadInput(message)


def _section(fragment: Fragment, scope: str) -> tuple[Finding, tuple[Alert, ...]]:
    """Return a section as the insight it is, as the document has it."""
    where = Where(fragment.source_path, fragment.id, fragment.line_start, fragment.line_end)
    kept = admit(fragment.content, where, under=fragment.heading)
    heading = None if fragment.heading is None else hazards.visible(fragment.heading)
    digest = section_hash(kept.text)
    taken = classify(kept.text, heading)
    text = embedded_text(heading, kept.text)
    finding = Finding(
        insight_id=insight_id(digest),
        content=kept.text,
        content_hash=digest,
        category=str(taken.category),
        tags=taken.tags,
        domain=taken.domain,
        verdict=taken.confidence,
        text_hash=hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(),
        source=replace(
            InsightSource.of(insight_id(digest), fragment, scope=scope), heading=heading
        ),
        review=kept.review,
    )
    return finding, kept.alerts


def _statement(
    fragment: Fragment, statement: Statement, scope: str
) -> tuple[Finding, tuple[Alert, ...]]:
    """Return one statement of a section as the insight it is.

    Its text is in normal form, as its hash is made of, and is embedded alone.
    """
    lines = statement.line_start, statement.line_end
    kept = admit(
        statement.text,
        Where(fragment.source_path, fragment.stance, *lines),
        under=statement.heading,
    )
    text = " ".join(unicodedata.normalize("NFC", kept.text).split())
    heading = hazards.visible(statement.heading) or None
    digest = statement_hash(text)
    taken = classify(text, heading)
    plain = InsightSource.of_statement(insight_id(digest), fragment, statement, scope=scope)
    finding = Finding(
        insight_id=insight_id(digest),
        content=text,
        content_hash=digest,
        category=str(taken.category),
        tags=taken.tags,
        domain=taken.domain,
        verdict=taken.confidence,
        text_hash=bytes.fromhex(digest),
        source=replace(plain, heading=heading),
        granularity=Granularity.STATEMENT,
        review=kept.review,
        confidence=FIRST_CONFIDENCE * (BOILERPLATE if is_boilerplate(text) else 1),
    )
    return finding, kept.alerts
