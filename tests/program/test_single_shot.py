"""The whole algorithm: on a fake engine, and on parties of this process."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification

from flora.aggregator.comparison import SHARPER, Comparison, Training, moderated
from flora.aggregator.evidence import Objective
from flora.core.workers import workers
from flora.engines.threads import in_process
from flora.errors import DataError, FloraError, InputError, TrialsError
from flora.models import FAMILIES, family_of
from flora.models.model_file import unpack
from flora.outcome.explain import grown_words, past_range
from flora.party.gate import Gate
from flora.party.split import split
from flora.problem.family import space_of
from flora.problem.messages import (
    Certify,
    CertifyReply,
    Confirm,
    Confirmation,
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
from flora.problem.schema import Column, Schema
from flora.problem.trials import PartyTrials, Trial, paired_gain
from flora.program.drive import Ask, drive
from flora.program.request import Request
from flora.program.result import result_of
from flora.program.single_shot import Outcome, guesses_of, single_shot
from tests.conftest import SVM_SPACE, gate, two_moons

REQUEST = Request(family="svm", trials=8, folds=3, seed=2, trainings=1)


def three_parties() -> list[Gate]:
    sizes = {"north": 60, "south": 45, "west": 80}
    return [gate(name, two_moons(rows, rows)) for name, rows in sizes.items()]


def run(request: Request, parties: Sequence[Gate]) -> Outcome:
    return drive(single_shot(request), in_process(parties))


def test_a_whole_run_recommends_confirms_and_trains() -> None:
    outcome = run(REQUEST, three_parties())
    found = outcome.found
    found.space.check(found.recommendation.config)
    assert [(party.party, party.rows) for party in found.trials] == [("north", 60), ("south", 45), ("west", 80)]
    assert found.choice is not None
    assert len(found.choice.candidates) == 1 + REQUEST.confirm
    assert set(found.diagnoses) == {"north", "south", "west"}
    new = two_moons(200, 99)
    predictions = unpack(outcome.model).predict_table(new.drop(columns="kind"))
    assert np.mean(predictions["prediction"] == new["kind"]) > 0.85


def test_the_order_of_parties_and_the_number_of_jobs_change_nothing() -> None:
    first = run(REQUEST, three_parties())
    with workers(2) as spread:
        parties = [replace(each, party=replace(each.party, spread=spread)) for each in reversed(three_parties())]
        second = drive(single_shot(REQUEST), in_process(parties, jobs=2))
    assert [t.to_json() for t in first.found.trials] == [t.to_json() for t in second.found.trials]
    assert first.found.recommendation == second.found.recommendation
    assert first.found.choice == second.found.choice
    assert first.found.diagnoses == second.found.diagnoses
    assert first.model == second.model


@pytest.mark.parametrize(("gain", "decision"), [(0.1, "use"), (-0.0005, "keep-defaults")])
def test_the_verdict_decides_what_is_trained(gain: float, decision: str) -> None:
    outcome = drive(single_shot(REQUEST), fake(gain=gain))
    assert outcome.found.verdict is not None
    assert outcome.found.verdict.decision == decision
    chosen = outcome.found.recommendation.config if decision == "use" else dict(SVM_SPACE.default)
    assert trained(outcome).config == chosen
    assert (chosen == dict(SVM_SPACE.default)) == (decision == "keep-defaults")


@pytest.mark.parametrize(("loss", "confirm", "decision"), [(0.45, 8, "use"), (0.5, 8, "keep-defaults")])
def test_what_predicts_no_better_than_a_guess_is_not_used(loss: float, confirm: int, decision: str) -> None:
    outcome = drive(single_shot(replace(REQUEST, confirm=confirm)), fake(loss=loss))
    assert outcome.found.verdict is not None
    assert outcome.found.verdict.basis == "measured"
    assert outcome.found.verdict.decision == decision


def test_a_surface_that_predicts_a_guess_is_not_used_either() -> None:
    tried = [Trial({"C": c, "gamma": 0.1, "tol": 1e-3}, 0.9 if c == 1 else 0.5) for c in (1.0, 8.0, 12.0, 300.0)]
    trials = PartyTrials("a", 50, SVM_SPACE, "balanced_accuracy", tuple(tried))
    outcome = drive(single_shot(replace(REQUEST, confirm=0)), fake(trials=trials))
    assert outcome.found.verdict is not None
    assert (outcome.found.verdict.basis, outcome.found.verdict.learns) == ("predicted", False)


def test_a_guess_is_one_among_the_classes_that_a_party_has() -> None:
    schemas = [Schema("y", "classification", (), classes) for classes in ((0, 1), (0, 1, 2, 3))]
    replies = [DescribeReply("a", 50, schemas[0]), DescribeReply("b", 50), DescribeReply("c", 50, schemas[1])]
    assert guesses_of("balanced_accuracy", replies, schemas[1]) == {"a": 0.5, "b": 0.75, "c": 0.75}
    assert guesses_of("f1_macro", replies, schemas[1]) == {}


def test_what_is_trained_is_what_the_model_says(tmp_path: Path) -> None:
    outcome = run(REQUEST, three_parties())
    assert dict(trained(outcome).config) == dict(unpack(outcome.model).config)


def trained(outcome: Outcome) -> Training:
    assert outcome.trained is not None
    return outcome.trained


def test_without_a_training_the_program_ends_with_the_recommendation() -> None:
    steps: list[str] = []
    engine = fake()

    def ask(step: Step) -> Iterable[Reply]:
        steps.append(step.name)
        return engine(step)

    outcome = drive(single_shot(replace(REQUEST, trainings=0)), ask)
    assert steps == ["describe", "search", "confirm"]
    assert (outcome.trained, outcome.trainings, outcome.model) == (None, (), b"")
    assert outcome.found.choice is not None


def test_a_given_schema_leaves_with_nobody() -> None:
    schema = Schema("kind", "classification", (Column("x", "numeric"), Column("y", "numeric")), ("lower", "upper"))
    _, seen = watched(replace(REQUEST, schema=schema))
    described = [reply for reply in seen if isinstance(reply, DescribeReply)]
    assert [reply.schema for reply in described] == [None, None, None]


def watched(request: Request) -> tuple[Outcome, list[Reply]]:
    seen: list[Reply] = []

    def ask(step: Step) -> list[Reply]:
        replies = list(in_process(three_parties())(step))
        seen.extend(replies)
        return replies

    return drive(single_shot(request), ask), seen


def test_a_certificate_is_made_where_it_is_asked_for_and_else_nothing_more_leaves() -> None:
    plain, replies = watched(REQUEST)
    assert plain.certificate is None
    assert not any(isinstance(reply, CertifyReply) for reply in replies)
    certified, replies = watched(replace(REQUEST, certificate=True))
    assert certified.certificate is not None
    assert certified.found.recommendation == plain.found.recommendation
    assert certified.model == plain.model
    evidence = [reply for reply in replies if isinstance(reply, CertifyReply)]
    assert [reply.party for reply in evidence] == ["north", "south", "west"]
    assert all(len(reply.curves) == 2 for reply in evidence)
    assert all(reply.rows not in (len(line) for line in reply.sketch.quantiles) for reply in evidence if reply.sketch)


def fake(
    *,
    gain: float = 0.1,
    loss: float = 0.3,
    trials: PartyTrials | None = None,
    models: tuple[bytes, bytes] = (b"m", b"m"),
) -> Ask:
    """An engine of two parties that answer at once."""
    schema = Schema("y", "classification", (Column("x", "numeric"),), (0, 1))
    tried = tuple(Trial({"C": c, "gamma": 0.1, "tol": 1e-3}, abs(c - 10) / 1000) for c in (1.0, 8.0, 12.0, 300.0))

    def reply(step: Step, name: str, model: bytes) -> Reply:
        match step:
            case Describe():
                return DescribeReply(name, 50, schema)
            case Search():
                own = PartyTrials(name, 50, SVM_SPACE, "balanced_accuracy", tried)
                return SearchReply(name, 50, own if trials is None else replace(trials, party=name))
            case Confirm():
                configs = [dict(SVM_SPACE.default), *step.configs]
                pairs = tuple(Confirmation(Trial(c, loss, 0.01, 5, 50), k * gain, 0.01) for k, c in enumerate(configs))
                return ConfirmReply(name, 50, pairs)
            case Train():
                return TrainReply(name, 50, model, step.config)
        raise AssertionError(step.name)

    return lambda step: [reply(step, name, model) for name, model in zip("ab", models, strict=True)]


def test_a_fake_engine_is_one_function() -> None:
    outcome = drive(single_shot(REQUEST), fake())
    assert outcome.found.verdict is not None
    assert outcome.found.verdict.decision == "use"
    assert trained(outcome).config == outcome.found.recommendation.config


def test_replies_are_checked_before_they_are_merged() -> None:
    with pytest.raises(FloraError, match="different models"):
        drive(single_shot(REQUEST), fake(models=(b"m", b"n")))
    foreign = PartyTrials("a", 50, SVM_SPACE, "accuracy", (Trial(dict(SVM_SPACE.default), 0.1),))
    with pytest.raises(TrialsError, match="party 'a' sent trials of another space or scoring"):
        drive(single_shot(REQUEST), fake(trials=foreign))
    with pytest.raises(TrialsError, match=f"party 'a' sent trials of 'other', asked for is '{REQUEST.family}'"):
        drive(single_shot(REQUEST), fake(trials=replace(foreign, family="other")))


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            replace(REQUEST, family="forest"),
            f"the model must be {', '.join(FAMILIES)} or package.module:Estimator, got 'forest'",
        ),
        (replace(REQUEST, scoring="accurate"), "scoring must be one of scikit-learn's scorers"),
        (replace(REQUEST, trials=0), "trials must be a whole number of at least 1, got 0"),
        (replace(REQUEST, folds=1), "cv must be a whole number of at least 2, got 1"),
        (replace(REQUEST, task="regression"), "must be numeric, got"),
        (replace(REQUEST, aggregator_hps=True), "the model svm has no HPs of the aggregator; mlp has"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(request_: Request, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(request_, three_parties())


def test_the_aggregators_own_hps_are_tuned_with_the_others() -> None:
    request = replace(REQUEST, family="mlp", aggregator_hps=True, trials=2, folds=2, confirm=1)
    assert {"local_epochs", "server_learning_rate"} < set(request.plan("classification").space.names)
    outcome = run(request, three_parties()[:2])
    assert set(trained(outcome).config) == set(outcome.found.space.names)
    with pytest.raises(InputError, match="names the aggregator's HPs itself"):
        replace(request, space={"alpha": {"type": "real", "range": [0, 1]}})


def test_an_svm_does_no_regression() -> None:
    tables = {"north": two_moons(60, 60), "south": two_moons(45, 45)}
    parties = [gate(name, table.assign(kind=table.x * 2)) for name, table in tables.items()]
    with pytest.raises(InputError, match="the model svm does classification, not regression"):
        run(REQUEST, parties)


def test_two_parties_of_one_name_are_refused() -> None:
    with pytest.raises(DataError, match="party names must differ, 'north' comes twice"):
        in_process([three_parties()[0], three_parties()[0]])


class TestTrainings:
    def test_recommended_and_default_are_compared_fold_by_fold_and_the_verdict_is_theirs(self) -> None:
        request = replace(REQUEST, trials=3, confirm=2, trainings=6)  # two folds of two, and the model
        seen: list[Reply] = []
        engine = in_process(three_parties())

        def ask(step: Step) -> list[Reply]:
            replies = list(engine(step))
            seen.extend(replies)
            return replies

        outcome = drive(single_shot(request), ask)
        verdict = outcome.found.verdict
        assert verdict is not None
        assert verdict.basis == "trained"
        default, recommended = dict(outcome.found.space.default), dict(outcome.found.recommendation.config)
        use = recommended if verdict.decision == "use" else default
        assert [(dict(t.config), t.fold) for t in outcome.trainings] == [
            *((default, 0), (recommended, 0), (default, 1), (recommended, 1)),
            (use, None),
        ]
        losses = [training.loss for training in outcome.trainings[:-1]]
        seen_gain = paired_gain([losses[0] or 0, losses[2] or 0], [losses[1] or 0, losses[3] or 0])
        assert outcome.found.choice is not None
        assert verdict.gain == moderated(seen_gain, outcome.found.choice.chosen.gain, SHARPER)
        assert dict(unpack(outcome.model).config) == use
        models = [reply.model for reply in seen if isinstance(reply, TrainReply)]
        assert models == [b""] * 4 * 3 + [outcome.model] * 3  # of what only judges, no model leaves
        assert run(request, three_parties()[::-1]).trainings == outcome.trainings

    @pytest.mark.parametrize(
        ("losses", "decision"), [((0.41, 0.3, 0.4, 0.3), "use"), ((0.31, 0.4, 0.3, 0.4), "keep-defaults")]
    )
    def test_what_the_trainings_say_overrules_what_the_parties_measured(
        self, losses: tuple[float, ...], decision: str
    ) -> None:
        engine = training_fake(dict.fromkeys("ab", (*losses, None)), {"a": 90, "b": 10})
        outcome = drive(single_shot(replace(asked("mean"), trainings=5)), engine)
        assert outcome.found.choice is not None
        assert outcome.found.choice.verdict.decision == "use"
        assert outcome.found.verdict is not None
        assert (outcome.found.verdict.decision, outcome.found.verdict.basis) == (decision, "trained")
        config = outcome.found.recommendation.config if decision == "use" else outcome.found.space.default
        assert dict(trained(outcome).config) == dict(config)
        assert outcome.model == b"model 5"

    def test_losses_on_what_was_left_out_count_by_rows(self) -> None:
        held = {"a": (0.2, 0.1, 0.2, 0.1, None), "b": (0.2, 0.5, 0.2, 0.5, None)}
        outcome = drive(single_shot(replace(asked("mean"), trainings=5)), training_fake(held, {"a": 90, "b": 10}))
        assert [t.loss for t in outcome.trainings[:2]] == pytest.approx([0.2, 0.9 * 0.1 + 0.1 * 0.5])

    def test_where_no_rows_can_judge_the_parties_own_measurement_stands(self) -> None:
        engine = training_fake(dict.fromkeys("ab", (None,) * 5), {"a": 5, "b": 5})
        outcome = drive(single_shot(replace(asked("mean"), trainings=5)), engine)
        assert outcome.found.choice is not None
        assert outcome.found.verdict is not None
        assert replace(outcome.found.verdict, learnt=None) == outcome.found.choice.verdict

    @pytest.mark.parametrize(("rows", "inside"), [(2500, True), (2499, False)])
    def test_trees_are_counted_inside_the_training_where_there_are_rows_to_count_by(
        self, rows: int, inside: bool
    ) -> None:
        steps: list[Step] = []
        outcome = drive(
            single_shot(asked("mean")),
            training_fake({"a": (0.2,), "b": (0.1,)}, {"a": rows, "b": 2500}, steps),
        )
        step = steps[-1]
        assert isinstance(step, Train)
        config = outcome.found.recommendation.config
        assert step.config == ({**config, "max_iter": 264} if inside else config)  # 200 * 2**0.4
        assert (step.choose, step.held) == (inside, 1 / 3 if inside else 0.0)
        assert trained(outcome).chosen == (("max_iter",) if inside else ())

    def test_all_parties_train_past_the_range_that_each_searched(self) -> None:
        steps: list[Step] = []
        names = "abcdefgh"
        engine = training_fake(dict.fromkeys(names, (0.2,) * 5), dict.fromkeys(names, 625), steps)
        outcome = drive(single_shot(replace(asked("mean"), trainings=5)), engine)
        configs = [step.config for step in steps if isinstance(step, Train)]
        assert {config["max_iter"] for config in configs} == {round(200 * 8**0.4)} == {459}
        assert all(tuple(config) == outcome.found.space.names for config in configs)

    @pytest.mark.parametrize(("rows", "trees"), [(2500, 264), (2000, 100)])  # counted in the training, and not
    def test_a_default_that_is_the_recommendation_is_not_compared_with_itself(self, rows: int, trees: int) -> None:
        steps: list[Step] = []
        engine = training_fake(dict.fromkeys("ab", (0.2,) * 3), dict.fromkeys("ab", rows), steps, gain=-0.1)
        outcome = drive(single_shot(replace(asked("mean"), trainings=5)), engine)
        assert outcome.found.choice is not None
        assert outcome.found.choice.chosen is outcome.found.choice.candidates[0]  # nothing gains
        trainings = [step for step in steps if isinstance(step, Train)]
        assert all(step.config == {**outcome.found.space.default, "max_iter": trees} for step in trainings)
        assert [(step.fold, step.folds) for step in trainings] == [(0, 2), (1, 2), (0, 0)]  # it has a score at least
        assert outcome.comparison == Comparison((0.2, 0.2), ())

    def test_a_real_training_counts_its_trees(self) -> None:
        parties = [gate(name, two_moons(2500, k)) for k, name in enumerate("ab")]
        space = {
            "max_iter": {"type": "int", "range": [2, 9], "default": 5},
            "learning_rate": {"type": "real", "range": [0.9, 3.0], "default": 2.9},  # too fast: later trees spoil it
        }
        outcome = run(Request(family="hgb", space=space, trials=1, folds=2, confirm=0), parties)
        assert trained(outcome).chosen == ("max_iter",)
        assert 1 <= int(trained(outcome).config["max_iter"]) < 9
        stored = unpack(outcome.model)
        assert dict(stored.config) == dict(trained(outcome).config)
        loss = trained(outcome).loss
        assert loss is not None
        assert loss < 0.2

    def test_a_real_training_of_many_parties_goes_past_the_range(self) -> None:
        X, y = make_classification(5000, 8, n_informative=8, n_redundant=0, n_clusters_per_class=8, random_state=0)
        table = pd.DataFrame(X, columns=[f"x{k}" for k in range(8)]).assign(target=y)
        parties = [gate(name, rows, "target") for name, rows in split(table, "target", 5, "iid", 0).items()]
        outcome = run(Request(family="hgb", trials=1, folds=2, confirm=0), parties)
        assert 200 < int(trained(outcome).config["max_iter"]) <= round(200 * 5**0.4)
        assert dict(unpack(outcome.model).config) == dict(trained(outcome).config)
        assert (
            int(outcome.found.recommendation.config["max_iter"]) <= 200
        )  # what is recommended is a config of the space
        result = result_of(outcome, Request(family="hgb"), {})
        assert past_range(result).startswith("past the range that each party searches")


def test_five_parties_train_with_a_higher_c_than_each_measured() -> None:
    parties = [gate(f"p{k}", two_moons(40, k)) for k in range(5)]
    request = Request(family="svm", trials=6, folds=3, confirm=3, trainings=1)
    outcome = run(request, parties)
    result = result_of(outcome, request, {})
    default, *others = result.candidates
    assert default.config == default.measured == dict(outcome.found.space.default)
    for each in others:
        assert each.config["C"] == pytest.approx(min(float(each.measured["C"]) * 5**0.4, 1000))
        assert {**each.config, "C": 0} == {**each.measured, "C": 0}
    assert result.verdict == "use"
    assert trained(outcome).config["C"] == result.config["C"]
    assert grown_words(result).startswith("More rows need more: C = ")
    # What the surface predicts belongs to what the parties measured, and so does all that the certificate says.
    recommendation, surface, space = outcome.found.recommendation, outcome.found.surface, outcome.found.space
    assert recommendation.measured == result.measured_config != result.config
    assert result.predicted_loss == float(surface(space.encode([recommendation.measured]))[0])


class TestCertificate:
    def certified(self, gates: Sequence[Gate], request: Request) -> tuple[Outcome, list[Step]]:
        steps: list[Step] = []
        engine = in_process(gates)

        def ask(step: Step) -> Iterable[Reply]:
            steps.append(step)
            return engine(step)

        return drive(single_shot(request), ask), steps

    def test_is_of_the_config_that_is_trained_and_not_of_the_one_that_stands_for_it(self) -> None:
        request = Request(family="svm", trials=6, folds=3, confirm=3, trainings=1, certificate=True)
        outcome, steps = self.certified([gate(f"p{k}", two_moons(60, k)) for k in range(5)], request)
        recommendation, certificate = outcome.found.recommendation, outcome.certificate
        (certify,) = (step for step in steps if isinstance(step, Certify))
        assert recommendation.measured != recommendation.config
        assert certify.configs[1] == recommendation.config
        assert certificate is not None
        assert certificate.config == trained(outcome).config == recommendation.config
        assert [gap.basis for gap in certificate.measured] == ["measured"]
        assert certificate.measured[0].configs == 4  # the default and three candidates

    def test_is_of_the_default_where_the_verdict_of_trainings_keeps_it(self) -> None:
        """Labels that nothing predicts, compared in folds before the certificate is asked for."""
        rows = two_moons(120, 3)
        rows["kind"] = np.random.default_rng(0).permutation(rows["kind"].to_numpy())
        tables = {"a": rows[:60], "b": rows[60:]}
        request = Request(family="svm", trials=4, folds=3, confirm=2, certificate=True, trainings=5, seed=1)
        outcome, steps = self.certified([gate(name, table) for name, table in tables.items()], request)
        verdict, certificate = outcome.found.verdict, outcome.certificate
        assert verdict is not None
        assert certificate is not None
        assert [step.name for step in steps][-3:] == ["train", "certify", "train"]
        assert (verdict.basis, verdict.decision) == ("trained", "keep-defaults")
        assert certificate.config == trained(outcome).config == dict(SVM_SPACE.default)
        assert [gap.basis for gap in certificate.measured] == ["trained", "measured"]
        _, high = verdict.interval
        stated = certificate.measured[0].value
        assert stated is None or stated == pytest.approx(max(0, high))


def asked(objective: Objective) -> Request:
    return Request(family="hgb", trials=2, folds=3, confirm=1, objective=objective, trainings=1)


def training_fake(
    held: Mapping[str, Sequence[float | None]],
    rows: Mapping[str, int],
    steps: list[Step] | None = None,
    gain: float = 0.1,
) -> Ask:
    """An engine of parties of which only the trainings matter: each with its losses on held-out rows, in turn."""
    schema = Schema("y", "classification", (Column("x", "numeric"),), (0, 1))
    space = space_of(family_of("hgb"), "classification")
    found = tuple(Trial(dict(config), 0.2, 0.01, 3) for config in [space.default, *space.decode(np.full((1, 5), 0.3))])
    done = [0]

    def reply(step: Step, name: str) -> Reply:
        match step:
            case Describe():
                return DescribeReply(name, rows[name], schema)
            case Search():
                trials = PartyTrials(name, rows[name], space, "balanced_accuracy", found, family="hgb")
                return SearchReply(name, rows[name], trials)
            case Confirm():
                configs = [dict(space.default), *step.configs]
                gains = tuple(Confirmation(Trial(c, 0.3, 0.01, 3), gain * k, 0.01) for k, c in enumerate(configs))
                return ConfirmReply(name, rows[name], gains)
            case Train():
                return TrainReply(name, rows[name], f"model {done[0]}".encode(), step.config, held[name][done[0] - 1])
        raise AssertionError(step.name)

    def ask(step: Step) -> list[Reply]:
        if steps is not None:
            steps.append(step)
        done[0] += step.name == "train"
        return [reply(step, name) for name in held]

    return ask


def test_without_a_confirmation_the_surface_gives_the_verdict() -> None:
    steps: list[str] = []
    engine = in_process(three_parties())

    def ask(step: Step) -> list[Reply]:
        steps.append(step.name)
        return list(engine(step))

    outcome = drive(single_shot(replace(REQUEST, trials=3, confirm=0)), ask)
    assert steps == ["describe", "search", "train"]
    assert outcome.found.verdict is not None
    assert outcome.found.verdict.basis == "predicted"
    assert (outcome.found.choice, outcome.found.diagnoses) == (None, {})


def test_what_parties_measure_must_be_in_the_space() -> None:
    engine = fake()

    def ask(step: Step) -> list[Reply]:
        replies = list(engine(step))
        if step.name != "confirm":
            return replies
        return [ConfirmReply("a", 50, (Confirmation(Trial({"C": 1e9}, 0.1), 0.0, 0.0),)), replies[1]]

    with pytest.raises(TrialsError, match="party 'a' measured what is not in the space: a config must name"):
        drive(single_shot(REQUEST), ask)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"confirm": -1}, "confirm must be a whole number of at least 0, got -1"),
        ({"trainings": 4}, "trainings must be 0, 1 or at least 5"),
        ({"trainings": -1}, "trainings must be a whole number of at least 0, got -1"),
        ({"objective": "best"}, "objective must be one of"),
    ],
)
def test_a_request_is_true_from_birth(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(REQUEST, **change)


def test_trials_of_a_party_do_not_depend_on_the_others(tmp_path: Path) -> None:
    together = run(REQUEST, three_parties()).found.trials[0]
    strange = gate("south", two_moons(50, 5).assign(kind=lambda t: t.kind.replace("upper", "odd")))
    apart = run(REQUEST, [three_parties()[0], strange]).found.trials[0]
    assert together.to_json() == apart.to_json()
