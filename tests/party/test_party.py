"""A party's answers, on real tables: text, missing values, and columns that are empty at one party."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score

from flora.core.collective import Alone
from flora.core.threads import in_step
from flora.engines.threads import in_process
from flora.errors import DataError, InputError, SpaceError
from flora.models import family_of
from flora.models.model_file import pack, unpack
from flora.models.rows import Rows, encode
from flora.party.gate import Gate
from flora.party.party import Party, check_names, train_in_one_place
from flora.party.tables.table import Table
from flora.party.training import hold_out
from flora.problem.messages import (
    Certify,
    CertifyReply,
    Confirm,
    ConfirmReply,
    Describe,
    DescribeReply,
    Reply,
    Search,
    SearchReply,
    Step,
    Train,
    TrainReply,
)
from flora.problem.plan import SearchPlan
from flora.problem.schema import Schema
from flora.program.drive import drive
from flora.program.request import Request
from flora.program.result import result_of
from flora.program.single_shot import single_shot
from flora.randomness import derived_seed, stream
from tests.conftest import SVM_SPACE, two_moons


def ward(rows: int, seed: int, *, colours: str = "red green blue") -> pd.DataFrame:
    """A table with a number, a text column with holes, a boolean, and a text label."""
    rng = np.random.default_rng(seed)
    colour = rng.choice(colours.split(), rows).astype(object)
    dose = rng.normal(size=rows)
    label = np.where(dose + (colour == "red") * 3 + rng.normal(0, 0.2, rows) > 0.8, "ill", "well")
    colour[rng.random(rows) < 0.05] = None
    dose[rng.random(rows) < 0.05] = np.nan
    return pd.DataFrame({"dose": dose, "colour": colour, "smokes": rng.random(rows) < 0.5, "state": label})


def tables() -> dict[str, pd.DataFrame]:
    return {
        "a": ward(70, 1),
        "b": ward(50, 2, colours="red green"),
        "c": ward(60, 3, colours="blue violet red"),
    }


def gates(**changed: pd.DataFrame) -> list[Gate]:
    return [Gate(Party(name, Table(frame, "state"))) for name, frame in {**tables(), **changed}.items()]


@pytest.mark.parametrize("family", ["hgb", "svm", "mlp", "sklearn.linear_model:LogisticRegression"])
def test_real_tables_go_through_every_family(family: str) -> None:
    space = {"C": {"type": "real", "space": "log", "range": [0.01, 100]}} if ":" in family else None
    request = Request(family=family, space=space, trials=2, folds=3)
    outcome = drive(single_shot(request), in_process(gates()))
    assert outcome.schema is not None
    colour = next(column for column in outcome.schema.columns if column.name == "colour")
    assert colour.categories == ("blue", "green", "red", "violet")
    new = ward(300, 9)
    new.loc[:20, "colour"] = "never seen"
    found = unpack(outcome.model).predict_table(new.drop(columns="state"))
    assert set(found["prediction"]) <= {"ill", "well"}
    assert np.mean(found["prediction"] == new["state"]) > 0.7


@pytest.mark.parametrize("family", ["hgb", "svm", "mlp", "sklearn.linear_model:LogisticRegression"])
def test_a_party_with_one_class_or_one_row_of_a_class_trains_and_does_not_search(family: str) -> None:
    space = {"C": {"type": "real", "space": "log", "range": [0.01, 100]}} if ":" in family else None
    request = Request(family=family, space=space, trials=2, folds=3, confirm=2)
    calm = tables()["a"].assign(state="well")
    rare = pd.concat([tables()["c"], tables()["c"].iloc[:1].assign(state="dead")])
    outcome = drive(single_shot(request), in_process(gates(a=calm, c=rare)))
    assert [party.party for party in outcome.found.trials] == ["b"]
    assert set(outcome.found.confirmed) == {"b"}
    assert set(outcome.notes) >= {
        "a: has one class only: it cannot search, and takes part in the training",
        "c: has one row only of a class: it cannot search, and takes part in the training",
    }
    alone = drive(single_shot(request), in_process(gates(a=calm)[:2]))
    assert outcome.schema is not None
    assert outcome.schema.classes == ("dead", "ill", "well")
    new = ward(300, 9)
    found = unpack(outcome.model).predict_table(new.drop(columns="state"))
    assert np.mean(found["prediction"] == new["state"]) > 0.6
    assert outcome.model != alone.model


def test_a_budget_of_time_is_told_and_trials_are_fits() -> None:
    request = Request(family="hgb", trials=3, folds=2, confirm=0, trainings=0)
    whole = drive(single_shot(request), in_process(gates()[:2]))
    assert [party.trials for party in result_of(whole, request, {}).parties] == [3, 3]
    assert len(whole.found.trials[0].trials) > 3
    short = drive(single_shot(replace(request, seconds=1e-9)), in_process(gates()[:2]))
    assert [party.trials for party in result_of(short, request, {}).parties] == [1, 1]
    assert "a, b: 1 of 3 trials in 1e-09 seconds" in short.notes


def test_where_no_party_can_search_the_run_ends() -> None:
    calm = [Gate(Party(name, Table(ward(40, 4).assign(state=name), "state"))) for name in ("ill", "well")]
    with pytest.raises(InputError, match="no party can search: ill, well: has one class only"):
        drive(single_shot(Request(family="svm", trials=2, folds=3)), in_process(calm))


def test_who_cannot_search_adds_no_learning_curve_to_a_certificate() -> None:
    request = Request(family="svm", trials=2, folds=3, confirm=0, trainings=0, certificate=True)
    outcome = drive(single_shot(request), in_process(gates(a=tables()["a"].assign(state="well"))))
    assert outcome.certificate is not None


def test_a_model_that_would_keep_rows_is_refused_before_the_search() -> None:
    space = {"n_neighbors": {"type": "int", "range": [1, 9]}}
    request = Request(family="sklearn.neighbors:KNeighborsClassifier", space=space, trials=2, folds=3)
    steps = []

    def watched(step: Step) -> list[Reply]:
        steps.append(step.name)
        return list(in_process(gates())(step))

    with pytest.raises(DataError, match=r"party 'a': .*keeps this party's 70 rows"):
        drive(single_shot(request), watched)
    assert steps == ["describe", "search"]


def test_a_column_that_is_empty_at_one_party_is_no_obstacle() -> None:
    hollow = tables()["a"].assign(dose=np.nan)
    outcome = drive(single_shot(Request(family="svm", trials=2, folds=3)), in_process(gates(a=hollow)))
    assert outcome.schema is not None
    assert {column.kind for column in outcome.schema.columns} == {"numeric", "categorical"}
    assert "a: no value at all in column 'dose'" in outcome.notes


def test_notes_speak_of_constant_columns_lost_rows_and_fewer_folds() -> None:
    table = tables()["a"].assign(smokes=True)
    table.loc[:4, "state"] = None
    outcome = drive(single_shot(Request(family="svm", trials=2, folds=40)), in_process(gates(a=table)))
    notes = "\n".join(outcome.notes)
    assert "a: one value only in column 'smokes'" in notes
    assert "a: 5 rows without a target are left out" in notes
    assert "folds instead of 40" in notes


def test_errors_name_the_party_once() -> None:
    party = Party("a", Table(tables()["a"], "nowhere"))
    with pytest.raises(DataError, match=r"^party 'a': target 'nowhere' is not in the table"):
        party.answer(Describe())
    with pytest.raises(DataError, match=r"^party 'b': no rows today$"):
        Party("b", Broken(tables()["b"], "state")).answer(Describe())


@dataclass(frozen=True)
class Broken(Table):
    """A table whose error names the party by itself."""

    def described(self, task: object, like: object) -> tuple[Schema, int, list[str]]:
        raise DataError("party 'b': no rows today")


def test_a_table_of_the_target_alone_is_refused() -> None:
    table = Table(pd.DataFrame({"state": ["ill", "well"] * 5}), "state")
    with pytest.raises(DataError, match="at least one column"):
        table.local_rows(None, None)


def test_a_federation_has_parties_with_names_of_their_own() -> None:
    check_names(["a", "b"])
    with pytest.raises(DataError, match="party names must differ, 'a' comes twice"):
        check_names(["a", "b", "a"])
    with pytest.raises(DataError, match="at least one party"):
        check_names([])


PLAN = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", trials=2, folds=3)
CONFIG = {"C": 10.0, "gamma": 5.0, "tol": 1e-3}


class TestAnswers:
    table = two_moons(60, 1)
    party = Party("a", Table(table, "kind"))

    def schema(self) -> Schema:
        reply = self.party.answer(Describe())
        assert isinstance(reply, DescribeReply)
        assert reply.schema is not None
        return reply.schema

    def test_its_columns_unless_they_were_given(self) -> None:
        assert self.schema().names == ("x", "y")
        assert self.party.answer(Describe()) == DescribeReply("a", 60, self.schema())
        assert self.party.answer(Describe(self.schema())) == DescribeReply("a", 60, None)
        numbers = self.party.source.described("classification", None)[0]
        assert numbers == self.schema()

    def test_the_pairs_of_its_own_search(self) -> None:
        told: list[tuple[str, int, int]] = []
        party = replace(self.party, progress=lambda *progress: told.append(progress))
        reply = party.answer(Search(PLAN))
        assert isinstance(reply, SearchReply)
        assert (reply.party, reply.rows, reply.notes) == ("a", 60, ())
        assert reply.trials is not None
        assert len(reply.trials.trials) == 2
        assert told == [("a", 0, 2), ("a", 1, 2), ("a", 2, 2)]

    def test_the_configs_beside_the_default(self) -> None:
        reply = self.party.answer(Confirm(PLAN, None, (CONFIG,)))
        assert isinstance(reply, ConfirmReply)
        assert [each.config for each in reply.confirmations] == [dict(SVM_SPACE.default), CONFIG]
        assert reply.confirmations[0].gain == 0

    def test_a_sketch_of_its_rows_and_a_curve_for_each_config(self) -> None:
        reply = self.party.answer(Certify(PLAN, self.schema(), (CONFIG, SVM_SPACE.default)))
        assert isinstance(reply, CertifyReply)
        assert reply.sketch is not None
        assert (reply.sketch.rows, reply.sketch.width, reply.sketch.seed) == (60, 4, 0)  # two columns, two classes
        assert [curve.config for curve in reply.curves] == [CONFIG, dict(SVM_SPACE.default)]
        few = Party("a", Table(self.table.head(39), "kind")).answer(Certify(PLAN, self.schema(), (CONFIG,)))
        assert isinstance(few, CertifyReply)
        assert few.sketch is None

    def test_a_sketch_is_encoded_as_that_of_all_parties(self) -> None:
        step = Certify(PLAN, self.schema(), (CONFIG,))
        other = Party("b", Table(two_moons(50, 2, shift=9.0), "kind"))
        together = in_step([partial(party.answer, step) for party in (self.party, other)])
        alone = self.party.answer(step)
        assert isinstance(together[0], CertifyReply)
        assert isinstance(alone, CertifyReply)
        assert together[0].sketch != alone.sketch
        assert together[0].curves == alone.curves

    def test_one_model_which_is_the_same_bytes_at_all(self) -> None:
        step = Train(PLAN, self.schema(), CONFIG)
        other = Party("b", Table(two_moons(50, 2), "kind"))
        one, two = in_step([partial(party.answer, step) for party in (self.party, other)])
        assert isinstance(one, TrainReply)
        assert isinstance(two, TrainReply)
        assert (one.party, two.party, one.rows, two.rows) == ("a", "b", 60, 50)
        assert one.model == two.model

    def test_a_config_that_is_not_in_the_space_is_not_trained(self) -> None:
        with pytest.raises(DataError, match=r"party 'a': C: 1000000000\.0 is not in") as caught:
            self.party.answer(Train(PLAN, self.schema(), {**CONFIG, "C": 1e9}))
        assert isinstance(caught.value.__cause__, SpaceError)


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
HGB = family_of("hgb")


class TestTrain:
    def trained(
        self,
        table: pd.DataFrame,
        *,
        held: float,
        choose: bool,
        scoring: str | None = None,
    ) -> TrainReply:
        source = Table(table, table.columns[-1])
        schema, _, _ = source.described(None, None)
        plan = Request(family="hgb", space="paper", scoring=scoring).plan(schema.task)
        reply = Party("a", source).answer(Train(plan, schema, FAST, held, choose))
        assert isinstance(reply, TrainReply)
        return reply

    def test_held_out_rows_choose_and_then_all_rows_train(self) -> None:
        table = two_moons(400, 3)
        noise = np.random.default_rng(0).random(400) < 0.3  # to be overfitted
        table["kind"] = np.where(noise, np.where(table["kind"] == "upper", "lower", "upper"), table["kind"])
        reply = self.trained(table, held=1 / 3, choose=True, scoring="neg_log_loss")
        assert 1 <= int(reply.config["max_iter"]) < 30
        assert dict(reply.config) == {**FAST, "max_iter": reply.config["max_iter"]}
        assert reply.held_loss is not None
        schema = unpack(reply.model).schema
        whole = HGB.train(reply.config, encode(table, schema), Alone(), derived_seed(0, "train")).model
        assert pack(whole, family="hgb", schema=schema, config=reply.config) == reply.model

    def test_a_training_is_judged_without_choosing(self) -> None:
        table = two_moons(200, 3)
        reply, plain = (self.trained(table, held=held, choose=False) for held in (0.1, 0.0))
        assert reply.config == plain.config == FAST
        assert reply.model == plain.model
        assert plain.held_loss is None
        rows = encode(table, unpack(plain.model).schema)
        kept, held = hold_out(rows, 0.1, stream(0, "a", "held"))
        first = HGB.train(FAST, kept, Alone(), derived_seed(0, "train")).model
        assert reply.held_loss == 1 - balanced_accuracy_score(held.y, first.predict(held.X))

    @pytest.mark.parametrize(("scoring", "guess"), [("balanced_accuracy", 0.5), ("accuracy", 0.25)])
    def test_a_training_without_a_fold_is_judged_beside_a_guess(self, scoring: str, guess: float) -> None:
        tables = {
            name: two_moons(rows, rows).sort_values("kind", kind="stable") for name, rows in (("a", 80), ("b", 40))
        }
        uneven = {name: table.iloc[len(table) // 3 :] for name, table in tables.items()}  # a quarter is the rarer class
        asked = [Party(name, Table(table, "kind")) for name, table in uneven.items()]
        schema = asked[0].source.described(None, None)[0]
        plan = Request(family="hgb", space="paper", scoring=scoring).plan("classification")
        step = Train(plan, schema, FAST, fold=0, folds=2)
        replies = in_step([partial(party.answer, step) for party in asked])
        assert train_in_one_place(asked, step) == replies
        for reply in replies:
            assert isinstance(reply, TrainReply)
            assert reply.guess_loss == pytest.approx(guess, abs=0.02)
            assert reply.held_loss is not None
            assert reply.held_loss < guess - 0.05

    @pytest.mark.parametrize(("family", "most"), [("hgb", 12), ("mlp", 200), ("svm", 0)])
    def test_its_iterations_are_told_and_change_nothing(self, family: str, most: int) -> None:
        told: list[tuple[str, int, int]] = []
        tables = {name: Table(two_moons(rows, rows), "kind") for name, rows in (("a", 60), ("b", 50))}
        plan, schema = Request(family=family).plan("classification"), tables["a"].described(None, None)[0]
        config = {**plan.space.default, **({"max_iter": most} if family == "hgb" else {})}
        step = Train(plan, schema, config, *((1 / 3, True) if family == "hgb" else ()))
        asked = [Party(n, t, training=lambda *said: told.append(said)) for n, t in tables.items()]
        silent = in_step([partial(Party(name, table).answer, step) for name, table in tables.items()])
        assert in_step([partial(party.answer, step) for party in asked]) == silent
        assert isinstance(silent[0], TrainReply)
        own = [said[1:] for said in told if said[0] == "b"]
        assert own == [said[1:] for said in told if said[0] == "a"]
        first = [(k + 1, most) for k in range(most if family == "hgb" else len(own))]
        assert own[: len(first)] == first
        assert len(own) == len(first) + (int(silent[0].config["max_iter"]) if family == "hgb" else 0)  # a second pass
        told.clear()
        train_in_one_place(asked, step)
        assert [said[1:] for said in told] == (own if family == "hgb" else [])

    def test_rows_that_may_lie_together_train_the_same_model(self) -> None:
        parties = [Party(name, Table(two_moons(rows, rows), "kind")) for name, rows in (("a", 90), ("b", 70))]
        schema = parties[0].source.described(None, None)[0]
        for step in (
            Train(Request(family="hgb", space="paper").plan("classification"), schema, FAST),
            Train(Request(family="hgb", space="paper").plan("classification"), schema, FAST, held=1 / 3, choose=True),
        ):
            apart = in_step([partial(party.answer, step) for party in parties])
            assert train_in_one_place(parties, step) == apart
        assert train_in_one_place(parties, Train(PLAN, schema, CONFIG)) is None  # a family that adds up over parties

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
