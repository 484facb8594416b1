"""Phrasing: what a language model says of memories counts as far as it can be believed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.insight import Decider, Judgement, Relation
from cortex_actors.rules.merging import Prefer
from tests.memory.remembering import NoJudge, Planted, Remembering
from tests.pipeline.support import opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from cortex_actors.domain.insight import Claim

LUNCH, MEAL = "The team eats at noon in the canteen", "At midday everybody has lunch downstairs"


class Model(NoJudge):
    """A model that says what it is told to."""

    is_there = True

    def __init__(self) -> None:
        self.relation: Relation | None = Relation.SAME
        self.text: str | None = "The team has lunch in the canteen at noon"
        self.preferred: list[str] = []
        self.runs: set[str] = set()

    async def compare(
        self, pairs: Sequence[tuple[Claim, Claim, float | None]], *, run: str = ""
    ) -> list[Judgement | None]:
        """Find every pair to be what the test says."""
        self.runs.add(run)
        said = self.relation and Judgement(self.relation, Decider.LLM, "so the model says")
        return [said or None] * len(pairs)

    async def merge(
        self, texts: Sequence[str], *, prefer: str = "equal", run: str = ""
    ) -> str | None:
        """Write the text that the test has."""
        del texts
        self.runs.add(run)
        self.preferred.append(prefer)
        return self.text

    async def summarise(self, text: str, *, most: int, run: str = "") -> str | None:
        """Say how much room there was."""
        del text, run
        return f"in {most}"


@pytest.fixture
def model() -> Model:
    """Give a model that agrees."""
    return Model()


@pytest.fixture
async def there(tmp_path: Path, model: Model) -> AsyncIterator[Remembering]:
    """Give an archivist with a model, to which two texts are alike as paraphrases are."""
    at = {LUNCH: (1, 0), MEAL: (0.7, 0.7), str(model.text): (0.9, 0.4)}
    async with opened(tmp_path) as office:
        yield await Remembering(office, Planted(at), model).begin()


class TestModel:
    async def test_merged(self, there: Remembering, model: Model) -> None:
        """Where the rules leave it open the model decides, and writes the text (M-15)."""
        await there.say(LUNCH)
        found = await there.say(MEAL, prefer=Prefer.B)

        assert ("merged", {found.id: model.text}) == (found.state, await there.active())
        assert ["b"] == model.preferred
        assert 1 == len(model.runs)

    @pytest.mark.parametrize("relation", [None, Relation.RELATED])
    async def test_not_sure(
        self, there: Remembering, model: Model, relation: Relation | None
    ) -> None:
        """Where it is not sure, or sees more than one claim, they stay two."""
        model.relation = relation
        await there.say(LUNCH)

        assert "saved" == (await there.say(MEAL)).state

    async def test_against(self, there: Remembering, model: Model) -> None:
        """What it finds to contradict is a conflict."""
        model.relation = Relation.CONTRADICTION
        first = await there.say(LUNCH)

        assert ((first.id, "so the model says"),) == (await there.say(MEAL)).conflicts

    @pytest.mark.parametrize("text", [None, "Lunch is at noon on floor 7", "Nobody eats at noon"])
    async def test_text(self, there: Remembering, model: Model, text: str | None) -> None:
        """A text that says what neither does is not taken: the sentences of both are."""
        model.text = text
        await there.say(LUNCH)
        await there.say(MEAL)

        assert [f"{LUNCH}\n{MEAL}"] == [*(await there.active()).values()]

    async def test_brief(self, there: Remembering) -> None:
        """A long text is summarised; an agent's own abstract is kept (M-17)."""
        long = "One is here. Two is there. Three is gone."
        plain = await there.say(long)
        own = await there.say(f"{long} Four.", abstract="mine", merge=False)
        memories = await there.all()

        assert ("in 120", "in 600") == (memories[plain.id].abstract, memories[plain.id].summary)
        assert "mine" == memories[own.id].abstract


class TestGates:
    async def test_unfaithful(self, there: Remembering, model: Model) -> None:
        """A merged text that drifts from a source is not taken, and the next candidate is tried."""
        near, model.text = "Somebody from the office eats upstairs at twelve", None
        there.embed.at |= {near: (0.8, 0, 0.6), f"{near}\n{LUNCH}": (0, 0, 0, 1)}
        there.embed.at[f"{MEAL}\n{LUNCH}"] = (0.9, 0.45)
        await there.plant(near)
        second = await there.plant(MEAL)
        found = await there.say(LUNCH)

        assert (second,) == found.merged[:1]

    async def test_leaves(self, there: Remembering, model: Model) -> None:
        """A text that was merged before stays faithful to everything it was made of."""
        await there.say(LUNCH)
        await there.say(MEAL)
        third, model.text = "Everybody eats downstairs", "The team has lunch downstairs"
        there.embed.at |= {third: (0.3, 1), model.text: (0.55, 0.83)}

        assert "saved" == (await there.say(third)).state

    @pytest.mark.parametrize(("far", "state"), [(0, "saved"), (2, "merged")])
    async def test_crowded(self, there: Remembering, model: Model, far: int, state: str) -> None:
        """A new text that comes too near to what else is known is not made; one is no crowd."""
        there.embed.at |= {LUNCH: (0.87, 0.5), MEAL: (1, 0)}
        there.embed.at |= dict.fromkeys((str(model.text), f"{LUNCH}\n{MEAL}"), (1, 1))
        await there.say(LUNCH, merge=False)
        for number, each in enumerate(("Guests cook", "Trains leave early", "Books are lent")):
            there.embed.at[each] = (0, 0, 1) if number < far else (0.17, 0.985)
            await there.plant(each)

        assert state == (await there.say(MEAL)).state
