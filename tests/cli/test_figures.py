"""What `status` shows a person of model, migration and index."""

from __future__ import annotations

from typing import Any

import pytest

from cortex_actors.cli import fast

#: A status of a daemon that is well.
WELL: dict[str, Any] = {
    "projects": 1,
    "insights": 50,
    "passages": 60,
    "waiting": 0,
    "unembedded": 0,
    "unindexed": 0,
    "dead": 0,
    "loop_lag_ms": 0.4,
    "model": {"id": "all-MiniLM-L6-v2", "state": "ready", "reason": ""},
    "migration": {"state": "idle"},
    "index": {"state": "ready", "generation": 3, "reason": ""},
}


def shown(**changed: object) -> dict[str, str]:
    """Return the rows of a status with some parts changed."""
    return dict(fast.list_figures({**WELL, **changed}))


class TestModel:
    def test_compiled(self) -> None:
        """A compiled model is named by what it was made of, and its form."""
        model = {"id": "all-MiniLM-L6-v2+int8-01234567", "state": "ready"}

        assert "all-MiniLM-L6-v2 (compiled, int8), ready" == shown(model=model)["model"]
        assert "all-MiniLM-L6-v2, ready" == shown()["model"]

    def test_missing(self) -> None:
        """Why a model is missing stands above, among the reasons, and is not said twice."""
        model = {"id": "x", "state": "missing", "reason": "its folder is gone"}

        assert "x, missing" == shown(model=model)["model"]

    def test_reason(self) -> None:
        """A model that is not there says why."""
        model = {"id": "x", "state": "down", "reason": "it ended"}

        assert "x, down: it ended" == shown(model=model)["model"]


class TestMigration:
    def test_none(self) -> None:
        """Without a migration nothing is said of one."""
        assert "coming" not in shown()

    @pytest.mark.parametrize(
        ("migration", "told"),
        [
            ({"state": "compiling"}, "the model is being compiled"),
            (
                {
                    "state": "migrating",
                    "coming": {"model_id": "m2"},
                    "done": 1_200,
                    "total": 5_000,
                    "left_s": 90.0,
                },
                "m2, 1,200 of 5,000 texts, 1.5 min left",
            ),
            (
                {"state": "waiting", "coming": {"model_id": "m2"}, "done": 1, "total": 9},
                "m2, 1 of 9 texts, waiting",
            ),
        ],
    )
    def test_under_way(self, migration: dict[str, Any], told: str) -> None:
        """A migration shows its model, how far it is, and who answers until then."""
        text = shown(migration=migration)["coming"]

        assert told in text
        assert "answers until then" in text

    def test_nobody_answers(self) -> None:
        """While the model that answered is missing, words find texts until then."""
        model = {"id": "x", "state": "missing", "reason": "its folder is gone"}
        text = shown(model=model, migration={"state": "compiling"})["coming"]

        assert "the model is being compiled; texts are found by their words until then" == text


class TestIndex:
    def test_ready(self) -> None:
        """A good index says its generation."""
        assert "ready, generation 3" == shown()["index"]

    def test_behind(self) -> None:
        """While it is being told, it says of how many, and that they are found all the same."""
        text = shown(unindexed=20)["index"]

        assert (
            "ready, generation 3; 20 of 60 texts not indexed yet (exact search covers them)" == text
        )

    def test_away(self) -> None:
        """An index that is not there says why, and who answers."""
        index = {"state": "away", "generation": 3, "reason": "its folder is damaged"}

        assert (
            "away, generation 3: its folder is damaged; exact search answers meanwhile"
            == shown(index=index)["index"]
        )


class TestJudge:
    def test_layers(self) -> None:
        """Every model that judges has a row of its own; without one there is none."""
        layers = [{"model": "openai:m@h", "state": "idle"}, {"model": "nli", "state": "down"}]
        rows = fast.list_figures({**WELL, "judge": {"layers": layers}})

        assert [("judge", "openai:m@h, idle"), ("judge", "nli, down")] == [
            row for row in rows if row[0] == "judge"
        ]
        assert "judge" not in shown(judge={})


class TestStores:
    def test_none(self) -> None:
        """Where only what is kept here is asked nothing is said of stores."""
        assert "stores" not in shown(stores={"active": ["local"], "local": ["local"]})
        assert "stores" not in shown(stores={"state": "away", "reason": "it is restarted"})

    @pytest.mark.parametrize(
        ("more", "told"),
        [
            ({}, "facts, mem"),
            ({"down": ["mem"]}, "facts, mem; no answer from mem: cortex stores health"),
            ({"skipped": {"x": "why"}}, "facts, mem; not asked: x: cortex stores list"),
            ({"active": ["local"], "skipped": {"x": ""}}, "none; not asked: x: cortex stores list"),
        ],
    )
    def test_row(self, more: dict[str, Any], told: str) -> None:
        """The stores that are asked are named, and those of which nothing is to be had."""
        stores = {"active": ["local", "facts", "mem"], "local": ["local"], "down": [], **more}

        assert told == shown(stores=stores)["stores"]
