"""Who asks, and whose id that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.agent import ID_LIMIT, OWNER, Caller, read_agent_id
from cortex_actors.domain.memory import PROBE
from cortex_actors.errors import BadInput, NotYours

if TYPE_CHECKING:
    from collections.abc import Callable

#: What is no id: look-alikes of other alphabets (three of which have an ASCII capital), paths,
#: nothing, too much, and what is no text at all.
HOSTILE = (
    "\u0410ZOTH",
    "AZOTH\u200b",
    "azo\u017fh",
    "cla\u0131de",
    "\u212aETHER",
    "\uff21ZOTH",
    "../AZOTH",
    "AZOTH/..",
    ".",
    "A.B",
    "",
    " AZOTH",
    "AZOTH\n",
    "A" * (ID_LIMIT + 1),
    "A\x00B",
    "%",
    "A*",
    "' OR 1=1 --",
    None,
    7,
    ["AZOTH"],
)

AZOTH = Caller("AZOTH")


class TestId:
    @pytest.mark.parametrize("text", ["azoth", "Azoth", "AZOTH", "aZOTH"])
    def test_one_form(self, text: str) -> None:
        """However an id is written, it is one id."""
        assert "AZOTH" == read_agent_id(text)

    @pytest.mark.parametrize("text", ["A", "7", "_", "-", "A-B_9", "a" * ID_LIMIT])
    def test_whole_alphabet(self, text: str) -> None:
        """Every id of the alphabet is taken, up to the limit."""
        assert text.upper() == read_agent_id(text)

    @pytest.mark.parametrize("text", HOSTILE)
    def test_hostile(self, text: object) -> None:
        """What only looks like an id is none, and the error shows every character of it."""
        with pytest.raises(BadInput) as refused:
            read_agent_id(text)

        assert str(refused.value).isascii()
        assert str(refused.value).isprintable()
        assert len(str(refused.value)) < 4 * ID_LIMIT

    @pytest.mark.parametrize("text", ["owner", "Owner", PROBE, PROBE.lower()])
    def test_reserved(self, text: str) -> None:
        """Nobody is called as the owner is in an audit, or as the agent of the daemon's trials."""
        with pytest.raises(BadInput, match="choose another"):
            read_agent_id(text)


class TestActing:
    def test_owner(self) -> None:
        """The owner acts for whom it names, else for the default."""
        assert "VAJRA" == OWNER.choose_agent("vajra", "claude")
        assert "CLAUDE" == OWNER.choose_agent(None, "claude")

    @pytest.mark.parametrize("named", [None, "AZOTH", "azoth"])
    def test_agent(self, named: str | None) -> None:
        """An agent acts as itself, whatever the default is."""
        assert "AZOTH" == AZOTH.choose_agent(named, "claude")

    @pytest.mark.parametrize(
        "ask", [lambda who: AZOTH.choose_agent(who, "claude"), AZOTH.choose_reader]
    )
    def test_another(self, ask: Callable[[str], str | None]) -> None:
        """An agent acts for no other one, and sees with no other one's eyes."""
        with pytest.raises(NotYours, match="VAJRA"):
            ask("vajra")

    @pytest.mark.parametrize("text", [each for each in HOSTILE if each is not None])
    @pytest.mark.parametrize("caller", [OWNER, AZOTH])
    def test_hostile(self, caller: Caller, text: str) -> None:
        """What is no id is bad input for everybody, and never somebody."""
        with pytest.raises(BadInput):
            caller.choose_agent(text, "claude")
        with pytest.raises(BadInput):
            caller.choose_reader(text)

    def test_probe(self) -> None:
        """The daemon itself may act as the agent of its trials, and nobody else."""
        assert PROBE == Caller(PROBE).choose_agent(None, "claude")
        assert PROBE == Caller(PROBE).choose_reader(PROBE)
        with pytest.raises(BadInput):
            OWNER.choose_agent(PROBE, "claude")


class TestReader:
    def test_owner(self) -> None:
        """The owner reads everything, or what an agent reads."""
        assert OWNER.choose_reader() is None
        assert "VAJRA" == OWNER.choose_reader("vajra")

    def test_agent(self) -> None:
        """An agent reads what it may read."""
        assert "AZOTH" == AZOTH.choose_reader()
        assert "AZOTH" == AZOTH.choose_reader("azoth")


class TestAudit:
    def test_by(self) -> None:
        """An audit tells the owner from every agent there could be."""
        assert ("owner", "AZOTH") == (OWNER.by, AZOTH.by)

    def test_owner_only(self) -> None:
        """What is the owner's is refused to agents, with what it was."""
        OWNER.require_owner("read the log")
        with pytest.raises(NotYours, match="cannot read the log for AZOTH"):
            AZOTH.require_owner("read the log")
