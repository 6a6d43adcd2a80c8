import base64
import hashlib
import json
import pathlib as files
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import pytest

from flora.aggregator.certificate.extrapolation import Extrapolation
from flora.aggregator.certificate.measured import MeasuredGap
from flora.aggregator.certificate.record import Certificate, Growth, Number
from flora.aggregator.surface import SurfaceChoice, fit_surface
from flora.aggregator.surfaces.kinds import Learning, Undivided
from flora.errors import InputError
from flora.models.hgb.family import GradientBoosting
from flora.outcome.report import analysis, charts, page
from flora.outcome.report.analysis import Analysis
from flora.outcome.report.answer import answer, kind_of
from flora.outcome.report.axes import axes_of
from flora.outcome.report.certificate import certificate as section
from flora.outcome.report.confirmation import basis
from flora.outcome.report.details import agreement, cost, disclosure
from flora.outcome.report.glossary import MEANINGS
from flora.outcome.report.heat import COLOURS, bands, chosen_axes, map_data, picture
from flora.outcome.report.markup import element, script_data
from flora.outcome.report.scores import scores
from flora.outcome.report.sections import evidence, legend
from flora.problem.family import space_of
from flora.problem.path import Path
from flora.problem.space import Points, SearchSpace, Value
from flora.problem.trials import PartyTrials, Trial
from flora.program.result_parts import TrainingResult
from flora.surrogate.regressors import Losses
from tests.outcome.report.cases import (
    EVIL,
    EVIL_HP,
    EVIL_PARTY,
    EVIL_VALUES,
    MIXED,
    Case,
    aggregated,
    analysed,
    party_trials,
    tuned,
)

ROOT = files.Path(__file__).parents[3]
SECTIONS = [
    *("answer", "evidence", "parties", "surface", "agreement", "importance"),
    *("cost", "disclosure", "reproduction", "words"),
]
PLAIN = SearchSpace.from_json({name: {"type": "real", "range": [0, 1]} for name in ("a", "b", "c")})


class Formula(Undivided):
    """A surface that is a formula of the points."""

    words: ClassVar = "a formula"
    weighted: ClassVar = False
    merged: ClassVar = True

    @classmethod
    def fit(cls, trials: Sequence[PartyTrials], space: SearchSpace, seed: int, how: Learning) -> Self:
        raise NotImplementedError("a formula is given, and not learnt")

    def __init__(self, formula: Any) -> None:
        self.formula = formula

    def __call__(self, points: Points) -> Losses:
        return np.asarray(self.formula(points))

    def error(self, points: Points) -> Losses:
        return np.zeros(len(points))


class Outline(HTMLParser):
    """The elements of a page, and the text of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.elements[-1:] and self.elements[-1][0] == "script":
            self.scripts[-1] += data
        else:
            self.words.append(data)

    def handle_endtag(self, tag: str) -> None:
        self.elements.append((f"/{tag}", {}))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    @property
    def data(self) -> Any:
        return json.loads(self.scripts[0])


@pytest.fixture(scope="module")
def whole() -> str:
    return page(*tuned(["north", "west"]))


@pytest.fixture(scope="module")
def pair() -> Case:
    return aggregated(["a", "b"])


@pytest.fixture(scope="module")
def hostile() -> str:
    result, trials = tuned([EVIL_PARTY, "c&d"], EVIL)
    certificate = certified({EVIL_PARTY: {EVIL_HP: Number(1.0, "assumed")}})
    notes, command = ("</script>\u2028<!-- <script>",), f"flora {EVIL_PARTY}"
    return page(replace(result, notes=notes, certificate=certificate, command=command), trials)


class TestPage:
    def test_sections_come_in_order_under_real_headings(self, whole: str) -> None:
        outline = Outline(whole)
        found = [attributes["id"] for attributes in outline.all("section")]
        assert found == SECTIONS
        assert [link["href"] for link in outline.all("a") if link["href"] != "#answer"][-len(SECTIONS) + 1 :]
        assert len(outline.all("h1")) == 1
        assert len(outline.all("h2")) == len(SECTIONS)
        assert outline.all("html") == [{"lang": "en"}]

    def test_says_the_verdict_and_the_gain_first(self, whole: str) -> None:
        text = Outline(whole).text
        answer = text[text.index("Use the recommended") : text.index("γp")]
        assert "Expected gain in balanced_accuracy: +0.0095, from +0.0044 to +0.0176" in answer

    def test_same_bytes_whatever_the_order_of_parties(self, whole: str) -> None:
        result, trials = tuned(["north", "west"])
        assert page(result, trials[::-1]) == whole

    def test_is_small_enough_to_be_mailed(self, whole: str) -> None:
        assert len(whole.encode()) < 6_000_000

    def test_refers_to_nothing_outside_itself(self, whole: str) -> None:
        for name, attributes in Outline(whole).elements:
            assert "src" not in attributes
            own = "data:image/png;base64," if name == "image" else "#"
            assert (attributes.get("href") or own).startswith(own)

    def test_the_policy_allows_its_own_script_and_no_other(self, whole: str) -> None:
        outline = Outline(whole)
        policy = next(m["content"] for m in outline.all("meta") if m.get("http-equiv") == "Content-Security-Policy")
        assert policy is not None
        assert policy.startswith("default-src 'none'; ")
        hashes = {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in outline.scripts[1:]}
        assert set(re.findall(r"sha256-([^']+)", policy)) == hashes
        assert len(hashes) == 1

    def test_every_chart_has_words(self, whole: str) -> None:
        places = [a for a in Outline(whole).all("div") if a.get("class") == "chart"]
        assert all(place["role"] == "img" and place["aria-label"] for place in places)
        panels = {f"{kind}-{k}" for kind in ("trials", "slice", "region") for k in range(4)}
        assert {str(place["id"]) for place in places} == {"map", "agreement-map", *panels}

    def test_is_small(self, whole: str) -> None:
        assert len(whole.encode()) < 3_000_000

    def test_its_contents_are_its_sections(self, whole: str) -> None:
        links = whole[whole.index("<nav") : whole.index("</nav>")]
        assert re.findall('href="#([a-z]+)"', links) == SECTIONS

    def test_nothing_is_green_that_is_not_shown(self) -> None:
        result, _ = tuned(["a", "b"])
        assert kind_of(result) == "shown"
        assert kind_of(replace(result, grade="likely")) == "likely"
        assert kind_of(replace(result, verdict="keep-defaults")) == "keep"
        assert kind_of(replace(result, verdict=None)) == "unknown"

    def test_bold_is_what_is_to_be_used(self) -> None:
        result, _ = tuned(["a", "b"])
        depth = result.config["depth"]
        bold = f"<strong>{depth}</strong>"
        assert bold in answer(result)
        kept = answer(replace(result, verdict="keep-defaults", grade="not shown"))
        assert bold not in kept
        assert "<strong>3</strong>" in kept
        assert "Keep the defaults." in kept

    def test_what_parties_measured_stands_apart_from_the_trained_gain(self) -> None:
        result, _ = tuned(["a", "b"])
        assert result.evidence is not None
        trained = replace(result, evidence=replace(result.evidence, basis="trained"))
        text = Outline(evidence(trained)).text
        first, second = text.index("federated models of both configs"), text.index("by its own measurement")
        assert first < text.index("all parties", first) < second < text.index("± 0.0", second)

    def test_every_choice_has_a_label(self, whole: str) -> None:
        outline = Outline(whole)
        labelled = {label["for"] for label in outline.all("label")}
        assert (
            {select["id"] for select in outline.all("select")}
            == labelled
            == {"party", "map-party", "map-across", "map-up"}
        )

    def test_renders_an_aggregation_of_files(self, pair: Case) -> None:
        text = Outline(page(*pair)).text
        assert "not a measurement" in text
        assert "No federated model was trained" in text
        assert "What the answer rests on" not in text

    def test_renders_a_run_without_default_and_with_one_hp_and_one_party(self) -> None:
        space = SearchSpace.from_json({"C": {"type": "real", "range": [0, 1]}})
        result, trials = aggregated(["only"], space)
        assert (result.default, result.verdict) == (None, None)
        text = Outline(page(result, trials)).text
        assert "no default to compare them with" in text
        assert "There is one hyper-parameter" in text
        assert "Agreement of the parties" not in text

    def test_says_what_left_each_party_and_its_bytes(self, whole: str) -> None:
        text = Outline(whole).text
        size = len(party_trials("north", MIXED).to_json().encode())
        assert f"{size:,}" in text
        assert "trials: config, loss, error, folds, rows" in text
        assert "age (numeric), north (categorical)" in text

    def test_shows_the_candidates_and_which_one_was_chosen(self, whole: str) -> None:
        text = Outline(whole).text
        assert "Candidates and the default" in text
        assert "1 (chosen)" in text
        assert "default 1 3 rbf true 0 all gains are beside it" in text
        assert (
            "Every party measured the default and the candidates on fresh folds; parties count by their rows." in text
        )

    def test_says_who_disagrees_and_what_the_others_would_do(self, whole: str) -> None:
        text = Outline(whole).text
        assert "Further from the others' gains than chance would have it: west." in text
        assert "west +2.0 yes keep the defaults 1 3 rbf true" in text
        assert "north +0.0 no keep the defaults" in text
        result, trials = tuned(["a", "b"])
        calm = tuple(
            replace(party, measured=replace(party.measured, distance=0.5, disagrees=False))
            for party in result.parties
            if party.measured
        )
        found = agreement(Analysis.of(replace(result, parties=calm), trials))
        assert "No party's gain is further from the others' than chance would have it." in Outline(found).text

    def test_says_how_the_parties_gains_were_put_together(self) -> None:
        result, _ = tuned(["a", "b"])
        assert "worst off" in basis(replace(result, objective="worst"))
        assert "either end is left out" in basis(replace(result, parties=result.parties * 3))
        assert "not a measurement" in basis(
            replace(result, parties=tuple(replace(p, measured=None) for p in result.parties))
        )

    def test_lists_several_trainings_and_what_was_chosen_inside(self) -> None:
        result, trials = tuned(["a", "b"])
        config = result.config
        several = (
            TrainingResult(MIXED.default, 0.25, 0),
            TrainingResult(config, 0.125, 0),
            TrainingResult(config, 0.5),
        )
        more = replace(result, trainings=several, chosen_in_training=("depth",))
        run = Analysis.of(replace(more, trained_config={**config, "depth": 4}), trials)
        text = Outline(evidence(run.result)).text
        assert "2 federated trainings compared the default and the recommendation" in text
        assert "depth = 4 was chosen inside the training, by rows held out." in text
        past = replace(run, result=replace(more, trained_config={**config, "depth": 7}))
        words = "depth = 7 was chosen inside the training, by rows held out (past the range that each party searches"
        assert words in Outline(evidence(past.result)).text
        assert "past the range" not in text
        assert "this run took 3." in Outline(cost(run)).text
        left = Outline(disclosure(run)).text
        assert "losses on held-out rows, to choose depth" in left
        assert "the first pass's loss on a third of its rows" in left
        assert "on the fold that a training left out; no model of it" in left

    def test_says_what_left_in_the_confirmation_and_in_the_training(self, whole: str) -> None:
        text = Outline(whole).text
        assert "config, loss, error, folds, rows, gain, gain_error of the default and of 1 candidate;" in text
        assert "the model and its config the same at every party" in text
        assert "held_loss" not in text
        trees = space_of(GradientBoosting(), "classification")
        result, trials = tuned(["a", "b"], trees)
        boosted = replace(result, family="hgb")
        run = Analysis.with_surface(boosted, tuple(trials), Formula(lambda x: x[:, 0]))
        assert "of 1 candidate, at 8 values of max_iter each;" in Outline(disclosure(run)).text
        unasked = replace(boosted, candidates=(), model=None)
        left = Outline(disclosure(replace(run, result=unasked))).text
        assert "gain_error" not in left
        assert "the model and its config" not in left

    def test_counts_the_trainings_that_were_saved(self, whole: str) -> None:
        assert "would have taken 26 federated trainings; this run took 1." in Outline(whole).text

    def test_refuses_trials_of_another_run(self, pair: Case) -> None:
        result, trials = pair
        other = party_trials("b", MIXED, seed=1)
        with pytest.raises(InputError, match="party 'b': the result was not made from these trials"):
            page(result, [trials[0], other])
        with pytest.raises(InputError, match="party 'b'"):
            page(result, trials[:1])
        with pytest.raises(InputError, match="at least one party, got none"):
            page(result, [])


def certified(parties: Mapping[str, Mapping[str, Number]], **parts: Any) -> Certificate:
    """Return a certificate that says nothing but what is given."""
    none, nothing = (
        Number(0.0, "proved"),
        {"config": {}, "worst": {}, "forms": {}, "regret": {}, "contributions": {"loss": 0.0}},
    )
    numbers = {"bound": None, "tried": None, "range": None, "spread": none, "beta": none}
    rest = {"measured": (), "growth": (), "configs": 3, "tried_configs": 2}
    return Certificate(**{**nothing, **numbers, **rest, "parties": parties, **parts})


class TestCertificate:
    def test_is_left_out_where_none_was_computed(self, pair: Case) -> None:
        assert section(Analysis.of(*pair)) == ""

    def test_shows_each_number_with_its_status(self, pair: Case) -> None:
        result, trials = pair
        parties = {"a": {"delta": Number(0.25, "proved")}, "b": {"delta": Number(0.5, "assumed")}}
        certificate = certified(
            parties,
            bound=Number(0.125, "estimated"),
            regret={"bound": None},
            measured=(MeasuredGap("measured", 0.0375, 0.95, 9, {}, None),),
            contributions={"loss": 0.0625, "size": 0.03125},
            growth=(Growth("a", "other", Extrapolation(90, 0.01, 0.0, 0.02)),),
        )
        run = Analysis.with_surface(replace(result, certificate=certificate), tuple(trials), Formula(lambda x: x[:, 0]))
        found = section(run)
        assert found.index("loses at most 0.125 more") < found.index("with 90 rows") < found.index("at most</th>")
        assert found.index("<summary>What the rows of all parties") < found.index("with 90 rows")  # who asks is told
        assert "0.125 estimated" in Outline(found).text
        assert "0.250 0.500 assumed" in Outline(found).text
        assert found.index("0.0625") < found.index("0.0312")  # as many decimals in a column
        assert "9 0.0375 95% –" in Outline(found).text
        assert '<td class="number" data-label="value">0.125</td>' in found
        assert "averages of at least 10 rows" in disclosure(run)
        assert "averages of at least 10 rows" not in disclosure(replace(run, result=result))


class TestHostileText:
    def test_makes_no_element_and_no_attribute(self, hostile: str, whole: str) -> None:
        outline, harmless = Outline(hostile), Outline(whole)
        names = {name for name, _ in outline.elements}
        assert names <= {name for name, _ in harmless.elements} | {"pre", "/pre"}
        assert len(outline.scripts) == 2
        assert not [key for _, attributes in outline.elements for key in attributes if key.startswith("on")]

    def test_is_shown_as_it_is(self, hostile: str) -> None:
        outline = Outline(hostile)
        for text in (EVIL_PARTY, EVIL_HP, *EVIL_VALUES):
            assert " ".join(text.split()) in outline.text

    def test_cannot_leave_the_data(self, hostile: str) -> None:
        data = Outline(hostile).scripts[0]
        assert data.isascii()
        assert not re.search("[<>&]", data)

    def test_is_escaped_by_construction(self) -> None:
        assert element("p", "<b>", title='"') == '<p title="&quot;">&lt;b&gt;</p>'
        assert "</script><" not in script_data("x", {"</script><": "<!--"}).removesuffix("</script>")


class TestCharts:
    def test_the_map_is_the_surface(self, pair: Case) -> None:
        run = Analysis.of(*pair)
        grids, maps = run.map_grids(), run.maps()
        assert set(maps) == {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}
        config = {**run.config, "C": grids[0][7], "kernel": "poly"}
        assert maps[0, 2][1, 7] == pytest.approx(run.surface(run.space.encode([config]))[0])

    def test_what_was_grown_is_drawn_where_the_parties_measured_it(self, whole: str) -> None:
        result, trials = tuned(["north", "west"])
        measured = {**result.config, "C": float(result.config["C"]) / 4}
        first, chosen = result.candidates
        grown = replace(result, candidates=(first, replace(chosen, measured=measured)))
        run = Analysis.of(grown, trials)
        assert run.config["C"] == 4 * float(run.measured["C"])
        [piece] = [piece for piece in run.slices() if piece.axis.parameter.name == "depth"]
        points = run.space.encode([{**measured, "depth": value} for value in piece.values])
        assert piece.losses == pytest.approx(run.surface(points))
        text = page(grown, trials)
        star = Outline(text).data["map"]["marks"][0][0]
        assert star == pytest.approx(axes_of(run.space)[0].places([measured["C"]])[0], abs=1e-4)
        words = "What is drawn are losses on a party's rows."
        assert words in Outline(text).text
        assert words not in Outline(whole).text

    def test_draws_real_values_on_every_kind_of_axis(self) -> None:
        ticks = [axis.ticks for axis in axes_of(MIXED)]
        assert [label for _, label in ticks[0]] == ["0.01", "0.1", "1", "10", "100", "1000"]
        assert [x for x, _ in ticks[0]] == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
        assert [label for _, label in ticks[1]] == ["1", "2", "3", "4", "5", "6"]
        assert [label for _, label in ticks[2]] == ["rbf", "poly", "sigmoid"]
        assert [x for x, _ in ticks[2]] == pytest.approx([1 / 6, 3 / 6, 5 / 6])
        assert [label for _, label in ticks[3]] == ["false", "true"]

    def test_marks_of_few_values_do_not_pile_up(self) -> None:
        depth, real = axes_of(MIXED)[1], axes_of(MIXED)[0]
        values = [1, 2, 3] * 5
        apart = depth.apart(values)
        assert len(set(apart)) == 15
        assert np.abs(np.array(apart) - depth.places(values)).max() < 0.1
        assert real.apart([0.5, 7.0]) == real.places([0.5, 7.0])

    @pytest.mark.parametrize("values", [[1, 6] * 20, [6] * 20, [1, 2, 3, 4, 5, 6] * 5])
    def test_marks_at_the_ends_of_a_range_stay_in_the_picture(self, values: list[Value]) -> None:
        apart = axes_of(MIXED)[1].apart(values)
        assert min(apart) >= 0
        assert max(apart) <= 1
        by_value = [[place for place, each in zip(apart, values, strict=True) if each == k] for k in range(1, 7)]
        filled = [places for places in by_value if places]
        assert all(max(left) < min(right) for left, right in pairwise(filled))

    def test_few_parties_have_marks_of_their_own_and_many_are_grey(self) -> None:
        assert len({(charts.party_kind(k, 8), charts.party_symbol(k, 8)) for k in range(8)}) == 8
        assert {charts.party_kind(k, 9) for k in range(9)} == {"grey"}

    def test_draws_a_sample_of_very_many_trials_with_the_best_one(self) -> None:
        trials = [Trial({"a": k / 3000, "b": 0.5, "c": 0.5}, 1.0 - (k == 1234)) for k in range(3000)]
        drawn = charts.drawn(PartyTrials("p", 9, PLAIN, "r2", tuple(trials)), None, 1)
        assert len(drawn) <= charts.MOST_TRIALS + 1
        assert min(trial.loss for trial in drawn) == 0.0

    def test_draws_a_fit_once_at_its_best_place(self) -> None:
        path = Path("a", (1, 2, 3))
        trials = [Trial({"a": a, "b": b, "c": 0.5}, (a - 0.5) ** 2 + b) for b in (0.1, 0.2) for a in (0.0, 0.5, 1.0)]
        found = charts.fits(PartyTrials("p", 9, PLAIN, "r2", tuple(trials)), path)
        assert [(trial.config["a"], trial.config["b"]) for trial in found] == [(0.5, 0.1), (0.5, 0.2)]

    @pytest.mark.parametrize("count", range(1, 13))
    def test_panels_leave_no_gap(self, count: int) -> None:
        spans = charts.panels(count)
        assert len(spans) == count
        assert sum(spans) % charts.WIDE == 0

    def test_the_good_region_has_most_of_the_colours(self) -> None:
        edges = bands({(0, 1): np.linspace(0, 1, 101).reshape(1, -1)})
        assert len(edges) == len(COLOURS) + 1
        assert edges[5] < 0.3
        assert edges == sorted(edges)

    def test_every_two_hps_have_a_picture(self, pair: Case) -> None:
        run = Analysis.of(*pair)
        data = map_data(run)
        assert len(data["pictures"]) == 6
        assert len(set(data["pictures"].values())) == 6
        first, second = chosen_axes(run)
        places = (data["grids"][first], data["grids"][second])
        flat = np.full((len(places[1]), len(places[0])), data["edges"][0])
        assert picture(flat, run.axes[first], run.axes[second], places, data["edges"]).startswith(
            "data:image/png;base64,"
        )

    def test_draws_the_most_important_of_very_many_hps(self) -> None:
        space = SearchSpace.from_json({f"h{k:02d}": {"type": "real", "range": [0, 1]} for k in range(20)})
        run = analysed([party_trials("p", space)], Formula(lambda x: x[:, 5:] @ np.arange(1, 16)))
        assert [axis.parameter.name for axis in run.axes] == [f"h{k:02d}" for k in range(8, 20)]


class TestAgreement:
    @pytest.mark.parametrize(
        ("surface", "weights"), [("aplm", "rows"), ("mplm", "equal"), ("sgm", "equal"), ("sgm", "rows")]
    )
    def test_without_a_party_is_what_the_others_trials_teach(self, surface: str, weights: str) -> None:
        trials = [party_trials(name, MIXED) for name in ("a", "b" * 90, "c" * 30)]  # of 61, 150 and 90 rows
        whole = fit_surface(surface, trials, MIXED, 0, weights=weights)
        run = analysed(trials, whole, SurfaceChoice(surface, weights=weights))
        others = fit_surface(surface, [trials[0], trials[2]], MIXED, 0, weights=weights)
        points = run.sample[:50]
        assert np.array_equal(run.without(1)(points), others(points))
        assert not np.array_equal(run.surface(points), others(points))

    def test_leaves_each_party_out_in_turn(self, pair: Case) -> None:
        found = Analysis.of(*pair).left_out()
        assert [name for name, _, _ in found] == ["a", "b"]
        assert all(worse > -1e-9 for _, _, worse in found)  # the recommendation is the whole surface's minimum

    def test_of_like_minded_parties_is_full_and_with_a_flat_one_unknown(self) -> None:
        one = party_trials("a", MIXED)
        twin = PartyTrials("b", 9, MIXED, one.scoring, one.trials)
        flat = PartyTrials("c", 9, MIXED, one.scoring, tuple(Trial(t.config, 0.5) for t in one.trials))
        surface = fit_surface("aplm", [one, twin, flat], MIXED, 0, regressor="gp")
        matrix = analysed([one, twin, flat], surface).agreement()
        assert matrix[0, 1] > 0.999
        assert np.isnan(matrix[0, 2])

    def test_of_very_many_parties_some_are_compared(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(analysis, "MOST_COMPARED", 3)
        trials = [party_trials(f"clinic-{k:02d}", MIXED, count=2) for k in range(11)]
        run = analysed(trials, fit_surface("aplm", trials, MIXED, 0, regressor="gp"))
        assert run.compared_names == ["clinic-00", "clinic-05", "clinic-10"]
        assert run.agreement().shape == (3, 3)
        assert len(run.best_regions()) == 3
        text = Outline(agreement(run)).text
        assert "Of 11 parties, 3 that are evenly spaced by name are compared here." in text
        assert "clinic-05" in text
        assert "clinic-01" not in text

    def test_many_parties_are_not_left_out_and_share_one_legend(self) -> None:
        trials = [party_trials(f"clinic-{k:02d}", MIXED, count=2) for k in range(11)]
        run = analysed(trials, Formula(lambda x: x[:, 0]))
        assert run.left_out() == []
        assert "a trial of one of the 11 parties" in legend(run)
        assert "clinic-00" not in legend(run)


def test_the_words_are_those_of_the_glossary() -> None:
    text = " ".join((ROOT / "docs" / "glossary.md").read_text("utf-8").split())
    for word, meaning in MEANINGS.items():
        assert f"**{word[0].upper()}{word[1:]}**: {meaning}" in text or f"**{word}**: {meaning}" in text, word


def test_code_in_the_glossary_is_code_and_no_backtick_is_seen() -> None:
    whole = page(*tuned(["north", "south"]))
    assert "<code>1 - score</code>" in whole
    assert "`" not in whole.split("<main", 1)[1].split("</main>", 1)[0]


def test_a_surface_is_named_once() -> None:
    whole = page(*tuned(["north", "south"], surface="mplm"))
    sentence = whole.split("learnt from the parties&#x27; trials alone: ", 1)[1][:400]
    assert sentence.count("MPLM</dfn>") == 1
    assert "(MPLM)" not in sentence


def test_the_mean_of_what_parties_reach_alone_has_an_error() -> None:
    result, _ = tuned(["north", "south"])
    [alone] = scores(result)
    assert alone.name == "a party alone, on average"
    rows = [party.rows or 0 for party in result.parties]
    squares = sum((0.01 * count) ** 2 for count in rows)  # each party's error is 0.01
    assert alone.error == pytest.approx(squares**0.5 / sum(rows))
    north, south = result.parties
    unknown = replace(result, parties=(replace(north, recommended_loss_error=None), south))
    assert scores(unknown)[0].error is None


def test_a_party_that_cannot_search_is_named_with_what_left_it(pair: Case) -> None:
    note = "calm: has one class only: it cannot search, and takes part in the training"
    run = Analysis.with_surface(replace(pair[0], notes=(note,)), tuple(pair[1]), Formula(lambda x: x[:, 0]))
    assert f"shares of sums left a party that could not search too. {note}." in disclosure(run)
    assert "could not search" not in disclosure(replace(run, result=pair[0]))
