"""`demo`: the whole way from instruction files to an answer, and back into a file.

It copies sample projects to a folder that is gone afterwards, starts a daemon of its own, follows
the projects until everything is read, embedded and indexed, asks a question, has two agents
remember something, and brings what projects agree on to one that lacks it. Neither the user's home
nor the samples are touched. Answers are printed as the commands that it names print them.
"""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from cortex_actors.cli import lifecycle, show
from cortex_actors.cli.declare import JsonOption, Option, command
from cortex_actors.cli.memory.recall import show_hits, show_saved
from cortex_actors.cli.pipeline.projects import watch
from cortex_actors.cli.pipeline.resolve import show_files
from cortex_actors.cli.pipeline.review import show_reviews
from cortex_actors.cli.show import shorten, shorten_id
from cortex_actors.client.connection import Answer, Client
from cortex_actors.errors import CortexError, DaemonDown, NotFound, visible
from cortex_actors.home import Home
from cortex_actors.process.logfile import Filter, format_line, make_record
from cortex_actors.process.logs import read_tail

#: Offers and principles that are asked for, and principles that are shown.
ASKED, SHOWN = 500, 5

#: Who says what, in this order: a fact, the same in other words, the contrary, and another's.
SAID = (
    ("CLAUDE", "The staging database listens on port 5433."),
    ("CLAUDE", "On port 5433 the staging database listens."),
    ("CLAUDE", "The staging database does not listen on port 5433."),
    ("VAJRA", "Deploys are done by the night watch."),
)

#: What both are asked.
MINDS_QUESTION = "Which port does the staging database listen on?"


def remember_and_ask(client: Client) -> Answer:
    """Have two agents remember and ask; return what became of each, and what each finds."""
    told, asked = [], {}
    for agent, text in SAID:
        became = client.call("remember", content=text, agent=agent, type="fact")
        told.append({"agent": agent, "said": text, **became})
    for agent in dict(SAID):
        found = client.call("search", query=MINDS_QUESTION, limit=3, as_agent=agent)
        asked[agent] = found["hits"]
    return {"told": told, "asked": asked, "round_trip": client.call("round_trip")}


def show_remembered(found: Answer) -> None:
    """Print what became of what was said, what each agent finds, and that nothing is left."""
    show.title("What agents remember")
    for told in found["told"]:
        print(f'\n$ cortex remember "{told["said"]}" --agent {told["agent"]}')
        show_saved(told)
    print(f"\n$ cortex memory search {MINDS_QUESTION}\n")
    for agent, hits in found["asked"].items():
        texts = "; ".join(str(hit["text"]) for hit in hits)
        print(f"  {agent} finds: {texts or 'nothing: it may not read what others keep'}")
    trip = found["round_trip"]
    print(f"\n$ cortex doctor --round-trip\n\n  {trip['state']} in {trip['took_ms']:.0f} ms")


def approve_and_resolve(
    client: Client, folders: Sequence[Path], *, settle: Callable[[], object]
) -> Answer:
    """Approve what is offered and bring it to the project that lacks most; return what was seen.

    As a person does it who reads each offer: every one is looked at with its diff, approved, and
    written into the files of that project. `settle` returns when nothing is left to do.
    """
    waiting = client.call("reviews", limit=ASKED)
    names = [each["id"] for each in waiting["reviews"] if each["asks"] == "promotion"]
    offers = [client.call("review", insight=name) for name in names]
    for name in names:
        client.call("approve", insight=name)
    settle()
    found = client.call("principles", limit=ASKED)
    own = {each["id"]: set(each["projects"]) for each in found["principles"]}
    found["principles"] = found["principles"][:SHOWN]
    shown = {
        each: client.call("resolve", path=str(each), dry_run=True)["files"] for each in folders
    }

    def lacking(folder: Path) -> int:
        # What a project would receive and says in none of its files itself.
        given = {one["id"] for each in shown[folder] for one in each["bullets"]}
        return sum(folder.name not in own.get(name, ()) for name in given)

    seen: Answer = {"waiting": waiting, "offers": offers, "principles": found, "project": None}
    most = max(folders, key=lacking)
    if not lacking(most):
        return {**seen, "shown": [], "files": [], "left": []}
    done = client.call("resolve", path=str(most))
    seen["project"] = {"name": most.name, "root": str(most)}
    return {**seen, "shown": shown[most], "files": done["files"], "left": done["left"]}


def show_agreed(found: Answer) -> None:
    """Print the offers, their approval, and what was written into the files of one project."""
    show.title("What projects agree on")
    print("\n$ cortex review\n")
    show_reviews(found["waiting"], {"status": "waiting", "project": None})
    print()
    for each in found["offers"]:
        show.lines(f"$ cortex review approve {shorten_id(each['id'])}")
    if not (project := found["project"]):
        print("\nno project lacks anything that others agree on")
        return
    print(f"\n$ cortex resolve {project['name']}\n")
    show_files({"files": found["shown"], "left": []}, dry_run=True)
    show_files(found, dry_run=False)


#: What is asked at the end; the sample projects answer it, and do not agree.
QUESTION = "Which port does the test database use?"

#: Seconds that its daemon may take to start.
START_TIMEOUT = 60.0

#: Warnings and errors of its log that are printed when it fails.
WARNINGS = 20

#: Settings of its home; the file lies beside the sample projects.
SETTINGS = "demo.toml"

#: Signals that end it, beside Ctrl-C: a kill, and a terminal that was closed.
ENDINGS = (signal.SIGTERM, signal.SIGHUP)

#: Says how far it is.
Say = Callable[[str], None]


@command("demo", "", "--follow", "--from ~/code --json")
def demo(
    *,
    follow: Annotated[bool, Option(help="Keep it running and show its log until Ctrl-C.")] = False,
    source: Annotated[
        Path | None, Option("--from", help="A folder of projects (default: the samples).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show everything on sample projects, with a daemon of its own that is removed afterwards."""
    projects = _projects(source)

    def say(text: str) -> None:
        print(visible(text), file=sys.stderr if as_json else sys.stdout, flush=True)

    try:
        with _stage(projects, say) as (home, folders), _daemon(home, say):
            found = _learn(Client(home), folders, is_shown=not as_json, say=say)
            (show.json if as_json else _show)(found)
            if not found["recall"]["hits"]:
                raise NotFound(f"nothing answers {QUESTION!r}")
            if follow:
                _follow(home, say)
    except CortexError as error:
        raise CortexError(f"the demonstration failed: {error}") from error


@contextmanager
def _stage(projects: list[Path], say: Say) -> Iterator[tuple[Home, list[Path]]]:
    """Give a home and copies of the projects in a temporary folder, and remove it at the end.

    What the daemon warned of is printed before that when the demonstration fails.
    """
    root = Path(tempfile.mkdtemp(prefix="cortex-demo-")).resolve()
    home = Home.find(root / "home")
    # They must clean up like Ctrl-C; one that nohup ignores ends nothing.
    heard = [n for n in ENDINGS if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, signal.default_int_handler) for number in heard}
    try:
        say(f"copying {len(projects)} projects to {root}")
        copies = [
            Path(shutil.copytree(p, root / "projects" / p.name, symlinks=True)) for p in projects
        ]
        home.create()
        text = (_samples().parent / SETTINGS).read_text(encoding="utf-8")
        say(f"settings of this home alone, from {SETTINGS}:")
        for each in text.splitlines():
            if each and not each.startswith("#"):
                say(f"  {each}")
        home.settings.write_text(text, encoding="utf-8")
        yield home, copies
    except Exception:
        for record in read_tail(
            home.logs / "cortex.ndjson", Filter(level="warning"), last=WARNINGS
        ):
            print(format_line(record), file=sys.stderr, flush=True)
        raise
    finally:
        shutil.rmtree(root, ignore_errors=True)
        for number, handler in before.items():
            signal.signal(number, handler)
        say(f"removed {root}")


@contextmanager
def _daemon(home: Home, say: Say) -> Iterator[None]:
    """Run a daemon for the home, and stop it at the end."""
    child, took = lifecycle.launch(home, timeout=START_TIMEOUT)
    try:
        say(f"started a daemon, pid {child.pid}, in {took:.2f} s")
        yield
    finally:
        ended = lifecycle.end(home, timeout=lifecycle.STOP_TIMEOUT)
        say("stopped the daemon" + (f" in {ended.took:.2f} s" if ended is not None else ""))


def _learn(client: Client, folders: list[Path], *, is_shown: bool, say: Say) -> Answer:
    """Follow the projects, wait until they are read, ask, and return all that was seen."""

    def settle() -> float:
        return watch(client, is_shown=is_shown, follow=None)

    for folder in folders:
        client.call("add_project", path=str(folder))
    say(f"following {len(folders)} projects")
    took = settle()
    status = client.call("status")
    if status["model"]["state"] == "missing":
        raise CortexError(f"the model is missing: {status['model']['reason']}")
    say(f"read and embedded in {took:.2f} s")
    known = client.call("projects")["projects"]
    for project in known:
        project["learnt"] = client.call("insights", project=project["id"], limit=3)
    return {
        "tree": client.call("tree")["text"],
        "projects": known,
        "status": status,
        "settled_s": round(took, 3),
        "recall": client.call("recall", query=QUESTION, limit=3),
        "remembered": remember_and_ask(client),
        "agreed": approve_and_resolve(client, folders, settle=settle),
    }


def _show(found: Answer) -> None:
    """Print what was seen."""
    print("\nThe tree:\n")
    print("\n".join(visible(text) for text in found["tree"].splitlines()))
    print()
    rows = []
    for project in found["projects"]:
        known = project["learnt"]
        surest = "\n".join(shorten(each["content"]) for each in known["insights"])
        rows.append((project["name"], project["files"], known["total"], surest))
    columns = ("project", "files", "insights", "the surest")
    show.table("What was learnt", columns, rows, empty="nothing was learnt")
    print(f"\n$ cortex recall {QUESTION}\n")
    show_hits(found["recall"])
    print()
    show_remembered(found["remembered"])
    print()
    show_agreed(found["agreed"])
    status, recall = found["status"], found["recall"]
    summary = [
        ("projects", status["projects"]),
        ("instruction files", sum(p["files"] for p in found["projects"])),
        ("insights", status["insights"]),
        ("settled in", f"{found['settled_s']:.2f} s"),
        ("model", status["model"]["id"]),
        ("recall", f"{len(recall['hits'])} hits in {recall['took_ms']:.0f} ms"),
        ("principles", found["agreed"]["principles"]["total"]),
    ]
    print()
    show.table("Summary", ("what", "how much"), summary, empty="")


def _follow(home: Home, say: Say) -> None:
    """Show the log until Ctrl-C, or until the daemon ends."""
    try:
        say("following the log; Ctrl-C ends it all")
        for found in Client(home).stream("logs", last=0, follow=True):
            print(format_line(make_record(found)), flush=True)
    except (KeyboardInterrupt, DaemonDown):
        say("")


def _projects(source: Path | None) -> list[Path]:
    """Return the projects in a folder, or the samples; raises `NotFound`."""
    folder = source or _samples()
    if not folder.is_dir():
        raise NotFound(f"there is no folder {folder}; give a folder of folders with --from")
    found = sorted(p for p in folder.glob("*") if p.is_dir() and not p.name.startswith("."))
    if not found:
        raise NotFound(f"no projects are in {folder}; give a folder of folders with --from")
    return found


def _samples() -> Path:
    """Return the sample projects: in the installed package, else in the checkout."""
    package = Path(__file__).resolve().parents[2]
    for folder in (package / "samples", package.parent / "data" / "projects"):
        if folder.is_dir():
            return folder
    raise NotFound("the sample projects are not installed; give a folder of projects with --from")
