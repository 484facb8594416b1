"""What a file says: its sections as insights, and how many it may have."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from cortex_actors.domain.insight import InsightSource, insight_id, section_hash
from cortex_actors.errors import BadInput
from cortex_actors.rules.classification import classify
from cortex_actors.rules.substance import says_something
from cortex_actors.storage.indexing import embedded_text
from cortex_actors.storage.insights import Finding

if TYPE_CHECKING:
    from cortex_actors.domain.fragment import Fragment
    from cortex_actors.parsers.dialect import Dialect

#: Sections of one file: a file of more is data, and would keep the ledger's writer for seconds.
SECTIONS = 2_000


def said(data: bytes, dialect: Dialect, path: str, project: str) -> list[Finding]:
    """Return what a file says, without sections that only name or point to something.

    A large file takes a while: run it on a thread.

    Raises `BadInput`, naming the path, for what is no text or has too many sections.
    """
    fragments = dialect.parse(data, path=path, project=project)
    if len(fragments) > SECTIONS:
        message = (
            f"cannot read {path}: it has {len(fragments)} sections, an instruction file may have "
            f"{SECTIONS}; split it"
        )
        raise BadInput(message)
    return [_finding(fragment) for fragment in fragments if says_something(fragment.content)]


def _finding(fragment: Fragment) -> Finding:
    """Return a section as the insight it is (granularity `section`)."""
    digest = section_hash(fragment.content)
    kind = classify(fragment.content, fragment.heading)
    text = embedded_text(fragment.heading, fragment.content)
    return Finding(
        insight_id=insight_id(digest),
        content=fragment.content,
        content_hash=digest,
        category=str(kind.category),
        tags=kind.tags,
        domain=kind.domain,
        text_hash=hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(),
        source=InsightSource.of(insight_id(digest), fragment),
    )
