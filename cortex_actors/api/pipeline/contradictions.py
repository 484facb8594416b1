"""Operations on contradictions: which there are, what is decided about one, what waits for that.

`calibrate` suggests thresholds that fit what was decided, and writes them into a file of its own,
which is replaced as a whole: `cortex.toml` is a person's, and wins over it.
"""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections import Counter
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from cortex_actors import topics
from cortex_actors.api import parameters, shapes
from cortex_actors.api.pipeline.review import PROMOTION, USE, WRITE, reviews
from cortex_actors.api.registry import Call, Said, operation
from cortex_actors.clock import iso, make_ulid
from cortex_actors.domain import insight
from cortex_actors.domain.event import AccumulationComplete, Ids
from cortex_actors.errors import BadInput, ConfigurationError, HomeUnwritable, NotFound
from cortex_actors.home import replace_file
from cortex_actors.rules.admission import check_note
from cortex_actors.rules.calibration import Decided, Figures, Score, Suggestion, suggest
from cortex_actors.rules.proposals import ProposalKind
from cortex_actors.storage.pipeline import contradictions as stored
from cortex_actors.storage.pipeline import verdicts
from cortex_actors.storage.pipeline.insight_lists import Named, find

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from cortex_actors.pipeline.relations import Ruling
    from cortex_actors.rules import contradiction as rule
    from cortex_actors.storage.ledger.actor import Connection


#: How a contradiction may be asked for.
STATES = (stored.OPEN, *stored.DECISIONS, insight.ALL)

#: Characters of an id's beginning that names a side: fewer are a mistyped `a` or `b`.
_BEGINNING = 4

#: What keeps neither of the two: both may hold.
BOTH = "both"


@operation("contradictions.list", http="GET /contradictions")
async def contradictions(
    call: Call,
    project: str | None = None,
    limit: int = 20,
    *,
    status: str = stored.OPEN,
    kind: str | None = None,
    skip: int = 0,
) -> dict[str, Any]:
    """List pairs of insights that contradict each other and are not decided yet.

    Both are said in one project. Each pair has both texts and their places; first come those
    of one file, then those of one project, the surest first. `status` may be `all`. `kind` is
    direct, partial, contextual or `all`; without it the contextual ones, what two projects choose
    differently, are only counted. Raises `UnknownProject`, `BadInput`.
    """
    parameters.check_page(limit, skip, of="contradictions")
    if status not in STATES:
        raise BadInput(f"no contradiction is {status!r}; ask for {', '.join(STATES)}")
    wanted = _kinds(kind)
    project_id = await call.require_project_id(project)

    def look(connection: Connection) -> dict[str, Any]:
        every = stored.list_contradictions(
            connection, status=None if status == insight.ALL else status, project_id=project_id
        )
        some = [each for each in every if each.type in wanted]
        near = stored.measure_distances(connection, some)
        some.sort(key=lambda each: (near[each.id], -each.confidence, each.id))
        return {
            "total": len(some),
            "open": stored.count(connection),
            "contextual": sum(each.type == insight.Conflict.CONTEXTUAL for each in every),
            "contradictions": _shaped(connection, some[skip : skip + limit]),
        }

    return await call.records.read(look)


@operation("contradictions.show", http="GET /contradictions/{contradiction}")
async def contradiction(call: Call, contradiction: str) -> dict[str, Any]:
    """Show one contradiction: both texts, their files, who found it, and what was decided.

    Raises `NotFound`, `BadInput`.
    """

    def look(connection: Connection) -> dict[str, Any]:
        found = stored.load_contradiction(
            connection, find(connection, Named.CONTRADICTION, contradiction)
        )
        return _shaped(connection, [found] if found else [])[0]

    return await call.records.read(look)


@operation("contradictions.resolve", http="POST /contradictions/{contradiction}/resolve")
async def resolve_contradiction(
    call: Call, contradiction: str, keep: str, note: str | None = None
) -> dict[str, Any]:
    """Decide which side of a contradiction holds. The other is not promoted while both are said.

    `keep` is `a`, `b`, the id of one, or `both`. The other one stays contradicted, and is
    written into no file, as long as both are said. An earlier decision is replaced. Returns the
    pair. Raises `NotFound`, `BadInput`.
    """
    return await _decide(call, contradiction, "resolved", keep=keep, note=note)


@operation("contradictions.dismiss", http="POST /contradictions/{contradiction}/dismiss")
async def dismiss_contradiction(
    call: Call, contradiction: str, note: str | None = None
) -> dict[str, Any]:
    """Decide that two insights do not contradict each other. The pair is never reported again.

    Raises `NotFound`, `BadInput`.
    """
    return await _decide(call, contradiction, "dismissed", keep=BOTH, note=note)


async def _decide(
    call: Call, name: str, status: str, *, keep: str, note: str | None
) -> dict[str, Any]:
    """Write a decision down, say so, and have the two compared again."""
    note = check_note(note)
    now = call.clock.now()

    def work(connection: Connection) -> tuple[dict[str, Any], Sequence[Said]]:
        try:
            whole = find(connection, Named.CONTRADICTION, name)
        except NotFound:
            # It may be one that is only possible.
            bare = name.strip().lower().removeprefix(Named.CONTRADICTION)
            proposal = verdicts.find_proposal(connection, Named.CONTRADICTION + bare)
            if proposal is None:
                raise
            whole = proposal.id
        found = stored.load_contradiction(connection, whole) or verdicts.find_proposal(
            connection, whole
        )
        kept = _kept(found, keep) if found else None
        decided = stored.decide(
            connection, whole, status=status, at=now, kept_id=kept, note=note, by=call.caller.by
        )
        said = topics.CONTRADICTION_RESOLVED, Ids((whole,))
        return _shaped(connection, [decided])[0], [said, compare_again(decided.pair, now)]

    return await call.change_and_publish(work)


def compare_again(two: tuple[str, str], at: int) -> Said:
    """Return the event that has two insights compared and weighed again."""
    return topics.ACCUMULATION_COMPLETE, AccumulationComplete(f"run_{make_ulid(at)}", None, two)


def _kinds(kind: str | None) -> frozenset[insight.Conflict]:
    """Return the kinds that a word means, None for those that keep both from being followed."""
    every = frozenset(insight.Conflict)
    if kind == insight.ALL:
        return every
    found = parameters.read_word(insight.Conflict, kind, what="kind of contradiction")
    return frozenset({found}) if found else every - {insight.Conflict.CONTEXTUAL}


def _kept(found: stored.Contradiction | verdicts.Proposed, keep: str) -> str | None:
    """Return the id that `a`, `b`, or the beginning of an id means; None for both."""
    word = keep.strip().lower().removeprefix("ins_")
    if word == BOTH:
        return None
    meant = [
        each
        for side, each in zip("ab", found.pair, strict=True)
        if word == side or (len(word) >= _BEGINNING and each[len("ins_") :].startswith(word))
    ]
    if len(meant) == 1:
        return meant[0]
    raise BadInput(
        f"cannot keep {keep!r} of contradiction {found.id}: say a ({found.insight_a}), "
        f"b ({found.insight_b}) or {BOTH}"
    )


def _shaped(
    connection: Connection, some: Iterable[stored.Contradiction | verdicts.Proposed]
) -> list[dict[str, Any]]:
    """Return contradictions as clients get them, with both sides."""
    every = list(some)
    said = shapes.load_briefs(connection, [side for each in every for side in each.pair])
    return [
        {**asdict(each), "a": said.get(each.insight_a), "b": said.get(each.insight_b)}
        for each in every
    ]


#: What the queue holds, in its order: pairs first, then what waits in the review.
CONTRADICTION, POSSIBLE, DUPLICATE = "contradiction", "possible", "duplicate"

#: What each kind of proposal is called in the queue.
_PROPOSED = {ProposalKind.CONTRADICTION: POSSIBLE, ProposalKind.DUPLICATE: DUPLICATE}

#: All kinds, in their order.
_KINDS = (CONTRADICTION, POSSIBLE, DUPLICATE, USE, PROMOTION, WRITE)


@operation("triage.list", http="GET /triage")
async def triage(
    call: Call, project: str | None = None, limit: int = 50, *, kind: str | None = None
) -> dict[str, Any]:
    """List everything that waits for a decision, grouped by kind, the surest of each first.

    Contradictions, possible contradictions, near duplicates, then what waits in the review. What
    is only possible is shown nowhere else and has no effect. `kind` is one of those that are
    counted. Raises `UnknownProject`, `BadInput`.
    """
    parameters.check_page(limit, 0, of="items")
    project_id = await call.require_project_id(project)
    found = await contradictions(call, project, MOST)
    waits = await reviews(call, project, MOST)

    possible = await call.records.read(lambda c: verdicts.list_proposals(c, project_id))
    queue: list[tuple[str, Any]] = [(CONTRADICTION, each) for each in found["contradictions"]]
    queue += [(_PROPOSED[each.kind], each) for each in possible]
    queue += [(each["asks"], each) for each in waits["reviews"]]
    queue.sort(key=lambda each: _KINDS.index(each[0]))
    if kind is not None and kind not in _KINDS:
        raise BadInput(f"nothing in the queue is of kind {kind!r}; ask for {', '.join(_KINDS)}")
    some = [each for each in queue if kind in {None, each[0]}]
    page = some[:limit]
    asked = [each for _, each in page if isinstance(each, verdicts.Proposed)]
    told = {each["id"]: each for each in await call.records.read(lambda c: _shaped(c, asked))}
    return {
        "total": len(some),
        "counts": dict(Counter(each for each, _ in queue)),
        "items": [
            {**(told[each.id] if isinstance(each, verdicts.Proposed) else each), "kind": name}
            for name, each in page
        ],
    }


@operation("triage.decide", http="POST /triage/{item}")
async def decide(call: Call, item: str, verdict: str) -> dict[str, Any]:
    """Say of two statements that they are the same, or apart; or take back what was said of them.

    `item` is the id of a proposal, or of a pair about which was decided. What is the same is
    merged by the next run, what is apart is never proposed again; both hold as often as the texts
    come back. An earlier verdict is replaced, a person's or an agent's. After `open` the rules and
    the models decide again. Raises `NotFound`, `BadInput`.
    """
    chosen = parameters.read_word(insight.PairChoice, verdict, what="verdict")
    now = call.clock.now()

    def work(connection: Connection) -> tuple[dict[str, Any], Sequence[Said]]:
        if chosen is insight.PairChoice.OPEN:
            two = stored.reopen(connection, item, at=now, by=call.caller.by)
        else:
            asked = verdicts.find_proposal(connection, item)
            found = asked.pair if asked else verdicts.find_decided_pair(connection, item)
            if found is None:
                raise NotFound(f"nothing is proposed as {item}; list what is with: cortex triage")
            two, same = found, chosen is insight.PairChoice.SAME
            relation = insight.Relation.SAME if same else insight.Relation.RELATED
            verdicts.say(
                connection, two, relation=relation, said=verdict, at=now, by=call.caller.by
            )
        said = shapes.load_briefs(connection, two)
        sides = {"a": said.get(two[0]), "b": said.get(two[1])}
        return {"item": item, "verdict": verdict, **sides}, [compare_again(two, now)]

    return await call.change_and_publish(work)


#: The section that holds the thresholds, and the table in it that holds those of domains.
_SECTION, _DOMAINS = "reconciliation", "domains"


def format_calibration(path: Path, found: Iterable[Suggestion], *, at: int) -> None:
    """Put suggested thresholds into the file, and leave those of other domains (on a thread).

    The file is whole at every moment, whatever is cut short. Raises `ConfigurationError` for one
    that cannot be read, `HomeUnwritable`.
    """
    section = _read(path)
    domains = section.setdefault(_DOMAINS, {})
    for each in found:
        values = shapes.shape_fields(each.suggested, "cluster", "judged")
        if each.domain is None:
            section.update(values)
        else:
            domains[each.domain] = values
    try:
        replace_file(path, _text(section, at).encode())
    except OSError as error:
        message = f"cannot write {path}: {error}; check the disk and the folder's permissions"
        raise HomeUnwritable(message) from error


def _read(path: Path) -> dict[str, Any]:
    """Return the section as the file has it; an empty one where there is no file."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        message = f"cannot read {path}: {error}; remove it, and calibrate again"
        raise ConfigurationError(message) from error
    return dict(found.get(_SECTION, {}))


def _text(section: dict[str, Any], at: int) -> str:
    """Return the file's text."""
    domains = section.get(_DOMAINS, {})
    lines = [
        f"# Written by `cortex contradictions calibrate --write` at {iso(at)}.",
        "# What cortex.toml says wins over it; remove the file to go back to the defaults.",
        "",
        f"[{_SECTION}]",
        *_values({name: value for name, value in section.items() if name != _DOMAINS}),
    ]
    for name in sorted(domains):
        key = json.dumps(name, ensure_ascii=False)
        lines += ["", f"[{_SECTION}.{_DOMAINS}.{key}]", *_values(domains[name])]
    return "\n".join([*lines, ""])


def _values(table: dict[str, Any]) -> list[str]:
    """Return a table's lines."""
    return [f"{name} = {value!r}" for name, value in sorted(table.items())]


#: Contradictions, and items of the review, that the queue holds.
MOST = 1_000


@operation("contradictions.calibrate", http="POST /calibrate")
async def calibrate(
    call: Call, domain: str | None = None, *, write: bool = False
) -> dict[str, Any]:
    """Show which thresholds fit the decided pairs, and what they would change.

    Decided are pairs about which a person or a model has said what they are; what the rules merged
    by themselves is none. With `write` the better thresholds are written down and followed at
    once. Raises `ConfigurationError`, `HomeUnwritable`.
    """
    ruling = call.load_ruling()
    model = call.model()
    await asyncio.to_thread(ruling.read)
    known = await call.records.read(lambda c: verdicts.load_pairs(c, model))
    found = await asyncio.to_thread(partial(_suggested, known, ruling, only=domain))
    better = [each for each in found if not each.reason]
    changed: list[str] = []
    if write and better:
        path, now = call.home.calibration, call.clock.now()
        await asyncio.to_thread(partial(format_calibration, path, better, at=now))
        changed = list((await call.reload())["changed"])
    return {
        "model": model,
        "pairs": len(known),
        "suggestions": [
            {
                **shapes.shape_fields(each, "domain", "counts", "reason"),
                "now": _figures(each.thresholds, each.now),
                "then": _figures(each.suggested, each.then),
                "better": not each.reason,
            }
            for each in found
        ],
        "written": str(call.home.calibration) if write and better else None,
        "changed": changed,
    }


def _suggested(known: Sequence[Decided], ruling: Ruling, *, only: str | None) -> list[Suggestion]:
    """Return a suggestion for all pairs, and for each domain there are pairs of."""
    lexicon, limits = ruling.make_relations().lexicon, ruling.limits
    domains = sorted({each.domain for each in known if each.domain is not None})
    if only is not None:
        domains = [each for each in domains if each == only] or [only]
    found = [] if only else [suggest(known, limits.default, lexicon=lexicon)]
    for name in domains:
        some = [each for each in known if each.domain == name]
        found.append(suggest(some, limits.choose(name, name), domain=name, lexicon=lexicon))
    return found


def _figures(thresholds: rule.ConflictThresholds, found: Figures) -> dict[str, Any]:
    """Return thresholds that can be calibrated, with the figures of them."""
    return {
        **shapes.shape_fields(thresholds, "cluster", "judged"),
        "merges": _scored(found.merges),
        "contradictions": _scored(found.contradictions),
        "contradictions_merged": found.merged,
    }


def _scored(found: Score) -> dict[str, Any]:
    """Return a score with what follows of it."""
    shares = shapes.shape_fields(found, "precision", "recall", "f1")
    rounded = {name: None if each is None else round(each, 4) for name, each in shares.items()}
    return {**asdict(found), **rounded}
