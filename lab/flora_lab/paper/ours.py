"""The columns of our own beside the paper's surfaces, and what each part of FLoRA's answer adds.

A row has them where its answer is stored. Regrets are of the same best and the same default as those of the surfaces.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from flora.core.codec import read
from flora_lab.evidence import RunEvidence
from flora_lab.paper.published import SURFACES
from flora_lab.statistics import relative_regret

Row = Mapping[str, Any]  # as it is stored

FLORA, COUNTED = "flora", "default, trees counted"
OURS = (FLORA, COUNTED)
COLUMNS = (*SURFACES, *OURS)
CHOICE, MEASURED = "flora's choice", "flora, one training"
PARTS = ("aplm", CHOICE, MEASURED, FLORA, COUNTED)  # from the paper's rule to ours, a part more with each


def scores_of(row: Row, column: str) -> list[float]:
    """Return the score of each draw of a surface's forests, or of FLoRA's one answer; none where there is no such."""
    if column in SURFACES:
        return [draw["score"] for draw in row["surfaces"][column]]
    answer = row.get("answer")
    if answer is None:
        return []
    if column == COUNTED:
        return [] if answer["default_counted"] is None else [answer["default_counted"]]
    return [answer["score"] if column == CHOICE or used(row, column) else _default(row)]


def used(row: Row, column: str = FLORA) -> bool | None:
    """Whether the verdict is to use what was chosen: of trainings, or of what the parties measured; None: no answer."""
    answer = row.get("answer")
    if answer is None:
        return None
    evidence = read(RunEvidence, answer["evidence"])
    verdict = evidence.without_trainings if column == MEASURED else evidence.verdict(row["parties"])
    return verdict.decision == "use"


def regrets_of(row: Row, column: str) -> list[float]:
    """Return the relative regret of each score of a column; none where the best is the default."""
    if row["best"] <= row["baseline"]:
        return []
    return [relative_regret(row["best"], score, row["baseline"]) for score in scores_of(row, column)]


def verdicts(rows: Sequence[Row], column: str = FLORA) -> dict[str, int]:
    """Return how many answers there are, and how many are to use what was chosen."""
    known = [use for row in rows if (use := used(row, column)) is not None]
    return {"use": sum(known), "answers": len(known)}


def in_words(said: Mapping[str, int]) -> str:
    """Return the verdicts of several splits in a word or two."""
    use, count = said["use"], said["answers"]
    if not count:
        return ""
    if use in (0, count):
        return "use" if use else "keep"
    return f"use {use} of {count}"


def _default(row: Row) -> float:
    """Return what the default is worth as it would be trained: with its trees counted where the training does that."""
    answer = row["answer"]
    return float(answer["default_counted"] if answer["counts"] else row["baseline"])
