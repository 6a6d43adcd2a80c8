"""Cells that are computed, stopped, and read again: small ones."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from flora.aggregator.choose import same_config
from flora.aggregator.surface import SURFACES
from flora.models import family_of
from flora.models.rows import encode
from flora.party.measure import measure
from flora.party.tables.table import describe
from flora.program.request import Request
from flora_lab.cells import Cell, Protocol
from flora_lab.datasets import DATASETS, load, made_up
from flora_lab.judge.record import Pick, Record
from flora_lab.judge.rules import RULES
from flora_lab.judge.run import JudgedCell
from flora_lab.judge.score import score_cells
from flora_lab.pieces import POOLED, Bench, Piece, keep, missing, run

pytestmark = pytest.mark.slow
PROTOCOL = Protocol(trials=3, folds=2, central=3, candidates=2)
HOW = (("hgb", "generated-1", 2), ("svm", "generated-1", 5), ("svm", "generated-1", 1))
TREES, VECTORS, ALONE = (JudgedCell(Cell(*how)) for how in HOW)
LIAR = JudgedCell(replace(VECTORS.cell, liar=True))


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """All cells of this file, on a small table, computed once."""
    with pytest.MonkeyPatch.context() as patch:
        small = made_up("design", 120, 4, n_informative=3, n_redundant=0, flip_y=0.1, random_state=1)
        patch.setitem(DATASETS, "generated-1", small)
        found = Bench(tmp_path_factory.mktemp("results"), "judge", None, PROTOCOL)
        for piece in (TREES, VECTORS, LIAR):
            keep(piece, found)
        yield found


@pytest.fixture(params=[TREES, VECTORS, LIAR], ids=lambda piece: piece.cell.name)
def record(request: pytest.FixtureRequest, bench: Bench) -> Record:
    piece: JudgedCell = request.param
    return piece.record(bench)


def test_a_cell_has_what_all_parties_said(record: Record) -> None:
    space = record.trials[0].space
    assert len(record.trials) == len(record.confirmed) == record.cell.parties
    assert sum(record.rows.values()) == 120
    assert set(record.minima) == set(SURFACES)
    for found in record.confirmed.values():
        assert space.is_default(found[0].config)
    assert {"flora", "scikit-learn"} <= set(record.versions)


def test_every_rule_can_be_scored(record: Record) -> None:
    [line] = score_cells([record], RULES)
    assert all(0 <= score.loss <= 1 for score in line.scores.values())
    assert line.scores["default"].gain.estimate == 0
    assert line.scores["oracle"].loss <= line.scores["flora"].loss + 1e-12


def test_the_truth_is_the_loss_on_all_rows(record: Record, bench: Bench) -> None:
    table = load(record.cell.dataset, None)
    plan = replace(_request(record.cell).plan("classification"), paths=False)
    rows, family = encode(table, describe(table, "target")), family_of(record.cell.family)
    for config in (record.default, record.minima["mplm"], record.best):
        [outcome] = measure(rows, plan, family, [config], party=POOLED, purpose="truth")
        assert record.losses(Pick(config)) == pytest.approx(outcome.fold_losses)


def test_the_path_is_known_and_a_place_on_it_chosen_in_each_fold(bench: Bench) -> None:
    record = TREES.record(bench)
    for truth in record.truths:
        assert "max_iter" not in truth.config
        assert {10, 16, 27, 45, 74, 100, 121, 200, *truth.chosen} <= set(truth.stops)
    assert [len(truth.chosen) for truth in record.truths[:3]] == [2, 2, 2]  # of the default and both candidates
    assert record.losses(Pick(record.default, in_training=True)) == record.truths[0].as_chosen()


def test_the_first_party_lies_and_only_it(bench: Bench) -> None:
    honest, lied = (cell.record(bench) for cell in (VECTORS, LIAR))
    for before, after in zip(honest.trials, lied.trials, strict=True):
        losses = np.array([trial.loss for trial in before.trials])
        expected = 1 - losses if before is honest.trials[0] else losses
        assert [trial.loss for trial in after.trials] == pytest.approx(expected)
    for name, said in lied.confirmed.items():
        gains = [said[0].trial.loss - each.trial.loss for each in said]
        assert [each.gain for each in said] == pytest.approx(gains)
        default, true = said[0].trial.loss, honest.confirmed[name][0].trial.loss
        assert default == pytest.approx(1 - true if name == "party-1" else true)


def test_best_comes_from_one_search_for_all_deals(bench: Bench) -> None:
    another = JudgedCell(replace(VECTORS.cell, seed=7, parties=3))
    assert another.pooled == VECTORS.pooled
    pooled = VECTORS.pooled.trials(bench)
    assert same_config(pooled.best.config, VECTORS.record(bench).best)
    assert len(pooled.trials) == PROTOCOL.central


def test_a_run_that_is_stopped_goes_on_and_ends_the_same(bench: Bench, tmp_path: Path) -> None:
    again = Bench(tmp_path, "judge", None, PROTOCOL)
    stages: list[list[Piece]] = [[ALONE.pooled], [ALONE]]
    list(islice(run(stages, again, jobs=1), 1))
    assert [len(missing(stage, again)) for stage in stages] == [0, 1]
    list(run(stages, again, jobs=1))
    assert again.store.read(ALONE.name) == keep(ALONE, bench)
    assert list(run(stages, again, jobs=1)) == []


def test_the_work_of_a_cell_grows_with_its_parties_and_rows(bench: Bench) -> None:
    larger = JudgedCell(Cell("svm", "generated-2", 5))
    more = JudgedCell(replace(VECTORS.cell, parties=6))
    sizes = [piece.work(bench)[0] for piece in (VECTORS, more, larger)]
    assert sizes == sorted(sizes)
    assert VECTORS.pooled.work(bench)[1] == 1.0


def _request(cell: Cell) -> Request:
    return Request(cell.family, trials=PROTOCOL.trials, folds=PROTOCOL.folds, seed=cell.seed)
