"""The quick commands' options, and `status` itself; standard library only."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from cortex_actors.cli import figures, hook, lifecycle, publish, reload
from cortex_actors.cli.options import Parser, command, seconds
from cortex_actors.cli.process import is_paused
from cortex_actors.client.connection import Client
from cortex_actors.errors import DaemonDown, DeadlineExceeded, TooManyConnections
from cortex_actors.home import Home
from cortex_actors.process import lock

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

#: `status` answers with LSB's numbers: 2 (a stale pid file) cannot happen here.
RUNNING, CRASHED, STOPPED, SILENT = 0, 1, 3, 4

#: What is said of a daemon that did not say why it ended.
_WORDLESS = "it ended without a word: it was killed, or the machine went down"

#: Blanks between the names of a status and their values.
_GAP = 2

#: Seconds `status` waits for an answer.
STATUS_TIMEOUT = 5.0

_EXAMPLES = {
    "status": """  cortex status
  cortex status --json
  cortex status > /dev/null && echo it runs""",
    "start": """  cortex start
  cortex start --home ~/other-memory""",
    "stop": """  cortex stop
  cortex stop --timeout 30""",
    "restart": """  cortex restart""",
}


def run(words: Sequence[str]) -> int:
    """Run one quick command."""
    parser = _PARSERS[words[0]]()
    try:
        options = parser.parse_intermixed_args(words[1:])
    except SystemExit:
        # `--help` has printed itself.
        return 0
    home = Home.of(options.home)
    home.require_entry()
    if words[0] == "status":
        return status(home, timeout=options.timeout, as_json=options.json)
    if words[0] in _OWN:
        return _OWN[words[0]](home, options)
    if words[0] == "stop":
        return lifecycle.stop(home, timeout=options.timeout, as_json=options.json)
    if words[0] == "restart":
        _require_settings(home)
        with suppress(DeadlineExceeded):
            # Killed is stopped, too.
            lifecycle.end(home, timeout=options.stop_timeout)
    return lifecycle.start(home, timeout=options.timeout, as_json=options.json)


def _require_settings(home: Home) -> None:
    """Raise `ConfigurationError` for settings a daemon would not start with: it goes on then."""
    from cortex_actors import settings  # noqa: PLC0415 - loads pydantic; a restart takes longer

    settings.load(home)


def status(home: Home, *, timeout: float = STATUS_TIMEOUT, as_json: bool) -> int:
    """Say whether the daemon runs and how it is."""
    try:
        found = _with_lock(home, Client(home, timeout=timeout).call("status"))
        code = RUNNING
    except (DaemonDown, DeadlineExceeded, TooManyConnections) as error:
        found, code = _without_answer(home)
        if isinstance(error, TooManyConnections):
            found["reason"] = str(error)
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        print("\n".join(_lines(found)))
    return code


def _with_lock(home: Home, found: dict[str, Any]) -> dict[str, Any]:
    """Return a status, degraded when the daemon that gave it has lost its lock."""
    held = lock.state(home) in lock.HELD
    if held or lifecycle.listener(home) is None:
        return found
    reason = f"its lock {home.lock} was removed, so a second daemon could start: cortex restart"
    return {**found, "state": "degraded", "reasons": [*found.get("reasons", []), reason]}


def _without_answer(home: Home) -> tuple[dict[str, Any], int]:
    """Return what is known of a daemon that does not answer, and the exit code."""
    state, said = lock.state(home), lock.read(home)
    pid = lifecycle.listener(home)
    if pid and state not in lock.HELD:
        # It listens, so it lives; its lock was removed.
        state = lock.State.RUNNING
    found: dict[str, Any] = {"state": state.value, "home": str(home.root)}
    if pid or said.pid:
        found["pid"] = pid or said.pid
    if state in lock.HELD:
        found["reason"] = _silence(home, state, found.get("pid", 0))
        return found, SILENT
    if reason := said.reason or (_WORDLESS if state is lock.State.CRASHED else ""):
        found["reason"] = reason
    return found, CRASHED if state is lock.State.CRASHED else STOPPED


def _silence(home: Home, state: lock.State, pid: int) -> str:
    """Return why somebody who holds the lock may not answer."""
    if is_paused(pid):
        return f"it is paused (SIGSTOP): kill -CONT {pid} lets it go on, cortex stop ends it"
    if state is lock.State.STARTING:
        return "it is starting and does not answer yet"
    return f"it holds the lock and does not answer; see {home.logs}/stderr.log"


def _lines(found: dict[str, Any]) -> list[str]:
    """Return a status for a person."""
    first = found["state"]
    if "uptime_s" in found:
        first += (
            f", pid {found['pid']}, up {figures.duration(found['uptime_s'])}, {found['version']}"
        )
    elif "pid" in found:
        held = found["state"] in {lock.State.RUNNING, lock.State.STARTING}
        first += f", {'' if held else 'was '}pid {found['pid']}"
    reasons = found.get("reasons") or ([found["reason"]] if found.get("reason") else [])
    rows = [("state", first), *(("because", reason) for reason in reasons)]
    rows.append(("home", found["home"]))
    if "unindexed" in found:
        rows += figures.rows(found)
    width = max(len(name) for name, _ in rows) + _GAP
    return [f"{name:<{width}}{value}" for name, value in rows]


def _status_parser() -> Parser:
    """Return the options of `status`."""
    about = "Say whether the daemon runs. Exit code: 0 runs, 1 crashed, 3 stopped, 4 silent."
    parser = command("status", about, _EXAMPLES["status"])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=STATUS_TIMEOUT,
        metavar="S",
        help="seconds until it is silent (default 5)",
    )
    return parser


def _start_parser(name: str = "start") -> Parser:
    """Return the options of `start`."""
    about = "Start the daemon in the background and wait until it answers."
    parser = command(name, about, _EXAMPLES[name])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--timeout", type=seconds, default=60.0, metavar="S", help="seconds to wait (default 60)"
    )
    return parser


def _restart_parser() -> Parser:
    """Return the options of `restart`."""
    parser = _start_parser("restart")
    parser.description = "Stop the daemon if it runs, and start it."
    parser.add_argument(
        "--stop-timeout",
        type=seconds,
        default=lifecycle.STOP_TIMEOUT,
        metavar="S",
        help="as stop's (default 10)",
    )
    return parser


def _stop_parser() -> Parser:
    """Return the options of `stop`."""
    about = "Let the daemon finish what it has in hand and end; kill it if late."
    parser = command("stop", about, _EXAMPLES["stop"])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--timeout", type=seconds, default=10.0, metavar="S", help="seconds until kill (default 10)"
    )
    return parser


_PARSERS = {
    "status": _status_parser,
    "start": _start_parser,
    "stop": _stop_parser,
    "restart": _restart_parser,
    "reload": reload.parser,
    "publish": publish.parser,
    "hook": hook.parser,
}

#: Commands that are a module of their own.
_OWN: dict[str, Callable[[Home, argparse.Namespace], int]] = {
    "publish": publish.run,
    "reload": reload.run,
    "hook": hook.run,
}
