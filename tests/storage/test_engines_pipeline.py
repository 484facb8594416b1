"""The repositories of what files say do the same on SQLite and on PostgreSQL."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cortex_actors.clock import DAY
from cortex_actors.domain.insight import AgentVerdict, Conflict, Decider, Relation
from cortex_actors.domain.principle import Ending, GivenBullet, Link, LinkType
from cortex_actors.domain.project import (
    Alert,
    AlertKind,
    Approval,
    Decision,
    DecisionWay,
    Review,
    SourceKind,
)
from cortex_actors.rules.clustering import Cluster, make_pair
from cortex_actors.rules.proposals import ProposalKind
from cortex_actors.storage import (
    insight_records,
    projects,
)
from cortex_actors.storage.pipeline import (
    contradictions,
    insight_evidence,
    insight_lists,
    insights,
    principle_decay,
    principle_lists,
    principles,
    resolutions,
    reviews,
    revoking,
    verdicts,
)
from cortex_actors.testing import EPOCH
from tests.storage.distilled import distilled, principle
from tests.storage.support import ATLAS, HARBOR, MODEL, learn, unit

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: UTC microseconds at which most of it happens.
NOW = EPOCH + 10 * DAY


class TestInsights:
    def test_learned(self, connection: Connection) -> None:
        """What files say is kept, counted, found by id and listed page by page."""
        one, two = learn(connection, "/a.md", "Use tabs.", "Test first.")
        learn(connection, "/b.md", "Use tabs.", project=HARBOR)

        assert 2 == insights.count(connection)
        found = insights.load_live(connection, [one, two])
        assert (2, ("atlas", "harbor")) == (found[one].observation_count, found[one].projects)
        pages = [
            insight_lists.list_insights(connection, insight_lists.InsightFilter(limit=1, skip=skip))
            for skip in range(3)
        ]
        assert [1, 1, 0] == list(map(len, pages))
        assert {one, two} == {each.id for page in pages for each in page}
        tagged = insight_lists.InsightFilter(tag="python", words=("tabs",))
        assert 1 == insight_lists.count(connection, tagged)
        rows, total = insight_lists.list_fragments(connection, limit=1)
        assert (1, 3) == (len(rows), total)

    def test_said_no_more(self, connection: Connection) -> None:
        """What a file says no longer is withdrawn, and comes back when it says it again."""
        (one,) = learn(connection, "/a.md", "Use tabs.")
        assert [one] == insights.silence(connection, "/a.md", NOW)
        assert {} == insights.load_live(connection, [one])
        learn(connection, "/a.md", "Use tabs.")

        assert [one] == list(insights.load_live(connection, [one]))

    def test_merged(self, connection: Connection) -> None:
        """Of two texts that say the same one counts, until they are parted."""
        one, two = learn(connection, "/a.md", "Use tabs.", "Indent with tabs.")
        assert {one, two} == insights.assign(connection, {two: one})
        assert {two: one} == insights.load_representatives(connection, [one, two])
        assert {two: one} == insights.load_followers(connection, [one])
        assert [one, one] == [
            each.insight_id for each in insights.load_sources(connection, [one])[one]
        ]
        insights.assign(connection, {two: None})

        assert 2 == insights.count(connection)

    def test_evidence(self, connection: Connection) -> None:
        """What speaks for a text is read with all that it takes: voices, days and scans."""
        (one,) = learn(connection, "/a.md", "Use tabs.")
        projects.note_scanned(connection, [ATLAS.id], at=EPOCH + DAY)
        projects.note_scanned(connection, [ATLAS.id], at=EPOCH + 2 * DAY)
        found = insight_evidence.load_texts(connection, [one])[one]

        assert [EPOCH + DAY, EPOCH + 2 * DAY] == list(found.scans[ATLAS.id])
        assert {ATLAS.id} == found.voices == insight_evidence.load_voices(connection, [one])[one]
        assert {one} == insight_evidence.load_said(connection)
        assert [one] == insight_evidence.list_standing(connection)
        assert {one} == insight_evidence.filter_live(connection, [one])
        assert 3 == insights.load_live(connection, [one])[one].observation_count
        assert one in insight_evidence.load_merits(connection, [one])

    def test_slots(self, connection: Connection) -> None:
        """What insights take a stand on is replaced and shared."""
        one, two = sorted(learn(connection, "/a.md", "Use tabs.", "Test first."))
        insight_evidence.replace_slots(connection, [one, two], {one: {"indent"}, two: {"indent"}})
        insight_evidence.replace_slots(connection, [two], {two: {"test"}})
        insight_evidence.replace_agreements(connection, [one], found={(one, two): 0.9})

        assert {"indent": {one}, "test": {two}} == insight_evidence.load_sharing(
            connection, ["indent", "test"]
        )
        assert {one, two} == insight_evidence.load_slotted(connection)
        assert [(one, two)] == insight_evidence.list_agreements(connection)

    def test_alerts(self, connection: Connection) -> None:
        """Alerts are noted once, counted, and end when their file no longer says them."""
        projects.add(connection, ATLAS)
        alert = Alert(AlertKind.INJECTION, "/a.md", "f", 1, 1, "it poses as the system")
        secret = Alert(AlertKind.SECRET, "/a.md", "f", 2, 2, "a token", value="hunter2")
        for _ in range(2):
            insight_records.note(
                connection, "/a.md", [alert, secret], project_id=ATLAS.id, at=EPOCH
            )

        assert [AlertKind.INJECTION, AlertKind.SECRET] == [
            each.kind for each in insight_records.list_alerts(connection)
        ]
        insight_records.note(connection, "/a.md", [secret], project_id=ATLAS.id, at=NOW)
        (left,) = insight_records.list_alerts(connection)
        assert AlertKind.SECRET == left.kind


class TestJudgements:
    def test_contradictions(self, connection: Connection) -> None:
        """A contradiction is written, found, decided by a person and listed."""
        one, two = sorted(learn(connection, "/a.md", "Use tabs.", "Use spaces."))
        name = contradictions.make_id(one, two)
        found = contradictions.Contradiction(
            name, one, two, Conflict.DIRECT, 0.9, "reconciler", "rules", "they differ", EPOCH
        )
        contradictions.replace(connection, [found], [])
        contradictions.replace(connection, [replace(found, reason="they do")], [])
        insight_records.settle(connection, [one])

        assert "they do" == getattr(
            contradictions.load_contradiction(connection, name), "reason", None
        )
        assert ["contradicted"] * 2 == [
            each.status for each in insights.load_live(connection, [one, two]).values()
        ]
        assert (1, 1) == (
            contradictions.count(connection),
            len(contradictions.list_contradictions(connection)),
        )
        assert {name: 0} == contradictions.measure_distances(connection, [found])
        contradictions.decide(connection, name, status="resolved", at=NOW, kept_id=one)
        assert {one} == contradictions.load_kept(connection)
        assert {} == contradictions.count_differing(connection, [one])
        assert ["active", "contradicted"] == [
            insights.load_live(connection, [each])[each].status for each in (one, two)
        ]

    def test_clusters(self, connection: Connection) -> None:
        """What says nearly the same is put together, and in place of what was there."""
        ids = tuple(sorted(learn(connection, "/a.md", "Use tabs.", "Tabs!", "Test first.")))
        for members in (ids, ids[:2]):
            made = Cluster(members, members[0], unit(1, 0, 0), 0.9)
            contradictions.replace_clusters(connection, ids, [made], model=MODEL, at=EPOCH)

        assert set(ids[:2]) == contradictions.load_clustered(connection)
        assert set(ids[:2]) == contradictions.load_together(connection, ids[:1])
        contradictions.write_mark(connection, contradictions.Mark(b"by", 7))
        assert contradictions.Mark(b"by", 7) == contradictions.load_mark(connection)

    def test_verdicts(self, connection: Connection) -> None:
        """Answers are kept as they were first given; what people say goes before any model."""
        one, two = sorted(learn(connection, "/a.md", "Use tabs.", "Use spaces."))
        kept = verdicts.Verdict(b"k" * 32, Decider.LLM, "model", "compare", {"is": 1}, EPOCH)
        verdicts.keep(connection, [kept, replace(kept, key=b"l" * 32)])
        verdicts.keep(connection, [replace(kept, answer={"is": 2})])
        assert {"is": 1} == verdicts.load_answers(connection, [kept.key])[kept.key]
        assert 1 == verdicts.prune(connection, 1, 10)

        name = verdicts.make_id(ProposalKind.DUPLICATE, (one, two))
        made = verdicts.Proposed(name, one, two, ProposalKind.DUPLICATE, 0.5, "near", 0.9, EPOCH)
        verdicts.propose(connection, [made], visited=[one])
        assert [made] == verdicts.list_proposals(connection, ATLAS.id)
        assert made == verdicts.find_proposal(connection, name[:12])
        verdicts.say(connection, (one, two), relation=Relation.SAME, said="same", at=NOW)
        assert {(one, two): Relation.SAME} == {
            pair: word.relation for pair, word in verdicts.load_of_people(connection).items()
        }
        assert [] == verdicts.list_proposals(connection)

    def test_agents_verdicts(self, connection: Connection) -> None:
        """What an agent was given and said is found by the pair's id, and stays when taken back."""
        two = make_pair(*learn(connection, "/a.md", "Use tabs.", "Use spaces."))
        name = verdicts.make_id(ProposalKind.DUPLICATE, two)
        handout = verdicts.Handout(name, "VAJRA", verdicts.PairKind.DUPLICATE, *two, NOW)
        for _ in range(2):
            verdicts.hand_out(connection, [handout], since=EPOCH)
        assert {name: handout} == verdicts.load_handed(connection, "VAJRA")
        verdicts.give(connection, handout, said=AgentVerdict.SAME, at=NOW, reason="one rule")
        assert ({}, {two}) == (
            verdicts.load_handed(connection, "VAJRA"),
            verdicts.load_judged(connection),
        )
        word = verdicts.load_words(connection)[two]
        assert ("VAJRA", "one rule") == (word.by, word.reason)
        verdicts.take_back(
            connection, verdicts.list_given(connection, name[:9]), by="owner", at=NOW
        )
        (left,) = verdicts.list_given(connection)

        assert ("owner", NOW) == (left.undone_by, left.undone_at)
        assert ({}, set()) == (verdicts.load_words(connection), verdicts.load_judged(connection))
        assert (1, 0) == (verdicts.count_given(connection, NOW), verdicts.prune(connection, 0, 9))

    def test_reviews(self, connection: Connection) -> None:
        """Reviews, approvals and revocations are written, replaced, ended and listed."""
        (one,) = learn(connection, "/a.md", "Use tabs.")
        for decision in (Decision.REJECTED, Decision.APPROVED):
            reviews.decide(connection, Review(one, decision, NOW))
        assert {one} == reviews.load_decided(connection, Decision.APPROVED)
        name = distilled(connection, principle("Use tabs."), one)
        given = Approval(name, Decision.APPROVED, NOW, "owner", DecisionWay.REVIEW)
        reviews.decide_approval(connection, given)
        assert [given] == reviews.list_approvals(connection, Decision.APPROVED)
        assert {name: given} == reviews.load_approvals(connection, [name])
        assert {name: ATLAS.id} == reviews.load_homes(connection, [name])

        assert reviews.begin(connection, SourceKind.PATH, "/a.md", at=NOW)
        assert not reviews.begin(connection, SourceKind.PATH, "/a.md", at=NOW)
        assert reviews.find_bar(connection, ATLAS.id, "/a.md") is not None
        assert reviews.end(connection, SourceKind.PATH, "/a.md", at=NOW)
        assert [] == reviews.list_revocations(connection)


class TestPrinciples:
    def test_principles(self, connection: Connection) -> None:
        """Principles are written, given to projects, listed page by page and forgotten."""
        (one,) = learn(connection, "/a.md", "Use tabs.")
        first = distilled(connection, principle("Use tabs.", rank=0.9, domains=("style",)), one)
        second = distilled(connection, principle("Test first."), one)

        wanted = principle_lists.PrincipleFilter()
        pages = [principle_lists.list_ids(connection, wanted, limit=1, skip=n) for n in range(3)]
        assert [[first], [second], []] == pages
        styled = principle_lists.PrincipleFilter(domain="style", project_id=ATLAS.id)
        assert 1 == principle_lists.count(connection, styled)
        assert {first: ["atlas"]} == principle_lists.load_projects(connection, [first])
        assert [first, second] == [each.id for each in principles.load_given(connection, MODEL)[0]]
        assert {second} == principles.filter_given(connection, [second])
        assert {first, second} == principles.find_coming_of(connection, [one])
        assert 64 == len(principles.hash_given(connection, MODEL))
        assert [ATLAS.name] == [
            each.project for each in principles.load_places(connection, [first])[first]
        ]
        principles.forget(connection, [second])
        assert [first] == list(principles.load_principles(connection, [first, second]))

    def test_links(self, connection: Connection) -> None:
        """Links are drawn once, seen from either end and cut with an end of theirs."""
        one, two = sorted(
            distilled(connection, principle(each)) for each in ("Use tabs.", "Test first.")
        )
        link = Link(one, two, LinkType.CONTRADICTS, 0.9, Decider.RULES, "they differ")
        principles.replace_links(connection, [], [link], at=EPOCH)
        principles.replace_links(connection, [], [replace(link, strength=0.8)], at=NOW)
        principles.note_drawn(connection, [(one, b"d" * 32)])

        assert [0.8] == [each.strength for each in principles.load_links(connection, [two])[two]]
        assert [(one, two)] == principles.load_opposed(connection)
        assert b"d" * 32 == principle_lists.load_shelf(connection, MODEL).nodes[one].linked
        assert {one, two} == principles.find_without_source(connection)
        principles.cut(connection, [two])
        assert {} == principles.load_links(connection, [one, two])

    def test_decay(self, connection: Connection) -> None:
        """What is counted about principles is the same, and what has faded is written."""
        (one,) = learn(connection, "/a.md", "Use tabs.")
        name = distilled(connection, principle("Use tabs."), one)
        assert 1 == principle_decay.load_evidence(connection, [name])[name].observed
        late = EPOCH + 1_000 * DAY
        principle_decay.write(connection, principle_decay.find_faded(connection, late))

        assert [] == principle_decay.settle(connection, [name], late)

    def test_resolutions(self, connection: Connection) -> None:
        """How a resolution ended is kept in place of the one before, with its bullets."""
        projects.add(connection, ATLAS)
        made = resolutions.Resolution(
            "/a.md", "claude", ATLAS.id, "run_1", "r", "i", "s", Ending.WRITTEN, None, 1
        )
        given = [
            GivenBullet("pri_1", "Use tabs.", "said otherwise there"),
            GivenBullet("pri_2", "Test."),
        ]
        for some in (given[:1], given):
            resolutions.keep(connection, made, some)

        assert made == resolutions.find(connection, "/a.md", "claude")
        assert given == resolutions.load_bullets(connection, "/a.md", "claude")
        assert [("/a.md", "claude", given[1])] == resolutions.list_standing(connection, ["pri_2"])
        assert {"/a.md"} == resolutions.list_paths(connection)
        assert [] == resolutions.list_troubled(connection)

    def test_keys(self, connection: Connection) -> None:
        """Principles and statements are found by the beginning of what they say."""
        (one,) = learn(connection, "/a.md", "Use tabs.")
        name = distilled(connection, principle("Use tabs."), one)

        assert [name] == resolutions.find_principles(connection, "use tabs.", limit=5)
        assert [one] == resolutions.find_statements(
            connection, "Use tabs.", project_id=None, limit=5
        )
        assert {one: name} == resolutions.load_principles(connection, [one])

    def test_revoked(self, connection: Connection) -> None:
        """What a source said is withdrawn, and the principle that came of it is deleted."""
        (one,) = learn(connection, "/a.md", "Use tabs.")
        name = distilled(connection, principle("Use tabs."), one)
        done = revoking.revoke(connection, SourceKind.PATH, "/a.md", at=NOW, least=2)

        assert (frozenset({one}), ((name, "Use tabs."),)) == (done.gone, done.principles)
        assert revoking.is_known(connection, "/a.md")
        assert [] == revoking.list_left_over(connection)
