from __future__ import annotations

from typing import Any

import pytest

from cortex_actors.errors import StoreDown, StoreUnusable
from cortex_actors.federation.adapters.seren import SerenLoci
from tests.federation.canned import CannedLine, asked, speaking, without

#: What is sent with every question unless an option says otherwise.
PLAIN = {"include_fundamentals": True, "include_superseded": False}

#: One row as the server sends it.
ROW: dict[str, Any] = {
    "id": "ed3d",
    "project": "atlas",
    "key": "test.port",
    "value": "5434",
    "why": "5433 is taken",
    "score": 1.0,
    "match_kind": "exact",
    "source": "user",
    "raw_distance": None,
    "live": True,
    "superseded_at": None,
    "why_changed": None,
    "figures": 0,
    "recheck": None,
}


def told(*rows: object) -> CannedLine:
    """Return a line on which a question is answered with some rows."""
    return CannedLine(search={"query": "?", "project": None, "hits": list(rows), "finder": "x"})


def loci(line: CannedLine, **options: object) -> SerenLoci:
    """Return the adapter."""
    return speaking(SerenLoci, "seren_loci", line, **options)


class TestAsking:
    async def test_question(self) -> None:
        """A question is sent as the server wants it, without a project unless one is set."""
        line = told()
        await loci(line).search(asked("which port?", 7))

        assert [("/search", {"query": "which port?", "n_results": 7, **PLAIN})] == line.sent

    async def test_options(self) -> None:
        """Options say what is searched, and where."""
        line = CannedLine(find={"hits": []})
        adapter = loci(
            line,
            project=" atlas ",
            include_fundamentals=False,
            include_superseded=True,
            search_path="/find",
        )
        await adapter.search(asked("x", 2))

        kinds = {"include_fundamentals": False, "include_superseded": True}
        assert [("/find", {"query": "x", "n_results": 2, **kinds, "project": "atlas"})] == line.sent

    @pytest.mark.parametrize("project", ["", "  ", 5, ["atlas"], "at\nlas"])
    def test_project(self, project: object) -> None:
        """A project is a word; anything else is refused before it is sent."""
        with pytest.raises(StoreUnusable, match="project"):
            loci(told(), project=project)

    @pytest.mark.parametrize(("limit", "sent"), [(0, 1), (400, 400), (5_000, 1_000)])
    async def test_cap(self, limit: int, sent: int) -> None:
        """The server gives as many as it is asked for; we stay below what an answer may hold."""
        line = told()
        await loci(line).search(asked(limit=limit))

        assert sent == line.sent[0][1]["n_results"]


class TestReading:
    async def test_hit(self) -> None:
        """A fact is a sentence; its parts are beside it, and only what there is to say of it."""
        (hit,) = (await loci(told(ROW)).search(asked())).hits

        assert ("ed3d", "test.port = 5434 because 5433 is taken", "other", "remote") == (
            hit.id,
            hit.text,
            hit.store,
            hit.trust,
        )
        assert {
            "metadata": {
                "project": "atlas",
                "key": "test.port",
                "why": "5433 is taken",
                "match_kind": "exact",
                "source": "user",
            }
        } == hit.extra

    @pytest.mark.parametrize(
        ("key", "value", "why", "text"),
        [
            ("port", "5434", "it is free", "port = 5434 because it is free"),
            ("port", "5434", None, "port = 5434"),
            ("port", "5434", "", "port = 5434"),
            ("", "5434", "it is free", "5434 because it is free"),
            (None, "5434", None, "5434"),
            ("port", "", None, "port"),
            ("port", None, "nobody knows", "port because nobody knows"),
        ],
    )
    async def test_sentence(
        self, key: str | None, value: str | None, why: str | None, text: str
    ) -> None:
        """What is missing of a fact is missing of its sentence."""
        row = {**ROW, "key": key, "value": value, "why": why}
        (hit,) = (await loci(told(row)).search(asked())).hits

        assert text == hit.text

    @pytest.mark.parametrize(
        ("score", "distance", "relevance"),
        [
            (1.0, None, 1.0),
            (0.05, None, 0.05),
            (0.62, 3.0, 0.62),
            (None, 1.0, 0.5),
            (None, 0.881202, 0.531575),
            (None, None, 1.0),
            (7, None, 1.0),
            (-1, None, 0.0),
            ("high", 1.0, 0.5),
        ],
    )
    async def test_relevance(self, score: object, distance: object, relevance: float) -> None:
        """The server's score is the relevance; without one its distance says, from 0 to 1."""
        row = {**ROW, "score": score, "raw_distance": distance}
        (hit,) = (await loci(told(row)).search(asked())).hits

        assert pytest.approx(relevance, abs=1e-6) == hit.base_relevance == hit.score
        known = score if isinstance(score, int | float) else None
        assert (known, distance) == (hit.native_score, hit.raw_distance)

    async def test_history(self) -> None:
        """A fact that holds no more, or rests on something that has changed, says so."""
        news = {
            "live": False,
            "superseded_at": 5.5,
            "why_changed": "CI moved",
            "figures": 2,
            "recheck": ["atlas/ci superseded"],
        }
        (hit,) = (await loci(told({**ROW, **news})).search(asked())).hits

        metadata = hit.extra["metadata"]
        assert isinstance(metadata, dict)
        assert news == {name: metadata[name] for name in news}


class TestShape:
    @pytest.mark.parametrize("document", [[], None, {"hits": 5}, {"hits": [{"id": "a"}, 5]}])
    async def test_other(self, document: object) -> None:
        """Anything that is not such an answer is no answer, and no hits either."""
        with pytest.raises(StoreDown, match="a shape that is not a SerenLoci's answer"):
            await loci(CannedLine(search=document)).search(asked())

    async def test_some(self) -> None:
        """A fact with nothing to read is left out, and the answer says so."""
        empty = {**without(ROW, "key", "value"), "id": "empty"}
        answer = await loci(told(ROW, empty)).search(asked())

        assert ["ed3d"] == [hit.id for hit in answer.hits]
        assert ("1 of its 2 hits have no id or no text and are left out",) == answer.skipped


class TestPing:
    async def test_said(self) -> None:
        """A ping goes through the door: the first page is open to everybody, a search is not."""
        line = CannedLine(
            first={"service": "SerenLoci", "version": "5.5.0", "counts": {"live": 3, "x": []}},
            search={"hits": []},
        )
        said = await loci(line).ping(1)

        assert ("SerenLoci", "5.5.0", {"live": 3}) == (
            said["service"],
            said["version"],
            said["counts"],
        )
        assert [("/", None), ("/search", {"query": "ping", "n_results": 0, **PLAIN})] == line.sent

    async def test_other(self) -> None:
        """Another server of the family is told apart by its name, and the error says the type."""
        with pytest.raises(StoreUnusable, match="a SerenMemory; give it the type seren_memory"):
            await loci(CannedLine(first={"service": "SerenMemory"})).ping(1)
