import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flora.errors import InputError, TrialsError
from flora.problem.imported_trials import Columns
from flora.problem.space import Boolean, Categorical, Integer, Real, SearchSpace
from flora.problem.trials import FailedTrial, PartyTrials, Trial, check_party_names, loss_of

STEADY = settings(derandomize=True, deadline=None, max_examples=250)
SPACE = SearchSpace(
    (Real("C", 0.01, 1000.0, "log"), Integer("n", 1, 9), Categorical("k", ("rbf", 1)), Boolean("b")),
    {"C": 0.0, "n": 5, "k": "rbf", "b": False},
)


def config(number: float, n: int = 3) -> dict[str, Any]:
    return {"C": number, "n": n, "k": 1, "b": True}


TRIALS = PartyTrials(
    party="Hôpital Nord",
    rows=120,
    space=SPACE,
    scoring="balanced_accuracy",
    trials=(
        Trial(SPACE.default, 0.25, 0.01, 10, 120),
        Trial(config(1 / 3), 0.1 + 0.2, 1e-300, 10, 120),
        Trial(config(2.0), 0.125),
    ),
    failed=(FailedTrial(config(7.0), "MemoryError"),),
    family="svm",
    task="classification",
)
TEXT = TRIALS.to_json()
DOCUMENT = json.loads(TEXT)


def changed(change: Callable[[Any], object]) -> str:
    document = json.loads(TEXT)
    change(document)
    return json.dumps(document)


def test_what_is_written_comes_back_exactly(tmp_path: Path) -> None:
    path = tmp_path / "trials.json"
    path.write_text(TEXT)
    for back in (PartyTrials.from_json(TEXT), PartyTrials.from_json(TEXT.encode()), PartyTrials.read(path)):
        assert back == TRIALS
        assert back.to_json() == TEXT
        assert back.digest == TRIALS.digest


def test_exactly_these_fields_leave_a_party() -> None:
    assert [field.name for field in fields(Trial)] == ["config", "loss", "error", "folds", "rows"]
    assert [field.name for field in fields(FailedTrial)] == ["config", "reason"]
    names = ["party", "rows", "space", "scoring", "trials", "failed", "family", "task", "positive"]
    assert [field.name for field in fields(PartyTrials)] == names
    written = {"format", "version", "space_digest", *names}
    assert set(DOCUMENT) == written - {"positive"}  # only where one is asked for
    assert set(replace(TRIALS, positive="b").to_document()) == written


def test_numpy_scalars_are_written_as_numbers() -> None:
    numbers: Any = {"C": np.float32(0.5), "n": np.int64(3), "k": np.int64(1), "b": np.bool_(True)}
    loss: Any = np.float32(0.5)
    written = PartyTrials("a", 9, SPACE, "accuracy", (Trial(numbers, loss, np.float64(0.25)),))
    back = PartyTrials.from_json(written.to_json())
    assert back.trials == (Trial({"C": 0.5, "n": 3, "k": 1, "b": True}, 0.5, 0.25),)


def test_default_and_best() -> None:
    assert TRIALS.default == TRIALS.trials[0]
    assert TRIALS.best == TRIALS.trials[2]
    assert PartyTrials("a", 9, SPACE, "accuracy", (Trial(config(1.0), 0.5),)).default is None
    equal = PartyTrials("a", 9, SPACE, "accuracy", (Trial(config(1.0), 0.5), Trial(config(2.0), 0.5)))
    assert equal.best.config["C"] == 1.0
    with pytest.raises(TrialsError, match="party 'a': every trial failed"):
        _ = PartyTrials("a", 9, SPACE, "accuracy", (), (FailedTrial(config(1.0), "ValueError"),)).best


@pytest.mark.parametrize(
    ("count", "kept"), [(1, [3]), (2, [1, 3]), (3, [0, 1, 3]), (4, [0, 1, 2, 3]), (99, [0, 1, 2, 3])]
)
def test_keep_best_keeps_the_lowest_in_the_order_of_the_search(count: int, kept: list[int]) -> None:
    losses = (0.5, 0.2, 0.5, 0.1)
    trials = tuple(Trial(config(k + 1.0), loss) for k, loss in enumerate(losses))
    failed = (FailedTrial(config(9.0), "ValueError"),)
    best = PartyTrials("a", 9, SPACE, "accuracy", trials, failed).keep_best(count)
    assert best.trials == tuple(trials[k] for k in kept)
    assert best.failed == ()


def test_losses_of_scores() -> None:
    assert loss_of("r2", 0.75) == 0.25
    assert loss_of("neg_log_loss", -4.0) == 4.0


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: Trial(config(1), float("nan")), "loss must be a finite number of at most 1e100, got nan"),
        (lambda: Trial(config(1), 10**400), "loss must be a finite number"),
        (lambda: Trial(config(1), -1e101), "loss must be a finite number of at most 1e100, got -1e"),
        (lambda: Trial(config(1), 0.5, 1e101), "error must be a finite number from 0 to 1e100"),
        (lambda: Trial(config(1), True), "loss must be a finite number of at most 1e100, got True"),
        (lambda: Trial(config(1), 0.5, -0.1), "error must be a finite number from 0 to 1e100 or null, got -0.1"),
        (lambda: Trial(config(1), 0.5, float("inf")), "error must be a finite number from 0 to 1e100 or null, got inf"),
        (lambda: Trial(config(1), 0.5, folds=0), "folds must be a whole number from 1 to"),
        (lambda: Trial(config(1), 0.5, rows=True), "rows must be a whole number from 1 to"),
        (lambda: PartyTrials("a", 9, SPACE, "r2", ()), "party 'a': need 1 to 10000 trials, got 0"),
        (lambda: PartyTrials("a", 0, SPACE, "r2", TRIALS.trials), "rows must be a whole number"),
        (lambda: PartyTrials("a", 2**54, SPACE, "r2", TRIALS.trials), "rows must be a whole number from 1 to 2\\^53"),
        (lambda: PartyTrials("a\x1b[1m", 9, SPACE, "r2", TRIALS.trials), "1 to 200 printable characters, got"),
        (lambda: PartyTrials("", 9, SPACE, "r2", TRIALS.trials), "1 to 200 printable characters"),
        (lambda: PartyTrials("a" * 201, 9, SPACE, "r2", TRIALS.trials), "1 to 200 printable characters"),
        (
            lambda: PartyTrials("a", 9, SPACE, "r2", (*TRIALS.trials, Trial(config(-1.0), 1))),
            r"trials\[3\]: C: -1.0 is not in",
        ),
        (
            lambda: PartyTrials("a", 9, SPACE, "r2", TRIALS.trials, (FailedTrial({}, "x"),)),
            r"failed\[0\]: a config must name",
        ),
    ],
)
def test_a_record_is_true_from_birth(build: Any, says: str) -> None:
    with pytest.raises(TrialsError, match=says) as caught:
        build()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d.update(format="other"), "expected 'flora-trials' version 1, got .'other', 1."),
        (lambda d: d.update(version=2), "expected 'flora-trials' version 1, got .'flora-trials', 2."),
        (lambda d: d.update(version=True), "got .'flora-trials', True."),
        (lambda d: d.pop("rows"), "it lacks the field 'rows'"),
        (lambda d: d.update(model="x"), "it has the unknown field 'model'"),
        (lambda d: d.update(space_digest="0" * 64), "space_digest does not match the space"),
        (lambda d: d["space"]["n"].update(range=[1, 10]), "space_digest does not match the space"),
        (lambda d: d["space"]["n"].update(range=[9, 1]), "n: need low < high"),
        (lambda d: d.update(space=json.dumps(d["space"])), "space: a search space is a JSON object"),
        (lambda d: d.update(trials={}), "trials must be a list of at most 100000, got {}"),
        (lambda d: d.update(trials=[], failed=[]), "need 1 to 10000 trials, got 0"),
        (lambda d: d.update(trials=d["trials"] * 4000), "need 1 to 10000 trials, got 12001"),
        (lambda d: d.update(trials=d["trials"] * 3333, failed=d["failed"] * 2), "1 to 10000 trials, got 10001"),
        (lambda d: d["trials"].append(5), r"trials\[3\] must be a JSON object, got 5"),
        (lambda d: d["trials"][1].pop("loss"), r"trials\[1\] lacks the field 'loss'"),
        (lambda d: d["trials"][1].update(X=[1]), r"trials\[1\] has the unknown field 'X'"),
        (lambda d: d["trials"][2].update(loss="0.5"), r"trials\[2\]\.loss must be a finite number, got '0.5'"),
        (lambda d: d["trials"][2].update(loss=10**400), "numbers must be finite, got 1000"),
        (
            lambda d: d["trials"][2].update(error=-1),
            r"trials\[2\]\.error must be a finite number from 0 to 1e100, got -1",
        ),
        (lambda d: d["trials"][2].update(folds=2.5), r"trials\[2\]\.folds must be a whole number, got 2.5"),
        (lambda d: d["trials"][2].update(rows=2**54), r"trials\[2\]\.rows must be a whole number from 1 to 2\^53"),
        (lambda d: d["trials"][2].update(config=[]), r"trials\[2\]\.config must be a JSON object"),
        (lambda d: d["trials"][2]["config"].update(C=1e9), r"trials\[2\]: C: 1000000000.0 is not in"),
        (lambda d: d["trials"][2]["config"].update(k=True), r"trials\[2\]: k: True is not in"),
        (lambda d: d["trials"][2]["config"].pop("C"), r"trials\[2\]: a config must name"),
        (lambda d: d["failed"][0].update(reason=1), r"failed\[0\]\.reason must be text, got 1"),
        (lambda d: d["failed"][0].update(reason="a\nb"), r"failed\[0\]\.reason must be 1 to 200 printable"),
        (lambda d: d.update(party="a\nb"), "party must be 1 to 200 printable characters"),
        (lambda d: d.update(party=None), "party must be text"),
        (lambda d: d.update(scoring=3), "scoring must be text"),
        (lambda d: d.update(family=3), "family must be text"),
        (lambda d: d.update(rows="9"), "rows must be a whole number"),
    ],
)
def test_a_bad_file_is_refused_and_the_field_named(change: Callable[[Any], object], says: str) -> None:
    with pytest.raises(TrialsError, match=says) as caught:
        PartyTrials.from_json(changed(change), source="north.json")
    assert str(caught.value).startswith("north.json: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (TEXT.replace("0.25", "NaN"), "numbers must be finite, got NaN"),
        (TEXT.replace("0.25", "-Infinity"), "numbers must be finite, got -Infinity"),
        (TEXT.replace("0.25", "1e999"), "numbers must be finite, got inf"),
        (TEXT.replace("0.25", "9" * 5000), "not a flora-trials"),
        (TEXT.replace('"rows": 120,', '"rows": 120, "rows": 7,', 1), "the key 'rows' comes twice"),
        (TEXT.replace("0.25", "[" * 100_000 + "]" * 100_000), "nested too deep"),
        (TEXT.encode().replace(b"svm", b"\xff"), "not a flora-trials"),
        (TEXT.encode("utf-16"), "not a flora-trials"),
        ("", "not a flora-trials"),
        ("[]", r"a flora-trials is a JSON object, got \[\]"),
        (" " * (16 * 2**20 + 1), "at most 16777216 bytes, got 16777217"),
        ("ü" * (8 * 2**20 + 1), "at most 16777216 bytes, got 16777218"),
    ],
    ids=range(12),
)
def test_bad_text_is_refused(text: str | bytes, says: str) -> None:
    with pytest.raises(TrialsError, match=says) as caught:
        PartyTrials.from_json(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("depth", [*range(900, 1000, 9), 5000])
def test_no_depth_of_nesting_is_a_crash(depth: int) -> None:
    with pytest.raises(TrialsError):
        PartyTrials.from_json(TEXT.replace("0.25", "[" * depth + "]" * depth))


def test_a_truncated_file_is_refused_wherever_it_ends() -> None:
    whole = TEXT.rstrip().encode()
    for end in range(len(whole)):
        with pytest.raises(TrialsError):
            PartyTrials.from_json(whole[:end])


def test_files_that_are_not_there_or_too_large(tmp_path: Path) -> None:
    with pytest.raises(TrialsError, match="no such file"):
        PartyTrials.read(tmp_path / "none.json")
    with pytest.raises(TrialsError, match="a folder, expected a file"):
        PartyTrials.read(tmp_path)
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(16 * 2**20 + 1)
    with pytest.raises(TrialsError, match=r"large\.json: has at most 16777216 bytes, got 16777217"):
        PartyTrials.read(large)


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.sampled_from([10**400, 1e308, "\ud800", "C"]), st.floats(), st.text()
)
JSON = st.one_of(SCALARS, st.lists(SCALARS, max_size=3), st.dictionaries(st.text(max_size=3), SCALARS, max_size=3))


def paths(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(longer for key, value in inside for longer in paths(value, (*path, key)))]


@STEADY
@given(st.sampled_from(paths(DOCUMENT)), JSON)
def test_any_node_replaced_by_anything_gives_trials_or_a_trials_error(path: tuple[Any, ...], node: Any) -> None:
    document = {"top": json.loads(TEXT)}
    parent: Any = document
    for key in ("top", *path)[:-1]:
        parent = parent[key]
    parent[("top", *path)[-1]] = node
    try:
        read = PartyTrials.from_json(json.dumps(document["top"]))
    except TrialsError:
        return
    assert PartyTrials.from_json(read.to_json()) == read


def study(direction: Literal["minimize", "maximize"] = "minimize") -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(study_name="north", direction=direction, sampler=optuna.samplers.RandomSampler(0))


def objective(trial: optuna.Trial) -> float:
    x, kind = trial.suggest_float("x", 0.1, 1, log=True), trial.suggest_categorical("kind", ["a", "b"])
    if trial.number == 2:
        raise MemoryError
    return (x + (kind == "a")) / 2


def test_a_study_that_minimised_holds_losses() -> None:
    done = study()
    done.optimize(objective, 5, catch=MemoryError)
    found = PartyTrials.from_optuna(done, scoring="max_error", rows=50)
    assert (found.party, found.rows, found.space.names) == ("north", 50, ("x", "kind"))
    assert [t.loss for t in found.trials] == [t.value for t in done.trials if t.value is not None]
    assert [t.config for t in found.failed] == [done.trials[2].params]
    assert PartyTrials.from_json(found.to_json()) == found


def test_a_study_that_maximised_holds_scores() -> None:
    done = study("maximize")
    done.optimize(objective, 2)
    accuracy = PartyTrials.from_optuna(done, scoring="accuracy", party="south")
    assert accuracy.party == "south"
    assert [t.loss for t in accuracy.trials] == [1 - done.trials[k].values[0] for k in (0, 1)]
    with pytest.raises(TrialsError, match=r"neg_log_loss is a score of at most 0, got .*--negate"):
        PartyTrials.from_optuna(done, scoring="neg_log_loss")


def test_losses_that_the_scoring_cannot_give_are_refused() -> None:
    text = changed(lambda d: d["trials"][1].update(loss=-86.5))
    with pytest.raises(TrialsError, match=r"trials\[1\]: balanced_accuracy is a score from 0 to 1, got 87.5.*percent"):
        PartyTrials.from_json(text)


def test_a_study_of_another_space_is_refused() -> None:
    done = study()
    done.optimize(objective, 1)
    narrow = SearchSpace((Real("x", 0.1, 0.11), Categorical("kind", ("a", "b"))))
    with pytest.raises(InputError, match=r"trials\[0\]: x: .* is not in"):
        PartyTrials.from_optuna(done, scoring="accuracy", space=narrow)


def test_a_csv_file_holds_trials(tmp_path: Path) -> None:
    path = tmp_path / "north.csv"
    path.write_text("note,n,C,k,b,score,error\nhello,3,0.5,1,true,0.75,0.01\n,4.0,2,rbf,False,1,\n")
    found = PartyTrials.from_csv(path, SPACE, scoring="accuracy", rows=9)
    assert (found.party, found.rows) == ("north", 9)
    assert found.trials == (
        Trial({"C": 0.5, "n": 3, "k": 1, "b": True}, 0.25, 0.01),
        Trial({"C": 2.0, "n": 4, "k": "rbf", "b": False}, 0.0),
    )
    assert PartyTrials.from_csv(path, SPACE, scoring="accuracy", party="x").party == "x"


def test_a_csv_file_without_trials_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "north.csv"
    path.write_text("C,n,k,b,loss\n")
    with pytest.raises(TrialsError, match=r"north\.csv: party 'north': need 1 to 10000 trials, got 0"):
        PartyTrials.from_csv(path, SPACE, scoring="accuracy")


@pytest.mark.parametrize(
    ("other", "shown"),
    [
        ("Anna", "'Anna' and 'anna'"),
        ("anna ", "'anna' and 'anna '"),
        ("\u0430nna", r"'anna' and '\\u0430nna'"),  # Cyrillic
        ("\u0391nn\u03b1", r"'anna' and '\\u0391nn\\u03b1'"),  # Greek
        ("\uff41nna", r"'anna' and '\\uff41nna'"),  # of full width
    ],
)
def test_names_that_look_the_same_are_refused(other: str, shown: str) -> None:
    rule = "party names must differ by more than case, blanks and letters that look alike, got "
    for names in (["bert", "anna", other], [other, "bert", "anna"]):
        with pytest.raises(TrialsError, match=f"^{rule}{shown}$"):
            check_party_names(names)


def test_names_that_look_different_pass_in_any_script() -> None:
    check_party_names(["Moscow", "Москва", "Αθήνα", "Ana", "Añá", "north 1", "north1", "東京"])


def test_lines_of_a_csv_file_without_a_loss_are_failed_trials(tmp_path: Path) -> None:
    path = tmp_path / "study.csv"
    path.write_text("params_x,value,state\n1,0.9,COMPLETE\n2,0.5,PRUNED\n3,,FAIL\n")
    space = SearchSpace((Real("x", 0, 9),))
    found = PartyTrials.from_csv(path, space, scoring="accuracy", columns=Columns(score="value"))
    assert [t.config["x"] for t in found.trials] == [1.0]
    assert [t.config["x"] for t in found.failed] == [2.0, 3.0]
