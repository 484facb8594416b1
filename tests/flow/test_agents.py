"""Two agents through the command line, as people use it: a whole story, with a restart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.process.commands import Commands

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

#: One fact in two orders, its opposite, and what became of it later.
FACT, AGAIN = "Redis listens on port 6379 by default", "Redis by default listens on port 6379"
RULE, OPPOSITE = "Never run the tests before a commit", "Always run the tests before a commit"
OLD, NEW = "The API is served by gunicorn", "The API is served by uvicorn since the spring"


@pytest.fixture
def cortex(tmp_home: Path) -> Iterator[Commands]:
    """Give the command line of a home in which a daemon runs."""
    commands = Commands(tmp_home)
    done = commands("start")
    assert 0 == done.returncode, done.stderr
    yield commands
    commands.clean_up()


def asked(cortex: Commands, *words: str) -> dict[str, Any]:
    """Return what a command prints for a program."""
    done = cortex(*words, "--json")
    assert 0 == done.returncode, (words, done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def remembered(cortex: Commands, text: str, *words: str, agent: str = "CLAUDE") -> dict[str, Any]:
    """Have an agent remember a fact."""
    return asked(cortex, "remember", text, "--agent", agent, "--type", "fact", *words)


def found(cortex: Commands, question: str, *words: str, agent: str = "CLAUDE") -> list[str]:
    """Return the texts that an agent finds."""
    hits = asked(cortex, "search", question, "--as", agent, "--no-track", *words)["hits"]
    return [str(each["text"]) for each in hits]


class TestStory:
    def test_one_agent(self, cortex: Commands) -> None:
        """What says the same is one, what cannot hold is told, what is replaced held before."""
        first = remembered(cortex, FACT)
        whole = remembered(cortex, AGAIN)
        rule = remembered(cortex, RULE)
        against = remembered(cortex, OPPOSITE)
        old = remembered(cortex, OLD)
        before = asked(cortex, "memory", "show", old["id"])["created_at"]
        remembered(cortex, NEW, "--supersedes", old["id"])
        assert 0 == cortex("restart").returncode
        now = found(cortex, "who serves the API")
        then = found(cortex, "who serves the API", "--as-of", str(before))
        gone = cortex("memory", "forget", rule["id"], "--yes")
        told = cortex("memory", "show", rule["id"])
        checked = cortex("doctor")

        assert ("saved", "merged", [first["id"]]) == (
            first["state"],
            whole["state"],
            whole["merged"],
        )
        assert [rule["id"]] == [each["id"] for each in against["conflicts"]]
        assert (NEW, OLD) == (now[0], then[0])
        assert OLD not in now
        assert NEW not in then
        assert (0, 66) == (gone.returncode, told.returncode)
        assert (0, "all is well") == (checked.returncode, _last(checked.stdout)[:11])

    def test_two_agents(self, cortex: Commands) -> None:
        """What one keeps the other never finds; what both say is told, and crumbs arrive."""
        remembered(cortex, "The vault code is a riddle", agent="VAJRA")
        asked(cortex, "post", "Deploys on Friday break the pager", "--agent", "CLAUDE")
        posted = asked(cortex, "post", "Friday deploys break the pager", "--agent", "VAJRA")
        alike = asked(cortex, "convergence", "Friday deploys pager")
        asked(cortex, "crumb", "leave", "halfway", "--agent", "CLAUDE", "--unfinished", "the end")
        assert 0 == cortex("restart").returncode
        crumbs = asked(cortex, "crumb", "get", "--agent", "CLAUDE")
        own = found(cortex, "what is the vault code", agent="VAJRA")
        others = found(cortex, "what is the vault code")
        wrong = cortex("search", "vault", "--as", "no such agent!")
        tried = cortex("doctor", "--round-trip")
        said = str(asked(cortex, "status")["round_trip"]["state"])

        assert "HARMONY" in str(alike)
        assert posted["id"] in str(alike)
        assert "the end" in str(crumbs)
        assert "The vault code is a riddle" == own[0]
        assert not any("vault" in each for each in others)
        assert (65, 0, "ok") == (wrong.returncode, tried.returncode, said)


def _last(text: str) -> str:
    """Return the last line of an output."""
    return text.strip().splitlines()[-1]
