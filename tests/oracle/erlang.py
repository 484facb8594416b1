"""Runs scenarios on real Erlang/OTP, whose `supervisor` decides what is right."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.oracle.scenario import term

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.oracle.scenario import Scenario

#: Scenarios that are played at a time: they wait most of the time, for slow children.
WIDTH = 24

#: Seconds for one run of Erlang and for each of its scenarios, ten times what a quiet machine
#: needs.
PATIENCE = 60
PATIENCE_EACH = 0.1

_SOURCE = Path(__file__).with_name("oracle.erl")

#: How a fault of OTP 25 shows: its simple_one_for_one keeps a child whose restart was ignored, as
#: `undefined`, and crashes on it when it stops. Later versions forget the child, as their test
#: simple_one_for_one_restart_ignore asks, and so do we.
_FORGOTTEN = ("undefined=undefined", "function_clause")


def is_here() -> bool:
    """Tell whether Erlang is installed."""
    return shutil.which("erl") is not None and shutil.which("erlc") is not None


def traces(scenarios: Sequence[Scenario], width: int = WIDTH) -> dict[int, list[str]]:
    """Return what Erlang does in each scenario, by its number."""
    with tempfile.TemporaryDirectory() as folder:
        _run("erlc", "-o", folder, str(_SOURCE), folder=folder)
        file = Path(folder) / "scenarios"
        file.write_text("".join(f"{term(each)}.\n" for each in scenarios), encoding="ascii")
        words = "-noshell +S 1 -s oracle main -extra".split()
        patience = PATIENCE + PATIENCE_EACH * len(scenarios)
        output = _run("erl", *words, file.name, str(width), folder=folder, patience=patience)
    return _split(output.splitlines())


def release() -> str:
    """Return which Erlang this is."""
    ask = "io:put_chars(erlang:system_info(otp_release)), halt()."
    return _run("erl", "-noshell", "-eval", ask, folder=tempfile.gettempdir())


def hits_the_bug(trace: Iterable[str]) -> bool:
    """Tell whether OTP 25 shows the bug that later versions have mended."""
    return any(sign in line for line in trace for sign in _FORGOTTEN)


def _run(*command: str, folder: str, patience: float = PATIENCE) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        # Erlang looks for a cookie and a history at home: neither is anybody's business here.
        env={**os.environ, "HOME": folder},
        capture_output=True,
        check=False,
        text=True,
        timeout=patience,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed: {done.stderr or done.stdout[-2000:]}")
    return done.stdout


def _split(lines: Iterable[str]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    current: list[str] = []
    for line in lines:
        if line.startswith("S "):
            current = found.setdefault(int(line[2:]), [])
        else:
            current.append(line)
    return found
