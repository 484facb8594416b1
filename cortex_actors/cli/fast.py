"""The quick commands' options, and `status` and `publish` themselves; standard library only."""

from __future__ import annotations

import argparse
import json
import re
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from cortex_actors import lock
from cortex_actors.cli import lifecycle
from cortex_actors.client import Client
from cortex_actors.errors import (
    BadInput,
    DaemonDown,
    DeadlineExceeded,
    UnknownTopic,
    UsageError,
)
from cortex_actors.home import Home

if TYPE_CHECKING:
    from collections.abc import Sequence

#: `status` answers with LSB's numbers: 2 (a stale pid file) cannot happen here.
RUNNING, CRASHED, STOPPED, SILENT = 0, 1, 3, 4

#: Seconds `status` waits for an answer.
STATUS_TIMEOUT = 5.0

#: Columns of `--help`.
WIDTH = 100

#: `key=text` or `key:=JSON`.
_FIELD = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)(:?=)(.*)", re.DOTALL)

_EXAMPLES = {
    "status": """  cortex status
  cortex status --json
  cortex status > /dev/null && echo it runs""",
    "start": """  cortex start
  cortex start --home ~/other-memory""",
    "stop": """  cortex stop
  cortex stop --timeout 30""",
    "restart": """  cortex restart""",
    "publish": """  cortex publish scan:requested
  cortex publish custom:deployed version=1.4 replicas:=3
  cortex publish custom:deployed --json '{"version": "1.4"}'
  cortex publish custom:ping --transient""",
}


class _Parser(argparse.ArgumentParser):
    """Raises instead of leaving the process."""

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError`."""
        raise UsageError(f"{message}; see: {self.prog} --help")


def run(words: Sequence[str]) -> int:
    """Run one quick command."""
    parser = _PARSERS[words[0]]()
    try:
        options = parser.parse_intermixed_args(words[1:])
    except SystemExit:
        # `--help` has printed itself.
        return 0
    home = Home.of(options.home)
    if words[0] == "status":
        return status(home, as_json=options.json)
    if words[0] == "publish":
        return publish(home, options)
    if words[0] == "stop":
        return lifecycle.stop(home, timeout=options.timeout, as_json=options.json)
    if words[0] == "restart":
        with suppress(DeadlineExceeded):
            # Killed is stopped, too.
            lifecycle.end(home, timeout=options.stop_timeout)
    return lifecycle.start(home, timeout=options.timeout, as_json=options.json)


def status(home: Home, *, as_json: bool) -> int:
    """Say whether the daemon runs and how it is."""
    try:
        found = Client(home, timeout=STATUS_TIMEOUT).call("status")
        code = RUNNING
    except (DaemonDown, DeadlineExceeded):
        found, code = _without_answer(home)
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        print("\n".join(_lines(found)))
    return code


def publish(home: Home, options: argparse.Namespace) -> int:
    """Say an event on a topic."""
    payload = {**_object(options.json), **dict(_field(word) for word in options.fields)}
    try:
        event = Client(home).call(
            "publish",
            topic=options.topic,
            payload=payload,
            source=options.source,
            transient=options.transient,
        )
    except UnknownTopic as error:
        raise UnknownTopic(f"{error}{_near(options.topic)}") from None
    number = "not stored" if event.get("seq") is None else f"seq {event['seq']}"
    print(f"published {event['topic']}, {number}, {event['id']}")
    return 0


def _without_answer(home: Home) -> tuple[dict[str, Any], int]:
    """Return what the lock says of a daemon that does not answer, and the exit code."""
    state, said = lock.state(home), lock.read(home)
    found: dict[str, Any] = {"state": state.value, "home": str(home.root)}
    if said.pid:
        found["pid"] = said.pid
    if said.reason:
        found["reason"] = said.reason
    if state in {lock.State.RUNNING, lock.State.STARTING}:
        found["reason"] = f"it holds the lock and does not answer; see {home.logs}/stderr.log"
        return found, SILENT
    return found, CRASHED if state is lock.State.CRASHED else STOPPED


def _lines(found: dict[str, Any]) -> list[str]:
    """Return a status for a person."""
    first = found["state"]
    if "uptime_s" in found:
        first += f", pid {found['pid']}, up {_duration(found['uptime_s'])}, {found['version']}"
    elif "pid" in found:
        held = found["state"] in {lock.State.RUNNING, lock.State.STARTING}
        first += f", {'' if held else 'was '}pid {found['pid']}"
    reasons = found.get("reasons") or ([found["reason"]] if found.get("reason") else [])
    rows = [("state", first), *(("because", reason) for reason in reasons)]
    rows.append(("home", found["home"]))
    if "unindexed" in found:
        rows += _figures(found)
    return [f"{name:<10}{value}" for name, value in rows]


def _figures(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the rows of a daemon that answers."""
    model = found.get("model", {})
    waiting = f"{found['waiting']} to handle, {found['unembedded']} to embed"
    index = found.get("index", {})
    shown = [
        ("projects", str(found["projects"])),
        ("insights", str(found["insights"])),
        ("waiting", f"{waiting}, {found['unindexed']} to index, {found['dead']} set aside"),
        ("model", f"{model.get('id', '?')}, {_state(model)}"),
        ("index", _state(index)),
        ("loop lag", f"{found['loop_lag_ms']} ms"),
    ]
    if found.get("broken_files"):
        shown.insert(2, ("files", f"{found['broken_files']} cannot be read: cortex projects"))
    return shown


def _state(part: dict[str, Any]) -> str:
    """Return how a part is, and why."""
    reason = part.get("reason")
    return f"{part.get('state', '?')}: {reason}" if reason else str(part.get("state", "?"))


def _duration(seconds: float) -> str:
    """Return a duration in its largest unit."""
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.1f} {name}"
    return f"{seconds:.0f} s"


def _object(text: str | None) -> dict[str, Any]:
    """Return the JSON object given as text."""
    found = _json(text, "--json") if text is not None else {}
    if not isinstance(found, dict):
        raise BadInput(f"--json must be an object like '{{\"key\": 1}}', not {text!r}")
    return found


def _field(word: str) -> tuple[str, Any]:
    """Return one `key=text` or `key:=JSON`."""
    match = _FIELD.fullmatch(word)
    if match is None:
        raise UsageError(f"cannot read {word!r}: write key=text, or key:=JSON for other values")
    key, sign, value = match.groups()
    return key, value if sign == "=" else _json(value, f"the field {key}")


def _json(text: str, name: str) -> object:
    """Return a JSON value. Raises `BadInput` naming where it stood."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{name} is no JSON: {error}; it was {text[:80]!r}") from None


def _near(name: str) -> str:
    """Return the topics that look like the one that does not exist."""
    import difflib  # noqa: PLC0415 - only for a mistyped topic

    from cortex_actors.topics import TOPICS  # noqa: PLC0415 - as above

    may_say = [topic.name for topic in TOPICS if not topic.owner_only]
    near = difflib.get_close_matches(name, may_say, cutoff=0.6)
    return f"; near it: {', '.join(near)}" if near else ""


def _parser(name: str, about: str) -> _Parser:
    """Return a command's parser with what all of them take."""
    parser = _Parser(
        f"cortex {name}",
        description=about,
        epilog=f"examples:\n{_EXAMPLES[name]}",
        # With a width given, argparse does not look for the terminal's, which loads shutil (20 ms).
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, width=WIDTH),
    )
    parser.add_argument(
        "--home", metavar="DIR", help="the daemon's folder (default: CORTEX_HOME, else XDG's)"
    )
    return parser


def _status_parser() -> _Parser:
    """Return the options of `status`."""
    about = "Say whether the daemon runs. Exit code: 0 runs, 1 crashed, 3 stopped, 4 silent."
    parser = _parser("status", about)
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _start_parser(name: str = "start") -> _Parser:
    """Return the options of `start`."""
    parser = _parser(name, "Start the daemon in the background and wait until it answers.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="S", help="seconds to wait (default 60)"
    )
    return parser


def _restart_parser() -> _Parser:
    """Return the options of `restart`."""
    parser = _start_parser("restart")
    parser.description = "Stop the daemon if it runs, and start it."
    parser.add_argument(
        "--stop-timeout",
        type=float,
        default=lifecycle.STOP_TIMEOUT,
        metavar="S",
        help="as stop's (default 10)",
    )
    return parser


def _stop_parser() -> _Parser:
    """Return the options of `stop`."""
    parser = _parser("stop", "Let the daemon finish what it has in hand and end; kill it if late.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--timeout", type=float, default=10.0, metavar="S", help="seconds until kill (default 10)"
    )
    return parser


def _publish_parser() -> _Parser:
    """Return the options of `publish`."""
    parser = _parser("publish", "Say an event; it is stored before the command returns.")
    parser.add_argument("topic", help="for example file:changed, or your own: custom:name")
    parser.add_argument("fields", nargs="*", metavar="key=text|key:=JSON", help="the payload")
    parser.add_argument("--json", metavar="OBJECT", help="the payload, or its first part, as JSON")
    parser.add_argument(
        "--transient", action="store_true", help="tell only those who listen now; store nothing"
    )
    parser.add_argument(
        "--source", default=f"cli:{lifecycle.user()}", help="who says it (default cli:USER)"
    )
    return parser


_PARSERS = {
    "status": _status_parser,
    "start": _start_parser,
    "stop": _stop_parser,
    "restart": _restart_parser,
    "publish": _publish_parser,
}
