"""What kind of thing a text says, what it is about, and in which field: by keywords.

The tables are Cerno's. It counted substrings, so that "restore" was about REST and "important"
about ports; here a keyword is a whole word or its plain inflection (test, tests, testing).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from cortex_actors.domain.insight import Category

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: Tags kept of one text.
MAX_TAGS = 5

#: The category with the most keywords wins; ties go to the first in the alphabet.
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

#: The domain with the most keywords wins; ties go to the first in the alphabet.
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

_NOT_IN_TAG = re.compile(r"[^a-z0-9 -]")


@dataclass(frozen=True, slots=True)
class Classification:
    """What a text is taken for; `domain` is None where no keyword tells."""

    category: Category
    tags: tuple[str, ...]
    domain: str | None


def classify(content: str, heading: str | None = None) -> Classification:
    """Return category, tags and domain of a section; without any keyword it is a fact.

    Tags are in the order of the alphabet, the heading last, at most `MAX_TAGS`.
    """
    words = f"{content} {heading or ''}".lower().replace("\u2019", "'").split()
    text = " ".join(words)
    return Classification(
        category=Category(_most(CATEGORIES, text) or Category.FACT),
        tags=_tags(text, heading or ""),
        domain=_most(DOMAINS, text),
    )


def _tags(text: str, heading: str) -> tuple[str, ...]:
    """Return the tags whose words occur, then the heading in plain letters."""
    found = sorted(tag for tag, words in TAGS.items() if any(_occurs(word, text) for word in words))
    title = _NOT_IN_TAG.sub("", heading.lower()).strip()
    if title:
        found.append(title)
    return tuple(dict.fromkeys(found))[:MAX_TAGS]


def _most(table: Mapping[str, Iterable[str]], text: str) -> str | None:
    """Return the entry with the most keywords in the text, or None if no keyword occurs."""
    counts = {name: sum(_occurs(word, text) for word in words) for name, words in table.items()}
    best = min(counts, key=lambda name: (-counts[name], name))
    return best if counts[best] else None


def _occurs(word: str, text: str) -> bool:
    """Whether a keyword occurs; searching its stem first spares nine patterns of ten."""
    return word[:-1] in text and _pattern(word).search(text) is not None


@cache
def _pattern(word: str) -> re.Pattern[str]:
    """Return a pattern for the whole word and its inflections."""
    stem, last = re.escape(word[:-1]), re.escape(word[-1])
    if word in _NAMES or not word.isalpha():
        ending = f"{last}s?"
    elif last == "e":
        ending = "(?:e|es|ed|ing)"
    elif last == "y":
        ending = "(?:y|ies|ied|ying)"
    else:
        ending = f"{last}(?:s|es|{last}?(?:ed|ing))?"
    return re.compile(rf"(?<!\w){stem}{ending}(?!\w)")
