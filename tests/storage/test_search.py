"""A search: several lists, one answer, and an honest account of what took no part."""

from __future__ import annotations

import pytest

from cortex_actors.domain.memory import Realm
from cortex_actors.errors import BadInput
from cortex_actors.rules.ranking import relevance
from cortex_actors.rules.sameness import NOT_KNOWN
from cortex_actors.storage import insight_records
from tests.storage.room import HERE, Room
from tests.storage.support import HARBOR
from tests.storage.things import Tables, mem, memory

THERE = "/projects/harbor/CLAUDE.md"


@pytest.fixture
def room(tables: Tables) -> Room:
    """Give a room in which two projects say something."""
    room = Room(tables)
    room.says("alpha", "alpha beta", "beta")
    room.says("gamma", "alpha", path=THERE, project=HARBOR)
    room.embed(**{"alpha": [1, 0, 0], "alpha beta": [1, 1, 0], "beta": [0, 1, 0]})
    room.embed(gamma=[-1, 0, 0.1], new=[1, 0.1, 0])
    return room


class TestAnswer:
    async def test_provenance(self, room: Room) -> None:
        """What is found says where it was read, by whom, and which lists held it."""
        best = (await room.ask("alpha", 1, 0, 0)).hits[0]

        assert ("alpha", "atlas", HERE, 1) == (best.text, best.project, best.path, best.line_start)
        assert (insight_records.COLLECTION, False) == (best.store, best.weak)
        assert [f"{THERE}:4"] == best.extra["also"]
        assert ["atlas", "harbor"] == best.extra["projects"]
        lists = ["dense_alone", "words_alone", "dense_paired", "words_paired"]
        assert lists == best.extra["found_by"]
        assert "explain" not in best.extra

    async def test_either(self, room: Room) -> None:
        """What shares a word is found though its meaning is far, and the other way round."""
        found = await room.texts("gamma", 0, 1, 0)

        assert "beta" == found[0]
        assert "gamma" in found
        assert 4 == len(found)

    async def test_scores(self, room: Room) -> None:
        """Scores are chances: they fall, and say of the same text the same in every question."""
        hits = (await room.ask("alpha", 1, 0, 0)).hits
        scores = [hit.score for hit in hits]

        assert sorted(scores, reverse=True) == scores
        assert 0 < scores[-1] < relevance.WEAK < 0.8 < scores[0] < 1
        assert [score < relevance.WEAK for score in scores] == [hit.weak for hit in hits]

    async def test_limit(self, room: Room) -> None:
        """No more is returned than asked for."""
        assert ["beta"] == await room.texts("beta", 0, 1, 0, limit=1)

    async def test_ties(self, room: Room) -> None:
        """Equal scores come in the order of their ids."""
        room.says(*(f"same {n}" for n in range(20)))
        found = (await room.ask("same")).hits

        assert sorted(hit.id for hit in found) == [hit.id for hit in found]

    async def test_nothing_known(self, tables: Tables) -> None:
        """A ledger that knows nothing answers nothing."""
        assert () == (await Room(tables).ask("x", 1, 0, 0)).hits

    async def test_collections(self, room: Room) -> None:
        """A search may be narrowed to some collections."""
        room.remember(memory("alpha", realm=Realm.VILLAGE))
        found = await room.ask("alpha", 1, 0, 0, collections=("cortex_village",))

        assert [mem("alpha")] == [hit.id for hit in found.hits]
        assert () == (await room.ask("alpha", collections=("cortex_nothing",))).hits

    async def test_all_kinds(self, room: Room) -> None:
        """Insights, memories and documents are one list, and each shows what a person needs."""
        room.remember(memory("alpha said", agent_id="VAJRA", realm=Realm.VILLAGE, tags=("t",)))
        room.read("/docs/b.md", "alpha written", title="Book", headings=("One", "Two"))
        found = {hit.store: hit for hit in (await room.ask("alpha")).hits}

        said, written = found["cortex_village"].extra, found["cortex_knowledge"]
        assert ("VAJRA", "talk", "working", ["t"]) == (
            said["agent"],
            said["thread"],
            said["layer"],
            said["tags"],
        )
        assert ("/docs/b.md", "One > Two") == (written.extra["source"], written.heading)
        assert insight_records.COLLECTION in found


class TestPaired:
    async def test_by_predecessor(self, tables: Tables) -> None:
        """An answer is found by the words of what it answers."""
        room = Room(tables)
        room.remember(memory("Which pottery class do you like?"), memory("The one on Mondays.", 1))
        found = (await room.ask("pottery", explain=True)).hits

        assert {mem("Which pottery class do you like?"), mem("The one on Mondays.")} == {
            hit.id for hit in found
        }
        assert ["words_paired"] == found[1].extra["found_by"]

    async def test_document_profile(self, tables: Tables) -> None:
        """The document's ranking looks at the plain texts alone."""
        room = Room(tables, profile="document")
        room.remember(memory("Which pottery class do you like?"), memory("The one on Mondays.", 1))

        assert ["Which pottery class do you like?"] == await room.texts("pottery")

    async def test_custom_profile(self, tables: Tables) -> None:
        """A ranking of one's own asks the lists that have a weight."""
        weights = {"weight_dense_alone": 0, "weight_dense_paired": 0, "weight_words_alone": 0}
        room = Room(tables, profile="custom", **weights)
        room.remember(memory("pottery"))
        (hit,) = (await room.ask("pottery", 1, 0, 0)).hits

        assert ["words_paired"] == hit.extra["found_by"]


class TestDocumentVectors:
    async def test_equal(self, tables: Tables) -> None:
        """Five equally near memories without a common word score as the document has it."""
        room = Room(tables, profile="document")
        room.remember(*(memory(f"fact {n}", n, thread="") for n in range(5)))
        room.embed(**{f"fact {n}": [1, 0, 0] for n in range(5)})
        found = (await room.ask("nothing", 1, 0, 0)).hits

        # Ties go by id here; there the later row came first. The scores are the same.
        assert [f"fact {n}" for n in range(5)] == [hit.text for hit in found]
        scores = [0.9615, 0.9533, 0.9454, 0.9377, 0.9303]
        assert scores == pytest.approx([hit.score for hit in found], abs=1e-4)

    async def test_only_one(self, tables: Tables) -> None:
        """A single memory scores 1 with a common word, and .9918 without."""
        room = Room(tables, profile="document")
        room.remember(memory("fact"))
        room.embed(fact=[1, 0, 0])

        assert [1.0] == [hit.score for hit in (await room.ask("fact", 1, 0, 0)).hits]
        (hit,) = (await room.ask("other", 1, 0, 0)).hits
        assert 0.9918 == pytest.approx(hit.score, abs=1e-4)


class TestExplain:
    async def test_lists(self, room: Room) -> None:
        """On demand each hit says its place and score in each list that holds it."""
        found = await room.ask('alpha "beta"', 1, 1, 0, explain=True)
        told = found.hits[0].extra["explain"]

        assert isinstance(told, dict)
        assert {"rank": 1, "score": 1.0} == told["dense_alone"]
        assert 1 == told["words_paired"]["rank"]
        assert ("exact", "measured", ['"beta"', "alpha"]) == (
            told["plan"]["kind"],
            told["profile"],
            told["terms"],
        )
        assert found.plan is not None
        assert found.plan.why == told["plan"]["why"]

    async def test_without_vectors(self, room: Room) -> None:
        """Where no vectors were compared, there was no plan."""
        found = await room.ask("alpha", explain=True)
        told = found.hits[0].extra["explain"]

        assert isinstance(told, dict)
        assert (None, None) == (found.plan, told["plan"])
        assert {"words_alone", "words_paired", "plan", "profile", "terms"} == set(told)


class TestWithoutMeaning:
    async def test_no_vector(self, room: Room) -> None:
        """Without a vector the question is answered by its words, and the answer says so."""
        found = await room.ask("beta", why="the model is loading")

        assert {"beta", "alpha beta"} == {hit.text for hit in found.hits}
        ((part, why),) = found.skipped
        assert "meaning" == part
        assert why.endswith("the model is loading")

    async def test_another_model(self, room: Room) -> None:
        """Vectors of two models are never compared: the words alone are searched."""
        found = await room.ask("beta", 0, 1, 0, model="another/3")

        assert ["words_alone", "words_paired"] == found.hits[0].extra["found_by"]
        assert "another/3" in found.skipped[0][1]

    @pytest.mark.parametrize("text", ["", "?!", '""', "\N{COMBINING ACUTE ACCENT}", "\0"])
    async def test_no_words(self, room: Room, text: str) -> None:
        """A question without a word is answered by its meaning, and the answer says so."""
        found = await room.ask(text, 0, 1, 0)

        assert "beta" == found.hits[0].text
        ((part, why),) = found.skipped
        assert "words" == part
        assert why.endswith("the nearest in meaning only")

    async def test_strange(self, room: Room) -> None:
        """Hits for words that nothing holds and nothing is near to are kept, with a note."""
        far = await room.ask("quasar", 0, 0, 1)
        near = await room.ask("quasar", 0, 1, 0)

        assert far.hits
        assert (("words", NOT_KNOWN),) == far.skipped
        assert () == near.skipped
        assert () == (await room.ask("alpha", 0, 0, 1)).skipped

    async def test_neither(self, room: Room) -> None:
        """Without either there is no answer, and it says why."""
        found = await room.ask("?")

        assert ((), {"meaning", "words"}) == (found.hits, {part for part, _ in found.skipped})

    async def test_lone_surrogate(self, room: Room) -> None:
        """Text that is not valid Unicode is refused."""
        with pytest.raises(BadInput, match="valid Unicode"):
            await room.ask("\ud800", 1, 0, 0)
