"""Taking in: what a file says becomes the ledger's, unless somebody has taken its source back.

Looked up before, and once more in the transaction that writes: a file is read, and its texts are
embedded, while a person may revoke it. A text that is revoked is left out of whatever file says it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.domain.project import AlertKind
from cortex_actors.storage import embeddings, insight_records, insights, projects, reviews

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.domain.project import Alert, Project
    from cortex_actors.pipeline.findings import Said
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.insights import Finding
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.projects import FileState


@dataclass(frozen=True, slots=True)
class Noted:
    """What taking a file in is going to change.

    Attributes:
        changed: insights that it begins or ceases to say, and what says the same.
        is_new: whether somebody but us has written in the file since it was read: only then is
            everything that it still says observed once more.

    """

    changed: tuple[str, ...]
    is_new: bool


@dataclass(frozen=True, slots=True)
class Taking:
    """A file that was read, as it is written into the ledger.

    Attributes:
        state: what the file looks like, and whose it is.
        model: whose vectors are `found`, by the hash of their text.
        same: for texts that nobody said, a live insight that says the same.

    """

    state: FileState
    said: Said
    model: str
    found: Mapping[bytes, Matrix]
    same: Mapping[str, str]
    at: int

    def write(self, connection: Connection) -> Mapping[str, int]:
        """Make what the file says the ledger's; return numbers for the audit."""
        path, owner = self.state.path, self.state.project_id
        if reviews.bars(connection, owner, path) is not None:
            return silence(connection, path, self.at)
        findings = allowed(connection, self.said.findings)
        learned = insights.learn(
            connection, findings, project_id=owner, path=path, at=self.at, same=self.same
        )
        told = _told(self.said, findings)
        insight_records.note(connection, path, told, project_id=owner, at=self.at)
        texts = {each.text_hash for each in findings}
        rows = {text: row for text, row in self.found.items() if text in texts}
        embeddings.keep_vectors(connection, self.model, rows)
        projects.saw(connection, self.state, self.at)
        left_out = len(self.said.findings) - len(findings)
        return {**learned.counts, "revoked": left_out}


def noted(connection: Connection, state: FileState, findings: Sequence[Finding]) -> Noted:
    """Return what taking in those findings is going to change."""
    some = allowed(connection, findings)
    other = insights.difference(connection, state.path, state.project_id, some)
    revision = next((each.source.file_hash for each in some), "")
    return Noted(other.changed, not insights.has_seen(connection, state.path, revision))


def allowed(connection: Connection, findings: Sequence[Finding]) -> Sequence[Finding]:
    """Return the findings whose text nobody has taken back."""
    gone = reviews.insights(connection)
    return [each for each in findings if each.insight_id not in gone] if gone else findings


def silence(connection: Connection, path: str, at: int) -> dict[str, int]:
    """Withdraw everything a file said, and forget the file; return numbers for the audit.

    It is read again, whatever it looks like, as soon as somebody may.
    """
    changed = insights.silence(connection, path, at)
    insight_records.end(connection, path, at)
    projects.forget(connection, path)
    return {"withdrawn": len(changed)}


def known(connection: Connection, project_id: str | None) -> tuple[list[Project], list[FileState]]:
    """Return a followed project, or all of them, and what their files looked like."""
    followed = [each for each in projects.followed(connection) if project_id in (None, each.id)]
    return followed, [
        state for each in followed for state in projects.files(connection, each.id).values()
    ]


def _told(said: Said, findings: Sequence[Finding]) -> Sequence[Alert]:
    """Return the alerts of a file without those of texts that were taken back.

    Somebody has looked at these; a secret stays one.
    """
    if len(findings) == len(said.findings):
        return said.alerts
    kept = {each.source.spot for each in findings}
    gone = {
        (each.source.fragment_id, each.source.line_start)
        for each in said.findings
        if each.source.spot not in kept
    }
    return [
        each
        for each in said.alerts
        if each.kind is AlertKind.SECRET or (each.fragment_id, each.line_start) not in gone
    ]
