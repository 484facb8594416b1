"""`agents`: who remembers and posts here, their profiles, and the tokens they are known by.

`agents post`, `thread`, `threads`, `village`: what agents say to one another, and how much it is.

`agents convergence`: what several agents say alike.

`agents crumb`: what a session leaves for the next one.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cortex_actors.cli import show
from cortex_actors.cli.declare import Joined, Option, shows
from cortex_actors.cli.memory.recall import GLOBAL, OF_NONE
from cortex_actors.cli.show import count_nouns, format_moment, join_facts
from cortex_actors.client.connection import Answer
from cortex_actors.errors import BadInput, NotFound, visible

_PRIORITY = Option(ignore_case=True)


@shows(
    "agents",
    "",
    asks="agents.list",
    also="agents list",
    about="List who remembers and posts here, describe an agent, or give it a token.",
    is_group=True,
)
def show_list(found: Answer) -> None:
    """Print who remembers and posts here."""
    entries = [_entry(each) for each in found["agents"]]
    show.page(entries, found["total"], "agent", empty="no agent is known")


@shows("agents show", "ELYSIAN")
def show_agent(agent: Answer) -> None:
    """Print one agent whole."""
    show.title(f"{_symbol(agent)} {agent['display_name']}")
    has_token = agent.get("has_token")
    show.facts(
        ("id", agent["id"]),
        ("known for", agent["specialization"]),
        ("generation", agent["generation"]),
        ("lineage", agent["lineage"]),
        ("colour", agent["color"]),
        ("story", agent["origin_story"]),
        ("known since", format_moment(agent["registered_at"])),
        ("token", "" if has_token is None else "it has one" if has_token else "none"),
    )


@shows(
    "agents summon",
    "LUMEN --specialization 'Release notes' --symbol ☼",
    "ELDER --generation=-2 --lineage Founder --specialization Origins",
)
def show_summoned(found: Answer) -> None:
    """Print an agent, and the post of its profile."""
    show_agent(found)
    done = "has a place in the village" if found["new"] else "has another profile"
    print()
    show.lines(f"{found['display_name']} {done}: #{found['record']}")


@shows("agents seed", "")
def show_seeded(found: Answer) -> None:
    """Print which of the original's agents got their profiles."""
    print(f"described: {', '.join(found['seeded']) or 'nothing new, all six have a profile'}")


@shows("agents introduce", "LUMEN")
def show_greeting(found: Answer) -> None:
    """Print how an agent greets the village."""
    show.lines(*found["content"].splitlines(), "")
    show.lines(f"posted as #{found['id']} in the thread {found['thread']}")


@shows(
    "agents token",
    "export CORTEX_TOKEN=$(cortex agents token LUMEN)",
    about="""Make an agent's token, shown only this once; an earlier one is no longer valid.

Programs that have it in CORTEX_TOKEN are that agent, and read and change nothing of another's.""",
)
def show_token(found: Answer) -> None:
    """Print a token alone, and beside it where it is kept."""
    print(found["token"])
    before = "; the one before counts no more" if found["replaced"] else ""
    note = f"{found['agent']}'s token is in {found['path']}, for your eyes only{before}"
    print(visible(f"cortex: {note}"), file=sys.stderr)


@shows("agents revoke", "LUMEN", asks="agents.revoke-token")
def show_revoked(found: Answer) -> None:
    """Print whose token counts no more."""
    print(f"the token of {found['agent']} counts no more")


def _entry(agent: Answer) -> show.ListEntry:
    """Return an agent's entry in a list."""
    generation = f"generation {agent['generation']}" if agent["generation"] else None
    token = "has a token" if agent.get("has_token") else None
    facts = join_facts(agent["id"], generation, agent["lineage"], token)
    return show.ListEntry(_symbol(agent), agent["display_name"], [agent["specialization"], facts])


def _symbol(agent: Answer) -> str:
    """Return an agent's sign, in ASCII where the terminal has nothing else."""
    encoding = sys.stdout.encoding or "ascii"
    try:
        str(agent["symbol"]).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return str(agent["ascii_symbol"])
    return str(agent["symbol"])


@shows(
    "agents post",
    '"The test database listens on port 5433." --thread databases',
    "Agreed. --agent VAJRA --reply-to mem_01HZ...",
    '"Read my notes first." --realm bridge --to KETHER',
    content=Joined(metavar="TEXT..."),
    is_global=OF_NONE,
)
def show_posted(found: Answer) -> None:
    """Print what became of a post."""
    print(f"said there before: {found['id']}" if found["state"] == "existing" else found["message"])
    if found.get("project"):
        show.lines(f"  belongs to the project {found['project']}")


@shows("agents thread", "databases", "databases --as KETHER")
def show_thread(found: Answer) -> None:
    """Print a conversation in its order."""
    title = (
        f"{len(found['messages'])} of {count_nouns(found['total'], 'post')} in {found['thread']}"
    )
    places = {each["id"]: number for number, each in enumerate(found["messages"], 1)}
    show.blocks(title, [_message(each, places) for each in found["messages"]], empty="")


@shows("agents threads", "", "--json")
def show_threads(found: Answer) -> None:
    """Print the conversations."""
    entries = []
    for each in found["threads"]:
        about = join_facts(", ".join(each["agents"]), f"last {format_moment(each['last_at'])}")
        entries.append(show.ListEntry(f"{each['posts']:,}", each["thread"], [about]))
    empty = "no posts in threads yet; see: cortex agents post --help"
    show.page(entries, found["total"], "thread", empty=empty, more=", with their posts")


@shows("agents village", "")
def show_village(found: Answer) -> None:
    """Print how much agents have told one another."""
    agreed = found["convergences"]
    show.facts(
        ("posts", f"{found['total']:,}"),
        ("by realm", _counts(found["by_realm"])),
        ("by agent", _counts(found["by_agent"])),
        ("by type", _counts(found["by_type"])),
        ("threads", f"{found['threads']:,}"),
        ("harmonies", f"{agreed['HARMONY']:,}"),
        ("consensuses", f"{agreed['CONSENSUS']:,}"),
        ("to compare", f"{found['waiting']:,}" if found.get("waiting") else ""),
    )


def _message(found: Answer, places: dict[str, int]) -> show.ListEntry:
    """Return a post: its number, what it says, who said it when, and what it answers."""
    realm = "" if found["realm"] == "village" else found["realm"]
    kind = "" if found["type"] == "dialogue" else found["type"]
    about = join_facts(found["agent_display"], format_moment(found["created_at"]), realm, kind)
    answered = [str(places.get(each, each)) for each in found["responding_to"]]
    lines = [about, f"answers {', '.join(answered)}" if answered else "", found["id"]]
    return show.ListEntry(f"{places[found['id']]}.", found["content"], lines)


def _counts(found: dict[str, int]) -> str:
    """Return words with how many there are of each, the most first."""
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{word} {count:,}" for word, count in ordered)


@shows(
    "agents convergence",
    "which package manager",
    "tabs or spaces --min-agents 3 --threshold 0.8",
    query=Joined(metavar="TOPIC..."),
)
def show_convergence(found: Answer, given: Answer) -> None:
    """Print what different agents say alike."""
    compared = f"{count_nouns(found['compared'], 'post')} near this"
    if not found["has_convergence"]:
        print(f"NONE: no {given['min_agents']} agents say alike among {compared}")
    else:
        print(f"{found['type']}: {', '.join(found['converging_agents'])} say alike ({compared})")
        for group in found["groups"]:
            print()
            entries = [
                show.ListEntry(agent, each["preview"], [join_facts(each["id"], each["thread"])])
                for agent, messages in group["by_agent"].items()
                for each in messages
            ]
            title = (
                f"{count_nouns(len(entries), 'message')} alike by {group['likeness']:.2f} at least"
            )
            show.blocks(title, entries, empty="")
    for pair in found["apart"]:
        first, second = pair["agents"]
        print(f"\n{first} and {second} are near each other and apart: {pair['reason']}")
        print("  " + ", ".join(pair["memory_ids"]))


def read_feelings(given: Sequence[str]) -> dict[str, str]:
    """Return feelings by name, each as it was said last; raises `BadInput`."""
    return {name: how[-1] for name, how in _pairs(given, "--feeling").items()}


def read_references(given: Sequence[str]) -> dict[str, list[str]]:
    """Return what there is to look up, by its kind; raises `BadInput`."""
    return _pairs(given, "--reference")


def _pairs(given: Sequence[str], option: str) -> dict[str, list[str]]:
    """Return the name before each equals sign with the values behind it; raises `BadInput`."""
    found: dict[str, list[str]] = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not (sign and name.strip() and value.strip()):
            raise BadInput(f"{option} {each!r} is no NAME=VALUE")
        found.setdefault(name.strip(), []).append(value.strip())
    return found


@shows(
    "agents crumb leave",
    '"Moved the tests to pytest." --unfinished "port the last three"',
    '"Found it." --discovery "sockets stay open" --priority HIGH',
    asks="crumbs.leave",
    session_summary=Joined(metavar="SUMMARY..."),
    priority=_PRIORITY,
    is_global=OF_NONE,
    emotional_state=Option(read=read_feelings),
    references=Option(read=read_references),
)
def show_left(found: Answer) -> None:
    """Print what a crumb is called."""
    print(found["message"])


@shows(
    "agents crumb",
    "",
    "--agent AZOTH --priority HIGH",
    asks="crumbs.list",
    also="agents crumb get",
    about="Leave a crumb for the next session, and read what was left for this one.",
    is_group=True,
    priority=_PRIORITY,
    is_global=GLOBAL,
)
def show_crumbs(found: Answer) -> None:
    """Print what was left, and what of it is still to do."""
    crumbs, total = found["crumbs"], found["summary"]["total_found"]
    if not crumbs:
        print("no crumb was left in that time; leave one with: cortex agents crumb leave SUMMARY")
        return
    for each in crumbs:
        show.title(f"{each['agent']}  {each['id']}")
        show.lines(*each["text"].split("\n"), "")
    counts = {**found["summary"]["by_priority"], **found["summary"]["by_type"]}
    tally = ", ".join(f"{word} {count:,}" for word, count in counts.items())
    print(f"{len(crumbs)} of {count_nouns(total, 'crumb')}; {tally}")


@shows("agents crumb latest", "--agent AZOTH", asks="crumbs.latest", is_global=GLOBAL)
def show_latest(found: Answer) -> None:
    """Print the crumb that an agent left last; raises `NotFound` where there is none."""
    if found["crumb"] is None:
        raise NotFound(
            "no crumb of that agent was left for this project yet; everybody's, of all projects: "
            "cortex agents crumb get --global"
        )
    show.lines(*found["crumb"]["text"].split("\n"), "")


@shows("agents crumb tasks", "", "--json", asks="crumbs.unfinished", is_global=GLOBAL)
def show_tasks(found: Answer) -> None:
    """Print what sessions left to do."""
    entries = []
    for number, each in enumerate(found["tasks"], 1):
        about = join_facts(
            each["agent"], each["priority"], format_moment(each["left_at"]), each["crumb"]
        )
        entries.append(show.ListEntry(f"{number}.", each["task"], [about]))
    title = count_nouns(len(entries), "unfinished task")
    show.blocks(title, entries, empty="nothing was left unfinished in that time")
