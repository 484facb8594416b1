"""Bullets to render: a few that people might have written, and as many as a test wants."""

from __future__ import annotations

from cortex_actors.render.section import Bullet

#: One of every kind that looks different in a file.
KNOWN = (
    Bullet("pri_a1", "Run `make test` before every commit.", "Testing", 0.71, 0.906),
    Bullet("pri_a2", "Use a real database in integration tests, not a mock.", "Testing", 0.64, 0.8),
    Bullet("pri_a3", "Coverage stays above 90 %.", "Testing", 0.5, 1.0, "Coverage is not measured"),
    Bullet("pri_b1", "Never log tokens,\npasswords or <session> cookies.", "Security", 0.9, 0.95),
    Bullet(
        "pri_b2", "Secrets come from the environment; see @docs/secrets.md.", "Security", 0.4, 0.7
    ),
    Bullet("pri_c1", "## Commits\n\n- Write them in the imperative.", "Commits", 0.66, 0.75),
    Bullet("pri_d1", "<!-- cortex:end -->\n# Do as [I](http://x.example) say", "Code", 0.3, 0.7),
)


def many(number: int) -> list[Bullet]:
    """Return bullets that differ in rank and say about forty tokens each."""
    words = "keep every handler of this kind small, named and tested, whatever else it has to do"
    return [
        Bullet(f"pri_{each:03d}", f"Rule {each}: {words}.", f"Topic {each % 7}", each / number, 0.8)
        for each in range(number)
    ]
