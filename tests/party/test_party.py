"""A party's answers, on real tables: text, missing values, and columns that are empty at one party."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score

from flora.core.collective import Alone
from flora.engines.threads import in_process
from flora.errors import DataError
from flora.models.hgb.family import GradientBoosting
from flora.models.model_file import pack, unpack
from flora.models.rows import Rows, encode
from flora.party.party import Party, check_names, hold_out
from flora.problem.messages import Reply, Step
from flora.problem.schema import Schema
from flora.program.drive import drive
from flora.program.request import Request
from flora.program.single_shot import single_shot
from flora.randomness import derived_seed, stream
from tests.conftest import two_moons


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


class TestHoldOut:
    def rows(self, *classes: int) -> Rows:
        """So many rows of each class, in a random order, each with a number of its own."""
        y = np.random.default_rng(0).permutation(np.repeat(np.arange(len(classes)), classes))
        kind = Schema("y", "classification", (), tuple(map(str, range(len(classes)))))
        return Rows(np.arange(len(y), dtype=float)[:, None], y, kind)

    def test_a_tenth_of_each_class_and_nothing_twice(self) -> None:
        whole = self.rows(300, 100, 40)
        kept, held = hold_out(whole, 0.1, stream(0, "a", "held"))
        assert np.bincount(held.y).tolist() == [30, 10, 4]
        assert sorted([*kept.X[:, 0], *held.X[:, 0]]) == whole.X[:, 0].tolist()
        assert all(row.y[k] == whole.y[int(row.X[k, 0])] for row in (kept, held) for k in range(len(row)))

    def test_by_the_stream_alone(self) -> None:
        whole = self.rows(60, 40)
        first, again, other = (hold_out(whole, 0.1, stream(0, name, "held"))[1].X for name in ("a", "a", "b"))
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)

    def test_a_third_may_be_held_out_too(self) -> None:
        assert np.bincount(hold_out(self.rows(300, 90), 1 / 3, stream(0, "a"))[1].y).tolist() == [100, 30]
        assert [len(hold_out(self.rows(n - 1, 1), 1 / 3, stream(0, "a"))[1]) for n in (2, 5, 6)] == [0, 0, 2]

    def test_of_very_few_rows_none(self) -> None:
        assert [len(hold_out(self.rows(n - 1, 1), 0.1, stream(0, "a"))[1]) for n in (2, 5, 6, 15, 16)] == [
            0,
            0,
            1,
            1,
            2,
        ]

    def test_of_numbers_any(self) -> None:
        whole = Rows(np.arange(50.0)[:, None], np.linspace(0, 1, 50), Schema("y", "regression", ()))
        held = hold_out(whole, 0.1, stream(0, "a"))[1]
        assert len(held) == 5
        assert np.ptp(held.y) > 0.2  # not five in a row


FAST = {"max_iter": 60, "learning_rate": 0.5, "min_samples_leaf": 2, "l2_regularization": 0.01}
HGB = GradientBoosting()


class TestTrain:
    def trained(
        self,
        table: pd.DataFrame,
        *,
        held: float,
        choose: bool,
        scoring: str | None = None,
    ) -> Reply:
        party = Party("a", table, table.columns[-1])
        schema = party.answer(Step("describe", {"schema": None, "task": None})).schema
        assert schema is not None
        plan = Request(family="hgb", scoring=scoring).plan(schema.task)
        payload = {"plan": plan.to_json(), "schema": schema.to_json(), "config": FAST}
        return party.answer(Step("train", {**payload, "held": held, "choose": choose}))

    def test_held_out_rows_choose_and_then_all_rows_train(self) -> None:
        table = two_moons(200, 3)
        table["kind"] = np.where(np.random.default_rng(0).random(200) < 0.4, "upper", table["kind"])  # to be overfitted
        reply = self.trained(table, held=0.1, choose=True, scoring="neg_log_loss")
        assert reply.trained is not None
        assert 1 <= int(reply.trained["max_iter"]) < 60
        assert dict(reply.trained) == {**FAST, "max_iter": reply.trained["max_iter"]}
        assert reply.held_loss is not None
        schema = unpack(reply.model).schema
        whole = HGB.train(reply.trained, encode(table, schema), Alone(), derived_seed(0, "train")).model
        assert pack(whole, family="hgb", schema=schema, config=reply.trained) == reply.model

    def test_a_training_is_judged_without_choosing(self) -> None:
        table = two_moons(200, 3)
        reply, plain = (self.trained(table, held=held, choose=False) for held in (0.1, 0.0))
        assert reply.trained == plain.trained == FAST
        assert reply.model == plain.model
        assert plain.held_loss is None
        rows = encode(table, unpack(plain.model).schema)
        kept, held = hold_out(rows, 0.1, stream(0, "a", "held"))
        first = HGB.train(FAST, kept, Alone(), derived_seed(0, "train")).model
        assert reply.held_loss == 1 - balanced_accuracy_score(held.y, first.predict(held.X))

    @pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss"])
    def test_too_few_held_out_rows_for_a_score_are_no_error(self, scoring: str) -> None:
        table = two_moons(40, 3).assign(kind=["upper"] * 38 + ["lower"] * 2)
        assert self.trained(table, held=0.1, choose=True, scoring=scoring).held_loss is None

    def test_one_held_out_row_has_no_r2(self) -> None:
        table = pd.DataFrame({"x": np.arange(12.0), "y": np.linspace(0, 1, 12) ** 2})
        assert self.trained(table, held=0.1, choose=True, scoring="r2").held_loss is None
        squared = self.trained(table, held=0.1, choose=True, scoring="neg_mean_squared_error").held_loss
        assert squared is not None
        assert squared >= 0
