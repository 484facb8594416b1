"""Operations on reviews: what waits for a person, and what a person says about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cortex_actors import topics
from cortex_actors.api import parameters, shapes
from cortex_actors.api.pipeline import insights as whys
from cortex_actors.api.registry import Call, Said, operation
from cortex_actors.clock import make_ulid
from cortex_actors.domain import event
from cortex_actors.domain.agent import OWNER
from cortex_actors.domain.insight import Granularity, Insight, InsightStatus
from cortex_actors.domain.principle import Derivation, PrincipleStatus, derive_id
from cortex_actors.domain.project import Approval, Decision, DecisionWay, Review, SourceKind
from cortex_actors.errors import Refused
from cortex_actors.pipeline.organiser import Organiser
from cortex_actors.pipeline.resolver import Resolver
from cortex_actors.rules import promotion
from cortex_actors.rules.admission import check_note
from cortex_actors.rules.clustering import make_pair
from cortex_actors.rules.promotion import Need, PromotionStanding, Requirement
from cortex_actors.rules.standalone import make_standalone
from cortex_actors.storage import insight_records
from cortex_actors.storage.pipeline import (
    insight_evidence,
    insight_lists,
    insights,
    principle_lists,
    principles,
    resolutions,
    verdicts,
)
from cortex_actors.storage.pipeline import reviews as stored
from cortex_actors.storage.pipeline.insight_lists import InsightFilter, Named, find

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cortex_actors.storage.ledger.actor import Connection


#: What a person is asked: whether a text may be used at all, whether it may be a principle, or
#: whether a principle may be written into files of other projects.
USE, PROMOTION, WRITE = "use", "promotion", "write"

#: Why a principle is not written.
UNAPPROVED = "a principle; it is written into no other project's file before you approve it"

#: Seconds that the diffs of an offer may take: each file of every project is looked at.
PREVIEW_TIMEOUT = 60.0

#: Insights that are looked at for what could be promoted, the most believed first: some hundred
#: milliseconds.
CONSIDERED = 5_000


def list_waiting(
    connection: Connection, call: Call, *, project_id: str | None, limit: int, skip: int
) -> dict[str, Any]:
    """Return one page of what waits for a person."""
    held = _held(connection, project_id)
    ready = list_offers(connection, call, project_id=project_id)
    is_free = call.settings().resolution.unapproved  # all principles are written
    unwritten = [] if is_free else _unwritten(connection, project_id)
    rows = [*((Offered(e, str(e.review)), USE) for e in held), *((e, PROMOTION) for e in ready)]
    page = rows[skip : skip + limit]
    said = insight_lists.load_lines(connection, [each.insight.id for each, _ in page])
    rest = max(0, skip - len(rows))
    more = unwritten[rest : rest + limit - len(page)]
    return {
        "status": "waiting",
        "total": len(rows) + len(unwritten),
        USE: len(held),
        PROMOTION: len(ready),
        WRITE: len(unwritten),
        **_decisions(connection),
        "reviews": [
            {
                **shapes.load_insight(connection, each.insight),
                "asks": asks,
                "because": each.because,
                "others": _others(connection, each),
                "trust": sorted({e["trust"] for e in said if e["said_id"] == each.insight.id}),
            }
            for each, asks in page
        ]
        + [
            {**each, "asks": WRITE, "because": UNAPPROVED, "others": []}
            for each in _whole(connection, more)
        ],
    }


def list_decided(
    connection: Connection, decision: Decision, project_id: str | None, *, limit: int, skip: int
) -> dict[str, Any]:
    """Return one page of what a person has decided, newest first.

    Of a text that was let become a principle it is the text, not the principle, too.
    """
    found: list[Review | Approval] = [*stored.list_reviews(connection, decision)]
    texts = {derive_id(each.insight_id) for each in found if isinstance(each, Review)}
    found += [
        each
        for each in stored.list_approvals(connection, decision)
        if each.principle_id not in texts
    ]
    ours = None
    if project_id is not None:
        ours = {*insights.list_ids(connection, project_id), *_said_in(connection, project_id)}
    every = principles.list_ids(connection)
    known = {_name(each) for each in found if isinstance(each, Review)}.union(every)
    some = [each for each in found if _name(each) in (known if ours is None else known & ours)]
    page = sorted(some, key=lambda each: (-each.at, _name(each)))[skip : skip + limit]
    names = [_name(each) for each in page]
    shown = {each["id"]: each for each in _whole(connection, names)}
    for each in insight_lists.load_insights(connection, names).values():
        shown[each.id] = shapes.load_insight(connection, each)
    return {
        "status": str(decision),
        "total": len(some),
        **_decisions(connection),
        "reviews": [{**shown[_name(each)], **_review(each)} for each in page],
    }


def load_principle(connection: Connection, principle_id: str, *, call: Call) -> dict[str, Any]:
    """Return one principle, whether it waits to be written, and where it comes from."""
    said = stored.load_approvals(connection, [principle_id]).get(principle_id)
    is_free = call.settings().resolution.unapproved
    asks = not is_free and principle_id in principles.list_unapproved(connection)
    made_of = principles.load_derivations(connection, [principle_id]).get(principle_id, [])
    return {
        **_whole(connection, [principle_id])[0],
        "asks": WRITE if asks else None,
        "because": UNAPPROVED if asks else None,
        "others": [],
        "principles": [],
        "places": _places(connection, [each.insight_id for each in made_of]),
        "promotion": {"checks": []},
        **(_review(said) if said and said.ended_at is None else {"decision": None}),
    }


def load_review(connection: Connection, insight_id: str, *, call: Call) -> dict[str, Any]:
    """Return one text, what there is to decide about it, and where it comes from."""
    found = insight_lists.load_insights(connection, [insight_id])[insight_id]
    said = stored.load_reviews(connection, [insight_id]).get(insight_id)
    asks, offered = None, None
    if said is None or said.decision is not Decision.REJECTED:
        if found.status is InsightStatus.PENDING_REVIEW:
            asks, offered = USE, Offered(found, str(found.review))
        else:
            ready = list_offers(connection, call)
            offered = next((each for each in ready if each.insight.id == insight_id), None)
            asks = PROMOTION if offered else None
    return {
        **shapes.load_insight(connection, found),
        "asks": asks,
        "because": offered.because if offered else None,
        "others": _others(connection, offered) if offered else [],
        "principles": sorted(principles.find_coming_of(connection, [insight_id])),
        "places": _places(connection, [insight_id]),
        "promotion": whys.check_eligibility(connection, found, call=call),
        **(_review(said) if said is not None else {"decision": None}),
    }


def explain_refusal(connection: Connection, insight_id: str, decision: Decision) -> str | None:
    """Return why a person cannot decide so about a text; None where nothing is against it."""
    if decision is Decision.REJECTED:
        made = sorted(principles.find_coming_of(connection, [insight_id]))
        if made:
            return (
                f"{insight_id} is a principle already ({made[0]}); take that back with: "
                f"cortex projects revoke {made[0]}"
            )
        return None
    head = insights.load_representatives(connection, [insight_id]).get(insight_id)
    if head is not None:
        return f"{insight_id} counts for {head}, which says the same: decide about that one"
    found = insight_lists.load_insights(connection, [insight_id])[insight_id]
    if found.status is InsightStatus.WITHDRAWN:
        return f"no file says {insight_id} any more{_taken_back(connection, insight_id)}"
    if found.status is InsightStatus.CONTRADICTED:
        return (
            f"something speaks against {insight_id}; decide that first: cortex contradictions, "
            f"cortex insights --explain {insight_id}"
        )
    if insight_id in insights.filter_private(connection, [insight_id]) and not found.review:
        return f"only one person's own file says {insight_id}: it stays in its project"
    return None


def _unwritten(connection: Connection, project_id: str | None) -> list[str]:
    """Return the principles that wait to be written, best ranked first."""
    waits = principles.list_unapproved(connection)
    if project_id is None:
        return waits
    ours = _said_in(connection, project_id)
    return [each for each in waits if each in ours]


def _said_in(connection: Connection, project_id: str) -> set[str]:
    """Return the principles that a project says."""
    every = frozenset(PrincipleStatus)
    return set(
        principle_lists.list_ids(
            connection, principle_lists.PrincipleFilter(every, project_id=project_id)
        )
    )


def _whole(connection: Connection, principle_ids: Sequence[str]) -> list[dict[str, Any]]:
    """Return principles as they are listed here: with the places that say them."""
    made_of = principles.load_derivations(connection, principle_ids)
    ids = [each.insight_id for some in made_of.values() for each in some]
    told = shapes.load_briefs(connection, ids)
    return [
        {
            **each,
            "sources": [
                place
                for owed in made_of.get(each["id"], ())
                for place in told.get(owed.insight_id, {}).get("sources", ())
            ],
        }
        for each in shapes.load_principles(connection, principle_ids)
    ]


def _places(connection: Connection, insight_ids: Sequence[str]) -> list[dict[str, Any]]:
    """Return the places where files say texts, or said them."""
    names = ("project", "path", "line_start", "trust", "first_at", "withdrawn_at")
    found = insight_lists.load_lines(connection, insight_ids)
    return [{name: line[name] for name in names} for line in found]


def _others(connection: Connection, offered: Offered) -> list[dict[str, Any]]:
    """Return the texts of other projects that an offer is made of, too."""
    told = shapes.load_briefs(connection, offered.others)
    return [told[each] for each in offered.others if each in told]


def _held(connection: Connection, project_id: str | None) -> list[Insight]:
    """Return the texts that are not used before a person has looked at them."""
    some = frozenset({InsightStatus.PENDING_REVIEW})
    every = insight_lists.list_insights(
        connection, InsightFilter(statuses=some, project_id=project_id, limit=CONSIDERED)
    )
    rejected = stored.load_reviews(connection, [each.id for each in every])
    return [each for each in every if each.id not in rejected]


@dataclass(frozen=True, slots=True)
class Offered:
    """A text that could become a principle if a person approves, and why it is asked about.

    Attributes:
        others: insights of other projects that say nearly the same, the nearest first.

    """

    insight: Insight
    because: str
    others: tuple[str, ...] = ()


def list_offers(
    connection: Connection, call: Call, *, project_id: str | None = None
) -> list[Offered]:
    """Return what a person can make a principle: what several projects say, then what is sure.

    Two that say nearly the same are asked about in the words of the one that can be used elsewhere;
    of two such, in the shorter ones.
    """
    now, thresholds = call.clock.now(), call.load_ruling().promotion
    pairs = insight_evidence.list_agreements(connection)
    shared = insight_evidence.load_shared(connection)
    ids = [*sorted(shared), *dict.fromkeys(each for pair in pairs for each in pair)][:CONSIDERED]
    some = insight_lists.load_insights(connection, ids)
    active = frozenset({InsightStatus.ACTIVE})
    sure = InsightFilter(active, least=thresholds.confidence, limit=CONSIDERED)
    some |= {each.id: each for each in insight_lists.list_insights(connection, sure)}
    merits = insight_evidence.load_merits(connection, some)
    checks = {
        name: promotion.list_requirements(each, merits[name], now=now, thresholds=thresholds)
        for name, each in some.items()
    }
    found = [
        Offered(each, _missing(checks[name]))
        for name, each in some.items()
        if promotion.is_offered(checks[name]) and _may_be_elsewhere(each, merits[name])
    ]
    found.sort(key=lambda each: (each.insight.id not in shared, -each.insight.confidence))
    known = {each.insight.id for each in found}
    alone = {name for name, each in checks.items() if _is_near_enough(each)} - known
    decided = {name for name, each in checks.items() if _is_decided(each)}
    # What is near one of these is not offered with a third, either: it would be asked about twice.
    spoken = {each for pair in pairs if not decided.isdisjoint(pair) for each in pair}
    found += _near(some, [pair for pair in pairs if (alone - spoken).issuperset(pair)])
    found = _with_words(found, verdicts.load_words(connection))
    if project_id is None:
        return found
    ours = set(insights.list_ids(connection, project_id))
    return [each for each in found if not ours.isdisjoint((each.insight.id, *each.others))]


def _with_words(
    found: Iterable[Offered], words: Mapping[tuple[str, str], verdicts.PairWord]
) -> list[Offered]:
    """Return offers with the agents that found two of their texts to say the same."""
    more = []
    for each in found:
        two = [words.get(make_pair(each.insight.id, other)) for other in each.others]
        who = sorted({word.by for word in two if word is not None and word.said == "same"})
        said = f"; {', '.join(who)} found that they say the same" if who else ""
        more.append(replace(each, because=each.because + said))
    return more


def _may_be_elsewhere(found: Insight, standing: PromotionStanding) -> bool:
    """Tell whether what several projects say can be used in others; one's own is not looked at."""
    is_asked = standing.voices != 1 and found.granularity is Granularity.STATEMENT
    return not is_asked or _bullet(found) is not None


def _bullet(found: Insight) -> str | None:
    """Return a text as a file of another project would have it; None where it cannot."""
    return make_standalone(found.content, found.heading, found.kind, names=found.projects).text


def _is_decided(checks: Iterable[Requirement]) -> bool:
    """Tell whether a rule is a principle, or a person has approved or rejected it."""
    asked = {Need.NOT_PROMOTED, Need.NOT_REJECTED}
    return any(check.waived or (check.need in asked and not check.met) for check in checks)


def _is_near_enough(checks: Iterable[Requirement]) -> bool:
    """Tell whether a rule is not decided, and nothing is against it."""
    missing = {check.need for check in checks if not check.met}
    return not _is_decided(checks) and missing <= promotion.WAIVED - {Need.A_CLAIM, Need.NOT_WARY}


def _near(some: Mapping[str, Insight], pairs: Iterable[tuple[str, str]]) -> list[Offered]:
    """Return one offer for each group of near rules, with the nearest of each project."""
    near: dict[str, list[str]] = {}
    for one, other in pairs:
        near.setdefault(one, []).append(other)
        near.setdefault(other, []).append(one)
    found, done = [], set[str]()
    for one, other in pairs:
        words = {each: _bullet(some[each]) for each in (one, other)}
        able = [(len(text), each) for each, text in words.items() if text]
        if not able or not done.isdisjoint((one, other)):
            continue
        name = min(able)[1]
        done |= {name, *near[name]}
        projects, others = set(some[name].projects), list[str]()
        for each in near[name]:  # another rule of a project that says it already is no reason
            if not projects.issuperset(some[each].projects):
                projects.update(some[each].projects)
                others.append(each)
        because = f"{len(projects)} projects say nearly the same"
        found.append(Offered(some[name], because, tuple(others)))
    return found


def _missing(checks: Iterable[Requirement]) -> str:
    """Return why a person is asked about an insight, in words."""
    every = {check.need: check for check in checks}
    some = every[Need.PROJECTS]
    is_met = some.met and not some.waived
    of = "" if is_met else f"of {some.required} "
    says = "project says" if is_met and some.actual == 1 else "projects say"
    said = [f"{some.actual} {of}independent {says} it"]
    if not every[Need.NO_DIFFERENCE].met:
        said.append("another project chooses differently: cortex contradictions --between-projects")
    if not every[Need.NOT_WARY].met:
        said.append(str(every[Need.NOT_WARY].actual))
    return "; ".join(said)


def _taken_back(connection: Connection, insight_id: str) -> str:
    """Return that a text was taken back, if it was, and how that is lifted."""
    if stored.find(connection, SourceKind.INSIGHT, insight_id) is None:
        return ""
    return f": it was taken back; lift that with: cortex projects revoke --undo {insight_id}"


def _decisions(connection: Connection) -> dict[str, int]:
    """Return how many texts were decided about, by what was said; each counts once."""
    return {
        str(decision): len(
            {derive_id(each.insight_id) for each in stored.list_reviews(connection, decision)}
            | {each.principle_id for each in stored.list_approvals(connection, decision)}
        )
        for decision in Decision
    }


def _name(said: Review | Approval) -> str:
    """Return the id of what a person decided about."""
    return said.insight_id if isinstance(said, Review) else said.principle_id


def _review(said: Review | Approval) -> dict[str, Any]:
    """Return what a person said."""
    who = {"by": said.decided_by, "way": str(said.way)} if isinstance(said, Approval) else {}
    return {"decision": str(said.decision), "decided_at": said.at, "note": said.note, **who}


#: What is listed where nothing else is asked for: what is not decided yet.
WAITING = "waiting"


@operation("review.list", http="GET /reviews")
async def reviews(
    call: Call, project: str | None = None, limit: int = 20, *, status: str = WAITING, skip: int = 0
) -> dict[str, Any]:
    """List texts that wait for a person's decision, or those that a person has decided about.

    First texts that are not used before a person has looked, then what could become a principle
    with an approval, then principles that are not written into files without one. `status` is
    waiting, approved or rejected. Raises `UnknownProject`, `BadInput`.
    """
    parameters.check_page(limit, skip, of="reviews")
    project_id = await call.require_project_id(project)
    if status == WAITING:
        return await call.records.read(
            lambda c: list_waiting(c, call, project_id=project_id, limit=limit, skip=skip)
        )
    decision = parameters.read_word(Decision, status, what="state of a review") or Decision.APPROVED
    return await call.records.read(
        lambda c: list_decided(c, decision, project_id, limit=limit, skip=skip)
    )


@operation("review.show", http="GET /reviews/{insight}")
async def review(call: Call, insight: str) -> dict[str, Any]:
    """Show one text whole: what there is to decide, why, where it comes from, what it lacks.

    `insight` is its id; one that begins with `pri_` is a principle's. `files` are those that what
    could become a principle would be written into, each with the diff.
    Raises `NotFound`, and `BadInput` for what means several.
    """

    def look(connection: Connection) -> dict[str, Any]:
        if _is_principle(insight):
            return load_principle(connection, find(connection, Named.PRINCIPLE, insight), call=call)
        return load_review(connection, find(connection, Named.INSIGHT, insight), call=call)

    found = await call.records.read(look)
    # What would be written into files if it became a principle by approval.
    asked = call.actors.organiser.limit(PREVIEW_TIMEOUT)
    is_asked = found["asks"] == PROMOTION
    supposed = await asked.ask(Organiser.suppose, found["id"]) if is_asked else None
    if supposed is None or supposed.principle is None:
        return {**found, "files": []}
    name, members = supposed.principle.id, supposed.members
    owed = [Derivation(name, each, 1 / len(members)) for each in members]
    resolver = call.actors.resolver.limit(PREVIEW_TIMEOUT)
    report = await resolver.ask(Resolver.preview, supposed.principle, owed)
    files = [shapes.shape_fields(each, "path", "agent", "diff") for each in report.files]
    return {**found, "files": files}


@operation("review.approve", http="POST /reviews/{insight}/approve")
async def approve(call: Call, insight: str, note: str | None = None) -> dict[str, Any]:
    """Say yes to what is asked: use a text, make it a principle, or write one into files.

    A text that waits to be used is used then, and no principle of it is made for that. Any
    other becomes a principle whether others say it or not, and its words may be written into files
    of other projects. That replaces confidence, observations, age, a second project and what
    looks suspicious; never for an open contradiction. It counts as long as some file says the
    text. The id of a principle (`pri_`) lets it be written. Raises `NotFound`, `BadInput`, and
    `Refused` for what cannot become a principle.
    """
    return await _decide_review(call, insight, Decision.APPROVED, note)


@operation("review.reject", http="POST /reviews/{insight}/reject")
async def reject(call: Call, insight: str, note: str | None = None) -> dict[str, Any]:
    """Say no: a text becomes no principle, or a principle is no longer written into files.

    A text is used in its project as before; one that waited to be used waits no more and is not
    used. A principle (`pri_`) is written into no file any more, and taken out of those that have
    it. Raises `NotFound`, `BadInput`, and `Refused` for the text of what is one already.
    """
    return await _decide_review(call, insight, Decision.REJECTED, note)


async def _decide_review(
    call: Call, name: str, decision: Decision, note: str | None
) -> dict[str, Any]:
    """Write a decision down, in place of an earlier one, and have it followed."""
    note = check_note(note)
    now = call.clock.now()
    if _is_principle(name):
        return await _decide_principle(call, name, decision, note, now=now)

    def work(connection: Connection) -> tuple[dict[str, Any], Sequence[Said]]:
        whole = find(connection, Named.INSIGHT, name)
        refusal = explain_refusal(connection, whole, decision)
        if refusal is not None:
            raise Refused(refusal)
        if decision is Decision.APPROVED and insight_records.approve(connection, whole, at=now):
            # It was asked whether it may be used, and not whether it may speak for all.
            stored.withdraw(connection, whole)
        else:
            stored.decide(connection, Review(whole, decision, now, note))
            said = _approval(derive_id(whole), decision, now, note)
            if decision is Decision.APPROVED:
                stored.decide_approval(connection, said)
            else:
                stored.end_approvals(connection, [said.principle_id], at=now)
        insight_records.end_alerts_of(connection, whole, now)
        done = event.AccumulationComplete(f"run_{make_ulid(now)}", None, (whole,))
        return load_review(connection, whole, call=call), [(topics.ACCUMULATION_COMPLETE, done)]

    return await call.change_and_publish(work)


async def _decide_principle(
    call: Call, name: str, decision: Decision, note: str | None, *, now: int
) -> dict[str, Any]:
    """Let a principle be written into files, or not any more, and have these written."""

    def work(connection: Connection) -> tuple[dict[str, Any], Sequence[Said]]:
        whole = find(connection, Named.PRINCIPLE, name)
        if stored.load_revoked_principles(connection, [whole]):
            raise Refused(
                f"{whole} was taken back; lift that with: cortex projects revoke --undo {whole}"
            )
        stored.decide_approval(connection, _approval(whole, decision, now, note))
        done = event.OrganisationComplete(f"run_{make_ulid(now)}", (whole,))
        said: list[Said] = [(topics.ORGANISATION_COMPLETE, done)]
        if decision is Decision.REJECTED:
            written = resolutions.list_standing(connection, [whole])
            for path, agent in sorted({(path, agent) for path, agent, _ in written}):
                again = event.ResolutionRequested(path, agent, refresh=True)
                said.append((topics.RESOLUTION_REQUESTED, again))
        return load_principle(connection, whole, call=call), said

    return await call.change_and_publish(work)


def _is_principle(name: str) -> bool:
    """Tell whether an id is a principle's."""
    return name.strip().lower().startswith(Named.PRINCIPLE)


def _approval(principle_id: str, decision: Decision, at: int, note: str | None) -> Approval:
    """Return what a person said about a principle in the review."""
    return Approval(principle_id, decision, at, OWNER.by, DecisionWay.REVIEW, note)
