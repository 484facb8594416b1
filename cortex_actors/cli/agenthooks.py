"""The quick command `hook` of agents' clients: one JSON in, one JSON out, and never a failure.

Standard library only, and of that little: a client waits for it at each prompt. It reads what the
client says on standard input, asks the daemon once, and prints the answer. Whatever goes wrong, it
ends with 0, prints nothing, and writes why into `logs/hook-failure.json`; `cortex hook --last`
shows it. Before 5 s are over it gives up.

A session that starts where no daemon runs has one started, and waits some seconds for its brief.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from cortex_actors.client.connection import TOKEN, Client
from cortex_actors.errors import AlreadyRunning, CortexError, DaemonDown, DeadlineExceeded, visible
from cortex_actors.home import Home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from subprocess import Popen

#: What a session hands over when something of it ends: what the client calls each of them.
_HANDED = {"summary": ("summary", "compact_summary"), "transcript": ("transcript_path",)}

#: Event -> the method that answers it, and its parameters, as above.
EVENTS: dict[str, tuple[str, dict[str, tuple[str, ...]]]] = {
    "session-start": ("hook_start", {"source": ("source",)}),
    "prompt": ("hook_prompt", {"prompt": ("prompt",)}),
    "pre-compact": ("hook_compact", _HANDED),
    "session-end": ("hook_end", _HANDED),
}

#: What all of them have.
_COMMON = {"session_id": ("session_id",), "here": ("cwd",)}

#: Seconds that a hook may take: clients wait 5 s, the start of Python is part of them, and what
#: they end they complain about. Bytes that a client may say: a prompt with pasted files.
LIMIT, MOST = 4.5, 4_194_304

#: Seconds of the limit that are kept for the answer while a daemon starts, which leaves it 3.8 s:
#: it needs some 2.5 s on a quiet machine, and 3.5 to 4.5 without byte code. An answer takes a tenth
#: of one. And between two looks whether it is there.
ANSWER, PAUSE = 0.7, 0.05

#: Characters of what is handed on of each: more than any question or crumb has.
LONGEST = 32_768


def is_event(words: Sequence[str]) -> bool:
    """Tell whether the words of a command are a client's hook, and not git's or for its help."""
    own = words[1:] if words[:1] == ["daemon"] else words
    if "--help" in own or "-h" in own:
        return False
    return own[:1] == ["hook"] and any(each in EVENTS for each in own[1:])


def run(words: Sequence[str], *, limit: float = LIMIT) -> int:
    """Answer a client's hook within so many seconds, or do not, and return 0."""
    event = next(each for each in words if each in EVENTS)
    said: dict[str, Any] = {}
    home: Home | None = None
    try:
        if os.environ.get("CORTEX_OFF") == "1":
            return 0
        home = Home.find(_option(words, "--home") or None)
        signal.signal(signal.SIGALRM, partial(_give_up, limit))
        signal.setitimer(signal.ITIMER_REAL, limit)
        said = _read()
        ask = partial(_ask, home, event, said=said, agent=_option(words, "--agent"))
        try:
            answer = ask()
        except DaemonDown:
            if event != "session-start":
                raise
            answer = _ask_new(home, ask)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if answer.get("output"):
            print(json.dumps(answer["output"]), flush=True)
    except BaseException as error:  # noqa: BLE001 - a session must never fail for its memory
        signal.setitimer(signal.ITIMER_REAL, 0)
        _note(error, event, said=said, home=home)
    return 0


def _give_up(seconds: float, _number: int, _frame: object) -> NoReturn:
    """Raise `DeadlineExceeded`, wherever this process is at the signal."""
    raise DeadlineExceeded(f"the hook gave up after {seconds:g} s; see cortex status")


def _ask(home: Home, event: str, *, said: dict[str, Any], agent: str) -> dict[str, Any]:
    """Ask the daemon of a home, as the session of an agent; `agent` is "" for that of [hooks].

    The one place in which the command says as whom it asks.
    """
    method, named = EVENTS[event]
    params = {name: _first(said, keys) for name, keys in (named | _COMMON).items()}
    given = {name: text for name, text in params.items() if text or name == "prompt"}
    return Client(home, timeout=LIMIT, agent=agent or None).call(method, **given)


def _first(said: dict[str, Any], keys: Sequence[str]) -> str:
    """Return the first text that a client says under one of some names; "" for none."""
    some = (said.get(each) for each in keys)
    return next((each[:LONGEST] for each in some if isinstance(each, str) and each), "")


def _read() -> dict[str, Any]:
    """Return what the client says; raises `ValueError` for what is no JSON object."""
    found = json.loads(sys.stdin.buffer.read(MOST))
    if not isinstance(found, dict):
        raise ValueError("what the client says is no JSON object")  # noqa: TRY004 - of its value
    return found


def _option(words: Sequence[str], name: str) -> str:
    """Return the value of an option; "" for one that is not given."""
    for number, each in enumerate(words):
        if each == name:
            return "".join(words[number + 1 : number + 2])
        if each.startswith(f"{name}="):
            return each[len(name) + 1 :]
    return ""


def _ask_new(home: Home, ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Start a daemon in the background, and ask it as soon as it answers.

    Raises `DaemonDown` where it may not be started, cannot, or is not there when only the time of
    an answer is left. It goes on then, and the session's first prompt has what its start had not.
    """
    from cortex_actors.cli.lifecycle import pause  # noqa: PLC0415 - only where no daemon answers
    from cortex_actors.process import lock  # noqa: PLC0415 - as above

    starter = _begin(home)
    # `start` ends with 0 once it answers; another session may have begun it, or the last daemon was
    # still ending.
    while starter and (ended := starter.poll()) in {None, 0, AlreadyRunning.exit_code}:
        if ended == AlreadyRunning.exit_code and lock.read_state(home) not in lock.HELD:
            starter = _begin(home)
        if signal.getitimer(signal.ITIMER_REAL)[0] <= ANSWER:
            raise DaemonDown("the daemon is still starting: the first prompt brings the brief")
        pause(PAUSE)
        with suppress(DaemonDown):
            return ask()
    raise Client(home).make_down_error()


def _begin(home: Home) -> Popen[bytes] | None:
    """Start the daemon of a home in the background; None where that is switched off."""
    if os.environ.get("CORTEX_AUTOSTART") == "0" or TOKEN in os.environ:
        return None
    import subprocess  # noqa: PLC0415 - only where no daemon answers

    from cortex_actors.cli.lifecycle import make_environment  # noqa: PLC0415 - as above

    words = [sys.executable, "-m", "cortex_actors", "start", "--home", str(home.root)]
    no, env = subprocess.DEVNULL, make_environment()
    # `start` itself: of several sessions at once one daemon begins, and it outlives this hook. In
    # `/`, because a module that lies in the session's folder must never be imported.
    return subprocess.Popen(  # noqa: S603 - our own program
        words, stdin=no, stdout=no, stderr=no, start_new_session=True, cwd="/", env=env
    )


def _note(error: BaseException, event: str, *, said: dict[str, Any], home: Home | None) -> None:
    """Write down why a hook did nothing."""
    from cortex_actors.clock import SystemClock, iso  # noqa: PLC0415 - only for a failure
    from cortex_actors.process.sessions import note_failure  # noqa: PLC0415 - as above

    what = str(error) if isinstance(error, CortexError) else f"{type(error).__name__}: {error}"
    found = {"at": iso(SystemClock().now()), "event": event, "error": what[:1_000]}
    found |= {name: _first(said, keys)[:500] for name, keys in _COMMON.items()}
    if home is not None:
        note_failure(home, found)


def show_last(home: Home, *, as_json: bool) -> int:
    """Print what hooks did last in a home, and the last one that failed."""
    from cortex_actors.clock import iso  # noqa: PLC0415 - a client's hook does without
    from cortex_actors.process.sessions import read_failure  # noqa: PLC0415 - as above

    failed = read_failure(home)
    try:
        found = Client(home).call("hook_last")
    except DaemonDown:
        if failed is None:
            raise
        found = {"hooks": []}
    if as_json:
        print(json.dumps({**found, "failed": failed}, indent=2))
        return 0
    lines = [line for each in found["hooks"] for line in _lines(each, iso(each["at"]))]
    if failed:
        lines.append("  ".join(("failed:", failed["at"], failed["event"], failed["here"])))
        lines.append(f"  {failed['error']}")
    print("\n".join(map(visible, lines or ["no hook of an agent's client has run yet"])))
    return 0


def _lines(run: dict[str, Any], at: str) -> Iterator[str]:
    """Yield what one hook did, for a person."""
    yield "  ".join((at, run["event"], run["agent"], f"session {run['session']}", run["folder"]))
    is_given = bool(run["items"])
    yield f"  gave {run['tokens']} tokens:" if is_given else f"  gave nothing: {run['reason']}"
    for each in run["items"]:
        score = f" {each['score']:.2f}" if "score" in each else ""
        yield f"    {each['why']}{score}  #{each['id']}  {each['text'] or ''}".rstrip()
    if run["crumb"]:
        yield f"    left the crumb #{run['crumb']}"
