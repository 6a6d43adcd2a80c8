import gzip
from pathlib import Path
from typing import Any

import optuna
import pytest

from flora.errors import TrialsError
from flora.problem.imported_trials import (
    MOST_LINES,
    MOST_UNPACKED,
    Columns,
    Pair,
    pairs_of_csv,
    pairs_of_study,
)
from flora.problem.space import Boolean, Categorical, Integer, Real, SearchSpace

SPACE = SearchSpace((Real("C", 0.1, 10.0), Integer("n", 1, 9)))
MIXED = SearchSpace((Categorical("kind", ("a", 1, 0.5, True)), Boolean("b")))


def read(
    tmp_path: Path,
    text: str | bytes,
    space: SearchSpace = SPACE,
    columns: Columns = Columns(),  # noqa: B008
) -> list[Pair]:
    path = tmp_path / "file.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return pairs_of_csv(path, space, lambda score: 1 - score, columns)


@pytest.mark.parametrize(
    ("text", "loss", "error"),
    [
        ("C,n,loss\n0.5,3,0.25\n", 0.25, None),
        ("C,n,score\n0.5,3,0.25\n", 0.75, None),
        ("extra,loss,n,C,more\nx,0.25,3,0.5,\n", 0.25, None),
        ("C,n,loss,error\n0.5,3,0.25,0.1\n", 0.25, 0.1),
        ("C,n,loss,error\n0.5,3,0.25,\n", 0.25, None),
        ("C,n,loss,error\n0.5,3,0.25\n", 0.25, None),
        ('\ufeffC,n,loss\r\n"0.5",3.0,0.25\r\n', 0.25, None),
        ("C,n,loss\n\n0.5,3,0.25\n\n", 0.25, None),
    ],
)
def test_a_line_is_a_pair(tmp_path: Path, text: str, loss: float, error: float | None) -> None:
    assert read(tmp_path, text) == [Pair({"C": 0.5, "n": 3}, loss, error)]


def test_values_take_the_spaces_types(tmp_path: Path) -> None:
    pairs = read(tmp_path, "kind,b,loss\na,true,0\n1,0,0\n0.5,FALSE,0\nTrue,1,0\n", MIXED)
    expected: list[tuple[Any, bool]] = [("a", True), (1, False), (0.5, False), (True, True)]
    assert [(pair.config["kind"], pair.config["b"]) for pair in pairs] == expected
    assert type(pairs[1].config["kind"]) is int


def test_an_hp_may_be_called_loss(tmp_path: Path) -> None:
    space = SearchSpace((Categorical("loss", ("hinge", "log")), Real("error", 0, 1)))
    assert read(tmp_path, "loss,error,score\nlog,0.5,0.75\n", space) == [Pair({"loss": "log", "error": 0.5}, 0.25)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file is empty"),
        ("C,loss\n1,1\n", r"no column for the HP 'n', columns are \['C', 'loss'\]"),
        ("C,n\n1,1\n", "need a column 'loss' or a column 'score'"),
        ("C,n,loss,score\n1,1,1,1\n", "need a column 'loss' or a column 'score'"),
        ("C,n,loss,C\n1,1,1,2\n", "column names must differ, 'C' comes twice"),
        ("C,n,loss\n1,1,1\n1,1,x\n", "line 3: loss must be a number, got 'x'"),
        ("C,n,loss\n1,1,inf\n", "line 2: loss must be finite, got 'inf'"),
        ("C,n,loss\n1,99,nan\n", "line 2: n: 99 is not in"),
        ("C,n,loss\n1,1,1e999\n", "line 2: loss must be finite, got '1e999'"),
        ("C,n,score\n1,1,-inf\n", "line 2: score must be finite"),
        ("C,n,loss\ninf,1,1\n", "line 2: C must be finite"),
        ("C,n,loss\n,1,1\n", "line 2: C must be a number, got ''"),
        ("C,n,loss\n1,1\n", "line 2: loss must be a number, got None"),
        ("C,n,loss\n1,1,0,5\n", "line 2: has more values than the header"),
        ("C,n,loss\n1,2.5,1\n", "line 2: n: 2.5 is not in"),
        ("C,n,loss\n99,1,1\n", "line 2: C: 99.0 is not in"),
        ("C,n,loss,error\n1,1,1,-1\n", "line 2: error must be at least 0, got -1.0"),
        ("C,n,loss,error\n1,1,1,x\n", "line 2: error must be a number"),
        (b"C,n,loss\n1,1,\xff\n", "not a CSV file in UTF-8"),
        ("C,n,loss\n1,1," + "1" * 200_000, "not a CSV file"),
    ],
    ids=range(20),
)
def test_a_bad_file_is_refused_with_its_line(tmp_path: Path, text: str | bytes, says: str) -> None:
    with pytest.raises(TrialsError, match=rf"file\.csv(:|,) .*{says}") as caught:
        read(tmp_path, text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("prefix", ["params_", "param_", "params.", "config/"])
def test_the_prefix_of_a_hps_name_is_left_out(tmp_path: Path, prefix: str) -> None:
    text = f"{prefix}C,{prefix}n,mean_test_score\n0.5,3,0.25\n"
    assert read(tmp_path, text) == [Pair({"C": 0.5, "n": 3}, 0.75)]


@pytest.mark.parametrize("cell", ["", " ", "nan", "NaN"])
def test_a_trial_without_a_loss_has_failed(tmp_path: Path, cell: str) -> None:
    pairs = read(tmp_path, f"C,n,loss,error\n0.5,3,0.25,\n1,1,{cell},\n")
    assert [pair.loss for pair in pairs] == [0.25, None]


def test_a_trial_counts_only_where_optuna_says_that_it_is_complete(tmp_path: Path) -> None:
    text = "C,n,score,state\n0.5,3,0.25,COMPLETE\n1,1,0.9,PRUNED\n2,2,,FAIL\n3,,,FAIL\n,,,RUNNING\n,,,WAITING\n"
    pairs = read(tmp_path, text)
    assert [(pair.config["C"], pair.loss) for pair in pairs] == [(0.5, 0.75), (1.0, None), (2.0, None)]


def test_an_hp_may_be_called_state(tmp_path: Path) -> None:
    space = SearchSpace((Categorical("state", ("FAIL", "PRUNED")),))
    assert read(tmp_path, "state,loss\nFAIL,0.25\n", space) == [Pair({"state": "FAIL"}, 0.25)]


def test_whole_numbers_may_be_written_as_pandas_does_beside_blanks(tmp_path: Path) -> None:
    space = SearchSpace((Categorical("size", (10, 100)), Boolean("b")))
    assert read(tmp_path, "size,b,loss\n100.0,1.0,0.25\n", space) == [Pair({"size": 100, "b": True}, 0.25)]


@pytest.mark.parametrize(("kind", "b"), [("1.5", "true"), ("a", "yes"), ("", "true"), ("true", "true")])
def test_bad_categories_are_refused(tmp_path: Path, kind: str, b: str) -> None:
    with pytest.raises(TrialsError, match=r"line 2: (kind must be one of|b must be true or false)"):
        read(tmp_path, f"kind,b,loss\n{kind},{b},0\n", MIXED)


@pytest.mark.parametrize(
    ("header", "columns", "loss"),
    [
        ("val_loss", Columns(loss="val_loss"), 0.25),
        ("acc", Columns(score="acc"), 0.75),
        ("-mse", Columns(score="-mse", negate=True), 1.25),
        ("-auc", Columns(loss="-auc", negate=True), -0.25),
        ("loss", Columns(score="loss"), 0.75),
        ("score", Columns(loss="score"), 0.25),
        ("loss", Columns(negate=True), -0.25),
    ],
)
def test_a_column_of_any_name_has_the_losses_or_scores(
    tmp_path: Path, header: str, columns: Columns, loss: float
) -> None:
    text = f"C,n,{header}\n0.5,3,0.25\n"
    assert read(tmp_path, text, columns=columns) == [Pair({"C": 0.5, "n": 3}, loss)]


def test_named_columns_must_be_there_and_one(tmp_path: Path) -> None:
    with pytest.raises(TrialsError, match=r"no column 'acc' beside the HPs, columns are \['C', 'n', 'loss'\]"):
        read(tmp_path, "C,n,loss\n0.5,3,0.25\n", columns=Columns(score="acc"))
    with pytest.raises(TrialsError, match="no column 'C' beside the HPs"):
        read(tmp_path, "C,n,loss\n0.5,3,0.25\n", columns=Columns(score="C"))
    with pytest.raises(TrialsError, match="a loss or a score"):
        Columns(loss="a", score="b")


def test_blanks_around_names_and_values_are_left_out(tmp_path: Path) -> None:
    assert read(tmp_path, " C , n,loss \n 0.5, 3 ,0.25\n") == [Pair({"C": 0.5, "n": 3}, 0.25)]
    assert read(tmp_path, "kind, b, loss\n a, TRUE , 0\n", MIXED) == [Pair({"kind": "a", "b": True}, 0.0)]


@pytest.mark.parametrize(
    ("text", "loss"),
    [
        ("C;n;loss\n0.5;3;0.25\n", 0.25),
        ("C;n;score\n0,5;3;7,5e-1\n", 0.25),
        ("C\tn\tscore\n0.5\t3\t75%\n", 0.25),
        ("C;n;score\n0,5;3;75,0 %\n", 0.25),
        ("number,params_C,params_n,loss\n0,0.5,3,0.25\n", 0.25),
    ],
)
def test_a_spreadsheets_and_optunas_own_way_to_write_are_read(tmp_path: Path, text: str, loss: float) -> None:
    assert read(tmp_path, text) == [Pair({"C": 0.5, "n": 3}, loss)]


def test_a_decimal_comma_is_no_part_of_a_word(tmp_path: Path) -> None:
    space = SearchSpace((Categorical("kind", ("1,5", "2,5")), Real("C", 0, 1)))
    assert read(tmp_path, "kind;C;loss\n2,5;0,5;0,25\n", space) == [Pair({"kind": "2,5", "C": 0.5}, 0.25)]
    named = SearchSpace((Real("params_C", 0, 1),))
    assert read(tmp_path, "params_C,loss\n0.5,0.25\n", named) == [Pair({"params_C": 0.5}, 0.25)]


def test_a_packed_file_is_unpacked_whatever_its_name_and_not_without_end(tmp_path: Path) -> None:
    text = b"C,n,loss\n0.5,3,0.25\n"
    assert read(tmp_path, gzip.compress(text)) == [Pair({"C": 0.5, "n": 3}, 0.25)]
    with pytest.raises(TrialsError, match="at most 67108864 bytes unpacked"):
        read(tmp_path, gzip.compress(text + bytes(MOST_UNPACKED)))
    with pytest.raises(TrialsError, match="not a gzip file that can be read"):
        read(tmp_path, gzip.compress(text)[:-9])


def test_a_file_has_no_more_lines_than_there_may_be_trials(tmp_path: Path) -> None:
    line = "0.5,3,0.25\n"
    assert len(read(tmp_path, "C,n,loss\n" + line * MOST_LINES)) == MOST_LINES
    with pytest.raises(TrialsError, match="more than 10000 trials"):
        read(tmp_path, "C,n,loss\n" + line * (MOST_LINES + 1))


def test_a_column_has_the_rows_of_each_trial(tmp_path: Path) -> None:
    found = read(tmp_path, "C,n,loss,size\n0.5,3,0.25,120\n", columns=Columns(rows="size"))
    assert found == [Pair({"C": 0.5, "n": 3}, 0.25, None, 120)]
    for wrong in ("0", "1.5", "-3", "many", "1e999"):
        with pytest.raises(TrialsError, match="line 2: size must be"):
            read(tmp_path, f"C,n,loss,size\n0.5,3,0.25,{wrong}\n", columns=Columns(rows="size"))
    with pytest.raises(TrialsError, match=r"no column 'size' \(--rows\)"):
        read(tmp_path, "C,n,loss\n0.5,3,0.25\n", columns=Columns(rows="size"))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TrialsError, match="no such file"):
        pairs_of_csv(tmp_path / "none.csv", SPACE, float)


def test_a_study_becomes_pairs() -> None:
    study = quiet_study(direction="maximize")
    study.enqueue_trial({"x": 0.0})
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), 1)
    distributions, pairs, failed = pairs_of_study(study, lambda score: 1 - score)
    assert distributions == {"x": optuna.distributions.FloatDistribution(0, 1)}
    assert pairs == [({"x": 0.0}, 1.0)]
    assert failed == []


def test_trials_that_did_not_finish_are_left_out() -> None:
    study = quiet_study()
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), 2)
    study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})
    assert len(pairs_of_study(study, float)[1]) == 2


def test_studies_that_cannot_be_read_are_refused() -> None:
    with pytest.raises(TrialsError, match="study 's': need one objective, got 2"):
        pairs_of_study(quiet_study(directions=["minimize", "maximize"]), float)
    with pytest.raises(TrialsError, match="study 's': need at least one finished trial, got none"):
        pairs_of_study(quiet_study(), float)
    conditional = quiet_study()
    conditional.optimize(lambda trial: trial.suggest_float("xy"[trial.number % 2], 0, 1), 2)
    with pytest.raises(TrialsError, match="study 's': all trials must share one search space"):
        pairs_of_study(conditional, float)


def quiet_study(**options: Any) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(study_name="s", sampler=optuna.samplers.RandomSampler(0), **options)
