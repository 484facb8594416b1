"""`doctor`: compares ledger, index and files, mends, and lets the daemon try itself."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import Annotated, Any

from cortex_actors.cli import show
from cortex_actors.cli.declare import Option, command
from cortex_actors.client.connection import Answer, Client
from cortex_actors.clock import SystemClock
from cortex_actors.domain.hit import WELL, WRONG
from cortex_actors.errors import AnswerLost, DaemonDown, NotFound, UsageError
from cortex_actors.process import lock

#: Seconds a checkup may take: as long as reading everything does.
PATIENCE = 21_600.0

#: Seconds a round trip may take: five steps of 30 each, and as many of one that goes before.
TRIAL = 310.0

#: What is said of a round trip.
_TOLD = {
    "ok": "all is well: a probe was remembered, recalled and forgotten",
    "degraded": "it works in part: {reason}",
    "failed": "it does not work: {reason}",
}


def exit_code(found: Answer) -> int:
    """Return the exit code of a checkup, or of a round trip."""
    return int(found.get("exit_code", WELL if found.get("state") == "ok" else WRONG))


def show_checkup(found: Answer) -> None:
    """Print what was looked at, what was done, and how it stands; or how a round trip went."""
    if "steps" in found:
        steps = [(e["step"], e["state"], f"{e['took_ms']:.1f}", e["said"]) for e in found["steps"]]
        title, columns = f"Tried in {found['took_ms']:,.0f} ms", ("step", "state", "ms", "said")
        show.table(title, columns, steps, empty="nothing was tried")
        print(_TOLD[found["state"]].format(reason=found["reason"]))
        return
    where = "" if found["online"] else ", without a daemon"
    title = f"Checked in {found['took_s']:.1f} s{where}"
    columns = ("check", "severity", "found", "mend")
    show.table(title, columns, _rows(found["checks"]), empty="nothing was looked at")
    for each in found["repaired"]:
        print(f"repaired: {each['did']}")
    print(_sentence(found))


@command(
    "doctor",
    "",
    "--repair",
    "--round-trip",
    "--json",
    show=show_checkup,
    code=exit_code,
    timeout=PATIENCE,
)
def doctor(
    client: Client,
    repair: Annotated[
        bool, Option(help="Mend what can be made again; files are only read.")
    ] = False,
    thorough: Annotated[bool, Option(help="Take the time that a complete check needs.")] = False,
    round_trip: Annotated[
        bool, Option(help="Remember, recall and forget a probe, and say how each step went.")
    ] = False,
) -> Answer:
    """Compare ledger, index and files, whether the daemon runs or not.

    With --round-trip the daemon tries itself instead, through the verbs that agents use; nobody
    else finds the probe, and nothing of it is left.

    Exit code: 0 all is well, 1 something is wrong, 69 the daemon does not run and --round-trip
    needs it, 70 the ledger is damaged.
    """
    home = client.home
    if round_trip:
        if repair or thorough:
            raise UsageError(
                "cannot mend during a round trip: it tries the daemon and looks at nothing else; "
                "leave out --repair and --thorough, or --round-trip"
            )
        return client.call("round_trip", timeout=TRIAL)
    if not home.root.is_dir():
        raise NotFound(f"there is no home at {home.root}; give one with --home or CORTEX_HOME")
    try:
        return client.call("doctor", repair=repair, thorough=thorough)
    except AnswerLost:
        raise
    except DaemonDown:
        # Without --repair a mode that is wrong is told, and stays.
        held = lock.acquire(home, secure=repair)
    with closing(held):
        # Half a second of imports that the other way does not need.
        from cortex_actors.doctor import doctor as house_call  # noqa: PLC0415

        return asyncio.run(house_call.visit(home, SystemClock(), repair=repair, thorough=thorough))


def _rows(checks: Sequence[dict[str, Any]]) -> list[tuple[object, ...]]:
    """Return the table's rows: a check's name once for people, in each row for grep."""
    watched = sys.stdout.isatty()
    rows: list[tuple[object, ...]] = []
    last = ""
    for each in checks:
        name = "" if watched and each["check"] == last else each["check"]
        rows.append((name, each["severity"], each["found"], each["mend"]))
        last = each["check"]
    return rows


def _sentence(found: dict[str, Any]) -> str:
    """Return how it stands, and what to do next."""
    if not found["wrong"]:
        notes = sum(each["severity"] == "note" for each in found["checks"])
        more = {0: "", 1: "; 1 note"}.get(notes, f"; {notes} notes")
        return f"all is well{more}"
    repairable = sum(
        each["repairable"] and each["severity"] in ("warning", "error") for each in found["checks"]
    )
    what = "1 thing is wrong" if found["wrong"] == 1 else f"{found['wrong']} things are wrong"
    return (
        f"{what}; {repairable} can be mended with: cortex doctor --repair" if repairable else what
    )
