"""What is proposed about two statements, and the recipe behind it."""

from __future__ import annotations

import math
import random
import tomllib
from itertools import permutations

import numpy as np
import pytest

from benchmarks import judging
from benchmarks.projects import LABELS
from benchmarks.repositories import is_quiet, rows
from cortex_actors.domain.insight import Claim
from cortex_actors.rules.contradiction import judge
from cortex_actors.rules.proposals import (
    Proposal,
    ProposalKind,
    compute_features,
    propose,
    score_agreement,
)
from cortex_actors.text.lexicon import load_table

#: Statements with their headings, each of which meets each other one.
SOME = [
    Claim("Keep functions under 40 lines.", "Guide > Style"),
    Claim("Functions have at most 60 lines.", "Guide > Review"),
    Claim("Never edit the generated client by hand.", "Guide > Client"),
    Claim("Edit the generated client by hand when the generator fails.", "Guide > Help"),
    Claim("`make watch` - rebuild on every change", "Commands"),
    Claim("Formatting: `prettier`", "Tools"),
    Claim("测试放在 tests 目录", "测试"),
    Claim("x"),
]


def proposed(left: str, right: str, *, cosine: float, under: tuple[str, str]) -> Proposal | None:
    """Ask about two texts under two headings."""
    return propose(Claim(left, under[0]), Claim(right, under[1]), cosine=cosine)


class TestAgreement:
    @pytest.mark.parametrize(
        ("other", "cosine", "near"),
        [
            ("Write tests for what is new.", 0.62, True),
            ("Write tests for what is new.", 0.61, False),
            ("Never write tests for what is new.", 0.9, False),
            ("Every endpoint has a limit of its own.", 0.75, False),
            ("新功能必须有测试", 0.8, False),
        ],
    )
    def test_near(self, other: str, *, cosine: float, near: bool) -> None:
        """Two rules are offered as one when they are near and both or neither forbid something."""
        score = score_agreement(Claim("Add tests for new features."), Claim(other), cosine=cosine)

        assert near is (score is not None)

    def test_order(self) -> None:
        """Words in common count beside the cosine, whichever text comes first."""
        one = Claim("Handle errors at every level.")
        alike = Claim("Errors are handled at every level of the stack.")
        topic = Claim("Error handling: prefer typed errors.")
        scores = [score_agreement(*two, cosine=0.68) or 0 for two in permutations((one, alike))]
        less = score_agreement(one, topic, cosine=0.68)

        assert less is not None
        assert scores[0] == scores[1] > less


class TestPropose:
    def test_duplicate(self) -> None:
        """Two wordings of one rule are proposed as a duplicate, with what speaks for it."""
        found = proposed(
            "Write the changelog entry in the same commit as the change.",
            "The changelog entry is written in the commit of the change.",
            cosine=0.9,
            under=("Commits", "Release > Notes"),
        )

        assert found is not None
        assert ProposalKind.DUPLICATE is found.kind
        assert "of the words in common" in found.reason

    def test_numbers(self) -> None:
        """Two numbers of one thing are proposed as a contradiction, and the thing is named."""
        found = proposed(
            "The worker listens on port 9400.",
            "Workers are reached on port 9600.",
            cosine=0.75,
            under=("Services", "Deployment > Network"),
        )

        assert found is not None
        assert ProposalKind.CONTRADICTION is found.kind
        assert "port" in found.reason

    def test_nearly_equal(self) -> None:
        """Two texts that differ in one number alone are no duplicate, however alike."""
        text = "The nightly job keeps copies of the ledger for {} days before it removes them."
        places = ("Backups", "Operations > Night")

        found = proposed(text.format(7), text.format(30), cosine=0.99, under=places)

        assert found is not None
        assert ProposalKind.CONTRADICTION is found.kind

    def test_denial(self) -> None:
        """What one statement wants and the other is against is no duplicate, however alike."""
        found = proposed(
            "Mention the ticket in the subject line.",
            "Do not mention tickets in a subject line.",
            cosine=0.88,
            under=("Messages", "Review > Before it"),
        )

        assert found is not None
        assert ProposalKind.CONTRADICTION is found.kind
        assert "against" in found.reason

    def test_rows(self) -> None:
        """Rows of one list that differ in a name and a number are not proposed."""
        rows_ = ("`reader.py` (120 lines) reads files", "`writer.py` (310 lines) writes files")

        assert proposed(*rows_, cosine=0.6, under=("Modules", "Modules")) is None

    @pytest.mark.parametrize(
        ("left", "right", "cosine"),
        [
            # Nothing differs: they begin alike, or one denies something of its own.
            ("Tests verify that the answer is right.", "Tests live beside their modules.", 0.6),
            ("Plugins load at the start.", "Plugins must not fail where the disk is full.", 0.62),
            # Tools of which a project has several, of which two far statements name one each.
            ("Playwright e2e tests", "Run each new Cypress test against both versions.", 0.21),
            # Digits that count nothing, and a number of something else.
            ("Imports of issues (Issue #69) take a URL", "The life of an issue (Issue #73)", 0.7),
            ("Run e2e tests last.", "Write 3 tests for each bug.", 0.6),
            ("Python: 4-space indentation", "Python 3.10", 0.5),
            # Other places, and the same said of another thing.
            ("In tests, use single quotes.", "In templates, use double quotes.", 0.8),
            ("Run them with `yarn test-e2e`.", "Run them with `yarn test-browser`.", 0.86),
        ],
    )
    def test_barred(self, left: str, right: str, cosine: float) -> None:
        """What differs in nothing, or is about two things or places, is asked as neither."""
        assert proposed(left, right, cosine=cosine, under=("Guide > A", "Guide > B")) is None

    def test_edition(self) -> None:
        """Two editions of JavaScript are asked about, whatever else is said, and not decided."""
        one, other = "Target: ES2022", "Compile to ES2020 with strict mode."

        found = proposed(one, other, cosine=0.6, under=("Build", "TypeScript"))

        assert found is not None
        assert ProposalKind.CONTRADICTION is found.kind
        assert not judge(Claim(one), Claim(other), cosine=0.6).contradicts
        assert proposed(one, other.replace("0 ", "2 "), cosine=0.6, under=("A", "B")) is None

    def test_entries(self) -> None:
        """Entries of one list are asked about only where one forbids what the other wants."""
        wants, forbids = "Commit generated files.", "Never commit generated files."
        rows_ = ("The queue holds 20 jobs.", "The queue holds 40 jobs.")

        found = proposed(wants, forbids, cosine=0.85, under=("Git", "Git"))

        assert found is not None
        assert ProposalKind.CONTRADICTION is found.kind
        assert proposed(*rows_, cosine=0.9, under=("Queues", "Queues")) is None

    def test_unrelated(self) -> None:
        """Statements about different things are not proposed, however general their words are."""
        two = ("Run the linter before each commit.", "The map shows ships within a nautical mile.")

        assert proposed(*two, cosine=0.05, under=("Commits", "Map")) is None

    def test_same_text(self) -> None:
        """One text at two places is no question, whatever the line breaks in it."""
        two = ("Never log a password.", "Never log\n  a password.")

        assert proposed(*two, cosine=1.0, under=("Security", "Logging")) is None

    @pytest.mark.parametrize("cosine", [-1.0, 0.0, 0.4, 0.7, 1.0])
    def test_order(self, cosine: float) -> None:
        """Whichever statement comes first, the same is proposed with the same score and reason."""
        for left, right in permutations(SOME, 2):
            found = propose(left, right, cosine=cosine)

            assert found == propose(right, left, cosine=cosine)
            assert found is None or (0 < found.score < 1 and found.reason)


class TestTable:
    def test_features(self) -> None:
        """Each kind has a weight for each feature and no other, and a threshold between 0 and 1."""
        names = set(compute_features(SOME[0], SOME[1], cosine=0.5))
        shipped = load_table("proposals", package="rules")

        assert set(ProposalKind) == set(shipped)
        for each in shipped.values():
            assert names == set(each["weights"])
            assert 0 < each["threshold"] < 1

    def test_bounds(self) -> None:
        """Each feature lies between 0 and 1 but for the cosine, which is as it is given."""
        for left, right in permutations(SOME, 2):
            found = compute_features(left, right, cosine=0.7)

            assert all(0 <= each.value <= 1 for each in found.values())
            assert found["cosine"].value == pytest.approx(0.7)


class TestRecipe:
    def test_fit(self) -> None:
        """Coefficients are found again from pairs that were drawn by them."""
        chance = np.random.default_rng(3)
        values = chance.normal(size=(20_000, 2))
        likely = 1 / (1 + np.exp(-(values @ np.array([2.0, -1.0]))))
        is_kind = chance.random(20_000) < likely

        found = judging.fit(values, is_kind, np.ones(20_000))

        assert found.weights == pytest.approx([2.0, -1.0], abs=0.1)

    def test_held_out(self) -> None:
        """A pair is scored by coefficients that saw neither of its repositories."""
        chance = random.Random(5)
        repos = [f"someone/project{n}" for n in range(40)]
        pairs = [
            judging.Pair(judging.OWN, label, True, (repo, repo), {"odd": odd, "own": own})
            for repo in repos
            for label, side in (("duplicate", 1.0), ("related", -1.0))
            for odd in (0.0 if repo == repos[0] else side + chance.random(),)
            # This one separates its two pairs, and no other repository has it.
            for own in (side if repo == repos[0] else 0.0,)
        ]

        found = judging.trial(pairs, ProposalKind.DUPLICATE, deal=0)

        assert found.logits[0] == pytest.approx(found.logits[1])
        assert found.logits[2] > found.logits[3]

    def test_written(self) -> None:
        """The table that is written is TOML with all coefficients, and a threshold of each kind."""
        chance = random.Random(7)
        labels = ("duplicate", "contradiction", "related", "unrelated")
        pairs = [
            judging.Pair(
                chance.choice((judging.PICKED, judging.MINED, judging.OWN)),
                label,
                True,
                (f"one/{n % 30}", f"two/{n % 23}"),
                {"near": (label == "duplicate") + chance.gauss(0, 0.3), "far": chance.random()},
            )
            for n, label in enumerate(labels * 60)
        ]
        trials = {kind: [judging.trial(pairs, kind, deal=0)] for kind in ProposalKind}

        made = tomllib.loads(judging.written(pairs, trials))

        assert set(ProposalKind) == set(made)
        assert made["duplicate"]["weights"]["near"] > 1 > abs(made["duplicate"]["weights"]["far"])
        assert all(math.isfinite(each["intercept"]) for each in made.values())


class TestLabels:
    def test_pairs(self) -> None:
        """The labelled pairs quote nothing, touch no quiet repository, and each is there once."""
        found = rows(LABELS / judging.OWN)
        places = [row[side] for row in found for side in ("place_a", "place_b")]

        assert 150 <= len(found) == len({row["hash"] for row in found})
        assert not any(is_quiet(place.partition(":")[0]) for place in places)
        assert all(place.rpartition(":")[2].isdecimal() for place in places)
