"""A party's answers, on real tables: text, missing values, and columns that are empty at one party."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from flora.engines.inprocess import in_process
from flora.errors import DataError
from flora.federation import Reply, Step, drive
from flora.model_file import unpack
from flora.party import Party, check_names
from flora.single_shot import Request, single_shot


def ward(name: str, rows: int, seed: int, *, colours: str = "red green blue") -> Party:
    """A party with a number, a text column with holes, a boolean, and a text label."""
    rng = np.random.default_rng(seed)
    colour = rng.choice(colours.split(), rows).astype(object)
    dose = rng.normal(size=rows)
    label = np.where(dose + (colour == "red") * 3 + rng.normal(0, 0.2, rows) > 0.8, "ill", "well")
    colour[rng.random(rows) < 0.05] = None
    dose[rng.random(rows) < 0.05] = np.nan
    table = pd.DataFrame({"dose": dose, "colour": colour, "smokes": rng.random(rows) < 0.5, "state": label})
    return Party(name, table, "state")


def parties() -> list[Party]:
    return [ward("a", 70, 1), ward("b", 50, 2, colours="red green"), ward("c", 60, 3, colours="blue violet red")]


@pytest.mark.parametrize("family", ["hgb", "svm", "mlp", "sklearn.linear_model:LogisticRegression"])
def test_real_tables_go_through_every_family(family: str) -> None:
    space = {"C": {"type": "real", "space": "log", "range": [0.01, 100]}} if ":" in family else None
    request = Request(family=family, space=space, trials=2, folds=3)
    outcome = drive(single_shot(request), in_process(parties()))
    colour = next(column for column in outcome.schema.columns if column.name == "colour")
    assert colour.categories == ("blue", "green", "red", "violet")
    new = ward("new", 300, 9).table
    new.loc[:20, "colour"] = "never seen"
    found = unpack(outcome.model).predict_table(new.drop(columns="state"))
    assert set(found["prediction"]) <= {"ill", "well"}
    assert np.mean(found["prediction"] == new["state"]) > 0.7


def test_a_model_that_would_keep_rows_is_refused_before_the_search() -> None:
    space = {"n_neighbors": {"type": "int", "range": [1, 9]}}
    request = Request(family="sklearn.neighbors:KNeighborsClassifier", space=space, trials=2, folds=3)
    steps = []

    def watched(step: Step) -> list[Reply]:
        steps.append(step.name)
        return list(in_process(parties())(step))

    with pytest.raises(DataError, match=r"party 'a': .*keeps this party's 70 rows"):
        drive(single_shot(request), watched)
    assert steps == ["describe", "search"]


def test_a_column_that_is_empty_at_one_party_is_no_obstacle() -> None:
    first, *others = parties()
    hollow = replace(first, table=first.table.assign(dose=np.nan))
    outcome = drive(single_shot(Request(family="svm", trials=2, folds=3)), in_process([hollow, *others]))
    assert {column.kind for column in outcome.schema.columns} == {"numeric", "categorical"}


def test_notes_speak_of_constant_columns_lost_rows_and_fewer_folds() -> None:
    first, *others = parties()
    table = first.table.assign(smokes=True)
    table.loc[:4, "state"] = None
    outcome = drive(
        single_shot(Request(family="svm", trials=2, folds=40)), in_process([replace(first, table=table), *others])
    )
    notes = "\n".join(outcome.notes)
    assert "a: one value only in column 'smokes'" in notes
    assert "a: 5 rows without a target are left out" in notes
    assert "folds instead of 40" in notes


def test_errors_name_the_party() -> None:
    party = replace(parties()[0], target="nowhere")
    with pytest.raises(DataError, match="party 'a': target 'nowhere' is not in the table"):
        party.answer(Step("describe", {"schema": None, "task": None}))


def test_a_table_of_the_target_alone_is_refused() -> None:
    party = Party("a", pd.DataFrame({"state": ["ill", "well"] * 5}), "state")
    with pytest.raises(DataError, match="at least one column"):
        party.local_rows(None)


def test_a_federation_has_parties_with_names_of_their_own() -> None:
    with pytest.raises(DataError, match="comes twice"):
        check_names([parties()[0], parties()[0]])
    with pytest.raises(DataError, match="at least one party"):
        check_names([])
