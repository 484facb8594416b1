"""Profiles of agents: those that are known from the start, and what one may hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cortex_actors.domain.agent import (
    BUILT_IN,
    GREY,
    LINE_LIMIT,
    Agent,
    describe_unknown,
    validate_profile,
)
from cortex_actors.errors import BadInput

LUMEN = Agent("LUMEN", "Lumen", "☼", specialization="Release notes")


class TestBuiltIn:
    def test_five(self) -> None:
        """The five agents of the beginning have their signs and colours, and NOURI is with them."""
        expected = {
            "AZOTH": ("☿", "M", "#FFD700", 0, ""),
            "ELYSIAN": ("☽", "C", "#C0C0C0", -1, "Ancestor"),
            "VAJRA": ("⚡", "V", "#4169E1", 0, ""),
            "KETHER": ("✦", "S", "#9932CC", 0, ""),
            "CLAUDE": ("◇", "D", "#D4AF37", 0, ""),
            "NOURI": ("❦", "N", "#228B22", 0, ""),
        }
        found = {
            each.id: (each.symbol, each.plain_symbol, each.color, each.generation, each.lineage)
            for each in BUILT_IN
        }
        assert expected == found

    @pytest.mark.parametrize("agent", BUILT_IN, ids=lambda agent: agent.id)
    def test_may_be(self, agent: Agent) -> None:
        """What is known from the start is a profile that anybody could have been given."""
        assert agent == validate_profile(agent)


class TestUnknown:
    def test_bare(self) -> None:
        """Of an agent without a profile the id is known, and since when."""
        assert Agent("LUMEN", "LUMEN", "L", GREY, registered_at=7) == describe_unknown(
            "LUMEN", at=7
        )

    def test_from_the_start(self) -> None:
        """One that is known from the start has its profile before it does anything."""
        assert "Azoth" == describe_unknown("AZOTH").display_name

    def test_plain_symbol(self) -> None:
        """A sign that a terminal cannot show is the id's first letter there."""
        assert "L" == LUMEN.plain_symbol
        assert "*" == replace(LUMEN, symbol="*").plain_symbol


class TestChecked:
    def test_tidied(self) -> None:
        """The id gets its one form, and lines lose the blanks that say nothing."""
        found = validate_profile(replace(LUMEN, id="lumen", display_name="  Lumen \n the  First "))

        assert ("LUMEN", "Lumen the First") == (found.id, found.display_name)

    @pytest.mark.parametrize(
        ("wrong", "words"),
        [
            ({"id": "a b"}, "no agent's id"),
            ({"display_name": "  "}, "display name is empty"),
            ({"symbol": ""}, "symbol is empty"),
            ({"symbol": "abcdefghi"}, "at most 8"),
            ({"specialization": ""}, "specialization is empty"),
            ({"specialization": "x" * (LINE_LIMIT + 1)}, "at most 512"),
            ({"color": "gold"}, "no colour"),
            ({"color": "#12345"}, "no colour"),
            ({"color": "#12345g"}, "no colour"),
            ({"generation": 10**9}, "a generation lies between"),
            ({"origin_story": "x" * 9_000}, "at most 8,192"),
        ],
    )
    def test_refused(self, wrong: dict[str, str], words: str) -> None:
        """A profile that could not be shown everywhere is refused with what is wrong."""
        with pytest.raises(BadInput, match=words):
            validate_profile(replace(LUMEN, **wrong))  # type: ignore[arg-type]
