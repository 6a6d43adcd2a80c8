"""The aggregate statistics: over datasets, once for each split and draw."""

from typing import Any

import pytest
from scipy import stats

from flora_lab.paper.aggregate import against_aplm, aggregated, replications
from flora_lab.paper.published import SURFACES
from tests.lab.paper.test_compare import row


def drawn(dataset: str, regrets: list[float], **changes: Any) -> dict[str, Any]:
    """A row with a draw for each regret."""
    draws = [{"score": 0.9 - 0.1 * regret, "trainings": 1.0} for regret in regrets]
    return row(dataset, surfaces=dict.fromkeys(SURFACES, draws), **changes)


ROWS = [
    drawn("sonar", [0.5, 0.2]),
    drawn("pc3", [1.3, 0.4]),
    drawn("oil-spill", [0.1, 0.3], family="mlp"),
    drawn("sonar", [0.9, 0.8], seed=5490),
    drawn("pc3", [0.7, 0.6], seed=5490),
]


SVM = [[0.5, 1.3], [0.2, 0.4], [0.9, 0.7], [0.8, 0.6]]  # two splits, two draws each


def test_a_replication_is_a_split_and_a_draw_and_needs_all_datasets_of_the_papers_split() -> None:
    svm = [each for each in ROWS if each["family"] == "svm"]
    assert [pytest.approx(found) for found in replications(svm, "aplm")] == SVM
    assert len(replications(ROWS, "aplm")) == 2  # the second split has no mlp
    assert replications([each for each in ROWS if each["seed"] == 5490], "aplm") == []


def test_statistics_are_scipys_of_each_replication() -> None:
    found = {(entry["group"], entry["surface"]): entry for entry in aggregated(ROWS)}
    overall = found["overall", "aplm"]
    assert (overall["cells"], overall["replications"]) == (3, 2)
    expected = [
        stats.wilcoxon(gains, alternative="greater", method="approx", correction=False)
        for gains in ([0.5, -0.3, 0.9], [0.8, 0.6, 0.7])
    ]
    assert overall["computed"]["p"]["low"] == pytest.approx(min(each.pvalue for each in expected))
    assert overall["computed"]["p"]["high"] == pytest.approx(max(each.pvalue for each in expected))
    assert overall["computed"]["mean"] == pytest.approx({"median": (1.9 / 3 + 0.3) / 2, "low": 0.3, "high": 1.9 / 3})
    assert overall["computed"]["wins"][0] == {"median": 2.5, "low": 2.0, "high": 3.0}
    assert found["svm", "sgm"]["replications"] == 4


def test_columns_are_compared_with_aplm_by_dataset() -> None:
    surfaces = {
        name: [{"score": 0.9 - 0.1 * regret, "trainings": 1.0}]
        for name, regret in zip(SURFACES, (0.5, 0.7, 0.9, 0.4), strict=True)
    }
    rows = [row(name, surfaces=surfaces, seed=5489 + k) for name in ("sonar", "pc3") for k in range(2)]
    small = row("oil-spill", best=0.81, surfaces=surfaces)
    found = against_aplm([*rows, small])
    assert {name: each.datasets for name, each in found.items()} == {"sgm": 2, "sgm+u": 2, "mplm": 2}
    assert [each.median for each in found.values()] == pytest.approx([0.1, 0.3, 0.5])
    assert against_aplm([small]) == {}


def test_rows_without_a_gap_have_no_regret() -> None:
    assert aggregated([]) == aggregated([row(best=0.8)]) == []
