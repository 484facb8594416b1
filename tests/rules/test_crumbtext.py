"""Crumbs as text: the form that agents know, and the way back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex_actors.domain.memory import CrumbRecord, CrumbType, Priority
from cortex_actors.errors import BadInput
from cortex_actors.testing import EPOCH
from cortex_actors.text.summary import name_session, normalise, parse, render

#: 2025-06-01T08:30:00 UTC.
AT = 1_748_766_600_000_000

RULE = "=" * 80

#: A crumb with everything, as the original system writes it.
WHOLE = f"""{RULE}
FORWARD CRUMB (HIGH PRIORITY - TASK)
From: AZOTH_20250601_083000
To: Future AZOTH instances
Timestamp: 2025-06-01T08:30:00+00:00
{RULE}

SESSION SUMMARY:
Moved the tests to pytest.
Two are left.

KEY DISCOVERIES:
- the old runner hid failures
- fixtures are shared

EMOTIONAL STATE:
- curiosity: high

UNFINISHED BUSINESS:
- port the last two tests
- delete the old runner

REFERENCES:
- message_ids: cortex_123, village_AZOTH_9
- thread_ids: tests

IF DISORIENTED:
1. read docs/tests.md
2. run make test

{RULE}
End Forward Crumb"""

CRUMB = CrumbRecord(
    id="",
    agent_id="AZOTH",
    session_id="AZOTH_20250601_083000",
    summary="Moved the tests to pytest.\nTwo are left.",
    left_at=AT,
    type=CrumbType.TASK,
    priority=Priority.HIGH,
    discoveries=("the old runner hid failures", "fixtures are shared"),
    emotional_state={"curiosity": "high"},
    unfinished=("port the last two tests", "delete the old runner"),
    references={"message_ids": ("cortex_123", "village_AZOTH_9"), "thread_ids": ("tests",)},
    if_disoriented=("read docs/tests.md", "run make test"),
)

#: Any text, and lines that look like the frame of a crumb, which no text may break.
LINES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=20),
    st.sampled_from(
        ["KEY DISCOVERIES:", "REFERENCES: ", "\\\\IF DISORIENTED:", RULE, "- x", "2. x"]
    ),
    st.sampled_from(["End Forward Crumb", "  indented", "SESSION SUMMARY:", "a: b, c", '"q", r']),
)
TEXTS = st.lists(LINES, min_size=1, max_size=4).map("\n".join).map(normalise).filter(bool)
NAMES = st.from_regex(r"[A-Za-z][\w ]{0,10}\w", fullmatch=True)

CRUMBS = st.builds(
    CrumbRecord,
    id=st.just(""),
    agent_id=st.from_regex(r"[A-Z0-9_-]{1,64}", fullmatch=True),
    session_id=st.text(st.characters(categories=["L", "N"]), min_size=1),
    summary=TEXTS,
    left_at=st.integers(0, 4_000_000_000_000_000),
    type=st.sampled_from(CrumbType),
    priority=st.sampled_from(Priority),
    discoveries=st.lists(TEXTS, max_size=3).map(tuple),
    emotional_state=st.dictionaries(NAMES, TEXTS, max_size=3),
    unfinished=st.lists(TEXTS, max_size=3).map(tuple),
    references=st.dictionaries(
        NAMES, st.lists(TEXTS, min_size=1, max_size=3).map(tuple), max_size=3
    ),
    if_disoriented=st.lists(TEXTS, max_size=3).map(tuple),
)


class TestForm:
    def test_whole(self) -> None:
        """A crumb is rendered exactly as the original system renders it [N-19]."""
        assert WHOLE == render(CRUMB)

    def test_bare(self) -> None:
        """Parts that say nothing have no heading."""
        text = render(CrumbRecord("", "VAJRA", "s", "done", EPOCH))

        end = f"{RULE}\n\nSESSION SUMMARY:\ndone\n\n{RULE}\nEnd Forward Crumb"
        assert end == text[-len(end) :]
        assert "FORWARD CRUMB (MEDIUM PRIORITY - ORIENTATION)" == text.split("\n")[1]

    def test_session(self) -> None:
        """A session is called by its agent and second where nobody says how."""
        assert "AZOTH_20250601_083000" == name_session("AZOTH", AT + 999_999)


class TestRead:
    def test_whole(self) -> None:
        """What was rendered is read back."""
        assert CRUMB == parse(WHOLE)

    @settings(max_examples=40)
    @given(CRUMBS)
    def test_any(self, crumb: CrumbRecord) -> None:
        """Every crumb comes back from its text as it was, whatever it says."""
        assert crumb == parse(render(crumb))

    def test_sections_end(self) -> None:
        """Tasks end where the references begin, and a thread keeps its whole name [N-21]."""
        found = parse(WHOLE)

        assert ("port the last two tests", "delete the old runner") == found.unfinished
        assert {"message_ids", "thread_ids"} == set(found.references)
        assert ("tests",) == found.references["thread_ids"]

    def test_windows(self) -> None:
        """Line ends of another system, and what stands around the crumb, change nothing."""
        assert CRUMB == parse(f"left by mistake\r\n{WHOLE}\r\n\r\n".replace("\n", "\r\n"))

    def test_without_zone(self) -> None:
        """A timestamp without a zone is one of UTC."""
        assert AT + 5 == parse(WHOLE.replace("00+00:00", "00.000005")).left_at

    def test_raw_lines(self) -> None:
        """The further lines of an entry belong to it, though an original does not indent them."""
        text = WHOLE.replace("- fixtures are shared", "- fixtures are\nshared\n\nby all")

        assert "fixtures are\nshared\n\nby all" == parse(text).discoveries[1]

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("HIGH", "BOGUS"),
            ("- TASK)", "- BOGUS)"),
            ("FORWARD CRUMB", "CRUMB"),
            ("To: Future", "To:"),
            ("2025-06-01T", "someday"),
            ("2025-06-01T", "1825-06-01T"),
            ("Moved the tests to pytest.\nTwo are left.", " "),
        ],
    )
    def test_no_crumb(self, old: str, new: str) -> None:
        """What lacks a part of the head, or has a word that nobody knows, is refused [N-20]."""
        with pytest.raises(BadInput, match="cannot read the crumb"):
            parse(WHOLE.replace(old, new, 1))


class TestReferences:
    @pytest.mark.parametrize("name", ["a, b", 'say "x"', '"', "two\nlines", '"half, "'])
    def test_quoted(self, name: str) -> None:
        """A reference that would break the list is quoted, and is one again."""
        crumb = replace(CRUMB, references={"files": (name, "plain")})

        assert {"files": (name, "plain")} == parse(render(crumb)).references

    def test_stray_quote(self) -> None:
        """A list of an original that only begins with a quotation mark is read as it is."""
        text = WHOLE.replace("cortex_123", '"cortex_123')

        assert ('"cortex_123', "village_AZOTH_9") == parse(text).references["message_ids"]
