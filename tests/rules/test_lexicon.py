from __future__ import annotations

import pytest

from cortex_actors.domain.insight import Claim, Relation
from cortex_actors.errors import ConfigurationError
from cortex_actors.rules.contradiction import judge, slots
from cortex_actors.text.lexicon import extended, standard

OURS = """
[words]
synonyms = [["gizmo", "widget"]]

[[family]]
slot = "queue"
nouns = ["queue"]
[family.members]
rabbit = ["rabbitmq"]
kafka = ["kafka"]

[[family]]
slot = "js-package-manager"
[family.members]
vlt = ["vlt"]
"""


class TestTables:
    def test_slots(self) -> None:
        """Each family and each measure has a slot of its own, and each family has a choice."""
        tables = standard()
        every = [each.slot for each in tables.families]
        every += [each.slot for each in tables.measures]

        assert len(every) == len(set(every))
        assert all(len(family.members) > 1 for family in tables.families)

    def test_members(self) -> None:
        """What two members go together are members of that family."""
        for family in standard().families:
            names = {member.name for member in family.members}
            assert all(pair <= names for pair in family.compatible), family.slot


class TestOwnTables:
    def test_new_family(self) -> None:
        """A family of one's own is judged like the product's."""
        left, right = Claim("Use RabbitMQ"), Claim("Use Kafka")
        tables = extended(OURS)

        assert Relation.RELATED is judge(left, right, cosine=0.6).relation
        assert Relation.CONTRADICTION is judge(left, right, cosine=0.6, lexicon=tables).relation
        assert {"queue"} == slots(left, lexicon=tables)

    def test_new_member(self) -> None:
        """A family that is there gets further members and keeps its own."""
        tables = extended(OURS)
        found = judge(Claim("Use vlt"), Claim("Use pnpm"), cosine=0.6, lexicon=tables)

        assert Relation.CONTRADICTION is found.relation

    def test_digest(self) -> None:
        """Other tables have another digest, so that what was judged by them is told apart."""
        assert standard().digest == extended("").digest != extended(OURS).digest

    @pytest.mark.parametrize(
        "text",
        [
            "[[family]",
            "[[family]]\nmembers = 3",
            "family = 3",
            "words = 1",
            "[[family]]\nslot = 'x'",
        ],
    )
    def test_refused(self, text: str) -> None:
        """What cannot be read says where it stands and where the tables are described."""
        with pytest.raises(ConfigurationError, match=r"rules in mine\.toml.*contradictions\.md"):
            extended(text, origin="mine.toml")
