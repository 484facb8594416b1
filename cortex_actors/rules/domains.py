"""From which likeness on two statements are compared or merged, by the domain they are of.

One model puts what is said of one field nearer together than what is said of another, so a home may
have thresholds of its own for a domain; `cortex calibrate` suggests them. What is merged on ingest
is merged by the thresholds of all, until the reconciler makes it what these say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cortex_actors.rules.judgement import DEFAULTS, Thresholds

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Limits:
    """The thresholds that hold, and those of the domains that have their own."""

    default: Thresholds = DEFAULTS
    by_domain: Mapping[str, Thresholds] = field(default_factory=dict)

    def of(self, left: str | None, right: str | None) -> Thresholds:
        """Return the thresholds of a pair; a domain's own hold only within it."""
        if left is None or left != right:
            return self.default
        return self.by_domain.get(left, self.default)

    @property
    def judged(self) -> float:
        """The least cosine from which on any two statements are handed to the rules."""
        return min(each.judged for each in (self.default, *self.by_domain.values()))
