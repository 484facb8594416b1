"""`contradictions`: pairs that cannot both hold, and what a person decides about one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cortex_actors.cli.blocks import (
    Block,
    brief,
    counted,
    joined,
    nothing,
    show_blocks,
    show_facts,
    standing,
    when,
)
from cortex_actors.cli.filters import (
    ConflictOption,
    DomainOption,
    LimitOption,
    ProjectOption,
    SkipOption,
    one_of,
)
from cortex_actors.cli.output import HomeOption, JsonOption, examples, shortened, show_json
from cortex_actors.cli.projects import meant
from cortex_actors.client.connection import Client
from cortex_actors.domain.insight import ContradictionSort
from cortex_actors.errors import UsageError

if TYPE_CHECKING:
    from typing import Any

    from cortex_actors.client.connection import Answer

#: States that a list may be of, the one without asking first.
_STATES = ("unresolved", "resolved", "dismissed", "all")

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Its id, or the beginning of it.")]
NoteOption = Annotated[str | None, typer.Option(help="Why, in your own words.")]

#: What is said of a side that stands in no file now.
_NOWHERE = "no file says it any more"

#: What each layer is called where people read it.
_DECIDERS = {
    "rules": "the rules",
    "nli": "the entailment model",
    "llm": "the language model",
    "person": "a person",
}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        help="Show what instruction files say against one another, and decide it.",
        rich_markup_mode=None,
        no_args_is_help=False,
        epilog=examples(
            "cortex contradictions",
            "cortex contradictions --project atlas-api --type direct",
            "cortex contradictions show con_5e1f02ab",
            "cortex contradictions resolve con_5e1f02ab --keep a",
            "cortex contradictions dismiss con_5e1f02ab --note 'two different services'",
        ),
    )
    group.callback(invoke_without_command=True)(listed)
    group.command("show", epilog=examples("cortex contradictions show con_5e1f02ab"))(show)
    group.command(
        "resolve",
        epilog=examples(
            "cortex contradictions resolve con_5e1f02ab --keep a",
            "cortex contradictions resolve con_5e1f02ab --keep both --note 'one is for tests'",
        ),
    )(resolve)
    group.command("dismiss", epilog=examples("cortex contradictions dismiss con_5e1f02ab"))(dismiss)
    app.add_typer(group, name="contradictions")


def listed(
    context: typer.Context,
    *,
    project: ProjectOption = None,
    status: Annotated[
        str, typer.Option(help=f"One of {', '.join(_STATES)}.", callback=one_of(*_STATES))
    ] = "unresolved",
    kind: ConflictOption = None,
    domain: DomainOption = None,
    sort: Annotated[
        ContradictionSort, typer.Option(help="What comes first.")
    ] = ContradictionSort.NEWEST,
    limit: LimitOption = 20,
    skip: SkipOption = 0,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """List pairs of insights that cannot both hold; those that nobody has decided yet."""
    if context.invoked_subcommand is not None:
        return
    found = Client(home).call(
        "contradictions",
        project=meant(project),
        status=status,
        kind=kind,
        domain=domain,
        sort=sort,
        limit=limit,
        skip=skip,
    )
    if as_json:
        show_json(found)
        return
    narrowed = bool(project or kind or domain)
    empty = nothing(found["total"], _nothing(status, narrowed=narrowed))
    _list(found, empty, status=status, is_plain=kind is None)


def show(name: IdArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Show one pair whole: both texts, where they stand, who found it, and what was decided."""
    found = Client(home).call("contradiction", contradiction=name)
    if as_json:
        show_json(found)
        return
    _show(found)


def resolve(
    name: IdArgument,
    keep: Annotated[
        str | None, typer.Option(help="Which holds: a, b, an insight's id, or both.")
    ] = None,
    note: NoteOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Decide which of the two holds; the other is not promoted while both are said."""
    if keep is None:
        raise UsageError("say which of the two holds: --keep a, --keep b or --keep both")
    found = Client(home).call("resolve_contradiction", contradiction=name, keep=keep, note=note)
    _decided(found, as_json=as_json)


def dismiss(
    name: IdArgument,
    note: NoteOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Decide that the two do not contradict each other; the pair is never raised again."""
    found = Client(home).call("dismiss_contradiction", contradiction=name, note=note)
    _decided(found, as_json=as_json)


def _list(found: Answer, empty: str, *, status: str, is_plain: bool) -> None:
    """Print pairs, how many are left out of a plain list, and how to decide one."""
    shown = found["contradictions"]
    total = counted(found["total"], "contradiction")
    more = "" if status == "unresolved" else f"; {found['open']:,} are open"
    show_blocks(
        f"{len(shown)} of {total}{more}",
        [_entry(each) for each in shown],
        empty=empty,
    )
    if found["contextual"] and is_plain:
        print(f"\n{found['contextual']:,} hold in different places: --type contextual, or all")
    if any(each["status"] == "unresolved" for each in shown):
        print("\ndecide one with: cortex contradictions resolve ID --keep a|b|both, or dismiss ID")


def _entry(found: Answer) -> Block:
    """Return a pair's entry in a list."""
    sides = [f"{name}  {shortened(_said(found[name]), 160)}" for name in "ab"]
    alike = found["similarity"]
    facts = joined(
        [
            found["type"],
            None if found["status"] == "unresolved" else _outcome(found),
            f"{_DECIDERS[found['decided_by']]}: {found['reason']}",
            None if alike is None else f"cosine {alike:.2f}",
        ]
    )
    where = [f"{name}  {_first(found[name])}" for name in "ab"]
    return Block(brief(found["id"]), "\n".join(sides), [facts, *where])


def _show(found: Answer) -> None:
    """Print one pair whole."""
    facts: list[tuple[str, object]] = [
        ("id", found["id"]),
        ("type", found["type"]),
        ("status", _outcome(found)),
    ]
    for name in "ab":
        side = found[name] or {}
        about = joined(
            [
                brief(side.get("id", "")),
                side.get("status"),
                side.get("domain"),
                f"sure {side['confidence']:.2f}" if side else None,
            ]
        )
        places = standing(side.get("sources", ())) or [_NOWHERE]
        facts.append((name, "\n".join([_said(side), about, *places])))
    facts += [
        ("because", f"{found['reason']} ({_DECIDERS[found['decided_by']]})"),
        ("cosine", "" if found["similarity"] is None else f"{found['similarity']:.3f}"),
        ("found", f"{when(found['detected_at'])} by {found['detected_by']}"),
        ("decided", when(found["resolved_at"])),
        ("note", found["resolution"] or ""),
    ]
    show_facts(facts)


def _decided(found: Answer, *, as_json: bool) -> None:
    """Print what was decided, and which file still says the contrary."""
    if as_json:
        show_json(found)
        return
    print(f"{found['id']}: {_outcome(found)}")
    kept = found["kept_id"]
    lost: list[Any] = [found[name] for name in "ab" if kept and found[name]["id"] != kept]
    places = [place for side in lost for place in standing(side["sources"])]
    if places:
        print("the other one is still said here; mend the file when you can:")
        show_facts([("", place) for place in places])


def _outcome(found: Answer) -> str:
    """Return what became of a pair."""
    if found["status"] != "resolved":
        return str(found["status"])
    kept = found["kept_id"]
    if kept is None:
        return "resolved, both hold"
    return f"resolved, {'a' if kept == found['insight_a'] else 'b'} holds"


def _said(side: Answer | None) -> str:
    """Return what one side says."""
    return str(side["content"]) if side else "(no longer known)"


def _first(side: Answer | None) -> str:
    """Return where one side stands, in one line."""
    return ", ".join(standing((side or {}).get("sources", ()), most=1)) or _NOWHERE


def _nothing(status: str, *, narrowed: bool) -> str:
    """Return what is said where no contradiction is listed."""
    if narrowed:
        return "no such contradiction is known"
    if status == "unresolved":
        return "no contradiction is open; see decided ones with: cortex contradictions --status all"
    return f"no contradiction is {status}" if status != "all" else "no contradiction is known"
