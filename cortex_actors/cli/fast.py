"""The quick commands' options, and `status` itself; standard library only.

The quick commands `reload` and `publish`; standard library only, unless no daemon answers.

What `status` shows a person of a daemon that answers; standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from typing import Any, NoReturn

from cortex_actors import errors
from cortex_actors.cli import lifecycle
from cortex_actors.cli.agenthooks import EVENTS, show_last
from cortex_actors.cli.declare import MOVED
from cortex_actors.cli.lifecycle import is_paused, suggest_topics
from cortex_actors.client.connection import Client
from cortex_actors.clock import format_span, iso
from cortex_actors.home import Home
from cortex_actors.process import lock


def _reload_lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield what a reload did, for a person."""
    if found["changed"]:
        yield f"changed    {', '.join(found['changed'])}"
        yield f"restarted  {', '.join(found['restarted']) or 'no actor'}"
    if found["needs_restart"]:
        keys = ", ".join(found["needs_restart"])
        yield f"waiting    {keys}: followed after cortex daemon restart"
    if not (found["changed"] or found["needs_restart"]):
        yield "nothing changed"


#: `key=text` or `key:=JSON`.
_FIELD = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)(:?=)(.*)", re.DOTALL)


def _publish(home: Home, options: argparse.Namespace) -> int:
    """Say an event on a topic."""
    found = _json(options.json, "--json") if options.json is not None else {}
    if not isinstance(found, dict):
        raise errors.BadInput(
            f"--json must be an object like '{{\"key\": 1}}', not {options.json!r}"
        )
    for word in options.fields:
        match = _FIELD.fullmatch(word)
        if match is None:
            raise errors.UsageError(
                f"cannot read {word!r}: write key=text, or key:=JSON for other values"
            )
        key, sign, value = match.groups()
        found[key] = value if sign == "=" else _json(value, f"the field {key}")
    by = f"cli:{lifecycle.find_user()}" if options.source is None else options.source
    said = {"topic": options.topic, "payload": found, "source": by}
    if options.idempotency_key is not None:
        said["idempotency_key"] = options.idempotency_key
    try:
        event = _said(home, options, said)
    except errors.UnknownTopic as error:
        raise errors.UnknownTopic(f"{error}{suggest_topics(options.topic, to_say=True)}") from None
    number = "not stored" if event.get("seq") is None else f"seq {event['seq']}"
    more = " (no daemon runs: the next start has it)" if event.get("offline") else ""
    more = " (said before under this key)" if event.get("duplicate") else more
    print(f"published {event['topic']}, {number}, {event['id']}{more}")
    return 0


def _said(home: Home, options: argparse.Namespace, said: dict[str, Any]) -> dict[str, Any]:
    """Say it to the daemon; where none answers, write it into the ledger, if there is one."""

    def online() -> dict[str, Any]:
        return Client(home).call("publish", **said, transient=options.transient)

    try:
        return online()
    except errors.DaemonDown as error:
        # What may have been stored is said again only under a key.
        unsure = isinstance(error, errors.AnswerLost) and options.idempotency_key is None
        if unsure or options.transient or options.no_offline or not home.ledger.exists():
            raise
    return publish_offline(home, online, **said)


#: Seconds to wait for a daemon that stops, or for others that publish like this; and for one that
#: starts, as long as `cortex start` does. And between two tries.
PATIENCE, START_PATIENCE, PAUSE = 10.0, 60.0, 0.05


def publish_offline(
    home: Home,
    online: Callable[[], dict[str, Any]],
    *,
    topic: str,
    payload: dict[str, Any],
    source: str,
    idempotency_key: str | None = None,
) -> dict[str, Any]:
    """Write an event into the ledger under the home's lock, while no daemon runs; return it.

    The daemon that starts next finds it there and handles it, as it would after a crash.

    While another process has the lock, a daemon may be starting: then `online` is tried again.
    Raises what publishing online raises, `DaemonDown` when neither works for too long, and what
    `storage.offline.commit` raises.
    """
    # SQLAlchemy, and what it needs: only where no daemon answers.
    from cortex_actors.api import events  # noqa: PLC0415
    from cortex_actors.clock import SystemClock  # noqa: PLC0415
    from cortex_actors.storage.ledger import offline  # noqa: PLC0415

    # What the socket would not carry: no JSON, or half characters.
    try:
        json.dumps([payload, source, idempotency_key], allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        message = f"cannot publish {topic}: it cannot be written as JSON in UTF-8: {error}"
        raise errors.BadInput(message) from None
    clock, key = SystemClock(), idempotency_key
    begun = clock.monotonic()
    work = partial(events.write, topic=topic, payload=payload, source=source, key=key, clock=clock)
    while True:
        try:
            # Not taken over: the file goes on telling how the last daemon ended.
            held = lock.acquire(home)
        except errors.AlreadyRunning:
            try:
                return online()
            except errors.DaemonDown as error:
                unsure = isinstance(error, errors.AnswerLost) and key is None
                is_starting = lock.read_state(home) is lock.HomeState.STARTING
                patience = START_PATIENCE if is_starting else PATIENCE
                if unsure or clock.monotonic() - begun > patience:
                    raise
            lifecycle.pause(PAUSE)
            continue
        with closing(held):
            return {**offline.commit(home.ledger, work), "offline": True}


def _json(text: str, name: str) -> object:
    """Return a JSON value. Raises `BadInput` naming where it stood."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise errors.BadInput(f"{name} is no JSON: {error}; it was {text[:80]!r}") from None


#: What the id of a compiled model has behind its source's.
_COMPILED = re.compile(r"\+(int8|fp32)-[0-9a-f]{8}$")

#: States of the migrator in which it works.
_UNDER_WAY = frozenset({"compiling", "migrating", "waiting"})

#: The state of a model that is not there.
_MISSING = "missing"


def list_figures(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the rows of a status: a name and a text each."""
    yield "projects", str(found["projects"])
    if found.get("broken_files"):
        yield "files", f"{found['broken_files']} cannot be read: cortex projects"
    more = f", {found['review']} wait for you: cortex review" if found.get("review") else ""
    yield "insights", f"{found['insights']}{more}"
    yield from _principles(found)
    yield from _unresolved(found)
    some = "{waiting} to handle, {unembedded} to embed, {unindexed} to index, {dead} set aside"
    yield "waiting", some.format(**found)
    model = found.get("model", {})
    yield "model", _model(model)
    yield from _migration(found.get("migration", {}), model)
    yield "index", _index(found.get("index", {}), found)
    for each in (found.get("judge") or {}).get("layers", ()):
        yield "judge", f"{each['model']}, {each['state']}"
    yield from _stores(found.get("stores", {}))
    door = found.get("http", {})
    if door.get("state", "off") not in ("off", "away"):
        yield "http", ", ".join(filter(None, (door["state"], door.get("address"))))
    if (mcp := found.get("mcp", {})).get("calls"):
        calls = ", ".join(f"{name} {count:,}" for name, count in sorted(mcp["calls"].items()))
        yield "mcp", f"{mcp['sessions']} sessions; calls: {calls}"
    yield "loop lag", f"{found['loop_lag_ms']} ms"
    if trip := found.get("round_trip"):
        # Why it did not go well is above, as a reason of the whole.
        took = f"{trip['state']} in {trip['took_ms']:,.0f} ms"
        yield "round trip", f"{took}, {format_span(trip['age_s'])} ago"
    if found.get("backup"):
        yield "backup", iso(found["backup"]["at"])
    if found.get("checked_at"):
        yield "checked", f"every page of the ledger, {iso(found['checked_at'])}"
    if found.get("recovery"):
        from cortex_actors.storage.ledger.recovery import format_sentence  # noqa: PLC0415 - seldom needed

        yield "recovery", format_sentence(found["recovery"])


def _principles(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield how many principles there are, how many of them fade, and in how many files."""
    if known := found.get("principles", 0):
        waning = found.get("principles_by_status", {})
        some = [f"{waning[name]} {name}" for name in ("decaying", "pruned") if waning.get(name)]
        if files := found.get("resolved_files", 0):
            some.append(f"in {files} file{'' if files == 1 else 's'}")
        yield "principles", ", ".join([str(known), *some])


def _unresolved(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the files whose section a human has edited, and how many could not be written."""
    some = found.get("unresolved", [])
    edited = [each["path"] for each in some if each["state"] == "edited"]
    for path in dict.fromkeys(edited):
        yield "edited", f"{path}: our section was edited by hand; see: cortex resolve {path}"
    if others := len(some) - len(edited):
        yield "unwritten", f"{others}: cortex debug runs --kind resolver --failed"


def _stores(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield which stores are asked beside what is kept here, and which give no answer."""
    asked = [each for each in found.get("active", []) if each not in found.get("local", [])]
    skipped = list(found.get("skipped", {}))
    if not asked and not skipped:
        return
    parts = [", ".join(asked) or "none"]
    down = found.get("down", [])
    parts += [f"no answer from {', '.join(down)}: cortex stores health"] if down else []
    parts += [f"not asked: {', '.join(skipped)}: cortex stores list"] if skipped else []
    yield "stores", "; ".join(parts)


def _model(model: dict[str, Any]) -> str:
    """Return which model answers, in which form, and how it is."""
    name = str(model.get("id", "?"))
    state = model.get("state")
    # Why it is missing is long, and is above as the reason of the whole.
    form = f" (compiled, {match[1]})" if (match := _COMPILED.search(name)) else ""
    return f"{_COMPILED.sub('', name)}{form}, {state if state == _MISSING else _state(model)}"


def _migration(migration: dict[str, Any], model: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield how far another model is, while one is on its way."""
    state = migration.get("state")
    if state not in _UNDER_WAY:
        return
    until = "the one above answers until then"
    if model.get("state") == _MISSING:
        until = "texts are found by their words until then"
    text = "the model is being compiled"
    if state != "compiling":
        name = (migration.get("coming") or {}).get("model_id", "another model")
        done, left = migration.get("done", 0), migration.get("left_s")
        how = state if state != "migrating" or left is None else f"{format_span(left)} left"
        text = f"{name}, {done:,} of {migration.get('total', 0):,} texts, {how}"
    yield "coming", f"{text}; {until}"


def _index(index: dict[str, Any], found: dict[str, Any]) -> str:
    """Return how the index is, and who answers while it is not there."""
    number = index.get("generation")
    text = _state(index, f", generation {number}" if number else "")
    if index.get("state") != "ready":
        return f"{text}; exact search answers meanwhile"
    waits, held = found.get("unindexed", 0), found.get("passages", 0)
    some = f"{min(waits, held):,} of {held:,} texts not indexed yet (exact search covers them)"
    return f"{text}; {some}" if waits and held else text


def _state(part: dict[str, Any], more: str = "") -> str:
    """Return how a part is, and why."""
    reason = part.get("reason")
    return f"{part.get('state', '?')}{more}{f': {reason}' if reason else ''}"


#: `status` answers with LSB's numbers: 2 (a stale pid file) cannot happen here.
RUNNING, CRASHED, STOPPED, SILENT = 0, 1, 3, 4

#: State -> the number of its colour: green, yellow, red.
_COLOURS = {"running": 32, "degraded": 33, "starting": 33, "crashed": 31}

#: Seconds `status` waits for an answer.
STATUS_TIMEOUT = 5.0

#: Columns of `--help`.
WIDTH = 100

#: Seconds of the longest wait, a day: the system's own calls take no number that they cannot hold.
MOST_SECONDS = 86_400.0


class FastParser(argparse.ArgumentParser):
    """Raises instead of leaving the process."""

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError`."""
        if message.startswith("unrecognized"):
            import difflib  # noqa: PLC0415 - only for a mistyped option

            typed = message.split()[2]
            for near in difflib.get_close_matches(typed, self._option_string_actions, 1):
                message += f" (did you mean {near}?)"
        raise errors.UsageError(f"{message}; see: {self.prog} --help")


def parse_seconds(text: str) -> float:
    """Return a number of seconds to wait; argparse says what is wrong with other words."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 0 to a day")
    return found


def run(words: Sequence[str], *, is_short: bool = False) -> int:
    """Run one quick command; `is_short` says that it was typed without the name of its group."""
    parser = make_parser(words[0])
    if is_short and words[0] == "hook":
        # Clients call it so: this spelling stays.
        parser.prog = "cortex hook"
    try:
        options = parser.parse_intermixed_args(words[1:])
    except SystemExit:
        # `--help` has printed itself.
        return 0
    home = Home.find(options.home)
    home.require_entry()
    if words[0] == "status":
        return status(home, timeout=options.timeout, as_json=options.json)
    if words[0] in {"publish", "hook"}:
        return (_publish if words[0] == "publish" else _hook)(home, options)
    if words[0] == "mcp":
        from cortex_actors.cli import mcp  # noqa: PLC0415 - a session of its own

        return mcp.run(home, {"agent": options.agent, "tools": options.tools})
    if words[0] == "reload":
        found = Client(home).call("reload")
        print(json.dumps(found, indent=2) if options.json else "\n".join(_reload_lines(found)))
        return 0
    if words[0] == "stop":
        return lifecycle.stop(home, timeout=options.timeout, as_json=options.json)
    if words[0] == "restart":
        # It goes on where it would not start with them; loads pydantic, but a restart takes longer.
        from cortex_actors import settings  # noqa: PLC0415

        settings.load(home)
        with suppress(errors.DeadlineExceeded):
            # Killed is stopped, too.
            lifecycle.end(home, timeout=options.stop_timeout)
    return lifecycle.start(home, timeout=options.timeout, as_json=options.json)


def _hook(home: Home, options: argparse.Namespace) -> int:
    """Do what is asked about hooks; those of agents' clients have their own way (`agenthooks`)."""
    from cortex_actors.cli import githooks  # noqa: PLC0415 - nothing else needs it

    if options.last:
        return show_last(home, as_json=options.json)
    if options.tool is None:
        missing = f"say which hooks to {options.action}" if options.action else "say what to do"
        such = f"cortex hook {options.action or 'install'} git"
        raise errors.UsageError(f"{missing}: {such}; see: cortex hook --help")
    return githooks.run(home, options)


def status(home: Home, *, timeout: float = STATUS_TIMEOUT, as_json: bool) -> int:
    """Say whether the daemon runs and how it is."""
    found, code = _status(home, timeout)
    lines = _coloured(_columns(_rows(found)), found["state"])
    print(json.dumps(found, indent=2) if as_json else "\n".join(lines))
    return code


def _status(home: Home, timeout: float) -> tuple[dict[str, Any], int]:
    """Return how the daemon is, or what can be seen of it without an answer, and the exit code."""
    try:
        return _with_lock(home, Client(home, timeout=timeout).call("status")), RUNNING
    except (errors.DaemonDown, errors.DeadlineExceeded, errors.TooManyConnections) as error:
        found, code = _without_answer(home)
        more = {"reason": str(error)} if isinstance(error, errors.TooManyConnections) else {}
        return found | more, code


def show_overview() -> int:
    """Say in a few lines how the daemon is, and what to do next."""
    home = Home.find(None)
    home.require_entry()
    found, _ = _status(home, STATUS_TIMEOUT)
    rows = _rows({key: each for key, each in found.items() if key != "unindexed"})
    # The command that is of most use now.
    is_down = found["state"] in {lock.HomeState.STOPPED, lock.HomeState.CRASHED}
    command = "cortex start" if is_down else "cortex status"
    if "projects" in found:
        counts = [
            f"{found[key]:,} {key.removesuffix('s') if found[key] == 1 else key}"
            for key in ("projects", "insights")
            if key in found
        ]
        rows.append(("known", ", ".join(counts)))
        command = "cortex init PATH (a folder with instruction files)"
        if found["projects"]:
            command = "cortex recall QUESTION"
    lines = _columns([*rows, ("next", command), ("all", "cortex --help")])
    print("\n".join(_coloured(lines, found["state"])))
    return 0


def _coloured(lines: Sequence[str], state: str) -> list[str]:
    """Return lines with the state in the first in its colour, where a terminal shows colours."""
    if state not in _COLOURS or not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return [*lines]
    return [lines[0].replace(state, f"\x1b[{_COLOURS[state]}m{state}\x1b[0m", 1), *lines[1:]]


def _with_lock(home: Home, found: dict[str, Any]) -> dict[str, Any]:
    """Return a status, degraded when the daemon that gave it has lost its lock."""
    if lock.read_state(home) in lock.HELD or lifecycle.find_listener(home) is None:
        return found
    why = f"its lock {home.lock} was removed, so a second daemon could start: cortex daemon restart"
    return {**found, "state": "degraded", "reasons": [*found.get("reasons", []), why]}


def _without_answer(home: Home) -> tuple[dict[str, Any], int]:
    """Return what is known of a daemon that does not answer, and the exit code."""
    state, said = lock.read_state(home), lock.read(home)
    listener = lifecycle.find_listener(home)
    pid = listener or said.pid
    if listener and state not in lock.HELD:
        # It listens, so it lives; its lock was removed.
        state = lock.HomeState.RUNNING
    found: dict[str, Any] = {"state": state.value, "home": str(home.root)}
    found |= {"pid": pid} if pid else {}
    if state in lock.HELD:
        code, reason = SILENT, f"it holds the lock and does not answer; see {home.logs}/stderr.log"
        if state is lock.HomeState.STARTING:
            reason = "it is starting and does not answer yet"
        if is_paused(pid):
            reason = f"it is paused (SIGSTOP): kill -CONT {pid} lets it go on, cortex stop ends it"
    elif state is lock.HomeState.CRASHED:
        # A daemon that did not say why it ended.
        wordless = "it ended without a word: it was killed, or the machine went down"
        code, reason = CRASHED, said.reason or wordless
    else:
        code, reason = STOPPED, said.reason
    return found | ({"reason": reason} if reason else {}), code


def _rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the rows of a status: a name and a text each."""
    first = found["state"]
    if "uptime_s" in found:
        first += f", pid {found['pid']}, up {format_span(found['uptime_s'])}, {found['version']}"
    elif "pid" in found:
        held = found["state"] in {lock.HomeState.RUNNING, lock.HomeState.STARTING}
        first += f", {'' if held else 'was '}pid {found['pid']}"
    reasons = found.get("reasons") or ([found["reason"]] if found.get("reason") else [])
    rows = [("state", first), *(("because", reason) for reason in reasons)]
    rows += [("finding", each) for each in found.get("findings", ())]
    rows.append(("home", found["home"]))
    if "unindexed" in found:
        rows += list_figures(found)
    return rows


def _columns(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Return rows as lines, with the names in a column."""
    width = max(len(name) for name, _ in rows)
    return [f"{name:<{width}}  {value}" for name, value in rows]


def _flag(about: str) -> dict[str, Any]:
    """Return an option without a value."""
    return {"action": "store_true", "help": about}


#: Options of several commands: as argparse takes them.
_JSON = {"--json": _flag("print JSON")}
_STOP = lifecycle.STOP_TIMEOUT


def _waits(default: float, about: str) -> dict[str, Any]:
    """Return an option of how many seconds are waited."""
    return {"type": parse_seconds, "default": default, "metavar": "S", "help": about}


#: What can be done about hooks: the first three are git's.
ACTIONS = ("install", "uninstall", "run", *EVENTS)

#: Command -> what it does, examples, and its options: as argparse takes them.
QUICK: dict[str, tuple[str, str, dict[str, dict[str, Any]]]] = {
    "status": (
        """Show whether the daemon runs, and its state.

Exit code: 0 runs, 1 crashed, 3 stopped, 4 silent.""",
        """  cortex status
  cortex status --json
  cortex status > /dev/null && echo it runs""",
        {**_JSON, "--timeout": _waits(STATUS_TIMEOUT, "seconds until it is silent (default 5)")},
    ),
    "start": (
        "Start the daemon in the background and wait until it answers.",
        """  cortex start
  cortex start --home ~/other-memory""",
        {**_JSON, "--timeout": _waits(60.0, "seconds to wait (default 60)")},
    ),
    "stop": (
        "Stop the daemon once it has finished what it works on; kill it if late.",
        """  cortex stop
  cortex stop --timeout 30""",
        {**_JSON, "--timeout": _waits(_STOP, "seconds until kill (default 10)")},
    ),
    "restart": (
        "Stop the daemon if it runs, and start it.",
        """  cortex daemon restart""",
        {
            **_JSON,
            "--timeout": _waits(60.0, "seconds to wait (default 60)"),
            "--stop-timeout": _waits(_STOP, "as stop's (default 10)"),
        },
    ),
    "reload": (
        """Apply changed settings without a restart.

Only what was handed a section of cortex.toml that changed starts again.""",
        """  cortex daemon reload
  cortex daemon reload --json""",
        _JSON,
    ),
    "publish": (
        "Publish an event; it is stored before the command returns.",
        """  cortex daemon publish scan:requested
  cortex daemon publish custom:deployed version=1.4 replicas:=3
  cortex daemon publish custom:deployed --json '{"version": "1.4"}'
  cortex daemon publish custom:deployed version=1.4 --idempotency-key release-1.4
  cortex daemon publish custom:ping --transient""",
        {
            "topic": {"help": "for example file:changed, or your own: custom:name"},
            "fields": {"nargs": "*", "metavar": "key=text|key:=JSON", "help": "the payload"},
            "--json": {"metavar": "OBJECT", "help": "the payload, or its first part, as JSON"},
            "--transient": _flag("tell only those who listen now; store nothing"),
            "--idempotency-key": {
                "metavar": "K",
                "help": "said again under the same key, it is said once",
            },
            "--no-offline": _flag("fail where no daemon answers; write no ledger"),
            "--source": {"help": "who says it (default cli:USER)"},
        },
    ),
    "mcp": (
        """Serve one AI client: MCP on standard input and output. The client starts this itself.

The session has its agent's rights, and never yours. The daemon is started where none runs.""",
        """  cortex mcp
  cortex mcp --agent AZOTH
  cortex mcp --tools all
  cortex mcp --tools recall,remember,memory_list""",
        {
            "--agent": {"metavar": "A", "help": "the agent it is (default: mcp.agent)"},
            "--tools": {
                "metavar": "core|all|NAME,...",
                "help": "the tools that it lists (default: mcp.tools)",
            },
        },
    ),
    "hook": (
        """Have git tell the daemon when files may have changed, and answer agents' clients.

Git's hooks run after a commit, merge, checkout or rebase; on a network mount that is quicker than
the watcher. The others are for clients such as Claude Code: JSON in, JSON or nothing out, exit 0.
""",
        """  cortex daemon hook install git
  cortex daemon hook install git ~/code/atlas-api
  cortex daemon hook uninstall git
  cortex daemon hook run git            (what the hook itself runs, in the repository)
  cortex hook session-start < said.json (what an agent's client runs)
  cortex hook --last                    (what sessions were given last, and why)""",
        {
            "action": {"nargs": "?", "choices": ACTIONS, "help": "what to do"},
            "tool": {"nargs": "?", "choices": ("git",), "help": "whose hooks"},
            "path": {"nargs": "?", "default": ".", "help": "a folder of the repository (here)"},
            "--last": _flag("show what the hooks of agents' clients did last"),
            "--agent": {"help": "the agent that a client's session is (default: hooks.agent)"},
            **_JSON,
        },
    ),
}


def make_parser(name: str) -> FastParser:
    """Return the options of a quick command."""
    about, examples, options = QUICK[name]
    parser = FastParser(
        f"cortex {MOVED.get(name, name)}",
        description=about,
        epilog=f"examples:\n{examples}",
        # With a width given, argparse does not look for the terminal's, which loads shutil (20 ms).
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, width=WIDTH),
    )
    parser.add_argument(
        "--home", metavar="DIR", help="the daemon's folder (default: CORTEX_HOME, else XDG's)"
    )
    for option, how in options.items():
        parser.add_argument(option, **how)
    return parser
