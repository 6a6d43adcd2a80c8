"""The certificate of a run: two parties by hand, what is known of the truth, and what nobody measured."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, t

from flora.aggregator.aggregation import Aggregation
from flora.aggregator.certificate.bounds import FiniteSet, certify
from flora.aggregator.certificate.extrapolation import extrapolate
from flora.aggregator.certificate.record import TERMS, Certificate, Number
from flora.aggregator.recommend import Recommendation
from flora.aggregator.surface import SurfaceKind, fit_surface
from flora.aggregator.surfaces.average_of_parties import AverageOfParties
from flora.errors import InputError
from flora.party.sketch import sketch_of
from flora.problem.learning_curve import CurvePoint, LearningCurve
from flora.problem.messages import Confirmation
from flora.problem.sketch import Sketch
from flora.problem.space import Config
from flora.problem.trials import PartyTrials, Trial
from tests.aggregator.certificate.cases import LINE, Floats, Known, interpolated, party

X = [0.0, 0.5, 1.0]
AT: Config = {"x": 0.25}
DEFAULT: Config = {"x": 0.5}


def pair(error: float | None = None) -> list[PartyTrials]:
    """Party a, of 300 rows, prefers the default 1/2; party b, of 100 rows, prefers 0. Nobody tried 1/4."""
    return [party("a", X, [0.3, 0.2, 0.4], 300, error), party("b", X, [0.2, 0.3, 0.5], 100, error)]


def run_of(trials: Sequence[PartyTrials], at: Config = AT, surface: SurfaceKind | None = None) -> Aggregation:
    flat = AverageOfParties((Known(lambda x: 0.25 + 0 * x),) * len(trials), (1.0,) * len(trials))
    return Aggregation(tuple(trials), surface or flat, Recommendation(at, at, 0.25, 0.0), None)


def certificate(trials: Sequence[PartyTrials], at: Config = AT, **evidence: Any) -> Certificate:
    return certify(run_of(trials, at), at, seed=0, **evidence)


def value(number: Number | None) -> float:
    assert number is not None
    return number.value


def curve(name: str, x: float, losses: Sequence[float], rows: int = 100, error: float = 1e-4) -> LearningCurve:
    sizes = [rows // 4, rows // 2, rows]
    points = [CurvePoint(size, loss, error) for size, loss in zip(sizes, losses, strict=True)]
    return LearningCurve(name, {"x": x}, tuple(points))


def sketches(apart: float = 2.0) -> list[Sketch]:
    """The same rows at both parties, but for a shift of one column: the sliced distance is that shift."""
    rows = np.linspace(-1, 1, 320)[:, None]
    made = [sketch_of(rows + place, party=name, seed=0) for name, place in (("a", 0.0), ("b", apart))]
    return [sketch for sketch in made if sketch is not None]


class TestTwoPartiesByHand:
    r"""The shares of rows are 3/4 and 1/4, and 1/4 is trained.

    Over half of the range a's losses differ by 0.1 and 0.2, over all of it by 0.1: omega_a(t) = min(0.4 t, 0.2). b's
    differ by 0.1, 0.2 and 0.3: omega_b(t) = 0.4 t up to 1/2, and 0.2 + 0.2 (t - 1/2) from there.

    What 1/4 loses at most: at a min(0.3 + 0.1, 0.2 + 0.1, 0.4 + 0.2) = 0.3, at b min(0.2 + 0.1, 0.3 + 0.1, ...) = 0.3.
    What the default 1/2 loses was measured: 0.2 and 0.3. The gap to it is at most 3/4 0.1 + 1/4 0 = 0.075, and all
    other configs are nearer: from 1/2 to the left a's lowest loss rises by 0.4 for each step (seen from 1/4, whose own
    is 0.3), b's falls by 0.2 at most (seen from 1); to the right both rise, for 1 loses much; and at 1/8 both are
    0.25 at least (seen from 0 and 1/4), which is a gap of 0.05.
    """

    def test_the_trials_alone(self) -> None:
        found = certificate(pair())
        assert value(found.bound) == pytest.approx(0.075)
        assert found.worst == {"x": 0.5}
        # both ends rest on trials: 3/4 (0.2 - 0.2) + 1/4 (0.2 - 0.3), and 3/4 0.1 + 1/4 0.1 of roughness, all at 1/4
        assert found.contributions == pytest.approx(
            {"shift": 0, "loss": 0.1, "trials": -0.025, "size": 0, "floor": 0, "noise": 0}
        )
        assert found.config == AT
        assert value(found.tried) == pytest.approx(0.075)
        assert value(found.range) == pytest.approx(0.3)  # no loss is below 0

    def test_noise_of_cross_validation(self) -> None:
        """Losses with an error of 0.01 differ with one of 0.01 sqrt(2): by the shares sqrt(9 + 1) / 4 = 0.79 of that.

        262 configs at once (4 named or tried beside the two, 256 random) leave each a tail of 0.05 / 262: 3.55 errors.
        So the noise is 3.55 * 0.79 * 0.01414 = 0.0397.
        """
        found = certificate(pair(error=0.01))
        assert found.configs == 262
        noise = -norm.ppf(0.05 / 262) * np.sqrt(10) / 4 * 0.01 * np.sqrt(2)
        assert noise == pytest.approx(0.0397, abs=1e-4)
        assert found.contributions["noise"] == pytest.approx(noise)
        assert value(found.bound) == pytest.approx(0.075 + noise)
        assert found.parties["a"]["noise"].status == "estimated"

    def test_paired_differences_tell_the_noise_where_they_were_measured(self) -> None:
        measured = [Confirmation(Trial(dict(LINE.default), 0.2, 0.01, 5), 0.0, 0.0)]
        measured += [Confirmation(Trial({"x": 0.0}, 0.3, 0.01, 5), -0.1, 0.004)]
        run = replace(run_of(pair(error=0.01)), confirmed={"a": tuple(measured)})
        found = certify(run, AT, seed=0)
        assert found.parties["a"]["noise"].value == pytest.approx(0.004)
        assert found.parties["b"]["noise"].value == pytest.approx(0.01 * np.sqrt(2))

    def test_the_difference_between_the_parties_data(self) -> None:
        """Their data lies 2 apart: a is 1/4 2 = 0.5 from the mixture, b 1.5. Losses of one config differ by 0.1: beta
        is 0.1 / 2. That adds 2 * 0.05 (3/4 0.5 + 1/4 1.5) = 0.075."""
        found = certificate(pair(), sketches=sketches())
        assert [found.parties[name]["W1"].value for name in "ab"] == pytest.approx([0.5, 1.5], rel=1e-4)
        assert found.beta.value == pytest.approx(0.05, rel=1e-4)
        assert value(found.bound) == pytest.approx(0.15, rel=1e-4)
        assert found.contributions["shift"] == pytest.approx(0.075, rel=1e-4)

    def test_the_rows_of_all(self) -> None:
        """By how much a loss may fall at most, less what the trained one's falls at least, by the shares."""
        curves = [curve(name, x, losses, rows) for name, x, losses, rows in (
            ("a", 0.25, [0.32, 0.31, 0.3], 300), ("a", 0.5, [0.3, 0.23, 0.2], 300),
            ("b", 0.25, [0.32, 0.31, 0.3], 100), ("b", 0.5, [0.33, 0.31, 0.3], 100))]  # fmt: skip
        said = [extrapolate(each, 400) for each in curves]
        sizes = [max(said[k].high, said[k + 1].high) - said[k].low for k in (0, 2)]
        found = certificate(pair(), curves=curves)
        size = 0.75 * sizes[0] + 0.25 * sizes[1]
        assert found.contributions["size"] == pytest.approx(size)
        assert value(found.bound) == pytest.approx(0.075 + size)
        assert found.parties["b"]["size"].value == pytest.approx(sizes[1])

    def test_no_loss_falls_below_the_floor(self) -> None:
        """Two sizes say nothing of b's loss with all rows: of 0.35 all may go, and two errors of 0.005 may be added.

        So b gives 0.3 + 0.01 - max(0, 0.3 - 0.35) = 0.31 at the default, where 0.05 is below the floor, and a 0.1.
        """
        short = LearningCurve("b", AT, (CurvePoint(50, 0.36, 0.005), CurvePoint(100, 0.35, 0.005)))
        found = certificate(pair(), curves=[short])
        assert value(found.bound) == pytest.approx(0.75 * 0.1 + 0.25 * 0.31)
        assert found.contributions["floor"] == pytest.approx(-0.25 * 0.05)
        assert found.contributions["size"] == pytest.approx(0.25 * 0.36)
        assert sum(found.contributions.values()) == pytest.approx(value(found.bound))

    def test_the_default_is_certified_where_it_is_trained(self) -> None:
        """It loses 0.2 and 0.3; at 0, b loses 0.2 and a 0.3. No config is further below: 1/4 (0.3 - 0.2) at 0 less
        3/4 0.1 is below 0, but at 1/4 a may lose 0.2 - 0.1 (seen from 1/2) or 0.3 - 0.1 (from 0): 0.2; b 0.25 (from
        1). That is 1/4 0.05 = 0.0125, and nowhere else is it more."""
        found = certify(run_of(pair()), DEFAULT, seed=0)
        assert found.config == {"x": 0.5}
        assert value(found.bound) == pytest.approx(0.0125)  # at 1/4 itself, the recommendation
        assert found.regret["bound"] == Number(1.0, "assumed")

    def test_the_regret_by_the_gain_that_is_proved(self) -> None:
        """With all weight on b, 0 is best: 0.2, and all others lose 0.5 - omega_b(1 - x) = 0.2 + 0.2 x at least.

        The default loses 0.3 there. So 0.1 less the noise is gained, next to 0 the gap is the noise, and the regret is
        noise / (0.1 - noise + noise): the bound over the gain.
        """
        found = certificate(pair(error=0.001), {"x": 0.0}, weights={"a": 0.0, "b": 1.0})
        noise = -norm.ppf(0.05 / 262) * 0.001 * np.sqrt(2)
        assert value(found.bound) == pytest.approx(noise, abs=1e-3)  # of 256 random configs one is next to 0
        assert value(found.regret["bound"]) == pytest.approx(noise / 0.1, abs=1e-2)
        worse = certificate(pair(error=0.03), {"x": 0.0}, weights={"a": 0.0, "b": 1.0})
        assert worse.regret["bound"] is None  # 0.15 of noise: the default may be better


def test_the_bound_holds_where_all_is_known_and_the_trials_show_it() -> None:
    """Losses of a known slope that the trials at the ends and at the lowest point show: whatever is trained."""

    @settings(max_examples=60, deadline=None)
    @given(st.floats(0, 2), st.floats(0, 1), st.lists(st.floats(0, 1), max_size=4), st.floats(0, 1))
    def check(slope: float, centre: float, x: list[float], at: float) -> None:
        tried = np.array([0.0, centre, 1.0, *x])
        trials = [party(name, tried.tolist(), (level + slope * np.abs(tried - centre)).tolist())
                  for name, level in (("a", 0.1), ("b", 0.3))]  # fmt: skip
        found = certificate([replace(each, scoring="neg_log_loss") for each in trials], {"x": at})
        gap = slope * abs(at - centre)
        assert gap <= value(found.bound) + 1e-9 if found.bound else gap <= value(found.range) + 1e-9

    check()


def test_without_the_size_term_the_bound_can_be_wrong() -> None:
    """Parties of 100 rows lose 0.5 at x = 0 and 0.6 at 1/2, where the loss is 0.3 + 30 / n: with 400 rows 0.375."""
    x = np.linspace(0, 1, 401)
    at_party = 0.5 + 0.2 * np.minimum(x, 0.5)
    trials = [party(name, x.tolist(), at_party.tolist(), 100, scoring="neg_log_loss") for name in "abcd"]
    run = run_of(trials, {"x": 0.0}, AverageOfParties((interpolated(x, at_party),) * 4, (1.0,) * 4))
    curves = [curve(name, 0.0, [0.5, 0.5, 0.5]) for name in "abcd"]
    curves += [curve(name, 0.5, [1.5, 0.9, 0.6]) for name in "abcd"]
    gap = 0.5 - 0.375
    paper = certify(run, {"x": 0.0}, seed=0)
    ours = certify(run, {"x": 0.0}, seed=0, curves=curves)
    assert max(value(paper.bound), value(paper.forms["paper"])) < gap < value(ours.bound)
    assert ours.dominant == "size"
    assert paper.parties["a"]["size"].status == "assumed"
    assert ours.forms["paper"] == paper.forms["paper"]


@pytest.mark.parametrize("kind", ["aplm", "mplm", "sgm", "sgm+u", "median"])
def test_a_certificate_of_each_surface_adds_up(kind: str) -> None:
    x = np.append(np.linspace(0, 1, 40), 0.5)
    trials = [
        party(name, x.tolist(), (0.5 + (x - c) ** 2).tolist(), 100, 0.001) for name, c in (("a", 0.3), ("b", 0.4))
    ]
    curves = [curve(name, at, [0.54, 0.53, 0.52]) for name in "ab" for at in (0.25, 0.5)]
    run = run_of(trials, AT, fit_surface(kind, trials, LINE, 0, regressor="gp"))
    found = certify(run, AT, seed=0, sketches=sketches(0.2), curves=curves)
    assert sum(found.contributions.values()) == pytest.approx(value(found.bound))
    assert set(found.contributions) == set(TERMS)
    assert value(found.forms["iid"]) < value(found.forms["paper"])
    assert found.bound == Number(value(found.bound), "estimated")
    document = found.to_json()
    assert json.loads(json.dumps(document, allow_nan=False))["dominant"] == found.dominant
    assert document["parties"]["a"]["delta"]["status"] == "proved"
    assert len(found.growth) == 4


def test_nothing_is_bounded_by_more_than_the_config_loses_itself() -> None:
    """1/4 loses 0.3 at most, and 0.3 + 1.645 * 0.79 * 0.1 = 0.43 with noise; the noise of a gap is ten times 0.0397."""
    found = certificate(pair(error=0.1))
    assert (found.bound, found.tried) == (None, None)
    assert value(found.range) == pytest.approx(0.43, abs=1e-3)
    assert found.forms == {"paper": None, "iid": None}
    assert found.vacuous
    words = "Of 262 configs, the theorem gives no bound below the range, the 0.43 that what is trained may lose itself."
    assert words in found.summary
    unknown = certificate([replace(each, scoring="profit") for each in pair(error=0.1)])
    assert unknown.range is None
    assert value(unknown.bound) == pytest.approx(0.075 + 0.397, abs=1e-3)


def test_a_measured_gap_is_not_above_what_the_config_loses_either() -> None:
    def measured(gain: float, error: float, x: float) -> Confirmation:
        return Confirmation(Trial({"x": x}, 0.3 - gain, 0.01, 11), gain, error)

    def gap(error: float) -> float | None:
        both = (measured(0.0, 0.0, 0.5), measured(0.05, error, 0.0))
        found = certify(replace(run_of(pair(0.001)), confirmed={"a": both, "b": both}), DEFAULT, seed=0)
        assert found.measured[0].configs == 2
        return found.measured[0].value

    assert gap(0.01) == pytest.approx(0.05 + 0.01 * np.sqrt(10) / 4 * t.ppf(0.95, 10 * 100 / 82))
    assert gap(0.5) is None


def test_what_nobody_measured_is_assumed_and_said() -> None:
    found = certificate(pair())
    assert found.bound == Number(value(found.bound), "assumed")
    assert "Assumed and not measured at every party: W1, W1_by_chance, beta, loss_error, noise, size." in found.summary
    partly = certificate(pair(), sketches=sketches()[:1])
    assert partly.parties["a"]["W1"].status == partly.beta.status == "assumed"
    assert certificate([replace(each, rows=None) for each in pair()]).parties["a"]["w"].status == "assumed"
    alone = certificate(pair()[:1])
    assert (alone.parties["a"]["W1"].value, alone.parties["a"]["W1"].status) == (0.0, "proved")


def test_the_order_of_parties_does_not_matter_and_the_seed_decides() -> None:
    first = certify(run_of(pair(0.01)), AT, seed=0, sketches=sketches()).to_json()
    assert certify(run_of(pair(0.01)[::-1]), AT, seed=0, sketches=sketches()[::-1]).to_json() == first
    drawn = [FiniteSet.of(pair(), LINE, [AT], seed).points[-256:].tolist() for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_many_parties_are_looked_at_in_blocks_of_configs(monkeypatch: pytest.MonkeyPatch) -> None:
    trials = [
        replace(each, scoring="profit") for each in pair(0.01)
    ]  # of which no range is known: both forms are stated
    whole = certificate(trials, sketches=sketches()).to_json()
    assert whole["forms"]["iid"]["value"] > 0
    monkeypatch.setattr("flora.aggregator.certificate.paper.MOST_AT_ONCE", 14)
    assert certificate(trials, sketches=sketches()).to_json() == whole


def test_the_finite_set_has_the_trained_config_the_default_all_trials_and_random_configs() -> None:
    found = FiniteSet.of(pair(), LINE, [{"x": 0.123}, {"x": 0.9}], 0)
    assert found.points[: found.tried, 0].tolist() == [0.123, 0.5, 0.9, 0.0, 0.5, 1.0]
    assert len(found.points) == 6 + 256
    many = party("a", np.random.default_rng(0).random(2_500).tolist(), [0.1] * 2_500)
    assert len(FiniteSet.of([many], LINE, [AT], 0).points) == 2 + 2_000 + 256


def test_weights_are_shares_of_rows_or_given() -> None:
    assert [certificate(pair()).parties[name]["w"].value for name in "ab"] == [0.75, 0.25]
    given_weights = certificate(pair(), weights={"b": 0.9, "a": 0.1})
    assert [given_weights.parties[name]["w"].value for name in "ab"] == [0.1, 0.9]
    for wrong in ({"a": 1.0}, {"a": 0.5, "b": 0.6}, {"a": -0.5, "b": 1.5}):
        with pytest.raises(InputError, match="need a weight >= 0 for each of"):
            certificate(pair(), weights=wrong)


def test_evidence_of_others_is_refused() -> None:
    stranger = replace(sketches()[0], party="z")
    with pytest.raises(InputError, match=r"a sketch must be of one of the parties .*'z'"):
        certificate(pair(), sketches=[stranger])
    with pytest.raises(InputError, match="a learning curve must be of one of the parties, got 'z'"):
        certificate(pair(), curves=[curve("z", 0.5, [0.3, 0.2, 0.1])])
    with pytest.raises(InputError, match="of a config that is not in question"):
        certificate(pair(), curves=[curve("a", 0.77, [0.3, 0.2, 0.1])])
    with pytest.raises(InputError, match="number of rows of every party"):
        certificate([replace(each, rows=None) for each in pair()], curves=[curve("a", 0.5, [0.3, 0.2, 0.1])])


def test_dense_trials_of_a_smooth_loss_are_not_vacuous() -> None:
    x: Floats = np.linspace(0, 1, 401)
    losses = 0.2 + 0.5 * x
    run = run_of(
        [party("a", x.tolist(), losses.tolist())], {"x": 0.1}, AverageOfParties((interpolated(x, losses),), (1.0,))
    )
    found = certify(run, {"x": 0.1}, seed=0)
    assert not found.vacuous
    assert found.to_json()["vacuous_because"] is None
    assert value(found.bound) == pytest.approx(0.05, abs=2e-3)  # the truth: 0.5 * 0.1
    assert value(found.forms["paper"]) < value(found.range)
