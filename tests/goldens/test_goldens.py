"""Nothing is lost while the product is restructured: what it did before is recorded here.

Removed when the restructure ends. `python -m tests.goldens.recorded FOLDER` made the records.
"""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.settings import Settings
from tests.goldens import recorded
from tests.goldens.recorded import PLACE

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent

#: What the client of the version before asks a daemon of this one.
ASKED = """
import json
from pathlib import Path
from cortex_actors import client as before, home
client = before.Client(home.Home(Path("{place}/home")), timeout=60)
print(json.dumps([client.call("status")["state"], len(client.call("insights")["insights"]),
                  client.call("recall", query="redis port", track=False)["hits"][0]["text"]]))
"""


def read(name: str) -> Any:
    """Return one of the records."""
    return json.loads((HERE / name).read_text("utf-8"))


def different() -> set[str]:
    """Return what is not as recorded: on a busy machine actors end in yet another order."""
    rows = read("operations.json")
    calls = [(row["call"], row["params"]) for row in rows]
    found = recorded.replay((HERE / "home.tar.xz").read_bytes(), calls)
    return {
        f"{row['call']} {row['params']}: {line}"
        for row, answer in zip(rows, json.loads(json.dumps(found)), strict=True)
        for line in recorded.differs(row["answer"], answer)
        if not f"{row['call']} {row['params']}: {line}".startswith(tuple(gone("agents {}:")))
    }


def gone(of: str = "") -> set[str]:
    """Return what went on purpose, as `gone.tsv` lists it with its reason."""
    rows = (HERE / "gone.tsv").read_text("utf-8").splitlines()
    found = {row.partition("\t")[0].replace("\\n", "\n") for row in rows if row}
    return {each for each in found if each.startswith(of)}


@pytest.fixture
def alone() -> Iterator[None]:
    """Have the one folder of the recorded home: tests run in several processes at once."""
    with PLACE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture
def place(alone: None) -> Iterator[Path]:
    """Yield where a daemon runs on the recorded home."""
    home = recorded.lay_out((HERE / "home.tar.xz").read_bytes())
    recorded.command("start")
    try:
        yield home.root.parent
    finally:
        recorded.command("stop")


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_operations() -> None:
    """Every operation answers on a home of the version before what that version answered."""
    assert not different() or not different() & different()


@pytest.mark.slow
def test_client(place: Path, tmp_path: Path) -> None:
    """The client of the version before works with this daemon."""
    with tarfile.open(HERE / "client.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    done = subprocess.run(
        [sys.executable, "-P", "-c", ASKED.format(place=place)],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    state, insights, text = json.loads(done.stdout)

    assert "running" == state
    assert insights > 0
    assert "redis" in text.lower()


@pytest.mark.slow
def test_commands() -> None:
    """Every command takes the options it took, of the same kinds, with the same defaults."""
    found = recorded.commands()
    gone = [
        f"{name}: {row}"
        for name, rows in read("commands.json").items()
        for row in rows
        if nameless(row) not in [nameless(each) for each in found.get(name, [])]
    ]

    assert [] == gone


def nameless(row: Any) -> Any:
    """Return a parameter without the name of an argument, which is given by its place."""
    named = isinstance(row, str) or row["names"][0].startswith("-")
    return row if named else {**row, "names": []}


def test_topics() -> None:
    """Every topic carries what it carried."""
    golden, found = (
        {row["name"]: row for row in rows} for rows in (read("topics.json"), recorded.catalogue())
    )

    assert [] == list(recorded.differs(golden, found))


def test_settings() -> None:
    """Every setting has the default it had, and a file with all of them is read."""
    golden = read("settings.json")

    assert [] == list(recorded.differs(golden, recorded.defaults()))
    assert Settings() == Settings.model_validate(golden)


def test_promises() -> None:
    """No test's promise disappeared that `gone.tsv` does not list with its reason."""
    lost = recorded.spoken(read("docstrings.json")) - recorded.spoken(recorded.texts())

    assert [] == sorted(set(lost) - gone())
