"""The keywords that say of which kind a text is, what it is about, and in which field.

The tables are Cerno's. It counted substrings, so that "restore" was about REST and "important"
about ports; here a keyword is a whole word or its plain inflection (test, tests, testing).
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: What speaks for each category.
CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "convention": (
        *("always", "convention", "naming", "style", "format", "prefer", "use snake_case"),
        *("use camelcase", "indentation", "consistent"),
    ),
    "fact": (
        *("version", "requires", "dependency", "api", "endpoint", "schema", "table", "database"),
        *("port", "url", "path"),
    ),
    "pattern": (
        *("pattern", "architecture", "structure", "layout", "design", "module", "layer"),
        "separation",
    ),
    "preference": (
        *("prefer", "preference", "rather", "instead of", "favour", "favor", "recommended"),
        "suggestion",
    ),
    "principle": (
        *("principle", "philosophy", "approach", "strategy", "guideline", "best practice"),
        "rule of thumb",
    ),
    "technique": (
        *("how to", "technique", "pattern", "recipe", "step by step", "implementation", "method"),
        "workflow",
    ),
    "warning": (
        *("never", "don't", "do not", "avoid", "careful", "dangerous", "warning", "caution"),
        *("must not", "forbidden", "pitfall"),
    ),
}

#: A tag applies when any of its words occurs. Last in each are words that Cerno found by the
#: substring and that a whole word would miss.
TAGS: Mapping[str, tuple[str, ...]] = {
    "api": ("api", "endpoint", "rest", "graphql", "request", "response"),
    "concurrency": (
        *("genserver", "process", "spawn", "task", "supervisor", "otp"),
        *("subprocess", "multiprocessing"),
    ),
    "database": (
        *("database", "query", "migration", "schema", "ecto", "repo", "sql"),
        *("sqlite", "postgresql", "mysql", "repository"),
    ),
    "deployment": (
        *("deploy", "release", "docker", "ci", "cd", "pipeline"),
        *("deployment", "dockerfile"),
    ),
    "documentation": (
        *("doc", "readme", "comment", "moduledoc"),
        *("document", "documentation", "docstring"),
    ),
    "error-handling": ("error", "exception", "rescue", "catch", "raise", "try"),
    "performance": (
        *("performance", "optimize", "cache", "fast", "slow", "benchmark"),
        *("optimise", "optimization", "optimisation", "faster", "slower"),
    ),
    "refactoring": ("refactor", "clean", "simplify", "extract", "rename"),
    "security": (
        *("security", "auth", "token", "password", "encrypt", "secret"),
        *("authentication", "authenticate", "authorization", "authorisation", "authorize"),
        *("authorise", "oauth", "encryption"),
    ),
    "testing": ("test", "spec", "assert", "mock", "fixture", "exunit", "pytest", "unittest"),
}

#: What speaks for each domain.
DOMAINS: Mapping[str, tuple[str, ...]] = {
    "architecture": ("architecture", "design", "layer", "module", "microservice"),
    "database": ("postgres", "mysql", "sqlite", "redis", "database", "sql", "migration"),
    "devops": ("docker", "kubernetes", "ci/cd", "deploy", "terraform"),
    "elixir": ("elixir", "mix", "genserver", "ecto", "phoenix", "otp", "beam", "erlang", "iex"),
    "go": ("go", "golang", "goroutine", "go mod"),
    "javascript": ("javascript", "node", "npm", "react", "typescript", "jsx", "tsx"),
    "python": ("python", "pip", "django", "flask", "pytest", "venv"),
    "ruby": ("ruby", "rails", "gem", "bundler", "rspec"),
    "rust": ("rust", "cargo", "crate", "borrow", "lifetime"),
    "testing": ("test", "spec", "tdd", "bdd", "coverage"),
}

#: Names of tools and languages: they take a plural and nothing else, for "going" is not Go and
#: "mixed" is not Mix.
_NAMES = frozenset(
    word
    for domain in ("elixir", "go", "javascript", "python", "ruby", "rust")
    for word in DOMAINS[domain]
)

_WORD = re.compile(r"\w+")


def occurring(text: str) -> set[str]:
    """Return every keyword that occurs in a text, inflected or not; a line's end is a blank.

    The text's words are looked up among all forms of all keywords: searching for each keyword took
    as long as everything else that is done with a file. What is no single word is searched for.
    """
    text = " ".join(text.lower().replace("\u2019", "'").split())
    found = {word for form in set(_WORD.findall(text)) for word in _forms().get(form, ())}
    found.update(word for word in _phrases() if word in text and _occurs(word, text))
    return found


@cache
def _forms() -> dict[str, list[str]]:
    """Return every form of every keyword that is one word -> the keywords it is a form of."""
    forms: dict[str, list[str]] = {}
    for word in _all():
        if word.isalpha():
            for form in {word, *_inflected(word)}:
                forms.setdefault(form, []).append(word)
    return forms


@cache
def _phrases() -> tuple[str, ...]:
    """Return the keywords that are more, or something else, than one word."""
    return tuple(word for word in _all() if not word.isalpha())


def _all() -> list[str]:
    """Return every keyword once."""
    tables = (CATEGORIES, TAGS, DOMAINS)
    return list(
        dict.fromkeys(each for table in tables for words in table.values() for each in words)
    )


def _inflected(word: str) -> Iterator[str]:
    """Yield the forms of a word beside itself."""
    stem, last = word[:-1], word[-1]
    if word in _NAMES:
        endings: tuple[str, ...] = (f"{last}s",)
    elif last == "e":
        endings = ("es", "ed", "ing")
    elif last == "y":
        endings = ("ies", "ied", "ying")
    else:
        twice = (f"{last}{each}{ending}" for each in ("", last) for ending in ("ed", "ing"))
        endings = (f"{last}s", f"{last}es", *twice)
    return (stem + ending for ending in endings)


def _occurs(word: str, text: str) -> bool:
    """Whether a keyword that is no single word occurs by itself, with or without an s."""
    return re.search(rf"(?<!\w){re.escape(word)}s?(?!\w)", text) is not None
