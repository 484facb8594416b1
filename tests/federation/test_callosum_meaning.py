"""What a Callosum's file means here, and what of it is left out."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.errors import BadInput
from cortex_actors.federation.callosum import CallosumFile, read
from cortex_actors.federation.store import Auth, StoreSpec
from cortex_actors.sections import FederationSettings

_STORE = {"name": "memory", "type": "seren_memory", "url": "http://127.0.0.1:7420"}

#: The bounds that Callosum's own configuration has.
BOUNDS: dict[str, tuple[float, float]] = {
    "n_results": (1, 200),
    "fetch_multiplier": (1, 20),
    "min_per_store": (0, 200),
    "edge_budget": (0, 100),
    "satellite_budget": (0, 100),
    "hops": (1, 4),
    "hop_terms": (1, 20),
    "hop_budget": (0, 100),
    "k": (1, 1_000_000),
    "per_store_timeout_s": (math.ulp(0.0), 30),
    "authority_margin": (0, 1),
}

_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
_ANY = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_SCALARS, inner, max_size=4),
    max_leaves=12,
)


def _read(*stores: object, **federation: object) -> CallosumFile:
    """Return what a file with these stores says."""
    return read({"federation": {**federation, "stores": list(stores)}})


class TestStores:
    def test_least(self) -> None:
        """A name, a type and an address are a store; the rest is as that program has it."""
        wanted = StoreSpec("memory", "seren_memory", "http://127.0.0.1:7420", managed=True)
        assert (wanted,) == _read(_STORE).stores

    def test_whole(self) -> None:
        """Every key means what it does there; what is unknown is the adapter's."""
        found = _read(
            {
                **_STORE,
                "url": " http://127.0.0.1:7420/ ",
                "weight": 2,
                "floor": "0.3",
                "enabled": False,
                "managed": True,
                "project": "atlas",
                "options": {"include_short": False},
                "bearer_token_keyring": "seren/memory",
                "token_env": None,
            }
        )

        wanted = StoreSpec(
            "memory",
            "seren_memory",
            "http://127.0.0.1:7420",
            weight=2.0,
            floor=0.3,
            enabled=False,
            options={"project": "atlas", "include_short": False},
            managed=True,
            auth=Auth(token_keyring="seren/memory"),
        )
        assert (wanted,) == found.stores
        assert () == found.skipped

    def test_twice(self) -> None:
        """Of two stores of one name the first counts, and the other is listed."""
        found = _read(_STORE, {**_STORE, "url": "http://127.0.0.1:1"})

        assert ["http://127.0.0.1:7420"] == [each.url for each in found.stores]
        assert (("memory", "a store of that name comes before it"),) == found.skipped

    @pytest.mark.parametrize(
        ("entry", "what", "why"),
        [
            ("memory", "entry 1", "no table"),
            ({1: 2}, "entry 1", "no table"),
            ({**_STORE, "name": " "}, "entry 1", "name is required"),
            ({**_STORE, "url": ""}, "memory", "url is required"),
            ({"name": "memory", "url": "x"}, "memory", "type is required"),
            ({**_STORE, "url": ["x"]}, "memory", "url: input should be a valid string"),
            ({**_STORE, "weight": "heavy"}, "memory", "weight: input should be a valid number"),
            ({**_STORE, "weight": True}, "memory", "weight: input should be a valid number"),
            ({**_STORE, "weight": float("nan")}, "memory", "infinity is no number"),
            ({**_STORE, "floor": 1.5}, "memory", "floor: input should be less than or equal to 1"),
            ({**_STORE, "enabled": "false"}, "memory", "enabled: input should be a valid boolean"),
            ({**_STORE, "options": "x"}, "memory", "options: input should be a valid dictionary"),
            ({**_STORE, "token": {"a": 1}}, "memory", "token: input should be a valid string"),
        ],
    )
    def test_malformed(self, entry: object, what: str, why: str) -> None:
        """An entry that is no store is left out and listed; the others are taken."""
        found = _read(entry, {**_STORE, "name": "facts"})

        assert ["facts"] == [each.name for each in found.stores]
        assert [what] == [name for name, _ in found.skipped]
        assert why in found.skipped[0][1]

    def test_secrets(self) -> None:
        """No representation of a store shows its token."""
        found = _read({**_STORE, "bearer_token": "s3cret-value"})

        assert "s3cret-value" == found.stores[0].auth.token
        assert "s3cret" not in repr(found)


class TestKnobs:
    def test_taken(self) -> None:
        """What both programs can turn is turned."""
        knobs: dict[str, Any] = {
            "k": 30,
            "fusion_mode": "rrf_pct",
            "authority_margin": 0,
            "edges_enabled": False,
            "per_store_timeout_s": "2.5",
            "hops": 2,
        }

        found = _read(**knobs)
        assert {**knobs, "per_store_timeout_s": 2.5} == found.knobs
        assert () == found.skipped

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("k", 0),
            ("k", float("nan")),
            ("n_results", 2.5),
            ("n_results", True),
            ("fusion_mode", "zipper"),
            ("fusion_mode", ["rrf"]),
            ("edges_enabled", "yes"),
            ("per_store_timeout_s", 0),
            ("budget_tokens", 500),
            ("colour", "blue"),
        ],
    )
    def test_left_out(self, key: str, value: object) -> None:
        """What cannot be here is left out, by its name alone."""
        found = _read(**{key: value})

        assert {} == found.knobs
        assert [key] == [name for name, _ in found.skipped]

    def test_satellites_off(self) -> None:
        """Satellites that are switched off have no budget here."""
        found = _read(satellite_edges_enabled=False, satellite_budget=9)

        assert {"satellite_budget": 0} == found.knobs

    @pytest.mark.parametrize(("key", "bounds"), BOUNDS.items())
    @pytest.mark.parametrize("which", [0, 1])
    def test_bounds(self, key: str, bounds: tuple[float, float], which: int) -> None:
        """Whatever is let through, the settings take: the bounds of both are the same."""
        bound = bounds[which]
        knobs = dict(_read(**{key: bound}).knobs)
        assert {key: bound} == knobs
        FederationSettings.model_validate(knobs, strict=True)

        beyond = _read(**{key: bound - 1 if which == 0 else bound + 1})
        assert {} == beyond.knobs


class TestShapes:
    def test_kinds(self) -> None:
        """A whole file, its federation alone, and a bare list of stores say the same."""
        whole = read({"federation": {"stores": [_STORE]}})

        assert whole == read({"stores": [_STORE]}) == read([_STORE])

    def test_other_parts(self) -> None:
        """The other parts of a file are listed with what does that here, without their values."""
        found = read({"server": {"bearer_token": "s3cret"}, "federation": {}, "x": 1})

        assert ["server", "x"] == [name for name, _ in found.skipped]
        assert "[http]" in found.skipped[0][1]
        assert "s3cret" not in repr(found)

    @pytest.mark.parametrize(
        "document",
        [None, 3, "text", {}, {"federation": []}, {"stores": 3}, {"stores": {"a": 1}}, [{}] * 257],
    )
    def test_others(self, document: object) -> None:
        """What is no such file is refused, with what it should be."""
        with pytest.raises(BadInput, match="cannot import stores: .*; "):
            read(document)

    @given(_ANY)
    def test_anything(self, value: object) -> None:
        """Whatever stands in a file, it is read or refused; nothing else is raised."""
        found = read({"federation": {"stores": [value, {**_STORE, "x": value}], "k": value}})

        refused = [name for name, _ in found.skipped]
        assert "memory" in [*refused, *(each.name for each in found.stores)]
