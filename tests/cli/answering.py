"""A daemon that answers every verb from a table, so that only what a command shows is looked at."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from cortex_actors.cli import entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pytest

#: What is asked, in order: verbs and their parameters.
Asked: TypeAlias = list[tuple[str, dict[str, Any]]]


def answering(monkeypatch: pytest.MonkeyPatch, answers: Mapping[str, dict[str, Any]]) -> Asked:
    """Have clients answered from a table; return the list of what is asked, which grows."""
    asked: Asked = []

    def call(_: object, method: str, /, **params: object) -> dict[str, Any]:
        asked.append((method, params))
        return answers[method]

    monkeypatch.setattr("cortex_actors.client.connection.Client.call", call)
    return asked


def for_people(
    words: Sequence[str], texts: Iterable[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Fail unless a command shows some texts, wherever lines are broken, and nothing acts."""
    assert 0 == entry.main([*words])
    shown = capsys.readouterr().out
    flat = " ".join(shown.split())

    assert [] == [text for text in texts if " ".join(text.split()) not in flat]
    assert "\x1b" not in shown


def for_programs(
    words: Sequence[str],
    answers: Mapping[str, dict[str, Any]],
    asked: Sequence[tuple[str, dict[str, Any]]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Fail unless, with `--json`, a command asks once and prints the daemon's answer whole."""
    assert 0 == entry.main([*words, "--json"])

    assert [answers[name] for name, _ in asked] == [json.loads(capsys.readouterr().out)]
