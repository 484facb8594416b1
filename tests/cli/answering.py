"""A daemon that answers every verb from a table, so that only what a command shows is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest


def answering(
    monkeypatch: pytest.MonkeyPatch, answers: Mapping[str, dict[str, Any]]
) -> list[tuple[str, dict[str, Any]]]:
    """Have clients answered from a table; return the list of what is asked, which grows."""
    asked: list[tuple[str, dict[str, Any]]] = []

    def call(_: object, method: str, /, **params: object) -> dict[str, Any]:
        asked.append((method, params))
        return answers[method]

    monkeypatch.setattr("cortex_actors.client.Client.call", call)
    return asked
