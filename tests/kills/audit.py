"""What the ledger of a stopped home must say, however its daemons ended."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors import topics
from cortex_actors.render import fence
from tests.kills.story import WRITING
from tests.kills.units import units
from tests.simulation import audit as simulated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.kills.ledger_file import LedgerFile


@dataclass(frozen=True, slots=True)
class Said:
    """An event whose publisher was told that it is durable."""

    id: str
    topic: str
    #: What it said; the daemon may have completed it.
    payload: dict[str, object]

    def stands(self, topic: str, payload: str) -> bool:
        """Tell whether a row is that event."""
        return topic == self.topic and self.payload.items() <= json.loads(payload).items()


@dataclass(slots=True)
class Findings:
    """What an audit found: each number that must be 0, and a sentence for each problem."""

    lost: int = 0
    doubled: int = 0
    problems: list[str] = field(default_factory=list)


def examine(ledger: LedgerFile, acknowledged: Iterable[Said] = ()) -> Findings:
    """Return what is wrong with a ledger at any moment, settled or not."""
    found = Findings(problems=[*_sound(ledger)])
    _events(ledger, acknowledged, found)
    found.problems += _addressed(ledger)
    found.problems += _rows(ledger)
    return found


def once(ledger: LedgerFile, acknowledged: Iterable[Said] = ()) -> Iterator[str]:
    """Yield effects that a witnessed ledger holds twice, or not at all."""
    ledger.number(units(ledger))
    yield from simulated.problems(ledger, [each.id for each in acknowledged])
    epochs = [seq for (seq,) in ledger.query("SELECT seq FROM audit WHERE what='owner' ORDER BY n")]
    if sorted(set(epochs)) != epochs:
        yield f"the epochs did not rise: {epochs}"


def settled(ledger: LedgerFile, revisions: dict[str, set[str]]) -> Iterator[str]:
    """Yield what a ledger at rest says otherwise than the disk.

    `revisions` are, for each path, the hashes of everything that people ever saved there.
    """
    for table in ("deliveries", "dead_letters", "index_ops"):
        if count := ledger.one(f"SELECT count(*) FROM {table}"):  # noqa: S608 - names above
            yield f"{count} rows of {table} are left"
    if count := ledger.one(WRITING):
        yield f"{count} writes of files have no end"
    said: dict[str, str] = dict(ledger.query("SELECT path, sha256 FROM file_states"))
    there = {path: _last(path) for path in revisions if Path(path).exists()}
    if said != there:
        yield f"the ledger and the disk differ by {set(said.items()) ^ set(there.items())}"
    for path, digest in ledger.query(
        "SELECT DISTINCT path, file_hash FROM observations JOIN insight_sources ON id = source_id"
    ):
        if digest not in revisions.get(path, ()):
            yield f"{path} was observed in a revision that never was: {digest}"
    yield from _unobserved(ledger, there)


def _last(path: str) -> str:
    """Return the hash of what lies at a path."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _sound(ledger: LedgerFile) -> Iterator[str]:
    """Yield what SQLite itself finds wrong."""
    if (found := ledger.query("PRAGMA integrity_check")) != [("ok",)]:
        yield f"the file is damaged: {found[:3]}"
    if found := ledger.query("PRAGMA foreign_key_check"):
        yield f"{len(found)} references lead nowhere: {found[:3]}"


def _events(ledger: LedgerFile, acknowledged: Iterable[Said], found: Findings) -> None:
    """Count events that were promised and are not there, or were said once and are there twice."""
    rows = ledger.query("SELECT id, topic, payload FROM events")
    there = {event_id: (topic, payload) for event_id, topic, payload in rows}
    for each in acknowledged:
        if each.id not in there or not each.stands(*there[each.id]):
            found.lost += 1
            found.problems.append(f"{each} was acknowledged; there is {there.get(each.id)}")
    # Each event that another process invents has a number of its own in these tests.
    texts = Counter(row for row in there.values() if row[0].startswith("custom:"))
    for text, times in texts.items():
        if times > 1:
            found.doubled += times - 1
            found.problems.append(f"{text} was said once and is there {times} times")


def _addressed(ledger: LedgerFile) -> Iterator[str]:
    """Yield deliveries to somebody who does not hear the topic, or that are both dead and alive."""
    for consumer, seq, topic in ledger.query(
        "SELECT consumer, seq, topic FROM deliveries JOIN events USING (seq)"
    ):
        if consumer not in topics.find(topic).heard_by:
            yield f"the event {seq} ({topic}) waits for {consumer}, who does not hear it"
    for row in ledger.query("SELECT consumer, seq FROM deliveries NATURAL JOIN dead_letters"):
        yield f"{row} waits and was set aside"


def _rows(ledger: LedgerFile) -> Iterator[str]:
    """Yield rows of knowledge that contradict one another."""
    for what, query in _CONTRADICTIONS.items():
        if found := ledger.query(query):
            yield f"{what}: {found[:3]} ({len(found)} in all)"


def _unobserved(ledger: LedgerFile, there: Iterable[str]) -> Iterator[str]:
    """Yield what a file says now and was not observed in its present revision, ours left out."""
    for path in there:
        revision = fence.hash_human_part(Path(path).read_bytes())
        for row in ledger.query(
            "SELECT path, fragment_id FROM insight_sources WHERE withdrawn_at IS NULL "
            "AND path = ? AND id NOT IN (SELECT source_id FROM observations WHERE file_hash = ?)",
            path,
            revision,
        ):
            yield f"{row} is said and was never observed"


#: What is wrong -> rows for which it is.
_CONTRADICTIONS = {
    "a place is written down twice": "SELECT fragment_id, ordinal, count(*) FROM insight_sources "
    "GROUP BY 1, 2 HAVING count(*) > 1",
    "one revision was observed twice": "SELECT source_id, file_hash, count(*) FROM observations "
    "GROUP BY 1, 2 HAVING count(*) > 1",
    "an insight is live and no file says it": "SELECT id FROM insights "
    "WHERE status IN ('active', 'contradicted') "
    "AND id NOT IN (SELECT said_id FROM insight_sources WHERE withdrawn_at IS NULL)",
    "a file says an insight that is not live": "SELECT DISTINCT insight_id FROM insight_sources "
    "JOIN insights ON insights.id = insight_id WHERE withdrawn_at IS NULL "
    "AND status NOT IN ('active', 'contradicted', 'pending_review')",
    "a source does not count for whom its text does": "SELECT s.id FROM insight_sources s "
    "JOIN insights i ON i.id = s.said_id WHERE s.insight_id <> coalesce(i.superseded_by, i.id)",
    "a text counts for one that counts for another": "SELECT i.id FROM insights i "
    "JOIN insights j ON j.id = i.superseded_by WHERE j.superseded_by IS NOT NULL",
    "what no file says counts for another": "SELECT id FROM insights WHERE status = 'superseded' "
    "AND id NOT IN (SELECT said_id FROM insight_sources WHERE withdrawn_at IS NULL)",
    "a file that is forgotten says something": "SELECT DISTINCT path FROM insight_sources "
    "WHERE withdrawn_at IS NULL AND path NOT IN (SELECT path FROM file_states)",
    "an insight has no vector and does not wait for one": "SELECT id FROM insights i "
    "WHERE status IN ('active', 'contradicted') AND id NOT IN (SELECT item_id FROM index_ops) "
    "AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.text_hash = i.text_hash)",
    "an insight is live and cannot be found": "SELECT id FROM insights "
    "WHERE status IN ('active', 'contradicted') "
    "AND id NOT IN (SELECT item_id FROM passages WHERE collection = 'cortex_insights')",
    "an insight is found and not live": "SELECT item_id FROM passages "
    "WHERE collection = 'cortex_insights' "
    "AND item_id NOT IN (SELECT id FROM insights WHERE status IN ('active', 'contradicted'))",
    "vectors of one model differ in length": "SELECT model, count(DISTINCT length(vector)) "
    "FROM vectors GROUP BY model HAVING count(DISTINCT length(vector)) > 1",
    "the index was told what is to come": "SELECT applied_seq FROM index_state WHERE applied_seq "
    "> (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'index_ops')",
    "a principle has no insight": "SELECT id FROM principles "
    "WHERE id NOT IN (SELECT principle_id FROM derivations)",
    "a bullet stands in no section": "SELECT path, agent, text FROM resolved_bullets "
    "WHERE (path, agent) NOT IN (SELECT path, agent FROM resolutions)",
    "a run has not ended": "SELECT id FROM runs "
    "WHERE state NOT IN ('completed', 'unchanged', 'failed') OR finished_at < started_at",
}
