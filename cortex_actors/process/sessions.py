"""What hooks gave to the sessions of clients, and the ends of the transcripts that these keep.

`logs/hooks.json` says what each session was given, so that nothing is given twice, and what the
last hooks did, for `cortex hook --last`. It holds ids and no texts: what is forgotten is in it
nowhere. It is written after each hook, not synced and not at one stroke: a power cut may lose it,
and what is cut short counts as empty. Then a session may be given something twice.

`logs/hook-failure.json` says why the last one that failed did: without a daemon nothing else would.

Blocking: runs on a thread.
"""

from __future__ import annotations

import json
import os
import stat
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from cortex_actors.errors import BadInput
from cortex_actors.home import read_regular, write_private

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.home import Home

#: The two files, in the folder of logs.
_RUNS, _FAILURE = "hooks.json", "hook-failure.json"

#: Hooks that are remembered, sessions, and ids of one session: together some 300 KB at most.
HOOKS, SESSIONS, IDS = 20, 50, 200

#: Bytes that such a file has at most; a larger one is none of ours.
_MOST: Final = 2_000_000

#: Bytes of a transcript's end that are read: the last minutes of a session with large results.
TAIL: Final = 262_144

#: Bytes of a transcript that is read at all; the longest sessions leave some 100 MB.
LARGEST: Final = 1_073_741_824

#: Hooks of several sessions take turns: each reads the file, and writes it again.
_TURN = threading.Lock()


@dataclass(frozen=True, slots=True)
class HookRun:
    """What one hook did.

    Attributes:
        at: UTC microseconds.
        session: what the client calls it; "" where it did not say.
        folder: where it works.
        reason: why nothing was given; "" where something was.
        items: what was given, with why: `kind`, `id`, `why`, `score` where it was searched for.
        tokens: what it costs the session.
        crumb: the id of the crumb that was left.

    """

    at: int
    event: str
    agent: str
    session: str
    folder: str
    reason: str = ""
    items: Sequence[dict[str, Any]] = field(default_factory=tuple)
    tokens: int = 0
    crumb: str = ""

    @property
    def key(self) -> str:
        """What tells its session from others; two agents may call theirs the same."""
        return f"{self.agent} {self.session}"


def list_runs(home: Home) -> list[dict[str, Any]]:
    """Return what the last hooks did, the newest first."""
    return [*reversed(_load(home)["hooks"])]


def list_given(home: Home, run: HookRun) -> frozenset[str]:
    """Return the ids that the session of a hook was given."""
    return frozenset(_load(home)["sessions"].get(run.key, ())) if run.session else frozenset()


def is_known(home: Home, run: HookRun) -> bool:
    """Tell whether a hook of the session was answered before; of one without a name it is so.

    An answer to its start that came when the hook had given up is none, as long as it is the only
    one that the session was given.
    """
    failed, found = read_failure(home) or {}, _load(home)
    before = [each["event"] for each in found["hooks"] if each["session"] == run.session]
    lost = run.session, "session-start", ["session-start"]
    is_lost = (failed.get("session_id"), failed.get("event"), before) == lost
    return not run.session or (run.key in found["sessions"] and not is_lost)


def note_run(home: Home, run: HookRun, *, afresh: bool = False) -> None:
    """Write down what a hook did; `afresh` where its session has forgotten what it was given."""
    with _TURN, suppress(OSError):
        found = _load(home)
        known: dict[str, list[str]] = found["sessions"]
        before = known.pop(run.key, [])
        if run.session:
            ids = dict.fromkeys([*([] if afresh else before), *(each["id"] for each in run.items)])
            known[run.key] = [*ids][-IDS:]
        found["sessions"] = dict([*known.items()][-SESSIONS:])
        found["hooks"] = [*found["hooks"], asdict(run)][-HOOKS:]
        write_private(home.logs / _RUNS, json.dumps(found))


def note_failure(home: Home, found: dict[str, str]) -> None:
    """Write down why a hook failed, where the home has a folder for it."""
    with suppress(OSError):
        if home.logs.is_dir():
            write_private(home.logs / _FAILURE, json.dumps(found))


def read_failure(home: Home) -> dict[str, str] | None:
    """Return why the last hook that failed did; None where none has."""
    with suppress(OSError, ValueError):
        found: dict[str, str] = json.loads((home.logs / _FAILURE).read_text("utf-8"))
        return found
    return None


def _load(home: Home) -> dict[str, Any]:
    """Return what the file says; nothing for one that is not there, or not whole."""
    with suppress(OSError, ValueError, RecursionError, TypeError, KeyError):
        data = read_regular(home.logs / _RUNS, most=_MOST, flags=os.O_NOFOLLOW)
        found: dict[str, Any] = json.loads(data or b"")
        if isinstance(found["hooks"], list) and isinstance(found["sessions"], dict):
            return found
    return {"hooks": [], "sessions": {}}


def read_tail(path: str) -> list[str]:
    """Return the last whole lines of a session's transcript.

    Raises `BadInput` for what may not be read as one: no absolute path of a regular file with
    `.jsonl` that belongs to this user and is no link, or too large a file.
    """
    why = "it is no absolute path of a .jsonl file"
    try:
        if path.startswith("/") and path.endswith(".jsonl"):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                found = os.fstat(descriptor)
                if stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid():
                    if found.st_size <= LARGEST:
                        start = max(0, found.st_size - TAIL)
                        file.seek(start)
                        lines = file.read(TAIL).decode(errors="replace").split("\n")
                        return lines[1:] if start else lines
                    why = f"it has more than {LARGEST:,} bytes"
                else:
                    why = "it is no regular file of this user"
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
    raise BadInput(f"cannot read the transcript {path!r}: {why}")
