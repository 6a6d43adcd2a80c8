"""From files or replies to one conclusion: order, paths, and a party that lies."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from flora.aggregator.aggregation import Aggregation, aggregate, conclude, space_of
from flora.aggregator.evidence import Objective
from flora.aggregator.surface import SurfaceChoice
from flora.errors import TrialsError
from flora.models import family_of
from flora.models.hgb.family import GradientBoosting
from flora.problem.family import space_of as space_of_family
from flora.problem.messages import Confirmation
from flora.problem.path import path_through
from flora.problem.space import Real, SearchSpace
from flora.problem.trials import PartyTrials, Trial

SQUARE = SearchSpace((Real("u", 0.0, 1.0), Real("v", 0.0, 1.0)), {"u": 0.9, "v": 0.9})
GP = SurfaceChoice(regressor="gp")


def bowl(party: str, u: float, v: float, *, scale: float = 0.3, space: SearchSpace = SQUARE) -> PartyTrials:
    """Trials of a party whose losses are lowest at (u, v); a negative scale turns them round."""
    rng = np.random.default_rng(len(party) + ord(party[0]))
    configs = [dict(space.default), *space.decode(space.sample(rng, 25))]
    losses = [0.2 + scale * ((float(c["u"]) - u) ** 2 + (float(c["v"]) - v) ** 2) for c in configs]
    trials = tuple(Trial(config, loss, 0.01, 5, 50) for config, loss in zip(configs, losses, strict=True))
    return PartyTrials(party, 50, space, "balanced_accuracy", trials)


def trio() -> list[PartyTrials]:
    return [bowl("a", 0.2, 0.3), bowl("b", 0.3, 0.3), bowl("c", 0.25, 0.3)]


def measured(found: Aggregation, party: PartyTrials, sign: float = 1.0) -> list[Confirmation]:
    """What a party says of the proposed configs: the truth, or its opposite."""
    configs = [SQUARE.default, *found.propose(4, 0)]

    def loss(config: object) -> float:
        point = SQUARE.encode([config])[0]  # type: ignore[list-item]
        return 0.2 + 0.3 * float((point[0] - 0.25) ** 2 + (point[1] - 0.3) ** 2)

    return [
        Confirmation(Trial(c, loss(c), 0.01, 5, 50), sign * (loss(SQUARE.default) - loss(c)), 0.01) for c in configs
    ]


def at(found: Aggregation) -> Sequence[float]:
    config = found.recommendation.config
    return [float(config["u"]), float(config["v"])]


def test_the_minimum_is_recommended_with_a_predicted_verdict() -> None:
    found = aggregate(trio(), GP, 0)
    assert at(found) == pytest.approx([0.25, 0.3], abs=0.03)
    assert found.verdict is not None
    assert (found.verdict.basis, found.verdict.decision) == ("predicted", "use")
    assert (found.choice, found.diagnoses, found.confirmed) == (None, {}, {})
    assert aggregate([replace(t, space=SearchSpace(SQUARE.parameters)) for t in trio()], GP, 0).verdict is None


def test_the_order_of_parties_changes_nothing() -> None:
    one, other = aggregate(trio(), GP, 7), aggregate(trio()[::-1], GP, 7)
    assert one.trials == other.trials
    assert one.recommendation == other.recommendation
    assert one.propose(5, 7) == other.propose(5, 7)
    confirmed = {party.party: measured(one, party) for party in one.trials}
    rows = {"a": 50, "b": 60, "c": 70}
    first = conclude(one, confirmed, rows, "mean")
    second = conclude(other, dict(reversed(confirmed.items())), dict(reversed(rows.items())), "mean")
    assert (first.recommendation, first.choice, first.diagnoses) == (
        second.recommendation,
        second.choice,
        second.diagnoses,
    )


def test_the_conclusion_is_the_best_of_what_was_measured() -> None:
    found = aggregate(trio(), GP, 0)
    proposed = found.propose(4, 0)
    assert proposed[0] == found.recommendation.config
    better = proposed[2]

    def gains(party: str) -> list[Confirmation]:
        configs = [SQUARE.default, *proposed]
        return [Confirmation(Trial(c, 0.3, 0.01, 5, 50), 0.1 * (c == better), 0.01) for c in configs]

    end = conclude(found, {party: gains(party) for party in "abc"}, dict.fromkeys("abc", 50), "mean")
    assert end.recommendation.config == better
    assert end.recommendation.loss == pytest.approx(found.surface(SQUARE.encode([better]))[0])
    assert end.verdict is not None
    assert end.verdict.gain.estimate == pytest.approx(0.1)
    assert set(end.diagnoses) == {"a", "b", "c"}
    with pytest.raises(TrialsError, match="not all parties measured the default"):
        conclude(found, {party: gains(party)[1:] for party in "abc"}, dict.fromkeys("abc", 50), "mean")


@pytest.mark.parametrize(("parties", "objective"), [("abc", "mean"), ("abcde", "mean"), ("abc", "worst")])
def test_what_the_surface_predicts_is_no_second_half_of_an_evidence(parties: str, objective: Objective) -> None:
    found = aggregate([bowl(party, 0.25, 0.3) for party in parties], GP, 0)
    configs = [SQUARE.default, *found.propose(4, 0)]
    first = found.recommendation.config
    unsure = {
        party: [Confirmation(Trial(c, 0.3, 0.01, 5, 50), sign * 0.01 * (c == first), 0.1) for c in configs]
        for party, sign in zip(parties, (1, 1, 1, -0.9, -1.9), strict=False)
    }
    end = conclude(found, unsure, dict.fromkeys(parties, 50), objective)
    assert end.verdict is not None
    assert (end.verdict.basis, end.verdict.decision) == ("measured", "keep-defaults")


def test_where_nothing_but_the_default_was_tried_it_stays() -> None:
    only = [replace(party, trials=party.trials[:1]) for party in trio()]
    verdict = aggregate(only, GP, 0).verdict
    assert verdict is not None
    assert (verdict.decision, verdict.grade) == ("keep-defaults", "not shown")


def test_many_parties_take_the_surfaces_minimum_unless_another_is_clearly_better() -> None:
    parties = "abcdef"
    found = aggregate([bowl(party, 0.25, 0.3) for party in parties], GP, 0)
    first, other, *_ = configs = found.propose(4, 0)

    def end(gain: float) -> Aggregation:
        said = {
            party: [
                Confirmation(Trial(c, 0.3, 0.01, 5, 50), noise * ((c == first) * 0.10 + (c == other) * gain), 0.01)
                for c in [SQUARE.default, *configs]
            ]
            for party, noise in zip(parties, (0.8, 0.9, 1.0, 1.0, 1.1, 1.2), strict=True)
        }
        return conclude(found, said, dict.fromkeys(parties, 50), "mean")

    assert (end(0.101).recommendation.config, end(0.2).recommendation.config) == (first, other)
    assert all(diagnosis.config_without == first for diagnosis in end(0.101).diagnoses.values())


class TestALiar:
    honest = (bowl("a", 0.2, 0.3), bowl("b", 0.3, 0.3), bowl("c", 0.25, 0.2), bowl("d", 0.25, 0.4))
    liar = bowl("e", 0.25, 0.3, scale=-300.0)  # says that the best configs are by far the worst

    def test_moves_the_average_and_not_the_median(self) -> None:
        trials = [*self.honest, self.liar]
        moved = aggregate(trials, GP, 0)
        assert np.linalg.norm(np.subtract(at(moved), [0.25, 0.3])) > 0.5
        unmoved = aggregate(trials, SurfaceChoice("median", regressor="gp"), 0)
        assert at(unmoved) == pytest.approx([0.25, 0.3], abs=0.12)
        alone = aggregate(self.honest, SurfaceChoice("median", regressor="gp"), 0)
        assert at(alone) == pytest.approx([0.25, 0.3], abs=0.12)

    def test_does_not_turn_the_choice_among_candidates_and_is_seen(self) -> None:
        found = aggregate([*self.honest, self.liar], SurfaceChoice("median", regressor="gp"), 0)
        confirmed = {party.party: measured(found, party) for party in self.honest}
        confirmed["e"] = measured(found, self.liar, sign=-100.0)
        end = conclude(found, confirmed, dict.fromkeys(confirmed, 50), "mean")
        assert at(end) == pytest.approx([0.25, 0.3], abs=0.12)
        assert end.verdict is not None
        assert end.verdict.decision == "use"
        assert end.diagnoses["e"].disagrees
        assert end.diagnoses["e"].config_without == end.recommendation.config


class TestPath:
    trees = space_of_family(GradientBoosting(), "classification")

    def of(self, family: str | None, party: str = "a", space: SearchSpace | None = None) -> PartyTrials:
        space = space or self.trees
        return PartyTrials(party, 50, space, "accuracy", (Trial(dict(space.default), 0.1, 0.01, 5),), family=family)

    def found(self, family: str | None, space: SearchSpace | None = None) -> Aggregation:
        return aggregate([self.of(family, space=space)], GP, 0, family_of(family) if family else None)

    def test_follows_from_the_family(self) -> None:
        path = path_through(self.trees, {"max_iter"})
        assert path is not None
        assert self.found("hgb").path == replace(path, open=True)
        first = self.trees.parameters[:2]
        narrow = SearchSpace(first, {parameter.name: self.trees.default[parameter.name] for parameter in first})
        assert self.found("hgb", narrow).path == path_through(narrow, {"max_iter"})
        assert self.found("svm").path is None
        assert self.found(None).path is None

    def test_so_does_what_else_grows_with_the_rows(self) -> None:
        families = ("hgb", "svm", "mlp", None)
        assert [self.found(family).grows for family in families] == [set(), {"C"}, set(), set()]

    def test_the_space_is_that_of_the_first_party_by_name(self) -> None:
        turned = SearchSpace(self.trees.parameters[::-1], dict(self.trees.default))
        assert space_of([self.of("hgb", "b"), self.of("hgb", "a", turned)]) == turned

    def test_candidates_stand_at_stops(self) -> None:
        rng = np.random.default_rng(0)
        configs = [dict(self.trees.default), *self.trees.decode(self.trees.sample(rng, 20))]
        trials = tuple(Trial(c, abs(float(c["learning_rate"]) - 0.1), 0.01, 5) for c in configs)
        found = aggregate(
            [PartyTrials("a", 50, self.trees, "accuracy", trials, family="hgb")], GP, 0, GradientBoosting()
        )
        path = path_through(self.trees, {"max_iter"})
        assert path is not None
        assert all(config["max_iter"] in path.stops for config in found.propose(6, 0))
