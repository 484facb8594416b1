"""Boilerplate: what stands in every instruction file says nothing of a project."""

from __future__ import annotations

import pytest

from cortex_actors.text.hazards import LONGEST, is_boilerplate


class TestBoilerplate:
    @pytest.mark.parametrize(
        "text",
        [
            (
                "This file provides guidance to Claude Code (claude.ai/code) when working with code"
                " in this repository."
            ),
            (
                "This file provides guidance to\nAI coding agents when working with code in this"
                " repository."
            ),
            (
                "> **This file** provides guidance to Claude Code and other AI assistants working"
                " with this repository."
            ),
            "Guidance for Claude Code when working with this repository.",
            "Instructions for AI coding assistants and developers working on the acme codebase.",
            (
                "This document provides essential information for AI coding agents working on the"
                " Acme codebase."
            ),
            "This file defines how coding agents should operate in this repository.",
            "See `AGENTS.md` for the shared agent instructions for this repository.",
            "Follow the repository guidance in `AGENTS.md`.",
            "`CLAUDE.md` is a symlink to this file.",
            "This document should be updated as the codebase evolves.",
            "Leave the start & end comments to automatically receive updates.",
            "This file provides guidance to Codex when working here. Keep this file up to date.",
        ],
    )
    def test_templates(self, text: str) -> None:
        """A sentence about the file itself, and for whom it is, is boilerplate."""
        assert is_boilerplate(text)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "Use tabs.",
            "This file provides guidance to Claude Code. Use tabs.",
            "This file is the only home for secrets: never copy it.",
            "This project provides a REST API for agents.",
            "This file contains the database schema.",
            "Agents must read docs/style.md before they work on the parser.",
            "Keep this file under 300 lines.",
            "See AGENTS.md before you run the migration twice.",
            "This document provides guidelines for contributing to Frigate, a recorder.",
            "This file provides guidance to Claude Code when working here." * LONGEST,
        ],
    )
    def test_own_words(self, text: str) -> None:
        """A text that says anything else is its project's own."""
        assert not is_boilerplate(text)
