"""Who disagrees, in standard errors, and what the others would choose."""

import math
from collections.abc import Mapping

import pytest

from flora.aggregator import diagnose as diagnosing
from flora.aggregator.choose import Whole, choose
from flora.aggregator.diagnose import Diagnosis, diagnose
from flora.aggregator.evidence import Confirmed
from tests.aggregator.test_choose import LINE, PATH, TREES, along, line

RECOMMENDED = {"u": 0.1}


def diagnosed(confirmed: Confirmed, config: Mapping[str, float] = RECOMMENDED) -> dict[str, Diagnosis]:
    rows = dict.fromkeys(confirmed, 50)
    return diagnose(confirmed, rows, Whole.of(rows, LINE), config)


def test_a_party_far_from_the_others_disagrees() -> None:
    found = diagnosed({"a": line(0.1, error=0.04), "b": line(0.1, error=0.03), "c": line(0.4, error=0.02)})
    others = math.hypot(0.04, 0.03) / 2
    assert found["c"].distance == pytest.approx(0.3 / math.hypot(0.02, others))
    assert found["a"].distance == pytest.approx((0.1 - 0.25) / math.hypot(0.04, math.hypot(0.03, 0.02) / 2))
    assert {party: diagnosis.disagrees for party, diagnosis in found.items()} == {"a": True, "b": True, "c": True}
    near = diagnosed({"a": line(0.1, error=0.1), "b": line(0.2, error=0.1)})
    assert not any(diagnosis.disagrees for diagnosis in near.values())


def test_each_party_shows_what_it_measured_at_the_recommendation() -> None:
    found = diagnosed({"a": line(0.1, 0.7), "b": line(0.2, 0.8)}, {"u": 0.2})
    assert {party: diagnosis.measured.gain for party, diagnosis in found.items()} == {"a": 0.7, "b": 0.8}


def test_the_others_may_choose_otherwise() -> None:
    confirmed = {"a": line(0.5, 0.0), "b": line(-0.1, 0.1), "c": line(-0.1, 0.1)}
    found = diagnosed(confirmed)
    assert found["a"].config_without == {"u": 0.2}
    assert found["a"].verdict_without == "use"
    assert found["b"].config_without == found["c"].config_without == {"u": 0.1}
    keep = diagnosed({"a": line(0.5), "b": line(-0.1)})
    assert (keep["a"].config_without, keep["a"].verdict_without) == ({"u": 0.0}, "keep-defaults")


def test_a_party_alone_disagrees_with_nobody() -> None:
    alone = diagnosed({"a": line(0.5)})["a"]
    assert (alone.distance, alone.config_without, alone.verdict_without) == (None, None, None)
    assert not alone.disagrees


def test_losses_without_errors_have_finite_distances() -> None:
    same = diagnosed({"a": line(0.1, error=0.0), "b": line(0.1, error=0.0)})
    assert [diagnosis.distance for diagnosis in same.values()] == [0.0, 0.0]
    apart = diagnosed({"a": line(0.1, error=0.0), "b": line(0.2, error=0.0)})
    assert all(diagnosis.distance and math.isfinite(diagnosis.distance) for diagnosis in apart.values())
    assert all(diagnosis.disagrees for diagnosis in apart.values())


def test_the_order_of_parties_changes_nothing() -> None:
    confirmed = {"a": line(0.1, 0.2), "b": line(0.3, 0.1), "c": line(0.2, 0.2)}
    assert diagnosed(confirmed) == diagnosed(dict(reversed(confirmed.items())))


def test_a_path_is_looked_at_where_the_parties_measured_it() -> None:
    confirmed = {name: along({27: -0.2}, {27: gain}) for name, gain in (("a", 0.3), ("b", 0.1))}
    measured = {"trees": 27, "rate": 0.1}
    rows = {"a": 50, "b": 50}
    found = diagnose(confirmed, rows, Whole.of(rows, TREES, PATH), measured)
    assert (found["a"].measured.gain, found["b"].measured.gain) == (0.3, 0.1)
    assert found["a"].config_without == measured


def test_without_one_of_five_the_others_say_what_they_would_train_with_all() -> None:
    five = {name: line(0.1, error=0.5) for name in "abcde"}
    rows = dict.fromkeys(five, 50)
    whole = Whole.of(rows, LINE, grows={"u"})
    grown = choose(five, rows, whole)
    found = diagnose(five, rows, whole, RECOMMENDED)
    assert float(grown.chosen.config["u"]) > 0.1
    assert all(each.config_without == grown.chosen.config for each in found.values())
    assert all(each.verdict_without == "use" for each in found.values())  # parties that agree have no spread


def test_distances_of_very_many_are_those_of_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    confirmed = {f"p{k}": line(0.1 * k, error=0.01 * (k + 1)) for k in range(6)}
    plain = diagnosed(confirmed)
    monkeypatch.setattr(diagnosing, "FEW", 5)
    many = diagnosed(confirmed)
    assert list(many) == list(plain)
    for party, found in many.items():
        assert found.distance == pytest.approx(plain[party].distance)
        assert (found.measured, found.config_without, found.verdict_without) == (plain[party].measured, None, None)
