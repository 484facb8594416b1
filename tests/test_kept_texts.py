"""No text that somebody hands in is kept with a secret in it, whichever field it comes in."""

from __future__ import annotations

import inspect
import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.api.desk import FrontDesk
from cortex_actors.domain.memory import CrumbRecord
from cortex_actors.errors import BadInput, Refused
from cortex_actors.render.memorycore import format_record
from cortex_actors.testing import temporary_cortex
from cortex_actors.text import hazards
from cortex_actors.text.hazards import mask_secrets

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.text.hazards import Redacted
    from cortex_actors.tree import Tree

#: A key in the shape of an issuer's, and nobody's; a password that only its name gives away.
KEY = "glpat-" + "a1b2c3d4e5f6g7h8i9j0k"
SAID = f"the key is {KEY}"

#: Characters from which on a text takes milliseconds to look through.
LONG = 1_000

#: What each verb that keeps texts is asked beside the field that is looked at.
GIVEN: dict[str, dict[str, Any]] = {
    "remember": {"content": "a memory"},
    "post": {"content": "a post"},
    "leave_crumb": {"session_summary": "done"},
    "summon": {"agent_id": "NEWCOMER", "specialization": "quays"},
    "archive": {"ids": ["mem_1"]},
    "supersede": {"old": "mem_1", "new": "mem_2"},
    "approve": {"insight": "ins_1"},
    "reject": {"insight": "ins_1"},
    "resolve_contradiction": {"contradiction": "con_1", "keep": "both"},
    "dismiss_contradiction": {"contradiction": "con_1"},
    "revoke": {"source": "prj_1"},
    "ingest": {"text": "a text", "source": "a name"},
    "publish": {"topic": "custom:a", "payload": {}},
    "edit": {"id": "mem_1"},
    "judge_answer": {"id": "con_1", "verdict": "apart"},
}

#: Verb -> each field of text that is kept, with a secret in it. True: `redact` masks it.
KEPT: dict[str, dict[str, tuple[Any, bool]]] = {
    "remember": {
        "content": (SAID, True),
        "abstract": (SAID, True),
        "role": (SAID, True),
        "thread": (SAID, True),
        "tags": ([KEY], True),
        "idempotency_key": (KEY, False),
    },
    "post": {"content": (SAID, True), "thread": (SAID, True), "tags": ([KEY], True)},
    "leave_crumb": {
        "session_summary": (SAID, True),
        "key_discoveries": ([SAID], True),
        "emotional_state": ({"calm": SAID}, True),
        "unfinished_business": ([SAID], True),
        "references": ({"files": [SAID]}, True),
        "if_disoriented": ([SAID], True),
        "session_id": (SAID, True),
    },
    "summon": {
        "display_name": (SAID, False),
        "lineage": (SAID, False),
        "specialization": (SAID, False),
        "origin_story": (SAID, False),
    },
    "archive": {"reason": (SAID, False)},
    "supersede": {"reason": (SAID, False)},
    "approve": {"note": (SAID, False)},
    "reject": {"note": (SAID, False)},
    "resolve_contradiction": {"note": (SAID, False)},
    "dismiss_contradiction": {"note": (SAID, False)},
    "revoke": {"note": (SAID, False)},
    "ingest": {"source": (SAID, False), "topic": (SAID, False)},
    # `redact` masks it, too, in a memory that there is (tests/memory/test_custody_verbs.py).
    "edit": {"content": (SAID, False)},
    "judge_answer": {"reason": (SAID, False)},
    "publish": {
        "topic": (f"custom:{KEY}", False),
        "payload": ({"password": "aB3&dE6(hI9"}, False),
        "source": (SAID, False),
        "idempotency_key": (KEY, False),
    },
}

#: What else those verbs are given: ids, paths and words of closed sets, times, and the text of a
#: document, in which secrets are masked (`tests/memory/test_librarian.py`).
NO_TEXT = set(
    "agent agent_id as_agent layer realm type priority crumb_type prefer related_agents "
    "responding_to supersedes said_from said_until ids old new keep insight contradiction path "
    "color symbol text project here id verdict".split()
)

#: Verbs with fields of the same names that keep nothing: they ask, or say what was said before.
#: `publish_now` says transient events alone, and imports are below. Hooks mask what a crumb is made
#: of, whatever it is (`tests/test_hooks.py`), and keep no word of a prompt.
ASKING = set(
    "recall search memories thread convergence knowledge_search knowledge_documents "
    "knowledge_topics remove_knowledge restore_knowledge lift events promotions publish_now "
    "outside_recall outside_memories outside_facts outside_topics "
    "hook_start hook_prompt hook_compact hook_end".split()
)

CASES = [(verb, field) for verb, fields in KEPT.items() for field in fields]


@pytest.fixture
async def tree() -> AsyncIterator[Tree]:
    """Give a running tree."""
    async with temporary_cortex() as tree:
        yield tree


def strings(verb: str) -> set[str]:
    """Return the fields of a verb that take texts."""
    some = inspect.signature(getattr(FrontDesk, verb)).parameters.values()
    return {each.name for each in some if "str" in str(each.annotation)} - {"caller"}


class TestEveryField:
    def test_known(self) -> None:
        """Each text that a verb takes is looked at here, or is no text that is kept."""
        fields = {field for _, field in CASES}
        verbs = {n for n, _ in inspect.getmembers(FrontDesk, inspect.isfunction) if n[0] != "_"}
        assert set() == {v for v in verbs - KEPT.keys() - ASKING if strings(v) & fields}
        left = {(v, name) for v in KEPT for name in strings(v) - KEPT[v].keys() - NO_TEXT}
        assert {("revoke", "source")} == left, "a path or an id, there"

    @pytest.mark.slow
    async def test_refused(self, tree: Tree) -> None:
        """A secret in any of them is refused by its kind, and the answer does not repeat it."""
        for verb, field in CASES:
            asked = {**GIVEN[verb], field: KEPT[verb][field][0]}
            with pytest.raises((Refused, BadInput), match=r"secret \(") as caught:
                await getattr(tree.cortex, verb)(**asked)
            assert KEY not in str(caught.value), (verb, field)

    @pytest.mark.slow
    async def test_masked(self, tree: Tree) -> None:
        """With `redact` each field of a text is kept without it."""
        for verb, field in CASES:
            given, masks = KEPT[verb][field]
            if masks:
                asked = {**GIVEN[verb], field: given, "redact": True}
                await getattr(tree.cortex, verb)(**asked)
        whole = json.dumps([await tree.cortex.export(kind) for kind in ("memories", "crumbs")])
        assert KEY not in whole
        assert whole.count("[secret: gitlab-token]") >= sum(
            masks for fields in KEPT.values() for _, masks in fields.values()
        )

    @pytest.mark.slow
    async def test_beside_the_loop(self, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
        """Long texts are looked through on a thread: one made to be slow holds nobody else up."""
        threads = []

        def looked(text: str) -> Redacted:
            if len(text) > LONG:
                threads.append(threading.current_thread())
            return mask_secrets(text)

        monkeypatch.setattr(hazards, "mask_secrets", looked)
        long = "the quay is swept " * LONG
        await tree.cortex.remember(long)
        await tree.cortex.post(long)
        await tree.cortex.leave_crumb(long)
        await tree.cortex.publish("custom:a", {"said": long})

        assert 4 == len(threads)
        assert threading.main_thread() not in threads

    @pytest.mark.slow
    async def test_imported(self, tree: Tree, tmp_path: Path) -> None:
        """Every text of a file that is imported is kept without its secrets."""
        said: dict[str, Any] = {"emotional_state": {"calm": SAID}, "references": {"f": (SAID,)}}
        crumb = CrumbRecord("", "A", SAID, SAID, 1, **said)
        memory = {"agent_id": "A", "created_at": 1, "content": SAID, "tags": [KEY]}
        memory |= dict.fromkeys(("conversation_thread", "role", "abstract", "summary"), SAID)
        found = {"cortex_private": [memory], "cortex_crumbs": [format_record(crumb, None)]}
        path = tmp_path / "x.json"
        path.write_text(json.dumps({"format_version": "1.0", "collections": found}))
        done = await tree.cortex.import_memories(str(path))
        whole = json.dumps([await tree.cortex.export(kind) for kind in ("memories", "crumbs")])
        assert 2 == sum(done["added"].values())
        assert KEY not in whole
