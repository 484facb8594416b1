"""How good the sources of a principle are, from where its texts came.

Cerno gives every principle 0.5 for ever. Here it is what is known of its provenance now:

    0.5 * the best trust + 0.3 * min(independent voices / 4, 1) + 0.2 if a person approved it

A file that people keep in a project is trusted whole, what an agent wrote a little less, what was
read in from elsewhere little. What no file says any more has no sources, and so no quality.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cortex_actors.domain.project import Trust

if TYPE_CHECKING:
    from collections.abc import Collection

#: How far a text is trusted by where it came from, 0 to 1.
TRUSTED: Final = {Trust.FILE: 1.0, Trust.AGENT: 0.6, Trust.IMPORT: 0.3, Trust.REMOTE: 0.2}

#: What each part counts: trust, independent voices, a person's word.
TRUST, VOICES, PERSON = 0.5, 0.3, 0.2

#: Independent voices from which on more of them make nothing better.
MANY = 4


def quality(trusts: Collection[str], voices: int, *, is_approved: bool = False) -> float:
    """Return how good sources are, 0 to 1; 0 where there are none."""
    if not trusts:
        return 0.0
    best = max(TRUSTED[Trust(each)] for each in trusts)
    return TRUST * best + VOICES * min(voices / MANY, 1.0) + PERSON * is_approved
