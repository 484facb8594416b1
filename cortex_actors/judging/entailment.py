"""What the probabilities of an entailment model say of two statements. Pure.

Each direction has a row: that the second statement contradicts the first, follows from it, or is
neither. What must hold whichever is read first is believed as far as the less sure direction.
"""

from __future__ import annotations

from cortex_actors.domain.insight import Conflict, Decider, Judgement, Relation

#: Decimal places of a probability that are kept.
PLACES = 4

#: How far the three probabilities of a row may be from 1 together: rounding.
SLACK = 0.01

Row = tuple[float, float, float]


def rows_of(answer: object) -> tuple[Row, Row] | None:
    """Return the two rows that an answer holds; None for what is none."""
    rows = answer.get("rows") if isinstance(answer, dict) else None
    if not isinstance(rows, list) or len(rows) != 2:  # noqa: PLR2004 - two directions
        return None
    forth, back = (_row(row) for row in rows)
    return None if forth is None or back is None else (forth, back)


def judgement_of(rows: tuple[Row, Row], sure: float) -> Judgement | None:
    """Return the first of these that is at least `sure`, or None."""
    forth, back = rows
    least = [min(both) for both in zip(forth, back, strict=True)]
    findings = (
        (least[0], Relation.CONTRADICTION, "each contradicts the other"),
        (least[1], Relation.SAME, "each follows from the other"),
        (max(forth[1], back[1]), Relation.RELATED, "one follows from the other and says more"),
        (least[2], Relation.RELATED, "neither follows from the other nor contradicts it"),
    )
    for probability, relation, why in findings:
        if probability >= sure:
            return Judgement(
                relation,
                Decider.NLI,
                f"{why} (entailment model, {probability:.2f})",
                conflict=Conflict.DIRECT if relation is Relation.CONTRADICTION else None,
                confidence=round(probability, PLACES),
            )
    return None


def _row(row: object) -> Row | None:
    """Return three probabilities that are one together; None for what is none."""
    if not isinstance(row, list) or not all(isinstance(each, float | int) for each in row):
        return None
    # The last comparison is also false for what is no number.
    if len(row) != 3 or min(row) < 0 or not abs(sum(row) - 1) <= SLACK:  # noqa: PLR2004 - labels
        return None
    return (float(row[0]), float(row[1]), float(row[2]))
