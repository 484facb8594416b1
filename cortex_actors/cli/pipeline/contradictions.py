"""`contradictions`: pairs that cannot both hold, and what a person decides about one.

`triage`: everything that waits for a decision, a key for each; what agents are asked, and said.

`calibrate`: which thresholds fit what was decided; measured first, written only when asked.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated, Any

from cortex_actors.cli import show
from cortex_actors.cli.declare import HomeOption, JsonOption, Option, Preset, command, shows
from cortex_actors.cli.pipeline.projects import resolve_word
from cortex_actors.cli.show import (
    count_nouns,
    format_moment,
    join_facts,
    list_places,
    shorten,
    shorten_id,
)
from cortex_actors.client.connection import Answer, Client
from cortex_actors.errors import BadInput, CortexError

#: States that a list may be of, the one without asking first.
_STATES = ("unresolved", "resolved", "dismissed", "all")

#: What is printed of a side that no file says now.
_NOWHERE = "no file says it any more"

#: What each layer is called where people read it.
_DECIDERS = {
    "rules": "the rules",
    "nli": "the entailment model",
    "llm": "the language model",
    "agent": "an agent",
    "person": "a person",
}


@shows(
    "contradictions",
    "",
    "--project atlas-api --type direct",
    "--between-projects",
    asks="contradictions.list",
    about="Show what instruction files say against one another, and decide it.",
    is_group=True,
    status=Option(words=_STATES),
    between_projects=Preset(
        "--between-projects",
        sets=("kind", "contextual"),
        help="What two projects choose differently; it keeps nothing from counting.",
    ),
)
def show_list(found: Answer, given: Answer) -> None:
    """Print pairs, how many are left out of a plain list, and how to decide one."""
    shown, status, kind = found["contradictions"], given["status"], given["kind"]
    more = "" if status == "unresolved" else f"; {found['open']:,} are open"
    empty = _nothing(status, narrowed=bool(given["project"] or kind))
    entries = [_entry(each) for each in shown]
    noun = "difference" if kind == "contextual" else "contradiction"
    show.page(entries, found["total"], noun, empty=empty, more=more)
    if found["contextual"] and kind is None:
        print(
            f"\n{count_nouns(found['contextual'], 'difference')} of two projects: "
            "--between-projects"
        )
    if any(each["status"] == "unresolved" for each in shown):
        print("\ndecide one with: cortex contradictions resolve ID --keep a|b|both, or dismiss ID")


@shows("contradictions show", "con_5e1f02ab")
def show_pair(found: Answer) -> None:
    """Print one pair whole."""
    facts: list[tuple[str, object]] = [
        ("id", found["id"]),
        ("type", found["type"]),
        ("status", _outcome(found)),
    ]
    for name in "ab":
        side = found[name] or {}
        sure = f"sure {side['confidence']:.2f}" if side else None
        about = join_facts(
            shorten_id(side.get("id", "")), side.get("status"), side.get("domain"), sure
        )
        places = list_places(side.get("sources", ())) or [_NOWHERE]
        facts.append((name, "\n".join([_said(side), about, *places])))
    facts += [
        ("because", f"{found['reason']} ({_DECIDERS[found['decided_by']]})"),
        ("cosine", "" if found["similarity"] is None else f"{found['similarity']:.3f}"),
        ("found", f"{format_moment(found['detected_at'])} by {found['detected_by']}"),
        ("decided", format_moment(found["resolved_at"])),
        ("note", found["resolution"] or ""),
    ]
    show.facts(*facts)


@shows(
    "contradictions resolve",
    "con_5e1f02ab --keep a",
    "con_5e1f02ab --keep both --note 'one is for tests'",
    keep=Option(missing="say which of the two holds: --keep a, --keep b or --keep both"),
)
@shows("contradictions dismiss", "con_5e1f02ab")
def show_decided(found: Answer) -> None:
    """Print what was decided, and which file still says the contrary."""
    print(f"{found['id']}: {_outcome(found)}")
    kept = found["kept_id"]
    lost: list[Any] = [found[name] for name in "ab" if kept and found[name]["id"] != kept]
    places = [place for side in lost for place in list_places(side["sources"])]
    if places:
        print("the other one is still said here; mend the file when you can:")
        show.facts(*[("", place) for place in places])


#: What a key or a word says of each kind, and what the daemon is asked for it.
_Said = dict[str, tuple[str, dict[str, Any]]]
_PAIR: _Said = {
    **{side: ("resolve_contradiction", {"keep": side}) for side in ("a", "b", "both")},
    "dismiss": ("dismiss_contradiction", {}),
}
_LIKE: _Said = {verdict: ("decide", {"verdict": verdict}) for verdict in ("same", "apart")}
_OFFER: _Said = {method: (method, {}) for method in ("approve", "reject")}
_CHOICES = {"contradiction": _PAIR, "possible": _PAIR, "duplicate": _LIKE}

#: Keys of words; a capital letter means all that are left of the kind. No key of one kind approves
#: in another: hands repeat themselves.
_KEYS = {
    "a": "a",
    "b": "b",
    "2": "both",
    "d": "dismiss",
    "s": "same",
    "x": "apart",
    "y": "approve",
    "r": "reject",
    "n": "skip",
    "q": "quit",
}

#: What each kind is called, and the parameter of its operation that says which one.
_TITLES = {
    "contradiction": ("contradictions", "contradiction"),
    "possible": ("possible contradictions", "contradiction"),
    "duplicate": ("near duplicates", "item"),
    "use": ("texts that wait to be used", "insight"),
    "promotion": ("offers: to become a principle", "insight"),
    "write": ("principles to be written into files", "insight"),
}

#: Items of one sitting.
_SITTING = 500


@command(
    "triage",
    "",
    "--kind possible",
    "--json",
    "cortex triage --kind duplicate <<< 'apart all'",
    about="Decide what waits, one key each: contradictions, near duplicates, the review.",
    is_group=True,
)
def triage(
    *,
    kind: Annotated[str | None, Option(words=tuple(_TITLES), help="Only this kind.")] = None,
    project: Annotated[str | None, Option(help="Only what this project says.")] = None,
    limit: Annotated[int, Option(help="How many at most.", min=1)] = _SITTING,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show what waits for a decision, one at a time, and decide it with a key.

    Without a terminal a line of input decides: a word or its key, and `all` behind it for all that
    are left of the kind. `--json` lists the queue and decides nothing.
    """
    client = Client(home)
    ours = None if project is None else resolve_word(project)
    found = client.call("triage", limit=limit, kind=kind, project=ours)
    if as_json:
        show.json(found)
        return
    counts = [f"{_TITLES[name][0]} {count:,}" for name, count in found["counts"].items()]
    print(join_facts(*counts) or "nothing waits for a decision")
    if not found["total"] and counts:
        print("nothing of these is of that kind or project")
    always: dict[str, str] = {}
    done = 0
    for number, item in enumerate(found["items"], 1):
        name = item["kind"]
        if (word := always.get(name)) is None:
            title = f"{number} of {found['total']:,}: {_TITLES[name][0]}"
            show.blocks(title, [_waiting(item)], empty="")
            word, is_all = _word(_CHOICES.get(name, _OFFER))
            if is_all:
                always[name] = word
        if word == "quit":
            break
        done += word != "skip" and _decided(client, item, word=word)
    print(f"decided {done:,} of {found['total']:,}")


def _waiting(item: Answer) -> show.ListEntry:
    """Return what is shown of one item before it is decided."""
    if item["kind"] not in _CHOICES:
        about = [item["because"], *list_places(item["sources"], most=2)]
        return show.ListEntry(shorten_id(item["id"]), shorten(item["content"], 300), about)
    return _pair(item, item["reason"], letters=300)


def _word(choices: Mapping[str, object]) -> tuple[str, bool]:
    """Return what a person says of the item that is shown, and whether of all of its kind."""
    keys = {key: word for key, word in _KEYS.items() if word in {*choices, "skip", "quit"}}
    is_terminal = sys.stdin.isatty()
    asked = " ".join(f"[{key}] {word}" if key != word else f"[{key}]" for key, word in keys.items())
    while True:
        print(f"{asked} (capital: all of these) ", end="", flush=True)
        line = _key() if is_terminal else sys.stdin.readline()
        print()
        if not line:
            return "quit", False
        first, *rest = line.split() or ["n"]
        is_all = rest == ["all"] or first.isupper()
        word = keys.get(first.lower(), first.lower())
        if word in keys.values():
            return word, is_all
        if not is_terminal:
            words = ", ".join(keys.values())
            raise BadInput(f"cannot decide {line.strip()!r}; say one of: {words}")


def _key() -> str:
    """Return one key of a terminal."""
    import click  # noqa: PLC0415 - only to ask

    return click.getchar()


def _decided(client: Client, item: Answer, *, word: str) -> bool:
    """Have the daemon write a decision down; print why it refuses, if it does."""
    method, more = _CHOICES.get(item["kind"], _OFFER)[word]
    try:
        client.call(method, **{_TITLES[item["kind"]][1]: item["id"], **more})
    except CortexError as error:
        show.lines(f"{shorten_id(item['id'])}: {error}")
        return False
    show.lines(f"{shorten_id(item['id'])}: {word}")
    return True


@shows("triage decide", "dup_5e1f02ab apart", "con_5e1f02ab open")
def show_verdict(found: Answer) -> None:
    """Print what a person said of a pair."""
    show.lines(f"{shorten_id(found['item'])}: {found['verdict']}")


@shows("triage next", "", "--limit 5 --agent VAJRA", asks="judge.next")
def show_handed(found: Answer) -> None:
    """Print the pairs that an agent is to judge, and how it answers."""
    entries = []
    for each in found["pairs"]:
        about = [line for name in "ab" for line in _quoted(name, each[name])]
        about.append(f"cortex triage answer {each['id']} {'|'.join(each['answers'])}")
        entries.append(show.ListEntry(each["id"], each["question"], about))
    left = (f"{found['more']:,} more open", f"{found['left_today']:,} left today")
    title = join_facts(f"{count_nouns(len(entries), 'pair')} to judge", *left)
    show.blocks(title, entries, empty=found["note"])
    if entries:
        show.lines("", found["note"])


def _quoted(name: str, side: Answer) -> list[str]:
    """Return a text of a pair, its place, and the lines around it."""
    where = join_facts(side["project"], f"{side['path']}:{side['line']}", side["heading"])
    near = [f"   | {line}" for line in side["around"].splitlines()]
    return [f'{name}  "{side["text"]}"', f"   {where}", *near]


@shows(
    "triage answer",
    "con_5e1f02ab contradict --reason 'tabs against spaces'",
    "dup_5e1f02ab open",
    asks="judge.answer",
)
def show_answered(found: Answer) -> None:
    """Print what an agent said of a pair, and what follows."""
    show.lines(f"{found['id']}: {found['agent']} said {found['verdict']}; {found['effect']}")


@shows("triage judged", "", "--limit 50 --json", asks="judge.list")
def show_given(found: Answer) -> None:
    """Print what agents said, and what came of it."""
    entries = []
    for each in found["verdicts"]:
        text = "\n".join(f"{name}  {shorten(_said(each[name]), 160)}" for name in "ab")
        said = join_facts(
            f"{each['agent']} said {each['verdict']}", format_moment(each["at"]), each["reason"]
        )
        undone = each["undone_at"] and f"by {each['undone_by']} {format_moment(each['undone_at'])}"
        entries.append(show.ListEntry(each["id"], text, [said, join_facts(each["effect"], undone)]))
    empty = "no agent has judged a pair yet; pairs are handed out with: cortex triage next"
    show.page(entries, found["total"], "verdict", empty=empty)
    if entries:
        print("\ntake one back with: cortex triage answer ID open")


def _entry(found: Answer) -> show.ListEntry:
    """Return a pair's entry in a list."""
    alike = found["similarity"]
    cosine = None if alike is None else f"cosine {alike:.2f}"
    outcome = None if found["status"] == "unresolved" else _outcome(found)
    why = f"{_DECIDERS[found['decided_by']]}: {found['reason']}"
    return _pair(found, join_facts(found["type"], outcome, why, cosine), letters=160)


def _pair(found: Answer, facts: str, *, letters: int) -> show.ListEntry:
    """Return a pair: what both sides say, what is known of them, and the place of each."""
    sides = [f"{name}  {shorten(_said(found[name]), letters)}" for name in "ab"]
    where = [f"{name}  {_first(found[name])}" for name in "ab"]
    return show.ListEntry(shorten_id(found["id"]), "\n".join(sides), [facts, *where])


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
    """Return the first place of one side, in one line."""
    return ", ".join(list_places((side or {}).get("sources", ()), most=1)) or _NOWHERE


def _nothing(status: str, *, narrowed: bool) -> str:
    """Return what is said where no contradiction is listed."""
    if narrowed:
        return "no such contradiction is known"
    if status == "unresolved":
        return "no contradiction is open; see decided ones with: cortex contradictions --status all"
    return f"no contradiction is {status}" if status != "all" else "no contradiction is known"


#: What the daemon says where there are enough pairs, and nothing is better.
_AS_GOOD = "nothing fits these pairs better"


@shows(
    "contradictions calibrate",
    "",
    "--domain python",
    "--write",
)
def show_calibrated(found: Answer, given: Answer) -> None:
    """Print which thresholds fit the pairs that were decided, and what they would change."""
    whole, *others = found["suggestions"] or [None]
    enough = [each for each in others if each["better"] or each["reason"] == _AS_GOOD]
    for each in filter(None, (whole, *enough)):
        parts = [f"{count:,} {label}" for label, count in each["counts"].items() if count]
        rows = [_row("now", each["now"])]
        rows += [_row("suggested", each["then"])] if each["better"] else []
        name = each["domain"] or "all domains"
        title = f"{name}, pairs decided: {', '.join(parts) or 'none'}"
        columns = ("", "cluster", "judged", "merges", "contradictions", "merged wrongly")
        show.table(title, columns, rows, empty="")
        print(f"nothing else is suggested: {each['reason']}\n" if each["reason"] else "")
    if few := [each for each in others if each not in enough]:
        names = ", ".join(f"{each['domain']} {sum(each['counts'].values())}" for each in few)
        print(f"too few decided pairs for a domain of their own: {names}\n")
    _close(found, write=given["write"])


def _row(name: str, figures: Answer) -> tuple[object, ...]:
    """Return a line of figures: precision and recall where there are any."""
    cosines = [f"{figures[each]:.2f}" for each in ("cluster", "judged")]
    shares = []
    for each in ("merges", "contradictions"):
        both = (figures[each]["precision"], figures[each]["recall"])
        shares.append(" / ".join("-" if number is None else f"{number:.2f}" for number in both))
    return (name, *cosines, *shares, figures["contradictions_merged"])


def _close(found: Answer, *, write: bool) -> None:
    """Print what was written, or what can be done next."""
    better = [each for each in found["suggestions"] if each["better"]]
    if found["suggestions"]:
        print(
            "cluster: cosine from which one counts for another; judged: from which two are compared"
        )
        print("merges and contradictions: precision / recall over the decided pairs")
    if found["written"]:
        changed = ", ".join(found["changed"]) or "nothing: cortex.toml says otherwise"
        print(f"wrote {found['written']}; changed {changed}")
        print("insights are compared again by it; remove the file and reload to go back")
    elif better:
        print("nothing was written; follow it with: cortex contradictions calibrate --write")
    elif write:
        print("nothing was written: nothing is suggested")
    else:
        print("decide more pairs with: cortex contradictions")
