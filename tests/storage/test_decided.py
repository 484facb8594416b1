from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.insight import (
    Category,
    Granularity,
    InsightSource,
    Relation,
    hash_statement,
    make_insight_id,
)
from cortex_actors.rules.calibration import Label
from cortex_actors.rules.clustering import make_pair
from cortex_actors.storage import embeddings, projects
from cortex_actors.storage.pipeline import contradictions, insight_lists, insights, verdicts
from cortex_actors.storage.pipeline.contradictions import Contradiction
from cortex_actors.storage.pipeline.insights import Finding, Opinion
from cortex_actors.storage.pipeline.verdicts import Verdict
from cortex_actors.testing import EPOCH
from tests.storage.support import ATLAS, MODEL, unit

if TYPE_CHECKING:
    from tests.storage.support import Store

CLAUDE = "/projects/atlas/CLAUDE.md"


async def _states(store: Store, *texts: str, verdict: float = 0.0) -> list[str]:
    """Let a file state those, with vectors that lie ever further apart; return their ids."""
    found = [_finding(number, text, verdict) for number, text in enumerate(texts)]
    vectors = {each.text_hash: unit(1.0, float(n)) for n, each in enumerate(found)}

    def work(connection: object) -> None:
        projects.add(connection, ATLAS)  # type: ignore[arg-type]
        insights.learn(connection, found, project_id=ATLAS.id, path=CLAUDE, at=EPOCH)  # type: ignore[arg-type]
        embeddings.keep_vectors(connection, MODEL, vectors)  # type: ignore[arg-type]

    await store.write(work)
    return [each.insight_id for each in found]


def _finding(number: int, text: str, verdict: float) -> Finding:
    """Return a statement as a file says it."""
    digest = hash_statement(text)
    source = InsightSource(
        make_insight_id(digest),
        "frag",
        CLAUDE,
        "atlas",
        "Style",
        number + 1,
        number + 1,
        "sha",
        number,
    )
    return Finding(
        insight_id=make_insight_id(digest),
        content=text,
        content_hash=digest,
        category="fact",
        tags=(),
        domain="python",
        text_hash=bytes.fromhex(digest),
        source=source,
        granularity=Granularity.STATEMENT,
        verdict=verdict,
    )


async def _conflict(store: Store, left: str, right: str, status: str) -> None:
    """Have a contradiction of two insights decided so."""
    one, other = sorted((left, right))
    name = contradictions.make_id(one, other)
    found = Contradiction(name, one, other, "direct", None, "reconciler", "rules", "why", EPOCH)
    await store.write(lambda c: contradictions.replace(c, [found], []))
    await store.write(lambda c: contradictions.decide(c, name, status=status, at=EPOCH))


async def _same(store: Store, left: str, right: str) -> None:
    """Have a person say that two insights are the same."""
    two = make_pair(left, right)
    await store.write(lambda c: verdicts.say(c, two, relation=Relation.SAME, said="same", at=EPOCH))


class TestPairs:
    async def test_people(self, store: Store) -> None:
        """What people decided about a contradiction is a pair with that label."""
        one, two, three = await _states(store, "Use tabs.", "Use spaces.", "Use blanks.")
        await _conflict(store, one, two, "resolved")
        await _conflict(store, one, three, "dismissed")
        found = await store.read(lambda c: verdicts.load_pairs(c, MODEL))

        assert {Label.CONTRADICTION, Label.HARMLESS} == {each.label for each in found}
        assert {"python"} == {each.domain for each in found}
        assert {"Style"} == {each.left.heading for each in found}

    async def test_open(self, store: Store) -> None:
        """A contradiction that nobody decided is no pair."""
        one, two = sorted(await _states(store, "Use tabs.", "Use spaces."))
        name = contradictions.make_id(one, two)
        row = Contradiction(name, one, two, "direct", None, "reconciler", "rules", "why", EPOCH)
        await store.write(lambda c: contradictions.replace(c, [row], []))

        assert [] == await store.read(lambda c: verdicts.load_pairs(c, MODEL))

    async def test_merges(self, store: Store) -> None:
        """What a person calls the same is a pair of one claim; what the rules merged is none."""
        one, two, three = await _states(store, "Use tabs.", "Tabs are used.", "Tabs it is.")
        await store.write(lambda c: insights.assign(c, {three: one}))
        await _same(store, two, three)
        (found,) = await store.read(lambda c: verdicts.load_pairs(c, MODEL))

        assert Label.DUPLICATE is found.label
        assert {"Tabs are used.", "Tabs it is."} == {found.left.text, found.right.text}
        assert pytest.approx(3 / 10**0.5) == found.cosine

    async def test_person_first(self, store: Store) -> None:
        """What a person said of two texts goes before what a model answered about them."""
        one, two = await _states(store, "Use tabs.", "Tabs are used.")
        texts = sorted(hash_statement(each) for each in ("Use tabs.", "Tabs are used."))
        said = Verdict(
            b"k" * 32,
            "llm",
            "m",
            "compare",
            {},
            EPOCH + 9,
            one=texts[0],
            other=texts[1],
            relation="contradiction",
        )
        await store.write(lambda c: verdicts.keep(c, [said]))
        before = await store.read(lambda c: verdicts.load_pairs(c, MODEL))
        await _same(store, one, two)
        after = await store.read(lambda c: verdicts.load_pairs(c, MODEL))

        assert [Label.CONTRADICTION] == [each.label for each in before]
        assert [Label.DUPLICATE] == [each.label for each in after]

    async def test_other_model(self, store: Store) -> None:
        """Without vectors of the model there is no pair: cosines of two models are never one."""
        await _same(store, *await _states(store, "Use tabs.", "Tabs are used."))

        assert [] == await store.read(lambda c: verdicts.load_pairs(c, "other/3"))


class TestSilent:
    async def test_only_silent(self, store: Store) -> None:
        """Only statements on which no keyword spoke are looked at, with their vectors."""
        (told,) = await _states(store, "Never.", verdict=0.7)
        silent, late = await _states(store, "Blue.", "Green.")
        found = await store.read(lambda c: insights.load_undecided(c, MODEL, [told, silent, late]))

        assert {silent, late} == set(found)
        assert (2,) == found[silent].shape

    async def test_taken(self, store: Store) -> None:
        """An opinion is written once, and never over a keyword's."""
        (told,) = await _states(store, "Never.", verdict=0.7)
        (silent,) = await _states(store, "Blue.")
        first = Opinion(silent, Category.TECHNIQUE, 0.4)
        for said in (first, replace(first, category=Category.WARNING)):
            opinions = [said, Opinion(told, Category.FACT, 0.4)]
            await store.write(partial(insights.write_opinions, opinions=opinions))
        found = await store.read(lambda c: insight_lists.load_insights(c, [told, silent]))

        assert (Category.TECHNIQUE, 0.4) == (found[silent].category, found[silent].verdict)
        assert 0.7 == found[told].verdict
