"""What a tool answers, in whatever shape, becomes hits or no answer at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cortex_actors.errors import StoreDown
from cortex_actors.federation.adapters.mcp import UNMEASURED, Fields
from cortex_actors.federation.answers import read_number

#: Two hits as a server may have them.
ROWS = [{"id": "a", "text": "one"}, {"id": "b", "text": "two"}]


class TestRows:
    @pytest.mark.parametrize(
        "document",
        [
            ROWS,
            {"hits": ROWS},
            {"results": ROWS, "query": "?"},
            {"result": ROWS},
            {"result": {"memories": ROWS}},
            {"result": json.dumps(ROWS)},
            {"result": json.dumps({"hits": ROWS})},
        ],
    )
    def test_guessed(self, document: object) -> None:
        """A list is found under the names that servers use."""
        assert ROWS == Fields().read_rows(document, ())

    def test_named(self) -> None:
        """A description says where the list is, however deep."""
        document = {"hits": [], "found": {"notes": ROWS}}

        assert ROWS == Fields(hits="found.notes").read_rows(document, ())

    def test_null(self) -> None:
        """Null where the list should be is none."""
        assert [] == Fields(hits="found").read_rows({"found": None}, ())

    def test_one(self) -> None:
        """An object that is a hit itself is the only one."""
        assert [ROWS[0]] == Fields().read_rows(ROWS[0], ())

    def test_texts(self) -> None:
        """Without a structured answer each text is a hit; one that is JSON is what it says."""
        assert [{"text": "one"}, {"text": "two"}] == Fields().read_rows(None, ["one", "two"])
        assert ROWS == Fields().read_rows(None, [json.dumps(row) for row in ROWS])
        assert ROWS == Fields().read_rows(None, [json.dumps(ROWS)])
        assert ROWS == Fields(hits="x").read_rows(None, [json.dumps({"x": ROWS})])
        assert [{"text": "3"}] == Fields().read_rows(None, ["3"])

    def test_nothing(self) -> None:
        """An answer without a word knows nothing."""
        assert [] == Fields().read_rows(None, [])

    @pytest.mark.parametrize("document", [3, {"status": "ok"}, {"hits": "many"}, "text"])
    def test_foreign(self, document: object) -> None:
        """What holds no list of hits is no answer."""
        with pytest.raises(StoreDown, match="options.hits"):
            Fields().read_rows(document, ())

    @pytest.mark.parametrize("document", [ROWS, {"found": 3}, {"other": []}])
    def test_missing(self, document: object) -> None:
        """A list that is not where the description says is looked for nowhere else."""
        with pytest.raises(StoreDown, match="options.hits"):
            Fields(hits="found.notes").read_rows(document, ())


class TestHit:
    def test_plain(self) -> None:
        """What nothing was measured of is neither near nor far."""
        hit = Fields().read_hit(ROWS[0], store="notes")

        assert hit is not None
        assert ("a", "one", "notes", "remote") == (hit.id, hit.text, hit.store, hit.trust)
        assert UNMEASURED == hit.base_relevance == hit.score
        assert (None, None) == (hit.raw_distance, hit.native_score)

    def test_measured(self) -> None:
        """A distance makes the base relevance; a score of the store's own is only kept."""
        row = {**ROWS[0], "distance": 0.25, "score": 17}
        hit = Fields().read_hit(row, store="notes")

        assert hit is not None
        assert (0.8, 0.25, 17.0) == (hit.base_relevance, hit.raw_distance, hit.native_score)

    @pytest.mark.parametrize(("said", "base"), [(0.9, 0.9), (7, 1.0), (-1, 0.0), ("x", UNMEASURED)])
    def test_relevance(self, said: object, base: float) -> None:
        """A field that says how sure a hit is counts as the base relevance, from 0 to 1."""
        hit = Fields(relevance="sure").read_hit({**ROWS[0], "sure": said}, store="notes")

        assert hit is not None
        assert base == hit.base_relevance

    @pytest.mark.parametrize("bad", [float("nan"), float("inf"), True, "near", None, 10**400])
    def test_no_number(self, bad: Any) -> None:
        """What is no number is none; the hit stays."""
        hit = Fields().read_hit({**ROWS[0], "distance": bad, "score": bad}, store="notes")

        assert hit is not None
        assert read_number(bad) is None
        assert (UNMEASURED, None, None) == (hit.base_relevance, hit.raw_distance, hit.native_score)

    def test_named(self) -> None:
        """A description says which field is which, and nothing else is taken for it."""
        fields = Fields(text="body", id="key", metadata=("place",))
        row = {"id": "no", "text": "no", "key": 7, "body": "yes", "place": 3, "more": 4}
        hit = fields.read_hit(row, store="notes")

        assert hit is not None
        assert ("7", "yes") == (hit.id, hit.text)
        assert {"metadata": {"place": 3}} == hit.extra

    def test_no_id(self) -> None:
        """A hit without an id has one of its text: the same each time."""
        ids = {
            getattr(Fields().read_hit({"text": "one"}, store="notes"), "id", "") for _ in range(2)
        }

        assert {"sha256:7692c3ad3540bb803c02"} == ids

    def test_no_text(self) -> None:
        """A row without a text is no hit."""
        assert Fields().read_hit({"id": "a", "text": ""}, store="notes") is None
        assert Fields(text="body").read_hit(ROWS[0], store="notes") is None

    def test_topic(self) -> None:
        """A topic is kept where edges look for it, beside what else the row says of itself."""
        row = {**ROWS[0], "topic": "x", "metadata": {"place": 3}}
        hit = Fields().read_hit(row, store="notes")

        assert hit is not None
        assert {"metadata": {"topic": "x", "place": 3}} == hit.extra
