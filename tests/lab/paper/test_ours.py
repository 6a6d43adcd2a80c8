"""Our own columns beside the paper's surfaces."""

from typing import Any

import pytest

from flora.aggregator.comparison import Comparison
from flora.core.codec import to_document
from flora.problem.trials import Gain
from flora_lab.evidence import RunEvidence
from flora_lab.paper.aggregate import aggregated
from flora_lab.paper.compare import entries_of
from flora_lab.paper.ours import CHOICE, COUNTED, FLORA, MEASURED, in_words, regrets_of, scores_of, verdicts
from flora_lab.paper.parts import gain_of, parts_of
from tests.lab.paper.test_compare import row


def answered(*, measured: bool = False, trained: bool = True, **changes: Any) -> dict[str, Any]:
    """A row (0.8 to 0.9) with an answer."""
    said: dict[str, Any] = {"score": 0.88, "default_counted": None, "counts": False}
    losses = (0.3, 0.32, 0.31) if trained else (0.4, 0.42, 0.41)
    comparison = Comparison((0.4, 0.42, 0.41), losses, (0.5,) * 3)
    said["evidence"] = to_document(RunEvidence(comparison, Gain(0.1 if measured else 0.0, 0.01), 1))
    inner = {key: changes.pop(key) for key in list(changes) if key in said}
    return row(answer={**said, **inner}, **changes)


def test_what_is_not_used_is_the_default_and_ties_with_it() -> None:
    one = answered()
    assert regrets_of(one, FLORA) == pytest.approx([0.2])
    assert regrets_of(one, MEASURED) == [1.0]
    assert regrets_of(answered(trained=False), FLORA) == [1.0]
    assert regrets_of(answered(trained=False), CHOICE) == pytest.approx([0.2])
    assert regrets_of(one, COUNTED) == []
    assert regrets_of(row(), FLORA) == []
    assert regrets_of(answered(best=0.8), FLORA) == []


def test_where_trees_are_counted_the_default_has_them_counted() -> None:
    kept = answered(trained=False, counts=True, default_counted=0.85)
    assert scores_of(kept, FLORA) == scores_of(kept, COUNTED) == [0.85]
    assert scores_of(answered(trained=False, default_counted=0.85), FLORA) == [0.8]


def test_verdicts_are_counted_over_splits() -> None:
    rows = [answered(), answered(trained=False), answered(), row()]
    assert verdicts(rows) == {"use": 2, "answers": 3}
    assert [in_words(verdicts(some)) for some in (rows, rows[:1], rows[1:2], rows[3:])] == [
        "use 2 of 3",
        "use",
        "keep",
        "",
    ]
    [entry] = entries_of("svm", rows[:3])
    assert entry["regret"][FLORA] == pytest.approx({"median": 0.2, "low": 0.2, "high": 0.6})
    assert entry["verdicts"] == {"use": 2, "answers": 3}


def test_the_aggregate_has_a_column_that_all_cells_have() -> None:
    rows = [answered(), answered(dataset="pc3", trained=False)]
    found = {(entry["group"], entry["surface"]): entry for entry in aggregated(rows)}
    wins = found["overall", FLORA]["computed"]["wins"]
    assert [count["median"] for count in wins] == [1, 1, 0]
    assert found["overall", FLORA]["printed"] is None
    assert ("overall", COUNTED) not in found
    assert ("overall", FLORA) not in {(e["group"], e["surface"]) for e in aggregated([*rows, row("oil-spill")])}


def test_each_part_has_its_gain_in_points() -> None:
    rows = [answered(regret=0.5), answered(seed=5490, trained=False, regret=0.3)]
    assert gain_of(rows, "aplm") == pytest.approx(6)
    assert gain_of(rows, CHOICE) == pytest.approx(8)
    assert gain_of(rows, FLORA) == pytest.approx(4)
    assert gain_of(rows, COUNTED) is None
    _, table = parts_of([*rows, row("pc3")])
    assert "| svm sonar | 6.0 | 8.0 | 0.0 | 4.0 | - | keep | use 1 of 2 |" in table
    assert table.endswith("| mean | 6.0 | 8.0 | 0.0 | 4.0 | - |  |  |")
    assert list(parts_of([row()])) == []
