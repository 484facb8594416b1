"""What the product does, recorded before it is restructured, so that nothing is lost unseen.

`python -m tests.goldens.recorded FOLDER` writes: the home of a small life, every operation's answer
on it, every command with its options, topics, settings, and the docstring of every test.
What differs between two replays of the same home (times, new ids) is written as `"*"`.
"""

from __future__ import annotations

import ast
import inspect
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import threading
from collections import Counter
from contextlib import closing, redirect_stdout, suppress
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cortex_actors import topics
from cortex_actors.api.desk import FrontDesk
from cortex_actors.cli import command_line, fast
from cortex_actors.cli.declare import MOVED
from cortex_actors.client.connection import Client
from cortex_actors.clock import DAY, SystemClock
from cortex_actors.domain.insight import Granularity
from cortex_actors.errors import CortexError
from cortex_actors.home import Home
from cortex_actors.pipeline.reading import READ_AS
from cortex_actors.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: The checkout.
ROOT = Path(__file__).resolve().parents[2]

#: Where the recorded home and its projects lie while they are used: rows hold absolute paths.
PLACE = Path("/tmp/cortex-goldens")

#: No model is compiled, vectors are the same everywhere, and two projects that agree make a
#: principle.
SETTINGS = """\
[embedding]
provider = "hashing"

[reconciliation]
promotion_age_days = 0
promotion_observations = 2
promotion_confidence = 0.55

[resolution]
least = 0.15
"""

#: Operations left out of the replay, each for a reason.
LEFT_OUT = {
    "crash": "refused unless the daemon was started for debugging",
    "migrate": "needs a second model",
    "prepare_model": "the hashing provider has no model to compile",
    "events": "what the pipeline does by itself after a start ends in another order each time",
    "runs": "likewise",
    "inspect": "shows lines of the code",
    "ping_store": "asks every store there is",
    "round_trip": "measures times",
}

ANY = "*"

#: What every process of the daemon runs first: for it the night after the record has just begun.
#: Projects have been scanned on two days, nothing has faded, and no crumb is old.
RECORDED_DAY = """
from cortex_actors.clock import SystemClock as Clock

def now(clock, today=Clock.now):
    return today(clock) - {later}

Clock.now = now
"""

#: Replays whose answers are compared: what actors do at once ends in another order each time.
REPLAYS = 8

Call = tuple[str, dict[str, Any]]


def texts() -> dict[str, list[str]]:
    """Return every test's docstring, by file and name."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        rows = [
            f"{node.name}: {ast.get_docstring(node)}"
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name.startswith("test")
        ]
        found[str(path.relative_to(ROOT))] = sorted(rows)
    return found


def commands() -> dict[str, Any]:
    """Return every command with its parameters: names, kinds, defaults, and what must be given."""
    context = click.Context(command_line.load_front(), info_name="cortex")

    def walk(command: Any, name: str, path: str) -> Iterator[tuple[str, Any]]:
        row = command_line.load_table()[path]
        words = [] if "quick" in row.get("run", ()) else command.params
        several = {each["name"] for each in row.get("params", ()) if "enum" in each}
        named = [_recorded(each, is_word=each.name in several) for each in words]
        yield name, sorted(named, key=lambda row: row["names"])
        for inner in getattr(command, "list_commands", lambda _: ())(context):
            below = command.get_command(context, inner)
            yield from walk(below, f"{name} {inner}", f"{path} {inner}".strip())

    top = command_line.load_front()
    found = dict(walk(top, "cortex", ""))
    for old, new in MOVED.items():
        command: Any = top
        for word in new.split():
            command = command.get_command(context, word)
        found |= walk(command, f"cortex {old}", new)
    for quick in ("start", "stop", "restart", "reload", "status", "publish", "hook"):
        found[f"cortex {quick}"] = _quick(quick)
    return dict(sorted(found.items()))


def _recorded(each: Any, *, is_word: bool) -> dict[str, Any]:
    """Return one parameter as it was recorded of the library that read words before."""
    kind: Any = each.type
    word = {"text": "str", "integer": "int", "integer range": "int", "boolean": "bool"}
    word |= {"float range": "float", "path": "Path", "choice": "str"}
    shown: Any = word.get(kind.name, kind.name)
    if is_word and isinstance(kind, click.Choice):
        shown = [*kind.choices]
    many = getattr(each, "multiple", False) or each.nargs != 1
    default = each.to_info_dict().get("default")
    return {
        "names": sorted([*each.opts, *each.secondary_opts]),
        "kind": "list" if many else shown,
        "default": str(default),
        "range": [getattr(kind, "min", None), getattr(kind, "max", None)],
        "required": each.required,
        "many": many,
    }


def _quick(name: str) -> list[str]:
    """Return the options of a command that argparse reads, out of its help."""
    text = io.StringIO()
    with redirect_stdout(text), suppress(SystemExit):
        fast.run([name, "--help"])
    return sorted(set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", text.getvalue())))


def catalogue() -> list[dict[str, Any]]:
    """Return every topic: payload, key, durable or not, who hears it."""
    return [
        {
            "name": each.name,
            "durable": each.durable,
            "key": list(each.key) if each.key is not None else None,
            "payload": sorted(getattr(each.payload, "__dataclass_fields__", {})),
        }
        for each in topics.TOPICS
    ]


def defaults() -> dict[str, Any]:
    """Return every key of cortex.toml with its default."""
    found: dict[str, Any] = json.loads(Settings().model_dump_json())
    return found


# ---- a small life, and every operation on it


def _call(client: Client, method: str, **params: Any) -> Any:
    return client.call(method, **params)


def _live(client: Client) -> None:
    """Do a little of everything."""
    for name in sorted(p.name for p in (PLACE / "projects").iterdir()):
        _call(client, "add_project", path=str(PLACE / "projects" / name))
    _quiet(client)
    memories = [
        _call(client, "remember", content=text, tags=tags, thread=thread, agent=agent)
        for text, tags, thread, agent in (
            ("Redis listens on port 6379 by default.", ["redis"], "ops", None),
            ("The staging cluster moves on Friday.", ["ops"], "ops", "AZOTH"),
            ("Redis listens on port 6380 in staging.", ["redis"], "ops", None),
            ("Backups of the ledger are checked hourly.", [], "ops", None),
            ("The parser keeps byte ranges of statements.", ["parser"], "code", "SOPHIA"),
        )
    ]
    first = memories[0]["id"]
    _call(client, "promote", id=first)
    _call(client, "pin", id=first)
    _call(client, "post", content="We move to Postgres next week.", agent="AZOTH")
    _call(client, "post", content="We are moving to Postgres next week.", agent="SOPHIA")
    _call(client, "leave_crumb", session_summary="Half of the parser is rewritten.")
    with suppress(CortexError):
        _call(client, "ingest", path=str(PLACE / "notes.md"))
    _call(client, "reconcile")
    _call(client, "organise")
    _quiet(client)


def _quiet(client: Client) -> None:
    """Return when nothing waits to be handled or embedded any more."""
    for _ in range(600):
        found = client.call("status")
        waiting = sum(
            v
            for k, v in found.items()
            if k in {"waiting", "unembedded", "unindexed"} and isinstance(v, int)
        )
        events = client.call("events", waiting=True)
        if not waiting and not events.get("events"):
            return
        threading.Event().wait(0.1)
    raise SystemExit("the recorded life does not come to rest")


def _pool(client: Client) -> dict[str, Any]:
    """Return what stands for each parameter that must be given."""
    insights = client.call("insights")["insights"]
    memories = client.call("memories", limit=50)["memories"]
    ids = sorted(m["id"] for m in memories)
    principles = client.call("principles").get("principles", [])
    contradictions = client.call("contradictions").get("contradictions", [])
    events = client.call("events")["events"]
    return {
        **PLAIN,
        "insight": insights[0]["id"],
        "thing": insights[0]["id"],
        "ids": [ids[-1]],
        "id": ids[0],
        "mine": sorted(m["id"] for m in memories if m["agent"] == "CLAUDE"),
        "first": ids[0],
        "second": ids[1],
        "left": ids[0],
        "right": ids[1],
        "old": ids[0],
        "new": ids[1],
        "contradiction": contradictions[0]["id"] if contradictions else "none",
        "event": events[0]["id"] if events else "1",
        "principle": principles[0]["id"] if principles else "none",
    }


#: What stands for a parameter on every home.
PLAIN = {
    "path": str(PLACE / "projects" / "atlas-api"),
    "agent": "AZOTH",
    "agent_id": "AZOTH",
    "changes": {"n_results": 5},
    "keep": "a",
    "query": "which port does redis use",
    "name": "reconciler",
    "events": ["all"],
    "text": "A text.",
    "one": "Use tabs.",
    "other": "Never use tabs.",
    "session_summary": "Tests of tables are open.",
    "source": str(PLACE / "projects" / "atlas-api"),
    "topics": ["redis"],
    "content": "A new memory about ports.",
    "topic": "custom:recorded",
    "payload": {"version": "1.4"},
    "folder": str(PLACE / "projects"),
    "job": "digest",
    "project": "atlas-api",
    "on": False,
    "change": 1,
    "thread": "ops",
    "to": "hashing",
    "type": "cortex",
    "url": "http://127.0.0.1:9",
}

#: Operations that change nothing come first, in the order of their names.
_READS = re.compile(
    r"agents?$|conflicts|contradictions?$|convergence|crumbs|duplicates|events?$"
    r"|fragments|history|insights?$|inspect|judge|knobs|knowledge_|latest_crumb|links|memor|migration$"
    r"|model$|outside|pace|principles?$|projects|promotions|recall|reviews?$|revoked|runs|schedule"
    r"|search|stale|status|store_health|stores|summon|threads?$|topics|tree|unfinished|village|what_if"
)


def _parameters(verbs: Mapping[str, list[str]], pool: Mapping[str, Any]) -> list[Call]:
    """Return the calls: what only reads, then a script of changes, then every other change."""
    named = {name: {p: pool[p] for p in verbs[name]} for name in sorted(verbs)}
    reads = [(name, named[name]) for name in named if _READS.match(name)]
    script = _script(pool)
    done = {name for name, _ in [*reads, *script]}
    rest = [(name, named[name]) for name in named if name not in done | {"remove_project"}]
    calls = [*reads, *script, *rest, ("remove_project", named["remove_project"])]
    return [(name, params) for name, params in calls if name not in LEFT_OUT]


def _script(pool: Mapping[str, Any]) -> list[Call]:
    """Return calls whose parameters a name alone does not give."""
    return [
        ("recall", {"query": "redis port", "explain": True, "track": False, "limit": 5}),
        ("recall", {"query": "redis port", "budget_tokens": 60, "track": False}),
        ("search", {"query": "redis port", "explain": True, "track": False, "tags": ["redis"]}),
        ("memories", {"status": "all", "limit": 2, "skip": 1}),
        ("insights", {"limit": 2, "status": "all"}),
        ("insight", {"insight": "ins_nothing"}),
        ("publish", {"topic": "nothing:known", "payload": {}}),
        ("remember", {"content": "The gateway answers on port 7424."}),
        ("remember", {"content": "The gateway answers on port 7424."}),
        ("remember", {"content": "password=Xy9$kLm#2pQ", "redact": True}),
        ("remember", {"content": ""}),
        *_changes(pool),
    ]


def _changes(pool: Mapping[str, Any]) -> list[Call]:
    """Return the rest of the script: most of it changes something."""
    a, b, c = pool["mine"][:3]
    return [
        ("save", {"id": a}),
        ("promote", {"id": b}),
        ("crystallize", {"id": b}),
        ("keep_both", {"left": a, "right": b}),
        ("consolidate", {"first": a, "second": c}),
        ("memory_changes", {"limit": 3}),
        ("archive", {"ids": [b], "reason": "old"}),
        ("restore", {"ids": [b]}),
        ("supersede", {"old": b, "new": pool["mine"][0]}),
        ("thread", {"thread": "ops"}),
        (
            "ingest",
            {
                "text": "# Ports\n\nThe test server answers on 7425.",
                "source": "ports.md",
                "topic": "ports",
            },
        ),
        ("knowledge_search", {"query": "test server"}),
        ("remove_knowledge", {"topic": "ports"}),
        ("restore_knowledge", {"topic": "ports"}),
        ("leave_crumb", {"session_summary": "All done.", "unfinished_business": ["tables"]}),
        ("unfinished", {}),
        *_resolutions(pool["path"]),
    ]


def _resolutions(atlas: str) -> list[Call]:
    """Return the end of the script: what writes into files, and what changes stores."""
    store = {"name": "notes", "type": "seren_memory", "url": "http://127.0.0.1:9"}
    return [
        ("configure", {"changes": {"n_results": 5}}),
        ("resolve", {"path": atlas, "dry_run": True}),
        ("resolve", {"path": atlas}),
        ("undo_resolution", {"path": f"{atlas}/CLAUDE.md"}),
        ("set_auto", {"project": atlas, "on": True}),
        ("set_auto", {"project": atlas, "on": False}),
        ("add_store", store),
        ("stores", {}),
        ("tune_store", {"name": "notes", "weight": 2.0}),
        ("disable_store", {"name": "notes"}),
        ("enable_store", {"name": "notes"}),
        ("remove_store", {"name": "notes"}),
        ("revoke", {"source": atlas}),
        ("lift", {"source": atlas}),
        ("export", {}),
        ("backup", {}),
        ("events", {"topic": "memory:*", "limit": 3}),
    ]


def answers(calls: list[Call], client: Client) -> list[Any]:
    """Return what each call answers, or with which error."""
    out: list[Any] = []
    for name, params in calls:
        try:
            found = client.call(name, **params)
        except CortexError as error:
            found = {"error": type(error).__name__, "text": str(error)}
        out.append(found)
    return out


def masked(one: Any, other: Any) -> Any:
    """Return what two answers have in common; `"*"` where they differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {k: masked(one[k], other[k]) if k in other else ANY for k in sorted(one)}
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [masked(a, b) for a, b in zip(one, other, strict=True)]
    return one if one == other and type(one) is type(other) else ANY


def spelled(found: Any) -> Any:
    """Return a text with today's spelling of commands; anything else as it is.

    How many vectors are of texts that are gone depends on when the index was written: 2 or 8.
    """
    if not isinstance(found, str):
        return found
    text = _GONE.sub("some vectors are of texts that are gone", found)
    return _OLD.sub(lambda old: f"cortex {MOVED[old[1]]}", text)


#: A command of the version before, as texts name it.
_OLD = re.compile(rf"cortex ({'|'.join(sorted(map(re.escape, MOVED), key=len, reverse=True))})\b")

#: What `doctor` says of vectors that nothing uses.
_GONE = re.compile(r"^\d+ vectors? \([\d.]+ MB\) are of texts that are gone")


def differs(golden: Any, found: Any, path: str = "") -> Iterator[str]:
    """Yield where an answer is not as recorded."""
    if golden == ANY or (isinstance(golden, float) and isinstance(found, float)):
        return  # what fades is another number every day
    if isinstance(golden, dict) and isinstance(found, dict):
        for key in sorted({*golden, *found}):
            if key not in found:
                yield f"{path}.{key} is gone"
            elif key not in golden:
                yield f"{path}.{key} is new"
            else:
                yield from differs(golden[key], found[key], f"{path}.{key}")
    elif isinstance(golden, list) and isinstance(found, list):
        if len(golden) != len(found):
            yield f"{path} has {len(found)} items, {len(golden)} were recorded"
        for i, (a, b) in enumerate(zip(golden, found, strict=False)):
            yield from differs(a, b, f"{path}[{i}]")
    elif spelled(golden) != spelled(found):
        yield f"{path} is {found!r}, recorded was {golden!r}"


def command(*words: str, program: list[str] | None = None) -> None:
    """Run cortex on the recorded home."""
    environment = {**os.environ, "CORTEX_HOME": str(PLACE / "home")}
    known = environment.get("PYTHONPATH", str(ROOT))
    environment["PYTHONPATH"] = os.pathsep.join([str(PLACE / "day"), known])
    run = [*(program or [sys.executable, "-m", "cortex_actors"]), *words]
    subprocess.run(run, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=180)


def lay_out(home: bytes | None) -> Home:
    """Put the projects, and the recorded home if there is one, into their place."""
    shutil.rmtree(PLACE, ignore_errors=True)
    shutil.copytree(ROOT / "data" / "projects", PLACE / "projects")
    (PLACE / "notes.md").write_text("# Notes\n\nThe gateway answers on port 7424.\n")
    if home is None:
        (PLACE / "home").mkdir(mode=0o700)
        (PLACE / "home" / "cortex.toml").write_text(SETTINGS)
    else:
        with tarfile.open(fileobj=io.BytesIO(home)) as archive:
            archive.extractall(PLACE, filter="data")
        (PLACE / "home").chmod(0o700)
        # Its samples say the same to today's reader; reading all of them once more would only
        # change the order of what is done.
        with closing(sqlite3.connect(PLACE / "home" / "cortex.db")) as ledger, ledger:
            ledger.execute("UPDATE file_states SET read_as = ?", (READ_AS[Granularity.STATEMENT],))
            (newest,) = ledger.execute("SELECT max(at) FROM events").fetchone()
        (PLACE / "day").mkdir()
        text = RECORDED_DAY.format(later=SystemClock().now() - newest - 10 * DAY // 24)
        (PLACE / "day" / "sitecustomize.py").write_text(text)
    return Home(PLACE / "home")


def replay(home: bytes, calls: list[Call], program: list[str] | None = None) -> list[Any]:
    """Return what a daemon on the recorded home answers."""
    place = lay_out(home)
    command("start", program=program)
    try:
        client = Client(place, timeout=60)
        _quiet(client)
        return answers(calls, client)
    finally:
        command("stop", program=program)
        shutil.rmtree(PLACE, ignore_errors=True)


def spoken(found: dict[str, list[str]]) -> Counter[str]:
    """Return the promises of all tests: a test may be moved and renamed."""
    return Counter(row.partition(": ")[2] for rows in found.values() for row in rows)


def record(folder: Path) -> None:
    """Write everything."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "docstrings.json", texts())
    _write(folder / "commands.json", commands())
    _write(folder / "topics.json", catalogue())
    _write(folder / "settings.json", defaults())
    place = lay_out(None)
    command("start")
    client = Client(place, timeout=60)
    _live(client)
    verbs = _verbs()
    calls = _parameters(verbs, _pool(client))
    command("stop")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz") as archive:
        for path in sorted((PLACE / "home").rglob("*")):
            inside = path.relative_to(PLACE)
            if path.is_file() and inside.parts[1] not in {"logs", "index", "cortex.sock"}:
                archive.add(path, arcname=str(inside))
    home = buffer.getvalue()
    (folder / "home.tar.xz").write_bytes(home)
    replays = [replay(home, calls) for _ in range(REPLAYS)]
    rows = [
        {"call": name, "params": params, "answer": reduce(masked, found)}
        for (name, params), *found in zip(calls, *replays, strict=True)
    ]
    _write(folder / "operations.json", rows)
    failed = [r["call"] for r in rows if isinstance(r["answer"], dict) and "error" in r["answer"]]
    print(f"{len(rows)} operations, {len(failed)} of them refused: {', '.join(failed)}")  # noqa: T201


def _verbs() -> dict[str, list[str]]:
    """Return every operation with the parameters that must be given."""
    found = {}
    for name in dir(FrontDesk):
        verb = getattr(FrontDesk, name)
        if not name.startswith("_") and inspect.iscoroutinefunction(verb):
            found[name] = [
                p.name
                for p in inspect.signature(verb).parameters.values()
                if p.default is p.empty and p.name not in {"self", "caller"}
            ]
    return found


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    record(Path(sys.argv[1]))
