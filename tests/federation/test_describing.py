"""How stores and knobs are written down, checked and shown."""

from __future__ import annotations

import math
from typing import Any

import pytest

from cortex_actors.errors import BadInput
from cortex_actors.federation import schema
from cortex_actors.federation.store import Auth, StoreSpec
from cortex_actors.sections import FederationSettings


def nested(levels: int) -> dict[str, Any]:
    """Return a table in a table in a table."""
    found: dict[str, Any] = {}
    for _ in range(levels):
        found = {"x": found}
    return found


class TestShown:
    def test_row(self) -> None:
        """A store is shown but for what is secret: of a token only that there is one."""
        auth = Auth("s3cr3t", "service/user", "NAME")
        spec = StoreSpec("mem", "seren_memory", "http://h", managed=True, auth=auth)

        assert {
            "name": "mem",
            "type": "seren_memory",
            "url": "http://h",
            "weight": 1.0,
            "floor": 0.0,
            "enabled": True,
            "managed": True,
            "auth": True,
            "status": "active",
            "options": {},
        } == schema.format_store(spec, "active")

    @pytest.mark.parametrize(
        ("url", "shown"),
        [
            ("http://127.0.0.1:7420/x", "http://127.0.0.1:7420/x"),
            ("postgresql://me:s3cr3t@h:5/db", "postgresql://***@h:5/db"),
            ("http://s3cr3t@h", "http://***@h"),
            ("http://h/q?key=s3cr3t", "http://h/q?***"),
            ("postgresql://me@h/db?password=s3cr3t", "postgresql://***@h/db?***"),
            ("http://[s3cr3t", "***"),
            ("", ""),
        ],
    )
    def test_address(self, url: str, shown: str) -> None:
        """An address is shown without the user, the password and the query that it may have."""
        assert shown == schema.mask_address(url)

    def test_options(self) -> None:
        """Options are shown but for those whose name says that they are secret, however deep."""
        options = {
            "path": "/q",
            "text_key": "body",
            "api_key": "s3cr3t",
            "more": {"Authorization": "s3cr3t", "X": "y"},
            "env": {"PAT": "s3cr3t"},
            "args": ["--dsn", "postgresql://me:s3cr3t@h/db"],
            "n": 5,
        }
        row = schema.format_store(StoreSpec("m", "t", "u", options=options), "active")

        assert {
            "path": "/q",
            "text_key": "body",
            "api_key": "***",
            "more": {"Authorization": "***", "X": "y"},
            "env": {"PAT": "***"},
            "args": ["--dsn", "postgresql://***@h/db"],
            "n": 5,
        } == row["options"]

    @pytest.mark.parametrize(
        ("given", "shown"),
        [
            ({"env": "NOTES_KEY=s3cr3t"}, {"env": "***"}),
            ({"Headers": ["X: s3cr3t"]}, {"Headers": "***"}),
            ({"command": ["x", "--api-key=s3cr3t"]}, {"command": ["x", "--api-key=***"]}),
            ({"command": ["--api-key", "s3cr3t", "-v"]}, {"command": ["--api-key", "***", "-v"]}),
            ({"command": ["--token", "--s3cr3t", "x"]}, {"command": ["--token", "***", "x"]}),
            ({"command": ["-e", "API_KEY=s3cr3t"]}, {"command": ["-e", "API_KEY=***"]}),
            (
                {"args": ["-H", "Authorization: Bearer s3cr3t"]},
                {"args": ["-H", "Authorization: ***"]},
            ),
            ({"args": ["keys", "--port=5", 7]}, {"args": ["keys", "--port=5", 7]}),
        ],
    )
    def test_arguments(self, given: dict[str, Any], shown: dict[str, Any]) -> None:
        """What a program is given in secret is not shown, in whatever form it is written down."""
        row = schema.format_store(StoreSpec("m", "mcp", "", options=given), "active")

        assert shown == row["options"]


class TestTurned:
    def test_some(self) -> None:
        """What is not named stays as it is."""
        found = schema.change_knobs(
            FederationSettings(n_results=7), {"k": 5, "fusion_mode": "percentile"}
        )

        assert (5, "percentile", 7) == (found.k, found.fusion_mode, found.n_results)

    @pytest.mark.parametrize(
        ("changes", "why"),
        [
            ({"k": -1}, "k: input should be greater than or equal to 1"),
            ({"k": 0}, "k: "),
            ({"k": "5"}, "k: input should be a valid number"),
            ({"k": math.nan}, "k: "),
            ({"k": None}, "k: "),
            ({"n_results": True}, "n_results: "),
            ({"n_results": 2.5}, "n_results: "),
            ({"n_results": 0}, "n_results: "),
            ({"fetch_multiplier": 0}, "fetch_multiplier: "),
            ({"per_store_timeout_s": 0}, "per_store_timeout_s: "),
            ({"per_store_timeout_s": 31}, "per_store_timeout_s: "),
            ({"authority_margin": 1.1}, "authority_margin: "),
            ({"min_per_store": -1}, "min_per_store: "),
            ({"edges_enabled": "no"}, "edges_enabled: "),
            ({"edge_budget": -1}, "edge_budget: "),
            ({"hops": 0}, "hops: "),
            ({"max_store_share": 0}, "max_store_share: "),
            ({"local": "both"}, "local: input should be 'together' or 'separate'"),
            ({"fusion_mode": 7}, "fusion_mode: "),
            ({"fusion_mode": "x"}, "unknown fusion_mode 'x'; valid: "),
            ({"patience_s": 1}, "cannot configure 'patience_s': what may be turned is k, "),
        ],
    )
    def test_refused(self, changes: dict[str, Any], why: str) -> None:
        """What the settings would refuse is refused, with the same bounds and without the value."""
        with pytest.raises(BadInput) as caught:
            schema.change_knobs(FederationSettings(), changes)
        assert why in str(caught.value)

    def test_all(self) -> None:
        """Every knob is a setting with the same default, and may be turned to it."""
        settings = FederationSettings()

        for name in schema.KNOBS:
            assert settings == schema.change_knobs(settings, {name: getattr(settings, name)})


class TestChecked:
    @pytest.mark.parametrize(
        ("more", "why"),
        [
            ({"name": ""}, "name is required"),
            ({"type": ""}, "type is required"),
            ({"url": ""}, "url is required"),
            ({"name": "a b"}, "it is 1 to 64 letters"),
            ({"name": "x" * 65}, "it is 1 to 64 letters"),
            ({"name": "../x"}, "it is 1 to 64 letters"),
            ({"name": "local"}, "local is the name of what is kept here"),
            ({"name": "cortex_insights"}, "cortex_insights is the name of what is kept here"),
            ({"weight": -1.0}, "weight: "),
            ({"weight": math.inf}, "infinity is no number of JSON"),
            ({"floor": 1.5}, "floor: "),
            ({"options": {"n": math.inf}}, "infinity is no number of JSON"),
            ({"options": nested(20)}, "more than 12 levels"),
            ({"options": {"x": ["\ud800"]}}, "half a character"),
            ({"options": {"\ud800": 1}}, "half a character"),
        ],
    )
    def test_refused(self, more: dict[str, Any], why: str) -> None:
        """What the settings would not take as a store cannot be added either."""
        given = {"name": "mem", "type": "t", "url": "http://h", **more}

        with pytest.raises(BadInput) as caught:
            schema.check_spec(StoreSpec(**given, auth=Auth("s3cr3t")))
        assert why in str(caught.value)
        assert "s3cr3t" not in str(caught.value)

    def test_same(self) -> None:
        """A store that is none of these is as it was given."""
        spec = StoreSpec("m", "t", "http://h", options={"a": 1}, managed=True, auth=Auth("x"))

        assert spec == schema.check_spec(spec)
