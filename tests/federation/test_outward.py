"""What may leave this machine."""

from __future__ import annotations

import pytest

from cortex_actors.domain.hit import RankedHit
from cortex_actors.federation import local
from cortex_actors.federation.local import EMPTY, UNCHECKED, clean_text, is_public, list_topics
from tests.federation.remotes import hit

#: A key in the shape that its issuer gives, put together so that no scanner takes it for one.
KEY = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"


def mine(realm: str | None, *tags: str) -> RankedHit:
    """Return a hit of what is known here."""
    extra = {"tags": list(tags)} | ({"realm": realm} if realm else {})
    return RankedHit("m", "text", 0.5, "cortex_private", extra=extra)


class TestQuestion:
    def test_plain(self) -> None:
        """A question without secrets leaves as it is."""
        assert ("which port?", "") == clean_text("which port?")

    def test_secret(self) -> None:
        """A secret is replaced by what kind it is; the rest is asked."""
        text, why = clean_text(f"is {KEY} still valid?")

        assert ("is [secret: github-token] still valid?", "") == (text, why)

    def test_hidden_in_secret(self) -> None:
        """Letters nobody sees cannot carry a secret past the rules."""
        text, _ = clean_text(f"is {KEY[:9]}\u200b{KEY[9:]} still valid?")

        assert "is [secret: github-token] still valid?" == text

    def test_smuggled(self) -> None:
        """Nor do they leave by themselves."""
        assert ("tabs", "") == clean_text("ta\u200bbs\U000e0061\U000e0062")

    def test_nothing_left(self) -> None:
        """A question of nothing else is not sent, and says why."""
        assert ("", EMPTY) == clean_text("\u200b\u200b")

    def test_unchecked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """When the check itself fails nothing leaves."""

        def broken(_: str) -> None:
            raise RecursionError("too deep")

        monkeypatch.setattr(local, "mask_secrets", broken)

        assert ("", UNCHECKED) == clean_text("which port?")


class TestPublic:
    @pytest.mark.parametrize("realm", ["private", "bridge", None])
    def test_known_here(self, realm: str | None) -> None:
        """What is known here is not for others: no realm but one, and nothing without a realm."""
        assert not is_public(mine(realm))

    def test_village(self) -> None:
        """What the village knows every agent may read."""
        assert is_public(mine("village"))

    def test_remote(self) -> None:
        """What another program said is no secret of this one."""
        assert is_public(hit("a"))


class TestTopics:
    def test_of_stores(self) -> None:
        """Another store's topics stand in one text with commas, or in a list; each counts once."""
        given = [hit("a", topic="CI,  Queue  Workers ,"), hit("b", topic=["ci", 7, "deploy"])]

        assert ["ci", "queue  workers", "deploy"] == list_topics(given)

    def test_of_memories(self) -> None:
        """A memory's topics are its tags."""
        assert ["ci", "ops"] == list_topics([mine("private", "ci", "ops")])

    def test_bounds(self) -> None:
        """No more than so many are asked about, and nothing long is a topic."""
        given = [hit("a", topic=",".join(f"t{n}" for n in range(110))), hit("b", topic="x" * 257)]

        assert [f"t{n}" for n in range(100)] == list_topics(given)

    def test_long(self) -> None:
        """A topic may be as long as a sentence, and the seventeenth is one, too."""
        given = ["x" * 256, *(f"t{n}" for n in range(20))]

        assert given == list_topics([hit("a", topic=",".join(given))])

    def test_shares(self) -> None:
        """A hit that is filed under many topics leaves room for those of the others."""
        given = [hit("a", topic=",".join(f"t{n}" for n in range(100))), hit("b", topic="ci,ops")]

        assert ["t0", "ci", "t1", "ops", "t2"] == list_topics(given)[:5]

    def test_thousands(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A store that files each hit under thousands of topics has only the first few checked."""
        checked: list[str] = []

        def passed(text: str) -> tuple[str, str]:
            checked.append(text)
            return text, ""

        monkeypatch.setattr(local, "clean_text", passed)
        given = [hit(f"{n}", topic=",".join(f"t{n}-{m}" for m in range(1_000))) for n in range(9)]

        assert local.TOPICS == len(list_topics(given)) == len(checked)

    @pytest.mark.parametrize("topic", [KEY, "ci\u200b", "", " ,, "])
    def test_none(self, topic: str) -> None:
        """A secret is no topic, and neither is what nobody sees."""
        assert [] == list_topics([hit("a", topic=topic)])

    @pytest.mark.parametrize("metadata", [None, "ci", ["ci"], {"topic": {"a": 1}}, {}])
    def test_strange(self, metadata: object) -> None:
        """Whatever a store says under that name breaks nothing."""
        assert [] == list_topics([RankedHit("a", "t", 0.5, "far", extra={"metadata": metadata})])
