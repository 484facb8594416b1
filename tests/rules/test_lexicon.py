from __future__ import annotations

from collections import Counter

import pytest

from cortex_actors.domain.insight import Claim, Relation
from cortex_actors.errors import ConfigurationError
from cortex_actors.rules.contradiction import find_slots, judge
from cortex_actors.text.lexicon import load_extended, load_standard

OURS = """
[words]
synonyms = [["gizmo", "widget"]]

[alternatives]
queue = ["rabbitmq", "kafka"]
js-package-manager = ["vlt"]
"""


class TestTables:
    def test_alternatives(self) -> None:
        """Each thing that is chosen has several alternatives, and none is chosen of two things."""
        known = load_standard().alternatives

        assert all(count > 1 for count in Counter(slot for slot, _ in known.values()).values())
        assert "tab" in known


class TestOwnTables:
    def test_new_choice(self) -> None:
        """Alternatives of one's own are judged like the product's."""
        left, right = Claim("Use RabbitMQ"), Claim("Use Kafka")
        tables = load_extended(OURS)

        assert Relation.RELATED is judge(left, right, cosine=0.6).relation
        assert Relation.CONTRADICTION is judge(left, right, cosine=0.6, lexicon=tables).relation
        assert {"queue"} == find_slots(left, lexicon=tables)

    def test_new_member(self) -> None:
        """Alternatives that are there get further ones and keep their own."""
        tables = load_extended(OURS)
        found = judge(Claim("Use vlt"), Claim("Use pnpm"), cosine=0.6, lexicon=tables)

        assert Relation.CONTRADICTION is found.relation

    def test_digest(self) -> None:
        """Other tables have another digest, so that what was judged by them is told apart."""
        assert load_standard().digest == load_extended("").digest != load_extended(OURS).digest

    @pytest.mark.parametrize(
        "text",
        [
            "[alternatives",
            "[alternatives]\nqueue = 3",
            "words = 1",
            "[[family]]\nslot = 'x'",
        ],
    )
    def test_refused(self, text: str) -> None:
        """What cannot be read says where it stands and where the tables are described."""
        with pytest.raises(ConfigurationError, match=r"rules in mine\.toml.*contradictions\.md"):
            load_extended(text, origin="mine.toml")
