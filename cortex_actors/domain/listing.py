"""In which orders people look through what was learned."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

#: What stands for insights whose domain nobody knows.
NO_DOMAIN: Final = "none"

#: What stands for every status, and for those of what is said and shown.
ALL: Final = "all"
SHOWN: Final = "live"


class InsightSort(StrEnum):
    """What comes first in a list of insights."""

    #: The most believed.
    SURE = "sure"
    #: What most revisions of files said.
    SEEN = "seen"
    #: What was learned last, and what was learned first.
    NEWEST = "newest"
    OLDEST = "oldest"
    #: Whose category the classifier was least sure of.
    DOUBT = "doubt"


class ClusterSort(StrEnum):
    """What comes first in a list of clusters."""

    #: The most members.
    SIZE = "size"
    #: Whose members are most alike, and least.
    COHERENCE = "coherence"
    LOOSE = "loose"
    NEWEST = "newest"


class FragmentSort(StrEnum):
    """What comes first in a list of fragments."""

    #: By file and line.
    PATH = "path"
    #: The most statements.
    SIZE = "size"
    NEWEST = "newest"


class ConflictChoice(StrEnum):
    """Which contradictions are listed, by how far the two conflict."""

    DIRECT = "direct"
    PARTIAL = "partial"
    CONTEXTUAL = "contextual"
    ALL = "all"


class PrincipleSort(StrEnum):
    """What comes first in a list of principles."""

    #: What matters most.
    RANK = "rank"
    #: The most believed.
    SURE = "sure"
    #: What most revisions of files said.
    SEEN = "seen"
    #: What most other principles stand to in some way.
    LINKED = "linked"
    #: What was distilled last, and what was distilled first.
    NEWEST = "newest"
    OLDEST = "oldest"


class ContradictionSort(StrEnum):
    """What comes first in a list of contradictions."""

    #: What was found last, and what was found first.
    NEWEST = "newest"
    OLDEST = "oldest"
    #: What is most alike, and so most likely about one thing.
    ALIKE = "alike"


class MemorySort(StrEnum):
    """What comes first in a list of memories, behind those that are pinned."""

    NEWEST = "newest"
    OLDEST = "oldest"
    #: What was read most often.
    READ = "read"
