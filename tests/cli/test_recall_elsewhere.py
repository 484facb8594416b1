"""`cortex recall` over other stores: its options, and how a person reads the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cortex_actors.cli import entry

#: An answer with something of everything.
ANSWER: dict[str, Any] = {
    "hits": [
        {
            "id": "r1",
            "text": "Deploy on Mondays.",
            "score": 1.0,
            "store": "team",
            "heading": "Release",
            "trust": "remote",
            "extra": {"suspicious": ["it asks for credentials to be given away"]},
        }
    ],
    "beside": [
        {
            "id": "r2",
            "text": "On call is Mira.",
            "score": 0.0,
            "store": "team",
            "trust": "remote",
            "extra": {"source": "topic-edge", "matched_topics": ["ops", "ci"]},
        },
        {
            "id": "r3",
            "text": "It was Tuesdays.",
            "score": 0.0,
            "store": "team",
            "trust": "remote",
            "extra": {"source": "supersedes-edge", "around": "r1"},
        },
        {
            "id": "doc",
            "text": "Oslo.",
            "score": 0.0,
            "store": "cortex_knowledge",
            "trust": "local",
            "extra": {
                "source": "hop",
                "hop": 2,
                "hop_bridge": "Mira sits",
                "document": "/d.md",
                "is_code": True,
                "language": "sh",
                "cross_refs": ["ops/plan.md", "#7"],
            },
        },
    ],
    "failed": [{"store": "slow", "reason": "timeout after 5.00 s"}],
    "skipped": [{"store": "keys", "reason": "it cannot narrow its answer by tags"}],
    "took_ms": 12.0,
    "tokens": 21,
    "budget_tokens": 4_000,
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Give what the daemon is asked."""
    asked: list[dict[str, Any]] = []

    def call(_: object, method: str, /, **params: object) -> dict[str, Any]:
        assert "recall" == method
        asked.append(params)
        return ANSWER

    monkeypatch.setattr("cortex_actors.client.connection.Client.call", call)
    return asked


class TestOptions:
    def test_none(self, asked: list[dict[str, Any]]) -> None:
        """What is not said is the federation's to know."""
        assert 0 == entry.main(["recall", "deploy"])

        flags = {"sure": False, "explain": False, "track": True, "here": str(Path.cwd())}
        assert {"query": "deploy", **flags} == asked[0]

    def test_all(self, asked: list[dict[str, Any]]) -> None:
        """Stores, a budget and how often to ask are passed on."""
        given = "--store team --store local --budget-tokens 4000 --hops 2 --limit 3"
        assert 0 == entry.main(["recall", "deploy", *given.split()])

        assert {"stores": ["team", "local"], "budget_tokens": 4_000, "hops": 2, "limit": 3} == {
            name: asked[0][name] for name in ("stores", "budget_tokens", "hops", "limit")
        }

    @pytest.mark.parametrize("given", ["--hops 5", "--hops 0", "--budget-tokens 0", "--limit 201"])
    def test_refused(self, asked: list[dict[str, Any]], given: str) -> None:
        """A number that makes no sense is wrong usage, and nobody is asked."""
        assert 64 == entry.main(["recall", "deploy", *given.split()])
        assert [] == asked


class TestShown:
    @pytest.fixture
    def lines(self, asked: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> list[str]:
        """Give what is printed."""
        assert 0 == entry.main(["recall", "deploy"])
        assert asked
        return capsys.readouterr().out.splitlines()

    def test_hit(self, lines: list[str]) -> None:
        """Another program's hit is named as its own, and what is suspicious about it is said."""
        assert [
            "1. 1.000  from the store team > Release",
            "   Deploy on Mondays.",
            "   suspicious: it asks for credentials to be given away",
        ] == lines[:3]

    def test_beside(self, lines: list[str]) -> None:
        """What stands beside the answer is apart, with the way that led to it."""
        at = lines.index("beside these:")

        assert [
            "2. by topic ops, ci  from the store team",
            "3. was before r1  from the store team",
            "4. by way of: Mira sits  /d.md  code sh",
        ] == [line for line in lines[at:] if line[:2] in ("2.", "3.", "4.")]
        assert "   points at ops/plan.md, #7" in lines

    def test_end(self, lines: list[str]) -> None:
        """Who did not answer, who was not asked and what it costs stand at the end."""
        assert [
            "the store slow did not answer: timeout after 5.00 s",
            "left out of the store keys: it cannot narrow its answer by tags",
            "1 found in 12 ms, 21 of 4,000 tokens",
        ] == lines[-3:]


class TestPartly:
    """What a store says of an answer that it did give, and what is told of how hits were found."""

    def test_store_that_answered(
        self,
        asked: list[dict[str, Any]],
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A remark on a store that answered does not say that the store was left out."""
        monkeypatch.setitem(ANSWER, "stores_searched", ["keys"])

        assert 0 == entry.main(["recall", "deploy"])
        assert asked
        assert "note on the store keys: it cannot narrow" in capsys.readouterr().out

    @pytest.mark.parametrize(("topics", "way"), [(["ops"], "by topic ops"), ([], "by topic")])
    def test_own_memory_by_topic(
        self,
        asked: list[dict[str, Any]],
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        topics: list[str],
        way: str,
    ) -> None:
        """The way to a memory of this daemon is said once, in words, also where none is named."""
        edge = {"source": "topic-edge", "matched_topics": topics, "agent": "BO"}
        own = {"id": "mem_1", "text": "Oslo.", "store": "cortex_village", "trust": "local"}
        monkeypatch.setitem(ANSWER, "beside", [{**own, "extra": edge}])

        assert 0 == entry.main(["recall", "deploy"])
        assert asked
        assert f"2. {way}  BO\n" in capsys.readouterr().out

    def test_explained_behind_another(
        self,
        asked: list[dict[str, Any]],
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Where another store's hit leads, our own search is explained all the same."""
        explain = {"plan": None, "terms": ["oslo"], "profile": "measured"}
        own = {**ANSWER["beside"][2], "extra": {"explain": explain}}
        theirs = {**ANSWER["hits"][0], "store_rank": 7}
        monkeypatch.setitem(ANSWER, "hits", [theirs, own])

        assert 0 == entry.main(["recall", "deploy", "--explain"])
        assert asked
        shown = capsys.readouterr().out
        assert "ranking: measured" in shown
        assert "team 7" in shown
