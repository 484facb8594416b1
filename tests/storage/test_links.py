from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.insight import Decider
from cortex_actors.domain.principle import Link, LinkType, PrincipleStatus
from cortex_actors.storage.pipeline import principle_lists, principles
from cortex_actors.storage.pipeline.principle_lists import LinkFilter
from cortex_actors.testing import EPOCH
from tests.storage.distilled import principle
from tests.storage.linked import linked, named

if TYPE_CHECKING:
    from cortex_actors.storage.ledger.actor import Connection
    from tests.storage.support import Store

#: Four principles, the one that ranks highest first.
TEXTS = ("Use ruff.", "Use tabs.", "Use spaces.", "Lint in CI.")


def link(one: int, other: int, kind: LinkType, strength: float = 0.8) -> Link:
    """Return a link between two of them."""
    ends = named(TEXTS[one]), named(TEXTS[other])
    return Link(*ends, kind, strength, Decider.RULES, f"{one} and {other}")


#: Links of all kinds but one, told from either end.
LINKS = (
    link(0, 3, LinkType.GENERALIZES, 0.9),
    link(1, 2, LinkType.CONTRADICTS, 0.7),
    link(3, 0, LinkType.DEPENDS_ON, 0.5),
)


@pytest.fixture
async def known(store: Store) -> Store:
    """Give a ledger with four principles and three links."""
    made = [principle(text, rank=0.9 - number / 10) for number, text in enumerate(TEXTS)]
    await store.write(lambda c: principles.add(c, made))
    await store.write(lambda c: principles.replace_links(c, (), LINKS, at=EPOCH))
    return store


class TestRows:
    async def test_of(self, known: Store) -> None:
        """Links are told from whom they are asked of, the strongest first."""
        found = await known.read(lambda c: principles.load_links(c, map(named, TEXTS[:2])))

        assert [LINKS[0], LINKS[2]] == found[named(TEXTS[0])]
        assert [LINKS[1].view_from(named(TEXTS[1]))] == found[named(TEXTS[1])]
        assert {} == await known.read(lambda c: principles.load_links(c, ["pri_0"]))

    async def test_once(self, known: Store) -> None:
        """A pair that is told from its other end is the same row, with the time it was drawn."""
        again = [each.reverse() for each in LINKS[:2]]
        await known.write(lambda c: principles.replace_links(c, (), again, at=EPOCH + 1))

        assert 3 == len(await linked(known))
        assert [(EPOCH,)] == await known.rows("SELECT DISTINCT linked_at FROM principle_links")

    async def test_gone_meanwhile(self, known: Store) -> None:
        """A link to a principle that is none any more is not written, and nothing fails."""
        lost = Link("pri_0", named(TEXTS[0]), LinkType.RELATED, 0.6, Decider.RULES, "x")
        await known.write(lambda c: principles.replace_links(c, [LINKS[1]], [lost], at=EPOCH))

        assert 2 == len(await linked(known))

    async def test_cut(self, known: Store) -> None:
        """Who loses a neighbour is linked anew; nobody else is."""
        digests = [(named(text), bytes(32)) for text in TEXTS]
        await known.write(lambda c: principles.note_drawn(c, digests))
        await known.write(lambda c: principles.forget(c, [named(TEXTS[3])]))
        due = await known.rows("SELECT content FROM principles WHERE linked IS NULL")

        assert [(TEXTS[0],)] == due
        assert 1 == len(await linked(known))


class TestGraph:
    async def test_overview(self, known: Store) -> None:
        """What is linked is shown by rank, with the links that are wanted and no one alone."""
        whole = await known.read(lambda c: principle_lists.load_overview(c, LinkFilter()))
        some = LinkFilter(kinds=frozenset({LinkType.CONTRADICTS}))
        against = await known.read(lambda c: principle_lists.load_overview(c, some))
        strong = await known.read(
            lambda c: principle_lists.load_overview(c, LinkFilter(least=0.95))
        )

        assert (tuple(map(named, TEXTS)), 3, 4) == (whole.ids, len(whole.links), whole.total)
        assert (tuple(map(named, TEXTS[1:3])), 2) == (against.ids, against.total)
        assert ((), (), 0) == (strong.ids, strong.links, strong.total)

    async def test_limit(self, known: Store) -> None:
        """Of more than fit those that rank highest are shown, if they are linked among them."""
        found = await known.read(lambda c: principle_lists.load_overview(c, LinkFilter(limit=3)))

        assert (tuple(map(named, TEXTS[1:3])), 4) == (found.ids, found.total)

    async def test_around(self, known: Store) -> None:
        """One is shown with its neighbours, itself the first, also when it has none that fit."""
        found = await known.read(
            lambda c: principle_lists.load_around(c, named(TEXTS[3]), LinkFilter())
        )
        alone = await known.read(
            lambda c: principle_lists.load_around(c, named(TEXTS[3]), LinkFilter(limit=1))
        )

        assert ((named(TEXTS[3]), named(TEXTS[0])), 2) == (found.ids, len(found.links))
        assert ((named(TEXTS[3]),), 0, 2) == (alone.ids, len(alone.links), alone.total)

    async def test_status(self, known: Store) -> None:
        """What was pruned, or taken back by a person, is shown to nobody who does not ask."""
        await known.write(_prune)
        active = LinkFilter(statuses=frozenset({PrincipleStatus.ACTIVE}))
        found = await known.read(lambda c: principle_lists.load_overview(c, active))
        near = await known.read(lambda c: principle_lists.load_around(c, named(TEXTS[0]), active))

        assert tuple(map(named, TEXTS[1:3])) == found.ids
        assert (named(TEXTS[0]),) == near.ids


def _prune(connection: Connection) -> None:
    """Let one principle be pruned."""
    run = connection.exec_driver_sql
    run("UPDATE principles SET status = 'pruned' WHERE id = ?", (named(TEXTS[3]),))
