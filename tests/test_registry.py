"""The registry: what every operation declares, and what doors are made of it."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.api import desk
from cortex_actors.api.parameters import PARAMETERS
from cortex_actors.api.registry import OPERATIONS, operation
from tests.realms.operations import KNOWN

if TYPE_CHECKING:
    from cortex_actors.api.registry import Call, Operation

EVERY = pytest.mark.parametrize("operation_", OPERATIONS.values(), ids=lambda each: each.name)

#: JSON types of a parameter.
KINDS = {"string", "integer", "number", "boolean", "object", "array", "null"}


class TestEvery:
    @EVERY
    def test_schema(self, operation_: Operation) -> None:
        """A name, a description and the schema of all parameters come out, for MCP and OpenAPI."""
        schema = operation_.schema

        assert re.fullmatch(r"[a-z][a-z_.-]{1,62}", operation_.name)
        assert operation_.description == inspect.getdoc(operation_.run)
        assert schema["additionalProperties"] is False
        assert list(operation_.signature.parameters) == list(schema["properties"])
        for each in schema["properties"].values():
            assert each["description"].endswith(".")
            assert kinds(each) <= KINDS

    @EVERY
    def test_route(self, operation_: Operation) -> None:
        """It is read or posted, and each name in its path is a parameter."""
        verb, _, path = operation_.http.partition(" ")

        assert verb in {"GET", "POST"}
        assert set(re.findall(r"\{(\w+)\}", path)) <= operation_.signature.parameters.keys()

    @EVERY
    def test_method(self, operation_: Operation) -> None:
        """The front desk has a method of the same parameters; agents' ones know who calls."""
        signature = inspect.signature(getattr(desk.FrontDesk, operation_.method))
        names = [*signature.parameters][1:]

        assert [*operation_.signature.parameters, *["caller"] * operation_.agents] == names

    def test_no_route_twice(self) -> None:
        """No two operations have one method and path; a name and its method are unique."""
        routes = [each.http for each in OPERATIONS.values()]

        assert len(routes) == len(set(routes))
        assert len(OPERATIONS) == len({each.method for each in OPERATIONS.values()})

    def test_realms(self) -> None:
        """Every operation for agents, and no other, has its row in the matrix of realms."""
        assert {each.method for each in OPERATIONS.values() if each.agents} == KNOWN

    def test_meanings(self) -> None:
        """Every row about a parameter is of a parameter that exists."""
        names = {
            name
            for each in OPERATIONS.values()
            for own in each.signature.parameters
            for name in (own, f"{each.method}.{own}")
        }

        assert set(PARAMETERS) <= names


class TestDeclaring:
    @pytest.mark.parametrize("name", ["memory.split", "memory.divide"])
    def test_twice(self, name: str) -> None:
        """A name is declared once, and so is a method."""

        async def split(call: Call) -> None:
            """Do nothing."""

        with pytest.raises(ValueError, match="is declared twice"):
            operation(name, http="POST /x")(split)


def kinds(schema: dict[str, Any]) -> set[str]:
    """Return the JSON types that a schema allows; none for one that allows any."""
    if "anyOf" in schema:
        return {kind for each in schema["anyOf"] for kind in kinds(each)}
    return {schema["type"]} if "type" in schema else set()
