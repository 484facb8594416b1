"""A daemon beside every kind of store there is, each of them really running."""

from __future__ import annotations

import json
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors.client.connection import Client
from cortex_actors.home import Home
from tests.contract.cases import CASES
from tests.federation import seren
from tests.process.commands import Commands

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.contract.adapters import Case

#: What the daemon itself knows.
KNOWN = (
    "Deploys are announced in the harbour channel on Monday.",
    "The rollback of a deploy needs two people.",
    "The user prefers short answers.",
)

#: The store that is added while the daemon runs; the others stand in its settings.
ADDED = "seren_loci"


@dataclass(frozen=True, slots=True)
class Everything:
    """The daemon, and what stands beside it.

    Attributes:
        cases: name of a store, which is its type, -> what is in it; in the order of the settings.

    """

    client: Client
    cases: Mapping[str, Case]

    @property
    def names(self) -> list[str]:
        """All stores, in the order in which they count."""
        return ["local", *self.cases]

    def recall(self, query: str, **more: Any) -> dict[str, Any]:
        """Ask the daemon, as its owner."""
        answer: dict[str, Any] = self.client.call("recall", query=query, **more)
        return answer

    def alone(self, name: str, query: str, limit: int) -> list[dict[str, Any]]:
        """Return what one store says, in its own order."""
        hits: list[dict[str, Any]] = self.recall(query, stores=[name], limit=limit)["hits"]
        return hits


@contextmanager
def everything() -> Iterator[Everything]:
    """Start every store there is, all at once, and a daemon that knows of them."""
    seren.require()  # before anything is started in vain
    # Short, for the socket's path.
    folder = Path(tempfile.mkdtemp(prefix="cx-"))
    cortex = Commands(folder / "home")
    try:
        with ExitStack() as held:
            cases = _started(folder, held)
            held.callback(cortex.clean_up)
            yield _told(cortex, cases)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _started(folder: Path, held: ExitStack) -> dict[str, Case]:
    """Start the stores side by side; those that came up are stopped if another does not."""

    def start(kind: str) -> Case:
        place = folder / kind
        place.mkdir()
        made = CASES[kind](place)
        case = made.__enter__()
        held.push(made)
        return case

    kinds = sorted(CASES, key=lambda kind: (kind == ADDED, kind))
    with ThreadPoolExecutor(len(kinds)) as threads:
        coming = {kind: threads.submit(start, kind) for kind in kinds}
    return {kind: each.result() for kind, each in coming.items()}


def _told(cortex: Commands, cases: dict[str, Case]) -> Everything:
    """Start the daemon, tell it what it should know, and add the store that is not in its file."""
    cortex.home.mkdir()
    (cortex.home / "cortex.toml").write_text(_settings([cases[k] for k in cases if k != ADDED]))
    started = cortex("start")
    assert 0 == started.returncode, started.stderr
    found = Everything(Client(Home(cortex.home)), cases)
    for text in KNOWN:
        found.client.call("remember", content=text, realm="village")
    extra = cases[ADDED]
    found.client.call(
        "add_store",
        name=ADDED,
        type=extra.type,
        url=extra.url,
        token=extra.token or None,
        options=dict(extra.options),
    )
    return found


def _settings(cases: Sequence[Case]) -> str:
    """Return the settings with those stores; JSON's strings and numbers are TOML's."""
    lines = ["[federation]", "per_store_timeout_s = 20"]
    for case in cases:
        lines += ["", "[[federation.stores]]", f'name = "{case.type}"', f'type = "{case.type}"']
        lines += [f"url = {json.dumps(case.url)}", f"token = {json.dumps(case.token)}"]
        if case.options:
            lines.append(f"options = {_table(case.options)}")
    return "\n".join(lines) + "\n"


def _table(value: object) -> str:
    """Return a value as TOML has it in one line."""
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(key)} = {_table(each)}" for key, each in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_table(each) for each in value)}]"
    return json.dumps(value)
