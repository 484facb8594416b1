"""What `cortex memory` prints, and what it asks the daemon for."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.cli import entry
from tests.cli.answering import answering, for_people, for_programs

if TYPE_CHECKING:
    from tests.cli.answering import Asked

pytestmark = pytest.mark.usefixtures("asked")

ONE = "mem_01KATQ8W000000000000000000"
TWO = "mem_01KB0D3F000000000000000000"

_MEMORY: dict[str, Any] = {
    "id": ONE,
    "content": "Redis listens on port 6379\x1b[31m",
    "text": f"#{ONE} (active)\nAbstract: \nSummary: \nText:\nRedis\x1b[31m",
    "status": "active",
    "realm": "bridge",
    "agent": "VAJRA",
    "agent_display": "Vajra",
    "layer": "working",
    "type": "fact",
    "role": "",
    "thread": "talk",
    "tags": ["redis"],
    "related_agents": ["KETHER"],
    "responding_to": [TWO],
    "abstract": "",
    "summary": "",
    "created_at": 0,
    "layer_since": 0,
    "promoted_at": None,
    "pinned": True,
    "pinned_at": 0,
    "time_range": "10:00:00 - 10:05:00",
    "decay_rate": 72.0,
    "attention": 0.5,
    "access_count": 1,
    "saved_by": "owner",
    "merged_into": None,
    "replaced_by": None,
    "archived_at": None,
    "conflicts": [{"id": TWO, "reason": "6379 or 6380"}],
    "apart": [TWO],
    "believed": [{"since": 0, "until": 1_000_000}, {"since": 2_000_000, "until": None}],
}
_CHANGE: dict[str, Any] = {
    "id": 12,
    "kind": "merge",
    "memory": ONE,
    "others": [TWO],
    "by": "owner",
    "reason": "the same\x1b",
    "at": 0,
    "undone_at": 1_000_000,
    "undone_by": "VAJRA",
}
ANSWERS: dict[str, dict[str, Any]] = {
    "memory": {**_MEMORY, "changes": [_CHANGE]},
    "memories": {"memories": [_MEMORY, {**_MEMORY, "status": "archived"}], "total": 9},
    "memory_changes": {"changes": [_CHANGE], "total": 1},
    "conflicts": {
        "conflicts": [{"left": _MEMORY, "right": {**_MEMORY, "id": TWO}, "reason": "6379 or 6380"}],
        "total": 1,
    },
    "save": {"id": ONE, "from": "sensory", "layer": "working", "changed": True},
    "promote": {"id": ONE, "from": "working", "layer": "cortex", "changed": True},
    "crystallize": {"id": ONE, "from": "cortex", "layer": "cortex", "changed": False},
    "pin": {"id": ONE, "pinned": True, "changed": True},
    "unpin": {"id": ONE, "pinned": False, "changed": False},
    "archive": {"archived": [ONE]},
    "restore": {"restored": [ONE, TWO]},
    "supersede": {"superseded": ONE, "by": TWO},
    "split": {"id": ONE, "kind": "merge", "parts": [TWO]},
    "undo": {"change": 12, "kind": "merge", "memory": ONE, "changed": [TWO]},
    "edit": {"id": ONE, "changed": True, "content": "Redis", "same": [TWO]},
    "keep_both": {"kept": [ONE, TWO]},
    "forget": {"forgotten": [ONE], "parts": [TWO], "wholes": [TWO], "archived": [TWO]},
}

_SHOWN = {
    "list": ["2 of 9 memories", "* Redis listens", "VAJRA (bridge)", "archived"],
    "show mem_01KATQ8W": [
        f"#{ONE} (active)",
        "agent VAJRA · Vajra",
        "realm bridge · KETHER",
        "attention 0.50, read 1 time",
        "fades half in 72 h",
        "said 1970-01-01T00:00:00Z · 10:00:00 - 10:05:00",
        "conflicts mem_01KB0D3F000000000000000000 · 6379 or 6380",
        "1970-01-01T00:00:02Z until now",
        "12 · merge",
    ],
    "changes": ["12 merge", "by owner 1970-01-01", "undone by VAJRA", "cortex memory undo CHANGE"],
    "conflicts": ["1 pair of memories", "6379 or 6380", "cortex memory supersede OLD NEW"],
    "save mem_01KATQ8W": ["came from sensory to working"],
    "promote mem_01KATQ8W --to cortex": ["came from working to cortex"],
    "crystallize mem_01KATQ8W": ["is in cortex already"],
    "pin mem_01KATQ8W": ["is pinned"],
    "unpin mem_01KATQ8W": ["is not pinned already"],
    "archive mem_01KATQ8W": [f"archived {ONE}", "cortex memory restore"],
    "restore mem_01KATQ8W mem_01KB0D3F": [f"restored {ONE}, {TWO}"],
    "supersede mem_01KATQ8W mem_01KB0D3F": [f"{ONE} is superseded by {TWO}"],
    "split mem_01KATQ8W": ["is archived; found again", TWO],
    "edit mem_01KATQ8W Redis": [f"{ONE} has other words", f"said by {TWO}", "memory undo CHANGE"],
    "undo 12": ["undid change 12: merge"],
    "keep-both mem_01KATQ8W mem_01KB0D3F": ["both are kept"],
    "forget mem_01KATQ8W --yes": [
        f"forgot {ONE} and 1 part",
        "backups",
        "what replaced it is gone",
    ],
}


class TestPrinting:
    @pytest.mark.parametrize("words", _SHOWN)
    def test_for_people(self, words: str, capsys: pytest.CaptureFixture[str]) -> None:
        """A command shows what matters, and no text acts on the terminal."""
        for_people(["memory", *words.split()], _SHOWN[words], capsys)

    @pytest.mark.parametrize("words", _SHOWN)
    def test_for_programs(
        self, words: str, capsys: pytest.CaptureFixture[str], asked: Asked
    ) -> None:
        """With `--json` a command prints the daemon's answer whole, and asks once."""
        for_programs(["memory", *words.split()], ANSWERS, asked, capsys)


class TestAsking:
    def test_list(self, asked: Asked) -> None:
        """What a list is narrowed to is asked for, and nothing else."""
        line = "memory list --all --pinned --layer cortex --as VAJRA --since 7d --sort read"
        entry.main(line.split())

        assert [
            (
                "memories",
                {
                    "layers": ["cortex"],
                    "since": "7d",
                    "as_agent": "VAJRA",
                    "status": "all",
                    "pinned": True,
                    "conflicts": False,
                    "sort": "read",
                    "limit": 20,
                    "skip": 0,
                },
            )
        ] == asked

    def test_none(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A list of nothing says so, in the words of a search."""
        answering(monkeypatch, {"memories": {"memories": [], "total": 0}})
        assert 0 == entry.main("memory list --tag b".split())

        assert "No memories found." in capsys.readouterr().out

    def test_wrong(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Words that exclude each other, and layers that there are not, are wrong usage."""
        assert 64 == entry.main("memory list --all --status merged".split())
        assert "--all and --status" in capsys.readouterr().err
        assert 64 == entry.main("memory promote mem_01KATQ8W --to deepest".split())

    def test_forget_asks(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        asked: Asked,
    ) -> None:
        """Nothing is forgotten where nobody can be asked, or says no."""
        monkeypatch.setattr("sys.stdin", io.StringIO(""))
        assert 77 == entry.main(["memory", "forget", ONE])
        told = capsys.readouterr()
        assert "say --yes" in told.err
        assert ONE in told.out
        monkeypatch.setattr("cortex_actors.cli.show.sys.stdin", _Tty("n\n"))
        assert 77 == entry.main(["memory", "forget", ONE])

        assert ["memory", "memory"] == [name for name, _ in asked]

    def test_edit_opens(self, monkeypatch: pytest.MonkeyPatch, asked: Asked) -> None:
        """Without a text a person's editor has the words of now; elsewhere a text must be given."""
        monkeypatch.setattr("sys.stdin", io.StringIO(""))
        assert 65 == entry.main(["memory", "edit", ONE])
        monkeypatch.setattr("cortex_actors.cli.memory.memory.sys.stdin", _Tty())
        monkeypatch.setattr("click.edit", lambda text: f"{text}, I think\n")
        assert 0 == entry.main(["memory", "edit", ONE])

        (_, given) = asked[-1]
        assert f"{_MEMORY['content']}, I think" == given["content"]


class _Tty(io.StringIO):
    """A person who types."""

    def isatty(self) -> bool:
        """Tell that it is one."""
        return True
