"""Every repository does the same on SQLite and on PostgreSQL: the seam between them is no claim."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors import storage, topics
from cortex_actors.bus.commits import Delivery, Failure, Outcome
from cortex_actors.clock import DAY
from cortex_actors.domain.agent import describe_unknown
from cortex_actors.domain.event import Event, FileChanged
from cortex_actors.domain.insight import Decider
from cortex_actors.domain.memory import (
    ChangeKind,
    ConvergenceLevel,
    CrumbRecord,
    Layer,
    Memory,
    MemoryType,
    Priority,
    Realm,
)
from cortex_actors.domain.project import (
    Document,
)
from cortex_actors.files.swap import WriteEntry, WriteState
from cortex_actors.rules.decay import Earning
from cortex_actors.storage import (
    agent_records,
    documents,
    embeddings,
    events,
    insight_records,
    memory_history,
    memory_records,
    models,
    passages,
    projects,
    realms,
)
from cortex_actors.storage.deliveries import find_next
from cortex_actors.storage.index import indexer, pending
from cortex_actors.storage.memory import (
    memory_attention,
    memory_delete,
    memory_lists,
    memory_merge,
    memory_states,
    memory_transfer,
    memory_undo,
    village,
)
from cortex_actors.storage.search import hits, scope, similar_memories
from cortex_actors.storage.search.query import Where
from cortex_actors.storage.tables.schema import metadata
from cortex_actors.testing import EPOCH
from tests.storage.support import ATLAS, HARBOR, MODEL, learn, text_hash, unit
from tests.storage.things import document, memory

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: UTC microseconds at which most of it happens.
NOW = EPOCH + 10 * DAY


def said(*names: str, realm: Realm = Realm.PRIVATE) -> list[Memory]:
    """Return memories that came one after the other in one thread."""
    some = (memory(each, at, realm=realm) for at, each in enumerate(names))
    return [replace(each, layer_since=each.created_at) for each in some]


def test_every_repository() -> None:
    """Each module of repositories is run on both engines by a test."""
    tests = Path(__file__).parent.glob("test_engines*.py")
    here = "".join(each.read_text("utf-8") for each in tests)
    folders = (Path(storage.__file__).parent / each for each in (".", "memory", "pipeline"))
    names = {path.stem for each in folders for path in each.glob("*.py")} - {"__init__"}

    assert [] == sorted(each for each in names if f"{each}." not in here and each != "deliveries")


class TestSchema:
    def test_tables(self, connection: Connection) -> None:
        """Every table of the ledger is there, and empty."""
        tables = metadata.sorted_tables
        rows = [connection.execute(each.select()).first() for each in tables]

        assert [None] * len(tables) == rows


class TestProjects:
    def test_projects(self, connection: Connection) -> None:
        """Projects are added once, named, located, left and listed."""
        assert [True, True, False] == [
            projects.add(connection, each) for each in (HARBOR, ATLAS, ATLAS)
        ]
        assert [ATLAS.id] == projects.locate(connection, {ATLAS.id: "git:one", HARBOR.id: None})
        assert projects.let_resolve(connection, ATLAS.id, on=True)
        assert projects.remove(connection, HARBOR.id)

        assert [ATLAS.id] == [each.id for each in projects.list_followed(connection)]
        assert [ATLAS.id] == [each.id for each in projects.list_resolving(connection)]
        assert [ATLAS.name, HARBOR.name] == [each.name for each in projects.list_ever(connection)]
        assert [(ATLAS.id, ATLAS.name, "git:one")] == projects.list_called(connection)

    def test_files(self, connection: Connection) -> None:
        """What a file looked like is kept, replaced and forgotten, below its folder."""
        projects.add(connection, ATLAS)
        for size in (1, 2):
            state = projects.FileState(f"{ATLAS.root}/a.md", ATLAS.id, size, 1, 1, 2**40, "ab")
            projects.note_file(connection, state, EPOCH)
        projects.note_file(
            connection, replace(state, path=f"{ATLAS.root}/b.md", error="gone"), EPOCH
        )
        projects.note_scanned(connection, [ATLAS.id], at=EPOCH)

        assert state == projects.load_file(connection, state.path)
        assert [state.path] == list(projects.load_files_in(connection, ATLAS.root))[:1]
        assert {ATLAS.id: 2} == projects.count_files(connection)
        assert ["gone"] == [each.error for each in projects.list_broken(connection)]
        projects.forget(connection, state.path)
        assert projects.load_file(connection, state.path) is None

    def test_runs(self, connection: Connection) -> None:
        """Runs are recorded, listed newest first and cut to a page."""
        projects.add(connection, ATLAS)
        for at in range(3):
            counts = {projects.LEFT_OUT: at}
            run = projects.PipelineRun.from_moment(
                "accumulator", EPOCH + at, path="/a", counts=counts
            )
            projects.record(connection, run)
        projects.record(
            connection, projects.PipelineRun.from_moment("reconciler", NOW, state="failed")
        )

        assert run == projects.list_latest(connection, "accumulator", 1)[0]
        page = projects.list_runs(connection, limit=2)
        assert ["reconciler", "accumulator"] == [each.kind for each in page]
        assert ["accumulator", "reconciler"] == projects.list_kinds(connection)
        assert 1 == projects.count_new(connection, EPOCH, NOW + 1)["failures"]

    def test_writes(self, connection: Connection) -> None:
        """A write into a file gets a number, ends and is found as the last one."""
        projects.add(connection, ATLAS)
        entry = WriteEntry("run_1", ATLAS.id, ATLAS.root, "/a", "claude", b"old", "ab", "/x", EPOCH)
        begun = projects.begin(connection, entry)
        assert [begun] == projects.list_unfinished(connection)
        projects.end(connection, begun.seq, WriteState.DONE, at=NOW)

        assert begun.seq > 0
        assert begun.seq == getattr(projects.find_last(connection, "/a"), "seq", None)
        assert [("/a", "claude")] == projects.list_unknown(connection)
        assert 1 == projects.prune(connection, NOW + 1, 10)


class TestMemories:
    def test_memories(self, connection: Connection) -> None:
        """Memories are saved with all they are linked with, read, and listed page by page."""
        one, two = said("one", "two")
        two = replace(two, tags=("x", "y"), replies_to=(one.id,), related=("B",))
        memory_records.save(connection, [one, two])

        assert two == memory_records.load_active(connection, [two.id])[two.id]
        pages = [
            memory_lists.list_memories(
                connection, memory_lists.MemoryFilter(limit=1, skip=skip), now=NOW
            )
            for skip in range(3)
        ]
        assert [([two], 2), ([one], 2), ([], 2)] == pages
        tagged = memory_lists.MemoryFilter(Where(tags=("x",), reader="A", attention=0.001))
        assert 1 == memory_lists.list_memories(connection, tagged, now=EPOCH + 1)[1]
        assert {two.id: "one"} == memory_records.load_predecessors(connection, [one.id, two.id])
        assert {two.id: ([one.id], [])} == memory_records.list_neighbours(
            connection, [two.id], most=3
        )
        spoken = memory_records.load_spoken(connection, [one.id, two.id])
        assert [one.id, two.id] == sorted(name for name, *_ in spoken)
        assert [two.id] == memory_records.list_following(connection, [one.id])
        found = hits.list_tagged(connection, ["x"], limit=3, exclude=[one.id], now=NOW)
        assert [(two.id, ("x",))] == [(each.hit.id, each.matched) for each in found]
        realm = memory_lists.count_health(connection, before=0, now=NOW, earning=Earning())
        assert 2 == realm[Realm.PRIVATE].total

    def test_states(self, connection: Connection) -> None:
        """Memories are merged, taken apart, superseded, archived, restored and forgotten."""
        one, two, whole = said("one", "two", "one and two")
        memory_records.save(connection, [one, two])
        parts = memory_states.write_whole(
            connection, whole, [one.id, two.id], at=NOW, by=Decider.RULES
        )
        assert {one.id: whole.id} == memory_history.find_wholes(connection, [one.id])
        assert [whole.id] == [each.id for each in memory_history.load_tree(connection, whole.id)][
            :1
        ]
        assert {one.id, two.id} == memory_history.list_parts(connection, [whole.id])
        assert parts == memory_states.take_apart(connection, whole.id, parts, at=NOW + 1)
        assert [one.id] == memory_states.supersede(connection, one.id, two.id, NOW + 2)
        assert [two.id] == memory_states.archive(connection, [two.id], NOW + 3)
        assert [two.id] == memory_states.restore(connection, [two.id], NOW + 4)

        held = memory_records.list_beliefs(connection, two.id)
        assert [(EPOCH + 1, NOW), (NOW + 1, NOW + 3), (NOW + 4, None)] == held
        assert {} == memory_states.list_apart(connection, [one.id])
        gone = memory_delete.forget(connection, [whole.id], by="owner", at=NOW + 5)
        assert (whole.id,) == gone.ids

    def test_changes(self, connection: Connection) -> None:
        """What was done is noted with numbers, listed page by page, and undone."""
        (one,) = said("one")
        memory_records.save(connection, [one])
        memory_history.deepen(connection, {one.id: Layer.CORTEX}, at=NOW, by="owner")
        memory_history.pin(connection, [one.id], pins=True, at=NOW, by="owner")

        pages = [memory_history.list_changes(connection, limit=1, skip=skip) for skip in range(3)]
        kinds = [([each.kind for each in found], total) for found, total in pages]
        assert [([ChangeKind.PIN], 2), ([ChangeKind.PROMOTE], 2), ([], 2)] == kinds
        number = pages[0][0][0].id
        memory_undo.undo(connection, number, by="owner", at=NOW + 1)
        assert memory_history.load_change(connection, number).undone_at == NOW + 1
        assert memory_history.is_known(connection, one.id, reader="A")
        memory_history.clear_changes(connection, {one.id})
        assert {} == memory_history.load_change(connection, number).before

    def test_attention(self, connection: Connection) -> None:
        """Readings are written, and what waits for its age is found when it is old enough."""
        (one,) = said("one")
        memory_records.save(connection, [one])
        memory_attention.note_due(connection, {one.id: NOW})

        assert [one.id] == [each.id for each in memory_attention.list_ripe(connection, NOW, 5)]
        assert {one.id} == memory_attention.load_inputs(connection, [one.id]).keys()
        assert 1 == memory_attention.count_active(connection)

    def test_alike(self, connection: Connection) -> None:
        """What says the same in one place is found by its text; conflicts stand until both hold."""
        one, two = (replace(each, type=MemoryType.FACT) for each in said("one", "two"))
        memory_records.save(connection, [one, two])
        here = similar_memories.MergeScope.from_memory(one)
        assert one.id == similar_memories.find_text(connection, here, memory_records.digest("one"))
        assert memory_merge.find_known(connection, one, merged=True) == one
        left, right = sorted([one.id, two.id])
        how = {"by": Decider.RULES, "reason": "they differ", "at": NOW}
        assert similar_memories.note_conflict(connection, left, right, **how)  # type: ignore[arg-type]
        assert not similar_memories.note_conflict(connection, left, right, **how)  # type: ignore[arg-type]

        found, total = similar_memories.list_conflicts(connection, reader="A", limit=1)
        assert ([left], 1) == ([each.left for each in found], total)
        assert {left: [(right, "they differ")]} == similar_memories.load_conflicts(
            connection, [left]
        )
        assert similar_memories.keep_both(connection, left, right, NOW)
        assert similar_memories.is_kept(connection, left, right)
        memory_states.keep_apart(connection, [left, right], at=NOW)
        assert {left: {right}} == memory_states.list_apart(connection, [left])

    def test_posts(self, connection: Connection) -> None:
        """Posts stand in threads, answer one another and say alike."""
        one, two = said("one", "two", realm=Realm.VILLAGE)
        two = replace(two, agent_id="B", replies_to=(one.id,))
        memory_records.save(connection, [one, two])
        village.note_due(connection, [one.id, two.id])

        assert ([two], 2) == village.list_posts(connection, "talk", reader="A", limit=1)
        threads, total = village.list_threads(connection, "A", limit=1)
        (talk,) = threads
        assert ("talk", 2, ["A", "B"], 1) == (talk["thread"], talk["posts"], talk["agents"], total)
        assert {one.id: (two.id,)} == village.list_answers(connection, [one.id], reader="A")
        assert {"A": 1, "B": 1} == village.count_spoken(connection, "A")["by_agent"]
        told = {"kind": ConvergenceLevel.HARMONY, "likeness": 0.9, "at": NOW}
        assert village.note_group(connection, [one.id, two.id], **told)  # type: ignore[arg-type]
        assert not village.note_group(connection, [one.id, two.id], **told)  # type: ignore[arg-type]
        assert 1 == len(village.list_groups(connection, "A", limit=5))
        assert 2 == village.count_waiting(connection)

    def test_bridge(self, connection: Connection) -> None:
        """Who may read a bridge's memories is asked of each, and in their order."""
        both = [replace(each, related=("B",)) for each in said("one", "two", realm=Realm.BRIDGE)]
        memory_records.save(connection, both)
        one, two = (each.id for each in both)

        assert [{one, two}, set()] == [
            realms.filter_readable(connection, [one, two], each) for each in ("B", "C")
        ]
        assert [two] == memory_records.list_following(connection, [one])
        seen = scope.make_scope(Where(reader="B"))
        assert 2 == scope.count(connection, seen)
        assert sum(len(connection.execute(each).all()) for each in seen.memories) == 2

    def test_transfer(self, connection: Connection) -> None:
        """Memories are told page by page, with what they answer."""
        one, two = said("one", "two")
        memory_records.save(connection, [one, replace(two, replies_to=(one.id,), tags=("x",))])
        wanted = memory_transfer.ExportFilter(reader="A")

        (page,) = memory_transfer.list_memories(connection, wanted, after=one.id, limit=1)
        assert (two.id, (one.id,), ("x",)) == (page.id, page.replies_to, page.tags)
        assert [] == memory_transfer.list_memories(connection, wanted, after=two.id, limit=1)
        assert [] == memory_transfer.list_crumbs(connection, wanted, after="", limit=5)


class TestAgents:
    def test_agents(self, connection: Connection) -> None:
        """Agents become known once, are described, named and listed page by page."""
        agent_records.add_agents(connection, ["A", "B", "A"], at=EPOCH)
        described = replace(
            describe_unknown("B", at=NOW), display_name="Bee", specialization="honey"
        )
        agent_records.describe(connection, described)

        assert {"A": "A", "B": "Bee"} == agent_records.load_display_names(connection, ["A", "B"])
        assert "honey" == getattr(agent_records.load_agent(connection, "B"), "specialization", None)
        found, total = agent_records.list_agents(connection, None, limit=1_000)
        assert (total, True) == (len(found), "A" in {each.id for each in found})

    def test_crumbs(self, connection: Connection) -> None:
        """Crumbs are left, tallied, narrowed and listed with the last one first."""
        ids = [f"crm_{letter * 26}" for letter in "ABC"]
        for each in ids:
            todo = ("test",) if each == ids[1] else ()
            crumb = CrumbRecord(
                each, "A", "session", each, EPOCH, unfinished=todo, references={"f": ("x",)}
            )
            agent_records.leave(connection, crumb)

        wanted = agent_records.CrumbFilter(reader="A", since=EPOCH, priority=Priority.MEDIUM)
        page = agent_records.list_crumbs(connection, wanted, limit=2)
        assert [ids[2], ids[1]] == [each.id for each in page]
        assert crumb == page[0]
        left = replace(wanted, unfinished=True)
        assert [ids[1]] == [
            each.id for each in agent_records.list_crumbs(connection, left, limit=9)
        ]
        assert {"MEDIUM": 3} == agent_records.count_crumbs(connection, wanted)["by_priority"]
        assert crumb == agent_records.find_same(connection, crumb)


class TestDocuments:
    def test_documents(self, connection: Connection) -> None:
        """Documents are learned, read anew, withdrawn, brought back and listed page by page."""
        read = (("/a", ("one", "two")), ("/b", ("three",)), ("/a", ("one", "four")))
        for at, (name, texts) in enumerate(read):
            known = Document(name, b"h" * 32, 1, "topic", name, 3, EPOCH + at)
            documents.learn(connection, known, document(name, *texts, read_at=EPOCH + at))

        assert 3 == documents.count_chunks(connection)
        pages = [
            documents.list_documents(connection, "topic", limit=1, skip=skip) for skip in range(3)
        ]
        assert [(["/a"], 2), (["/b"], 2), ([], 2)] == [
            ([each["source"] for each in found], total) for found, total in pages
        ]
        assert 3 == documents.list_topics(connection)[0]["pieces"]
        assert ["/a"] == documents.withdraw(connection, ["/a"], at=NOW)
        assert ["/b"] == documents.list_of_topic(connection, "topic")
        assert ["/a"] == documents.withdraw(connection, ["/a"], at=None)
        assert {"documents": 2, "pieces": 3} == {
            name: documents.count_totals(connection)[name] for name in ("documents", "pieces")
        }


class TestEvents:
    def said(self, *paths: str) -> list[Event[FileChanged]]:
        """Return events that one consumer hears."""
        return [
            Event(
                f"evt_{number:026}",
                topics.FILE_CHANGED,
                FileChanged(ATLAS.id, each),
                NOW,
                "t",
            )
            for number, each in enumerate(paths)
        ]

    def test_events(self, connection: Connection) -> None:
        """Events are stored once, numbered in their order, and listed with the newest first."""
        one, two = events.store(connection, self.said("/a", "/b"))
        again = events.store(connection, [replace(one, seq=None)])
        kept = events.store_once(connection, replace(two, id=f"evt_{'9' * 26}"), "key")

        assert [one.seq] == [each.seq for each in again]
        assert events.store_once(connection, two, "key").seq == kept.seq
        assert one.seq is not None
        assert two.seq == one.seq + 1
        page = events.list_events(connection, topic="file:*", waiting=True, limit=2)
        assert [kept.seq, two.seq] == [each.seq for each in page]
        assert events.load_event(connection, one.id)[1]["path"] == "/a"
        assert [events.is_stored(connection, each) for each in (one.id, "evt_0")] == [True, False]

    def test_deliveries(self, connection: Connection) -> None:
        """A consumer is handed the oldest event with its repeats, fails on it and settles it."""
        events.store(connection, self.said("/a", "/b", "/a"))
        (consumer,) = topics.find(topics.FILE_CHANGED).heard_by
        first = find_next(connection, consumer, now=NOW, in_hand=())
        assert isinstance(first, Delivery)
        assert ("/a", 2) == (first.key, len(first.seqs))
        other = find_next(connection, consumer, now=NOW, in_hand=(first,))
        assert isinstance(other, Delivery)
        assert "/b" == other.key

        assert {"/a"} == events.list_waiting_keys(connection, consumer, ["/a", "/c"])
        events._fail(connection, first, Failure("why", 0.0, final=True), NOW)
        assert (2, 1) == (events.count_dead(connection), events.count_waiting(connection))
        assert 2 == len(events.replay(connection, None))
        events._settle(connection, other, Outcome(None, ()))
        assert 2 == events.count_waiting(connection)


class TestVectors:
    def test_vectors(self, connection: Connection) -> None:
        """Vectors are kept once, found by their texts, and told to the index in order."""
        one, two = learn(connection, "/a.md", "Use tabs.", "Test first.")
        assert 2 == embeddings.count_unembedded(connection, MODEL)
        newest, waiting = indexer.list_texts(connection, MODEL, limit=5, complete=0)
        assert ({one, two}, True) == ({each for each, *_ in waiting}, newest > 0)
        for row in (unit(1, 0, 0), unit(0, 1, 0)):
            embeddings.keep_vectors(connection, MODEL, {text_hash("Use tabs."): row})

        found = embeddings.load_vectors(connection, MODEL, [text_hash("Use tabs.")])
        assert np.allclose(unit(1, 0, 0), found[text_hash("Use tabs.")])
        assert (1, True) == embeddings.count_some(connection, MODEL)
        assert embeddings.Progress(2, 1) == embeddings.count_progress(connection, MODEL)
        told = pending.list_changes(connection, MODEL, 10)
        assert [one] == [each.item_id for each in told]
        pending.rebuild(connection, MODEL)
        pending.note_applied(connection, pending.list_changes(connection, MODEL, 1))
        assert 1 == pending.count_pending(connection)
        assert {one, two} == set(
            pending.load_holding(connection, insight_records.COLLECTION).order
        ) | set(pending.load_holding(connection, insight_records.COLLECTION).unsure)
        passages.drop(connection, insight_records.COLLECTION, [one])
        assert 1 == passages.count(connection)

    def test_models(self, connection: Connection) -> None:
        """A model comes, answers once all texts have its vector, and is forgotten."""
        old, new = (models.ChosenModel(each, "fixed", each, 3) for each in ("old", "new"))
        models.settle(connection, old, EPOCH)
        models.begin(connection, new, NOW)
        assert new == models.find_coming(connection)
        assert 0 == models.switch(connection, "new", but=(), at=NOW)

        assert new == models.find_active(connection)
        assert ["old"] == [each.model_id for each in models.list_retired(connection)]
        assert 0 == models.forget(connection, "old", 5)
        assert models.find(connection, "old") is None
