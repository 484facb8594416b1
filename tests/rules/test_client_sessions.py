"""What of a client's session counts: prompts that are questions, and the end of a transcript."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cortex_actors.rules.sessions import ANSWER, REQUEST, Essence, condense, extract_question

CLAUDE: tuple[dict[str, Any], ...] = (
    {"type": "summary", "summary": "The router"},
    {"type": "user", "message": {"role": "user", "content": "An earlier request"}},
    {
        "type": "assistant",
        "message": {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "what did they mean"},
                {"type": "tool_use", "name": "Edit", "input": {"file_path": "/code/atlas/a.py"}},
                {"type": "tool_use", "name": "Read", "input": {"file_path": "/code/atlas/b.py"}},
            ],
        },
    },
    {"type": "user", "message": {"role": "user", "content": "Move the retries, please"}},
    {
        "type": "user",
        "message": {
            "role": "user",
            "content": [{"type": "tool_result", "content": "done", "tool_use_id": "t"}],
        },
    },
    {"type": "user", "isMeta": True, "message": {"role": "user", "content": "a notice"}},
    {"type": "user", "message": {"role": "user", "content": "<command-name>/cost</command-name>"}},
    {"type": "user", "isSidechain": True, "message": {"role": "user", "content": "a sub-agent's"}},
    {
        "type": "assistant",
        "message": {
            "role": "assistant",
            "content": [{"type": "text", "text": "I moved them. The tests pass. More follows."}],
        },
    },
)

CODEX: tuple[dict[str, Any], ...] = (
    {"type": "session_meta", "payload": {"id": "x", "cwd": "/code/atlas"}},
    {
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "<environment_context>\n</...>"}],
        },
    },
    {
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "Move the retries, please"}],
        },
    },
    {
        "type": "response_item",
        "payload": {
            "type": "custom_tool_call",
            "name": "apply_patch",
            "input": "*** Begin Patch\n*** Update File: /code/atlas/a.py\n@@\n",
        },
    },
    {
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "I moved them. The tests pass. Bye."}],
        },
    },
)


def lines(*entries: dict[str, Any]) -> list[str]:
    """Return entries as a client writes them."""
    return [json.dumps(each) for each in entries]


class TestCondense:
    @pytest.mark.parametrize("entries", [CLAUDE, CODEX])
    def test_essence(self, entries: tuple[dict[str, Any], ...]) -> None:
        """Of both clients: the last request, how the answer begins, and the files changed."""
        found = condense(lines(*entries), folder="/code/atlas")

        assert Essence("Move the retries, please", "I moved them. The tests pass.", ("a.py",)) == (
            found
        )
        assert found.summary.endswith("\nAnswered: I moved them. The tests pass.\nChanged: a.py")

    @pytest.mark.parametrize(
        "some",
        [
            [],
            ["", "not JSON", "[1]", "3", "{}"],
            ['{"message": {"role": 1, "content": 2}}'],
            ['{"message": {"role": "user", "content": [{"type": 5, "name": [], "input": {}}]}}'],
        ],
    )
    def test_other_forms(self, some: list[str]) -> None:
        """Nothing comes of what is in no form that is known."""
        assert Essence() == condense(some)
        assert "" == condense(some).summary

    def test_bounded(self) -> None:
        """Secrets are masked before texts are cut, and nothing is longer than a note."""
        key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
        entry = {"message": {"role": "user", "content": f"{'x ' * 190}{key} and more"}}
        answer = {"message": {"role": "assistant", "content": "long " * 1_000}}
        found = condense(lines(entry, answer))

        assert "ghp_" not in found.request
        assert len(found.request) <= REQUEST
        assert len(found.answer) <= ANSWER


class TestQuestion:
    @pytest.mark.parametrize("prompt", ["", "yes", "go on\n", "/compact the rest", "!ls -l | head"])
    def test_none(self, prompt: str) -> None:
        """What says too little, or is for the client, is no question, and it says why."""
        assert extract_question(prompt)[1].startswith("the prompt ")

    def test_masked(self) -> None:
        """A prompt is asked without its secrets, on one line."""
        key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

        assert ("why is [secret: github-token] refused", "") == extract_question(
            f"why is\n{key} refused"
        )
