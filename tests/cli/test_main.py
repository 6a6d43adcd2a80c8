"""The command line: whole runs, and one clear line for each kind of bad input."""

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from flora.cli.main import COMMANDS, main, make_parser
from flora.engines.files import read_reply_file, read_step_file, step_file
from flora.problem.messages import Confirm, Confirmation, ConfirmReply
from flora.problem.plan import SearchPlan
from flora.problem.space import Config, Integer, SearchSpace
from flora.problem.trials import PartyTrials, Trial
from flora.problem.wire import reply_text
from tests.conftest import SVM_SPACE, two_moons, write_party_files

QUICK = ["--model", "svm", "--trials", "4", "--cv", "3"]
Run = Callable[..., tuple[int, str, str]]


def refused(outcome: tuple[int, str, str], *words: str) -> None:
    """Assert exit code 2, one line that holds the words, nothing on standard output."""
    code, out, err = outcome
    assert code == 2, err
    assert out == ""
    assert err.count("\n") == 1, err
    assert "Traceback" not in err
    for word in words:
        assert word in err, err


@pytest.mark.parametrize(
    ("typed", "meant"), [("tnue", "tune"), ("Predict", "predict"), ("certificates", "certificate")]
)
def test_a_command_that_was_probably_meant_is_named(flora: Run, typed: str, meant: str) -> None:
    refused(flora(typed, "a.csv"), f"there is no command {typed!r}; did you mean {meant}?")


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (
            ("tune", "a.csv", "--trails", "5"),
            "flora tune: error: there is no option '--trails'; did you mean --trials?",
        ),
        (("report", "run", "--page"), "flora report: error: there is no option '--page' (see flora report --help)"),
        (("predict", "run", "a.csv", "b.csv"), "flora predict: error: 'b.csv' is one word too many"),
    ],
)
def test_a_word_that_a_command_does_not_know(flora: Run, typed: tuple[str, ...], says: str) -> None:
    refused(flora(*typed), says)


def test_a_command_that_is_like_no_other_is_told_all(flora: Run) -> None:
    refused(flora("foo"), "invalid choice: 'foo'", "tune", "predict")


@dataclass(frozen=True)
class Tuned:
    """A run that many tests look at, and none changes."""

    files: list[Path]
    folder: Path
    code: int
    printed: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        return dict(json.loads(self.printed))

    @property
    def command(self) -> list[object]:
        return ["tune", *self.files, "--target", "kind", *QUICK, "--out", self.folder]


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Tuned:
    folder = tmp_path_factory.mktemp("tuned")
    made, out, err = Tuned(write_party_files(folder), folder / "run", 0, "", ""), io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([*map(str, made.command), "--json"])
    return replace(made, code=code, printed=out.getvalue(), err=err.getvalue())


class TestPrivateRuns:
    def test_no_trials_come_of_it_and_all_pages_say_so(
        self, flora: Run, party_files: list[Path], tmp_path: Path
    ) -> None:
        out = tmp_path / "run"
        command = ("tune", *party_files, "--target", "kind", *QUICK, "--private", "--trainings", "1", "--out", out)
        code, printed, err = flora(*command)
        assert code == 0, err
        assert "Private search: no party's pairs of hyper-parameters and losses left it." in printed
        assert "Loss at each party" not in printed
        assert list((out / "trials").iterdir()) == []
        document = json.loads((out / "result.json").read_text())
        assert document["private"]["parties"] == 3
        assert {party["best_loss"] for party in document["parties"]} == {None}
        page = (out / "report.html").read_text()
        assert "No pair left a party." in page
        assert "confirm-privately" in page
        assert flora("report", out)[0] == 0
        assert (out / "report.html").read_text() == page
        assert flora("compare", out, out)[0] == 0

    def test_with_an_epsilon_the_result_has_a_ledger_and_all_pages_say_so(self, flora: Run, tmp_path: Path) -> None:
        two_moons(20 * 30, 1).to_csv(tmp_path / "all.csv", index=False)
        out = tmp_path / "run"
        command = ("tune", tmp_path / "all.csv", "--target", "kind", *QUICK, "--parties", "20", "--trainings", "1")
        code, printed, err = flora(*command, "--private", "--epsilon", "3", "--out", out)
        assert code == 0, err
        assert "tells an epsilon of 3 (delta 1e-05) while 10 of 20 parties keep their shares of the noise" in printed
        ledger = json.loads((out / "result.json").read_text())["private"]["ledger"]
        assert (ledger["epsilon"], ledger["numbers"], ledger["honest"]) == (3.0, 33, 10)
        page = (out / "report.html").read_text()
        assert "under noise (epsilon 3)" in page
        assert "parties that must be honest" in page
        assert flora("report", out)[0] == 0
        assert (out / "report.html").read_text() == page
        fewer = (*command[:-4], "--parties", "19", "--private", "--epsilon", "3")
        refused(flora(*fewer), "--epsilon: epsilon needs 20 parties")

    def test_what_does_not_go_with_it_is_refused(self, flora: Run, party_files: list[Path], tmp_path: Path) -> None:
        options = ("--target", "kind", *QUICK, "--private", "--out", tmp_path / "run")
        command = ("tune", *party_files, *options)
        refused(flora(*command, "--surface", "median"), "--private does not go with --surface median")
        refused(flora(*command, "--given", "a.json"), "parties that exchange files cannot meet, and so cannot add up")
        refused(flora("tune", *party_files[:2], *options), "needs 3 parties that can search, and here are 2")
        assert not (tmp_path / "run").exists()


class TestWholeRuns:
    def test_tune_on_three_files(self, tuned: Tuned) -> None:
        out, document = tuned.folder, tuned.document
        assert (tuned.code, tuned.err) == (0, "")
        assert document == json.loads((out / "result.json").read_text())
        promised = [
            "config",
            "default",
            "verdict",
            "expected_gain",
            "parties",
            "surface",
            "scoring",
            "seed",
            "gamma_p",
            "model",
            "versions",
        ]
        assert set(promised) <= set(document)
        assert document["verdict"] in ("use", "keep-defaults")
        assert {"estimate", "low", "high"} <= set(document["expected_gain"])
        assert [party["name"] for party in document["parties"]] == ["north", "south", "west"]
        assert [party["rows"] for party in document["parties"]] == [60, 45, 80]
        for party in document["parties"]:
            assert party["default_loss"] - party["recommended_loss"] == pytest.approx(party["gain"])
            assert party["default_loss_error"] > 0
            stored = PartyTrials.read(out / "trials" / f"{party['name']}.json")
            assert stored.digest == party["trials_digest"]
        assert (out / document["model"]).is_file()

    def test_points_in_the_names_of_files_stay_in_those_of_parties(self, flora: Run, tmp_path: Path) -> None:
        tables = [tmp_path / "ward.1.csv", tmp_path / "ward.2.csv.gz"]
        for k, path in enumerate(tables):
            two_moons(60, k).to_csv(path, index=False)
        code, out, err = flora(
            "tune", *tables, "--target", "kind", *QUICK, "--trainings", "1", "--json", "--out", tmp_path / "run"
        )
        assert code == 0, err
        assert [party["name"] for party in json.loads(out)["parties"]] == ["ward.1", "ward.2"]

    def test_a_run_leaves_a_page_to_look_at(self, flora: Run, tuned: Tuned, tmp_path: Path) -> None:
        out = shutil.copytree(tuned.folder, tmp_path / "run")
        page = (out / "report.html").read_text()
        assert "north" in page
        assert f"--out {tuned.folder}" in page
        assert flora("report", out, "--out", tmp_path / "again.html")[0] == 0
        assert (tmp_path / "again.html").read_text() == page
        refused(flora("report", tmp_path), "has no result.json")
        (out / "trials" / "west.json").unlink()
        refused(flora("report", out), "west")

    def test_search_and_aggregate_recommend_what_tune_recommends(
        self, flora: Run, party_files: list[Path], tmp_path: Path
    ) -> None:
        options = [*QUICK, "--seed", "5"]
        _, printed, _ = flora("tune", *party_files, "--target", "kind", *options, "--out", tmp_path / "run", "--json")
        files = [tmp_path / f"trials-{path.stem}.json" for path in party_files]
        for data, file in zip(party_files, files, strict=True):
            assert flora("search", data, "--target", "kind", *options, "--out", file)[0] == 0
        candidates = tmp_path / "candidates.json"
        proposed = flora("aggregate", *files, "--seed", "5", "--propose", 8, "--out", candidates)
        assert proposed[0] == 0
        assert "flora answer DATA" in proposed[1]
        answers = [tmp_path / f"answer-{path.stem}.json" for path in party_files]
        for data, file in zip(party_files, answers, strict=True):
            assert flora("answer", data, candidates, "--target", "kind", "--out", file)[0] == 0
        code, aggregated, _ = flora("aggregate", *reversed(files), *answers, "--seed", "5", "--json")
        assert code == 0
        tuned, by_mail = json.loads(printed), json.loads(aggregated)
        only_a_run = ["sampler", "trained_config", "chosen_in_training", "trainings", "training", "model"]
        only_a_run += ["model_digest", "schema", "seconds", "command"]
        assert {key: tuned[key] for key in by_mail if key not in only_a_run} == {
            key: value for key, value in by_mail.items() if key not in only_a_run
        }
        assert by_mail["model"] is None
        assert by_mail["evidence"]["basis"] == "measured"
        written = flora("aggregate", *files, *answers, "--seed", "5", "--out", tmp_path / "by-mail")
        assert "To train where the parties can meet: flora tune --project KIT --given FILES" in written[2]
        refused(flora("predict", tmp_path / "by-mail", party_files[0]), "this run trained no model", "--given FILES")
        refused(flora("export", tmp_path / "by-mail", "--to", "onnx"), "this run trained no model")
        surface_alone = json.loads(flora("aggregate", *files, "--seed", "5", "--json")[1])
        assert surface_alone["evidence"]["basis"] == "predicted"
        for data, file in zip(party_files, files, strict=True):
            assert file.read_bytes() == (tmp_path / "run" / "trials" / f"{data.stem}.json").read_bytes()

    def test_all_parties_tell_their_problems_at_once(self, flora: Run, tmp_path: Path) -> None:
        texts, when = [f"word {k}" for k in range(60)], ["2024-01-31", "2024-02-01"] * 30
        two_moons(60, 1).assign(remark=texts, when=when).to_csv(tmp_path / "south.csv", index=False)
        two_moons(60, 2).assign(when=when[::-1]).to_csv(tmp_path / "north.csv", index=False)
        two_moons(60, 3).to_csv(tmp_path / "west.csv", index=False)
        two_moons(60, 4).rename(columns={"kind": "sort"}).to_csv(tmp_path / "east.csv", index=False)
        files = [tmp_path / f"{name}.csv" for name in ("south", "west", "north", "east")]
        for order in (files, files[::-1]):
            code, out, err = flora("tune", *order, "--target", "kind", *QUICK, "--out", tmp_path / "no")
            assert (code, out) == (2, "")
            head, header, *rows = err.splitlines()
            assert head == "flora: error: 3 problems in the parties' tables:"
            assert header.split() == ["party", "column", "what", "advice"]
            assert [row[: header.index("what")].rsplit(maxsplit=1) for row in rows[1:]] == [
                ["north, south", "when"],
                ["south", "remark"],
            ]
            assert rows[0].startswith("east ")
            assert "target 'kind' is not in the table" in rows[0]
        refused(
            flora("tune", *files[:3], "--target", "KIND", *QUICK, "--out", tmp_path / "no"),
            "party 'north': target 'KIND' is not in the table",
            "did you mean 'kind'?",
        )
        same = flora("tune", *files[:3], "--target", "kind", *QUICK, "--auto", "--out", tmp_path / "no")[2]
        assert "\nflora: error: parties north, south: column 'when': dates are not supported" in same
        alone = flora("tune", *files[:2], "--target", "kind", *QUICK, "--out", tmp_path / "no")[2]
        assert "party 'south': 2 problems in the table:\n" in alone

    def test_problems_fit_the_terminal(self, flora: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        table = two_moons(60, 3)
        names = {name: [f"{name} {k}" for k in range(60)] for name in ("name", "street")}
        table.assign(**names).to_csv(tmp_path / "a.csv", index=False)
        asked = ("schema", tmp_path / "a.csv", "--target", "kind", "--out", tmp_path / "a.json")
        code, _, piped = flora(*asked)
        assert (code, len(piped.splitlines())) == (2, 4)
        monkeypatch.setattr("flora.cli.printing.messages", Console(stderr=True, width=60, height=25))
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)
        code, _, shown = flora(*asked)
        assert code == 2
        assert shown.startswith("flora: error: 2 problems in the table:\n")
        assert max(map(len, shown.splitlines())) <= 60
        assert sorted(shown.replace("─", "").split()) == sorted(piped.split())

    def test_tables_as_europe_writes_them(self, flora: Run, tmp_path: Path) -> None:
        for seed, name in enumerate(("nord", "west")):
            table = two_moons(60 + seed, seed).assign(
                ID=range(seed, 60 + 2 * seed),
                bemerkung=[f"Fall {k}" for k in range(60 + seed)],
                tag=[f"{k % 28 + 1:02d}.02.2024" for k in range(60 + seed)],
            )
            table.to_csv(tmp_path / f"{name}.csv", sep=";", decimal=",", index=False, encoding="cp1252")
        files = [tmp_path / "nord.csv", tmp_path / "west.csv"]
        code, out, err = flora("tune", *files, "--target", "kind", *QUICK, "--out", tmp_path / "no")
        assert (code, out) == (2, "")
        assert "2 problems in the parties' tables:\n" in err
        assert "\nnord, west  bemerkung  texts that nearly all differ" in err
        assert "\nnord, west  tag        dates are not supported" in err
        assert "--dates parts" in err
        options = ["--target", "kind", *QUICK, "--auto", "--dates", "parts", "--json"]
        code, auto, err = flora("tune", *files, *options, "--out", tmp_path / "run")
        assert code == 0, err
        assert err.count("is left out (--auto)") == 2
        assert "nord, west: column 'bemerkung' is left out (--auto): texts that nearly all differ" in err
        assert "nord, west: read as separated by semicolons, with decimal commas;" in err
        names = [column["name"] for column in json.loads(auto)["schema"]["columns"]]
        assert names == ["tag.days", "tag.month", "tag.weekday", "tag.year", "x", "y"]
        assert flora("predict", tmp_path / "run", files[0])[1].count("er\n") == 60
        for drop in (["--drop", "ID,bemerkung,tag"], ["--drop", "ID", "bemerkung", "--drop", "tag"]):
            schema = tmp_path / "schema.json"
            assert flora("schema", *drop, *files, "--target", "kind", "--out", schema)[0] == 0
            assert [column["name"] for column in json.loads(schema.read_text())["columns"]] == ["x", "y"]
            searched = flora("search", *drop, files[0], "--target", "kind", *QUICK, "--out", tmp_path / "t.json")
            assert searched[0] == 0, searched[2]

    def test_predict_gives_text_labels_back(self, flora: Run, tuned: Tuned, tmp_path: Path) -> None:
        out, new = tuned.folder, tmp_path / "new.csv"
        two_moons(50, 3)[["y", "x"]].to_csv(new, index=False)
        code, printed, _ = flora("predict", out, new)
        assert code == 0
        assert set(printed.split("\n")[1:-1]) == {"upper", "lower"}
        assert flora("predict", out, new, "--output", tmp_path / "predictions.csv")[0] == 0
        assert (tmp_path / "predictions.csv").read_text() == printed

    @pytest.mark.parametrize(
        ("how", "says"),
        [
            (["--parties", "2"], "note: 7 of 60 rows without a target are left out"),
            (["--split", "column:ward"], "note: 12 of 60 rows without a target or a ward are left out"),
        ],
    )
    def test_rows_that_no_party_gets_are_told(self, flora: Run, tmp_path: Path, how: list[str], says: str) -> None:
        table = two_moons(60, 3).assign(ward=["north", "south"] * 30)
        table.loc[:6, "kind"] = None
        table.loc[10:14, "ward"] = None
        table.to_csv(tmp_path / "all.csv", index=False)
        outcome = flora(
            "tune", tmp_path / "all.csv", "--target", "kind", *how, "--model", "no", "--out", tmp_path / "no"
        )
        assert outcome[0] == 2
        assert says in outcome[2]

    def test_one_table_dealt_out(self, flora: Run, tmp_path: Path) -> None:
        two_moons(150, 3).to_parquet(tmp_path / "all.parquet")
        options = ["--target", "kind", "--parties", 3, "--split", "dirichlet:2", *QUICK, "--jobs", 2]
        code, printed, err = flora("tune", tmp_path / "all.parquet", *options, "--out", tmp_path / "run")
        assert code == 0
        for word in ("party-1", "default", "recommended", "Expected gain"):
            assert word in printed
        assert "report.html" in err

    def test_a_run_again_goes_on_and_gives_the_same(self, flora: Run, tuned: Tuned, tmp_path: Path) -> None:
        out = shutil.copytree(tuned.folder, tmp_path / "run")
        command = [*tuned.command[:-1], out, "--json"]
        second = json.loads(flora(*command)[1])
        assert {**second, "seconds": 0, "command": ""} == {**tuned.document, "seconds": 0, "command": ""}
        longer = json.loads(flora(*command, "--trials", "6")[1])
        assert [party["trials"] for party in longer["parties"]] == [6, 6, 6]

    def test_a_schema_names_columns_that_may_be_no_quantities(self, flora: Run, tmp_path: Path) -> None:
        two_moons(60, 3).assign(zip=[10115 + k // 2 for k in range(60)]).to_csv(tmp_path / "a.csv", index=False)
        code, _, err = flora("schema", tmp_path / "a.csv", "--target", "kind", "--out", tmp_path / "a.json")
        assert code == 0
        assert err.startswith("a.csv: column 'zip': whole numbers with the name of a code; --drop it")

    def test_schema_files_replace_the_schema_step(self, flora: Run, tuned: Tuned, tmp_path: Path) -> None:
        parts = [tmp_path / f"schema-{path.stem}.json" for path in tuned.files]
        for data, part in zip(tuned.files, parts, strict=True):
            assert flora("schema", data, "--target", "kind", "--out", part)[0] == 0
        assert flora("schema", *parts, "--out", tmp_path / "schema.json")[0] == 0
        given = ["--schema", tmp_path / "schema.json", "--target", "kind", *QUICK, "--json"]
        _, with_schema, _ = flora("tune", *tuned.files, *given, "--out", tmp_path / "one")
        assert json.loads(with_schema)["config"] == tuned.document["config"]

    def test_a_late_partys_file_goes_into_an_earlier_result(self, flora: Run, tuned: Tuned, tmp_path: Path) -> None:
        party_files, expected = tuned.files, tuned.document
        run, late, more = tmp_path / "run", tmp_path / "trials-west.json", tmp_path / "more"
        asked = ["--target", "kind", *QUICK]
        assert flora("tune", *party_files[:2], *asked, "--out", run)[0] == 0
        assert flora("search", party_files[2], *asked, "--out", late)[0] == 0
        assert flora("aggregate", run / "trials", late, "--out", more)[0] == 0
        parties = json.loads((more / "result.json").read_text())["parties"]
        assert [party["name"] for party in parties] == ["north", "south", "west"]
        given = ["--given", *sorted((run / "trials").iterdir()), late]
        code, printed, err = flora("tune", *party_files, *asked, *given, "--out", tmp_path / "whole", "--json")
        assert code == 0, err
        assert json.loads(printed)["config"] == expected["config"]
        assert json.loads(printed)["model_digest"] == expected["model_digest"]

    def test_parties_in_files_alone_or_at_tables_alone_are_named(
        self, flora: Run, party_files: list[Path], tmp_path: Path
    ) -> None:
        file, asked = tmp_path / "trials-north.json", ["--target", "kind", *QUICK]
        assert flora("search", party_files[0], *asked, "--out", file)[0] == 0
        options = [*asked, "--given", file, "--confirm", "0", "--trainings", "1", "--out", tmp_path / "no"]
        assert flora("tune", *party_files[:2], *options)[2].splitlines()[0] == (
            "note: party 'south' has no trials in the files of --given: it takes part in the training alone"
        )
        assert (
            "party 'north' has trials in the files of --given and no table here"
            in flora("tune", *party_files[1:], *options)[2]
        )

    def test_aggregate_takes_csv_files(self, flora: Run, tmp_path: Path) -> None:
        space = tmp_path / "space.json"
        space.write_text('{"C": {"type": "real", "space": "log", "range": [0.01, 100], "default": 1.0}}')
        for name, best in (("a", 3.0), ("b", 5.0)):
            tried = np.geomspace(0.01, 100, 30)
            losses = np.log(tried / best) ** 2 / 100
            pd.DataFrame({"C": tried, "score": 1 - losses}).to_csv(tmp_path / f"{name}.csv", index=False)
        code, printed, _ = flora("aggregate", tmp_path / "a.csv", tmp_path / "b.csv", "--space", space, "--json")
        assert code == 0
        assert 2 < json.loads(printed)["config"]["C"] < 8

    def test_a_space_states_some_defaults_and_the_model_knows_the_others(
        self, flora: Run, party_files: list[Path], tmp_path: Path
    ) -> None:
        space = tmp_path / "space.json"
        depth, trees = {"type": "int", "range": [2, 9], "default": 4}, {"type": "int", "range": [5, 20]}
        space.write_text(json.dumps({"max_depth": depth, "n_estimators": trees}))
        model = ["--model", "sklearn.ensemble:RandomForestClassifier", "--space", space, "--trials", 2, "--cv", 3]
        code, printed, _ = flora("tune", *party_files, "--target", "kind", *model, "--out", tmp_path / "run", "--json")
        assert code == 0
        assert json.loads(printed)["default"] == {"max_depth": 4, "n_estimators": 100}

    def test_the_worst_off_party_and_several_trainings(
        self, flora: Run, party_files: list[Path], tmp_path: Path
    ) -> None:
        command = ["tune", *party_files, "--target", "kind", *QUICK, "--confirm", 2, "--objective", "worst"]
        code, printed, _ = flora(*command, "--trainings", 5, "--out", tmp_path / "run")
        assert code == 0
        assert "by 2 federated trainings" in " ".join(printed.split())
        document = json.loads((tmp_path / "run" / "result.json").read_text())
        assert (document["objective"], document["surface"]) == ("worst", "mplm")
        trainings = document["trainings"]
        assert [training["fold"] for training in trainings] == [0, 1, None]  # nothing better than the default was found
        losses = [training["held_loss"] for training in trainings[:-1]]
        assert document["model_score"]["score"] == pytest.approx(1 - sum(losses) / 2)
        assert document["trained_config"] == document["default"] == document["config"] == trainings[-1]["config"]
        assert len(document["candidates"]) == 3

    def test_a_median_surface(self, flora: Run, party_files: list[Path], tmp_path: Path) -> None:
        command = ["tune", *party_files, "--target", "kind", *QUICK, "--confirm", 0, "--surface", "median"]
        code, printed, _ = flora(*command, "--out", tmp_path / "run", "--json")
        assert code == 0
        document = json.loads(printed)
        assert (document["surface"], document["evidence"]["basis"], document["candidates"]) == (
            "median",
            "predicted",
            [],
        )
        assert "the median of the parties" in (tmp_path / "run" / "report.html").read_text()

    @pytest.mark.parametrize("surface", ["sgm", "sgm+u", "mplm", "aplm", "median"])
    @pytest.mark.parametrize("regressor", ["forest", "gp"])
    def test_every_surface(
        self, flora: Run, party_files: list[Path], tmp_path: Path, surface: str, regressor: str
    ) -> None:
        for data in party_files:
            flora("search", data, "--target", "kind", *QUICK, "--out", tmp_path / f"{data.stem}.json")
        files = [tmp_path / f"{data.stem}.json" for data in party_files]
        code, printed, _ = flora("aggregate", *files, "--surface", surface, "--regressor", regressor, "--json")
        assert code == 0
        assert json.loads(printed)["surface"] == surface

    def test_searching_again_into_the_same_file(self, flora: Run, party_files: list[Path], tmp_path: Path) -> None:
        command = ["search", party_files[0], "--target", "kind", *QUICK, "--out", tmp_path / "trials.json"]
        assert flora(*command)[0] == 0
        before = (tmp_path / "trials.json").read_bytes()
        assert flora(*command)[0] == 0
        assert (tmp_path / "trials.json").read_bytes() == before


def table_with(**columns: Any) -> pd.DataFrame:
    return two_moons(40, 1).assign(**columns)


BAD_TABLES: dict[str, tuple[pd.DataFrame | str, tuple[str, ...]]] = {
    "empty file": ("", ("bad.csv", "empty")),
    "header only": ("x,y,kind\n", ("bad.csv", "at least one row")),
    "missing target": (two_moons(40, 1).drop(columns="kind"), ("'bad'", "target 'kind' is not in the table")),
    "a class for each row": (table_with(kind=[f"case {k}" for k in range(40)]), ("'bad'", "look like an identifier")),
    "numeric here, text there": (table_with(x=["red", "blue"] * 20), ("column 'x'", "categorical", "numeric", "bad")),
    "a date": (table_with(x="2024-03-01"), ("'bad'", "column 'x'", "date", "--drop x")),
    "free text": (table_with(x=[f"note {k}" for k in range(40)]), ("'bad'", "column 'x'", "free text", "--drop x")),
    "a column less": (two_moons(40, 1).drop(columns="y"), ("column 'y'", "bad")),
    "a column more": (table_with(z=1.5), ("column 'z'", "bad")),
    "all targets missing": (table_with(kind=None), ("'bad'", "every value is missing")),
}


BETTER = {"C": 9.0, "gamma": 0.2, "tol": 1e-3}
PLAN = SearchPlan("svm", "classification", SVM_SPACE, "balanced_accuracy", folds=3)


def candidates_in(path: Path, plan: SearchPlan = PLAN, config: Config = BETTER) -> Path:
    path.write_bytes(step_file(Confirm(plan, None, (config,))))
    return path


def trials_in(folder: Path, party: str) -> Path:
    trials = tuple(
        Trial(dict(SVM_SPACE.default) | {"C": c}, c / 100 + ord(party[0]) / 1e6, 0.01, 3) for c in (1.0, 5.0, 20.0)
    )
    path = folder / f"trials-{party}.json"
    found = PartyTrials(party, 60, SVM_SPACE, "balanced_accuracy", trials, (), "svm", "classification")
    path.write_text(found.to_json())
    return path


def answer_in(folder: Path, party: str, *, seed: int = 0, default: bool = True) -> Path:
    measured = [Confirmation(Trial(dict(SVM_SPACE.default), 0.2, 0.01, 3), 0.0, 0.0)] * default
    measured.append(Confirmation(Trial(BETTER, 0.1, 0.01, 3), 0.1, 0.01))
    path = folder / f"reply-{party}-{seed}-{default}.json"
    step = Confirm(replace(PLAN, seed=seed), None, (BETTER,))
    path.write_text(reply_text(ConfirmReply(party, 60, tuple(measured)), step))
    return path


class TestAnswer:
    def test_an_estimator_runs_only_where_it_is_trusted(
        self, flora: Run, party_files: list[Path], tmp_path: Path
    ) -> None:
        forest = SearchSpace((Integer("n_estimators", 2, 9),), {"n_estimators": 5})
        plan = replace(PLAN, family="sklearn.ensemble:RandomForestClassifier", space=forest)
        file = candidates_in(tmp_path / "c.json", plan, {"n_estimators": 3})
        command = ["answer", party_files[0], file, "--target", "kind", "--out", tmp_path / "deep" / "a.json"]
        refused(flora(*command), "c.json", "RandomForestClassifier", "if you trust it, say --model")
        refused(flora(*command, "--model", "sklearn.svm:SVC"), "if you trust it")
        assert not (tmp_path / "deep").exists()
        code, printed, _ = flora(*command, "--model", "sklearn.ensemble:RandomForestClassifier")
        assert code == 0
        assert "1 configs measured beside the default" in printed
        reply = read_reply_file(tmp_path / "deep" / "a.json").reply
        assert isinstance(reply, ConfirmReply)
        assert (reply.party, reply.rows, len(reply.confirmations)) == ("north", 60, 2)
        evil = candidates_in(tmp_path / "e.json", replace(plan, family="this:Zen"), {"n_estimators": 3})
        refused(flora("answer", party_files[0], evil, "--target", "kind", "--out", tmp_path / "b.json"), "this:Zen")

    def test_a_file_of_something_else(self, flora: Run, party_files: list[Path], tmp_path: Path) -> None:
        def answered(file: Path, *options: object) -> tuple[int, str, str]:
            return flora("answer", party_files[0], file, "--target", "kind", "--out", tmp_path / "o.json", *options)

        refused(answered(trials_in(tmp_path, "north")), "expected 'flora-step' version 2")
        refused(answered(party_files[0]), "not a flora-step")
        refused(answered(tmp_path / "none.json"), "no such file")
        unknown = candidates_in(tmp_path / "s.json", replace(PLAN, scoring="luck"))
        refused(answered(unknown), "scoring must be one of", "'luck'")
        regression = candidates_in(tmp_path / "r.json", replace(PLAN, task="regression", scoring="r2"))
        refused(answered(regression), "the model svm does classification, not regression")
        refused(
            answered(candidates_in(tmp_path / "f.json", replace(PLAN, family="tree"))),
            "the model must be hgb",
            "'tree'",
        )
        good = candidates_in(tmp_path / "g.json")
        refused(answered(good, "--jobs", 0), "jobs", "got 0")
        refused(answered(good, "--party", ""), "a party's name")
        assert not (tmp_path / "o.json").exists()

    def test_it_does_not_overwrite_what_is_not_its_own(
        self, flora: Run, party_files: list[Path], tmp_path: Path
    ) -> None:
        file = candidates_in(tmp_path / "c.json")
        before = file.read_text()
        command = ["answer", party_files[0], file, "--target", "kind", "--out"]
        refused(flora(*command, file), "c.json", "flora-reply")
        assert file.read_text() == before
        other = answer_in(tmp_path, "south")
        refused(flora(*command, other), "holds the answer of another party")
        assert flora(*command, tmp_path / "own.json")[0] == 0
        own = (tmp_path / "own.json").read_bytes()
        code, printed, _ = flora(*command, tmp_path / "own.json", "--json")
        assert (code, json.loads(printed)) == (0, json.loads(own))
        assert (tmp_path / "own.json").read_bytes() == own


class TestReplies:
    @pytest.fixture
    def files(self, tmp_path: Path) -> list[Path]:
        return [trials_in(tmp_path, "a"), trials_in(tmp_path, "b")]

    def test_they_decide(self, flora: Run, files: list[Path], tmp_path: Path) -> None:
        answers = [answer_in(tmp_path, party) for party in "ba"]
        code, printed, _ = flora("aggregate", *files, *answers, "--json", "--out", tmp_path / "new" / "run")
        assert code == 0
        document = json.loads(printed)
        assert document == json.loads((tmp_path / "new" / "run" / "result.json").read_text())
        assert (document["config"], document["verdict"], document["evidence"]["basis"]) == (BETTER, "use", "measured")
        assert [candidate["estimate"] for candidate in document["candidates"]] == pytest.approx([0.0, 0.1])
        assert (tmp_path / "new" / "run" / "report.html").is_file()
        assert flora("report", tmp_path / "new" / "run")[0] == 0

    def test_all_must_answer_the_same_once(self, flora: Run, files: list[Path], tmp_path: Path) -> None:
        a, b = answer_in(tmp_path, "a"), answer_in(tmp_path, "b")
        refused(flora("aggregate", *files, a), "party 'b' has not answered")
        refused(flora("aggregate", *files, a, b, b), "party 'b' answers twice")
        refused(flora("aggregate", *files, a, b, answer_in(tmp_path, "c")), "party 'c' answers", "no file of trials")
        refused(flora("aggregate", *files, a, answer_in(tmp_path, "b", seed=1)), "different files of candidates")
        refused(flora("aggregate", *files, a, answer_in(tmp_path, "b", default=False)), "measured the default")
        refused(flora("aggregate", *files, a, candidates_in(tmp_path / "c.json")), "c.json")
        refused(flora("aggregate", a, b), "need the trials of at least one party")

    def test_a_proposal_is_a_file_for_the_parties(self, flora: Run, files: list[Path], tmp_path: Path) -> None:
        out = tmp_path / "c.json"
        refused(flora("aggregate", *files, "--propose", 3), "name it with --out")
        refused(flora("aggregate", *files, "--propose", 0, "--out", out), "--propose", "at least 1", "got 0")
        refused(flora("aggregate", *files, answer_in(tmp_path, "a"), "--propose", 3, "--out", out), "trials alone")
        space = tmp_path / "space.json"
        space.write_text('{"C": {"type": "real", "space": "log", "range": [0.01, 100], "default": 1.0}}')
        pd.DataFrame({"C": [0.1, 1.0], "loss": [0.2, 0.1]}).to_csv(tmp_path / "t.csv", index=False)
        by_csv = flora("aggregate", tmp_path / "t.csv", "--space", space, "--propose", 3, "--out", out)
        refused(by_csv, "without a family, a task and folds")
        assert not out.exists()
        code, printed, _ = flora("aggregate", *files, "--propose", 3, "--out", out, "--json", "--seed", 4)
        assert code == 0
        assert json.loads(printed) == json.loads(out.read_text())
        found = read_step_file(out)
        assert isinstance(found, Confirm)
        assert (len(found.configs), found.plan.folds, found.plan.seed, found.plan.family) == (3, 3, 4, "svm")


class TestBadInput:
    @pytest.mark.parametrize("name", BAD_TABLES)
    def test_bad_tables(self, flora: Run, party_files: list[Path], tmp_path: Path, name: str) -> None:
        content, words = BAD_TABLES[name]
        bad = tmp_path / "bad.csv"
        if isinstance(content, str):
            bad.write_text(content)
        else:
            content.to_csv(bad, index=False)
        refused(flora("tune", *party_files, bad, "--target", "kind", *QUICK, "--out", tmp_path / "run"), *words)
        assert not (tmp_path / "run").exists()

    def test_a_party_with_one_class_says_so_and_takes_part(
        self, flora: Run, party_files: list[Path], tmp_path: Path
    ) -> None:
        table_with(kind="upper").to_csv(tmp_path / "calm.csv", index=False)
        out = tmp_path / "run"
        code, _, err = flora("tune", *party_files, tmp_path / "calm.csv", "--target", "kind", *QUICK, "--out", out)
        assert code == 0
        assert "calm: has one class only: it cannot search, and takes part in the training" in " ".join(err.split())
        alone = ("search", tmp_path / "calm.csv", "--target", "kind", "--out", tmp_path / "t.json")
        refused(flora(*alone), "party 'calm' has one class only: it cannot search")
        assert not (tmp_path / "t.json").exists()

    def test_counts_are_taken_for_classes_with_a_note_that_names_all_parties(self, flora: Run, tmp_path: Path) -> None:
        tables = [tmp_path / f"{name}.csv" for name in "ab"]
        for k, path in enumerate(tables):
            two_moons(40, k).assign(kind=[0, 1, 2, 3] * 10, odd=1).to_csv(path, index=False)
        command = ("tune", *tables, "--target", "kind", *QUICK, "--trainings", "1", "--json", "--out", tmp_path / "run")
        notes = json.loads(flora(*command)[1])["notes"]
        assert "'kind': its 4 whole numbers are taken for classes; --task regression predicts a quantity" in notes
        assert "a, b: one value only in column 'odd'" in notes
        for path in tables:
            two_moons(40, 1).assign(kind=[*range(3), *[3] * 37]).to_csv(path, index=False)
        refused(flora(*command[:-1], tmp_path / "other"), "no party can search", "say --task regression if the target")

    def test_a_constant_column_and_another_order_are_no_errors(
        self, flora: Run, party_files: list[Path], tmp_path: Path
    ) -> None:
        for path in party_files:
            pd.read_csv(path).assign(site=1).to_csv(path, index=False)
        code, printed, err = flora("tune", *party_files, "--target", "kind", *QUICK, "--out", tmp_path / "run")
        assert code == 0
        assert err.count("north, south, west: one value only in column 'site'") == 1
        assert "note: north" not in printed
        assert "The federated model was trained" in printed.splitlines()[-1]  # the answer stands last

    def test_no_such_file(self, flora: Run, party_files: list[Path], tmp_path: Path) -> None:
        refused(flora("tune", party_files[0], tmp_path / "no.csv", "--target", "kind"), "no.csv", "no such file")
        refused(flora("search", tmp_path / "no.csv", "--target", "k", "--out", tmp_path / "t.json"), "no such file")
        refused(flora("aggregate", tmp_path / "no.json"), "no.json", "no such file")
        refused(flora("predict", tmp_path / "no", party_files[0]), "no", "no such file")

    def test_duplicate_party_names(self, flora: Run, party_files: list[Path], tmp_path: Path) -> None:
        (tmp_path / "other").mkdir()
        twin = tmp_path / "other" / "north.csv"
        twin.write_bytes(party_files[0].read_bytes())
        refused(
            flora("tune", *party_files, twin, "--target", "kind"), "party names must differ", "'north'", "NAME=FILE"
        )
        refused(flora("tune", party_files[0], party_files[0], "--target", "kind"), "party names must differ")
        named = flora("tune", party_files[0], f"twin={twin}", "--target", "kind", *QUICK, "--out", tmp_path / "run")
        assert named[0] == 0

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (["--trials", "0"], ("trials must be a whole number of at least 1, got 0",)),
            (["--trials", "-3"], ("trials", "-3")),
            (["--trials", "many"], ("--trials", "many")),
            (["--cv", "1"], ("cv must be a whole number of at least 2, got 1",)),
            (["--send", "0"], ("send", "at least 1, got 0")),
            (["--seed", "-1"], ("seed", "-1")),
            (["--jobs", "0"], ("jobs", "got 0")),
            (["--model", "forest"], ("the model must be hgb", "'forest'")),
            (["--model", "no.such.module:Thing"], ("no.such.module",)),
            (["--model", "sklearn.ensemble:RandomForestClassifier"], ("--space",)),
            (["--surface", "best"], ("aplm", "'best'")),
            (["--regressor", "line"], ("forest", "'line'")),
            (["--weights", "size"], ("rows", "'size'")),
            (["--scoring", "accurate"], ("scoring", "'accurate'")),
            (["--task", "regression"], ("kind", "must be numeric")),
            (["--drop", "nothing"], ("'nothing'",)),
            (["--confirm", "-1"], ("confirm must be a whole number of at least 0, got -1",)),
            (["--trainings", "0"], ("trainings must be a whole number of at least 1, got 0",)),
            (["--objective", "best"], ("--objective", "mean", "worst", "'best'")),
            (["--surface", "median", "--weights", "rows"], ("'median' has no weights",)),
            (["--no-such-option"], ("--no-such-option",)),
        ],
    )
    def test_bad_options(
        self, flora: Run, party_files: list[Path], tmp_path: Path, options: list[str], words: tuple[str, ...]
    ) -> None:
        command = ["tune", *party_files, "--target", "kind", *QUICK, *options, "--out", tmp_path / "run"]
        refused(flora(*command), *words)
        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize(
        ("space", "words"),
        [
            ('{"C": {"type": "complex", "range": [0, 1]}}', ("C", "real", "'complex'")),
            ('{"C": {"type": "real", "space": "log", "range": [10, 1]}}', ("C", "low < high", "10 and 1")),
            ('{"C": {"type": "real", "space": "log", "range": [0, 1]}}', ("C", "log", "got 0")),
            ('{"C": {"type": "real"', ("not a JSON file",)),
            ("[]", ("mapping",)),
            ('{"kernel": {"type": "cat", "values": ["a", "b"], "default": "a"}}', ("kernel",)),
        ],
    )
    def test_bad_spaces(
        self, flora: Run, party_files: list[Path], tmp_path: Path, space: str, words: tuple[str, ...]
    ) -> None:
        file = tmp_path / "space.json"
        file.write_text(space)
        refused(
            flora("tune", *party_files, "--target", "kind", *QUICK, "--space", file, "--out", tmp_path / "run"), *words
        )
        assert not (tmp_path / "run").exists()

    def test_one_table_without_parties(self, flora: Run, party_files: list[Path]) -> None:
        refused(flora("tune", party_files[0], "--target", "kind"), "one table is one party", "--parties N")
        refused(flora("tune", *party_files, "--parties", 3, "--target", "kind"), "one table, got 3 files")

    def test_an_output_folder_that_holds_another_run(self, flora: Run, tuned: Tuned, tmp_path: Path) -> None:
        out, command = tuned.folder, tuned.command
        before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
        refused(flora(*command, "--seed", "1"), "holds another run", "seed")
        refused(flora(*command, "--model", "hgb"), "holds another run", "family")
        refused(flora(*command[:3], *command[4:]), "holds another run", "parties")
        assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
        (tmp_path / "thesis").mkdir()
        (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
        refused(flora(*command[:-1], tmp_path / "thesis"), "not a folder of this run")

    def test_a_run_that_was_refused_at_its_first_step_does_not_hold_the_folder(
        self, flora: Run, tmp_path: Path
    ) -> None:
        tables = [tmp_path / f"{name}.csv" for name in "ab"]
        for k, path in enumerate(tables):
            two_moons(40, k).assign(kind=["left", *["right"] * 39]).to_csv(path, index=False)
        command = ["tune", *tables, "--target", "kind", *QUICK, "--trainings", "1", "--out", tmp_path / "run"]
        refused(flora(*command), "no party can search")
        assert (tmp_path / "run").is_dir()
        for k, path in enumerate(tables):
            two_moons(40, k).to_csv(path, index=False)
        assert flora(*command, "--seed", "1")[0] == 0

    @pytest.mark.parametrize("place", ["a-file", "a-file/run"])
    def test_a_place_that_cannot_be_written(self, flora: Run, tuned: Tuned, tmp_path: Path, place: str) -> None:
        (tmp_path / "a-file").write_text("mine")
        run, table = tuned.folder, tuned.files[0]
        refused(flora(*tuned.command[:-1], tmp_path / place), str(tmp_path / "a-file"))
        refused(flora("report", run, "--out", run), f"{run}: cannot be used (is a")
        refused(flora("report", run, "--out", tmp_path / "a-file" / "page.html"), "expected a folder")
        refused(flora("predict", run, table, "--output", run), "cannot be used (is a")
        refused(flora("search", table, "--target", "kind", "--out", tmp_path), f"{tmp_path}: a folder")
        assert (tmp_path / "a-file").read_text() == "mine"

    def test_a_search_does_not_overwrite_what_is_not_its_own(
        self, flora: Run, party_files: list[Path], tmp_path: Path
    ) -> None:
        precious = tmp_path / "precious.json"
        precious.write_text("{}")
        refused(flora("search", party_files[0], "--target", "kind", *QUICK, "--out", precious), "precious.json")
        assert precious.read_text() == "{}"

    def test_trials_that_do_not_belong_together(self, flora: Run, party_files: list[Path], tmp_path: Path) -> None:
        def search(k: int, *options: str) -> Path:
            out = tmp_path / f"t{k}{''.join(options)[2:9]}.json"
            assert flora("search", party_files[k], "--target", "kind", *QUICK, *options, "--out", out)[0] == 0
            return out

        first, second = search(0), search(1, "--scoring", "accuracy")
        refused(flora("aggregate", first, second), "north", "south", "balanced_accuracy", "accuracy")
        space = tmp_path / "space.json"
        space.write_text('{"C": {"type": "real", "space": "log", "range": [0.1, 10], "default": 1.0}}')
        refused(flora("aggregate", first, search(1, "--space", str(space))), "north", "south", "space")
        refused(flora("aggregate", first, first), "north")

    @pytest.mark.parametrize("damage", ["truncated", "NaN", "other space", "not JSON", "extra field"])
    def test_a_hostile_file_of_trials(self, flora: Run, party_files: list[Path], tmp_path: Path, damage: str) -> None:
        good = tmp_path / "good.json"
        assert flora("search", party_files[0], "--target", "kind", *QUICK, "--out", good)[0] == 0
        text, bad = good.read_text(), tmp_path / "bad.json"
        bad.write_text(
            {
                "truncated": text[: len(text) // 2],
                "NaN": text.replace('"loss": 0', '"loss": NaN, "x": 0', 1),
                "other space": text.replace('"C": 1.0', '"C": 1e9', 2),
                "not JSON": "party,loss\n",
                "extra field": text.replace('"rows"', '"row_data": [1, 2], "rows"', 1),
            }[damage]
        )
        refused(flora("aggregate", bad), "bad.json")

    def test_predict_on_a_table_without_the_columns(self, flora: Run, tuned: Tuned, tmp_path: Path) -> None:
        (tmp_path / "new.csv").write_text("x,z\n1,2\n")
        refused(flora("predict", tuned.folder, tmp_path / "new.csv"), "'y'", "missing")


class TestStartUp:
    def test_every_command_has_help(self, capsys: pytest.CaptureFixture[str]) -> None:
        for command in COMMANDS:
            with pytest.raises(SystemExit) as leaving:
                make_parser([command]).parse_args([command, "--help"])
            assert leaving.value.code == 0
            assert f"flora {command}" in capsys.readouterr().out

    @pytest.mark.parametrize("code", ["import flora", "from flora.cli.main import main; main(['--help'])"])
    def test_nothing_heavy_is_imported_before_it_is_needed(self, code: str) -> None:
        heavy = ["numpy", "pandas", "sklearn", "scipy", "optuna", "lightgbm", "rich", "torch"]
        assert imported(code, heavy) == []

    def test_what_a_command_takes_is_known_without_what_is_heavy(self) -> None:
        code = f"from flora.cli.main import make_parser; [make_parser([name]) for name in {list(COMMANDS)}]"
        assert imported(code, ["pandas", "sklearn", "scipy", "optuna", "plotly", "lightgbm", "nvflare", "torch"]) == []

    def test_an_aggregator_of_files_searches_nothing_and_draws_nothing(self, tmp_path: Path) -> None:
        files = [str(trials_in(tmp_path, party)) for party in "ab"]
        code = f"from flora.cli.main import main; assert main(['aggregate', '--json', *{files}]) == 0"
        # scikit-learn, whose trees the surface is made of, imports pandas and scipy.stats itself
        assert imported(code, ["optuna", "plotly", "lightgbm", "nvflare", "torch", "flora.party.tables.table"]) == []

    def test_files_are_read_and_refused_before_what_is_heavy_is_imported(self, tmp_path: Path) -> None:
        files = [str(trials_in(tmp_path, "a")), str(tmp_path / "none.json")]
        code = f"from flora.cli.main import main; sys.stderr = sys.stdout; assert main(['aggregate', *{files}]) == 2"
        assert imported(code, ["pandas", "sklearn", "scipy", "optuna", "plotly", "lightgbm", "nvflare", "torch"]) == []


def imported(code: str, heavy: list[str]) -> list[str]:
    """Return which of the packages a new interpreter has imported after some code."""
    script = f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\n"
    script += f"print('\\n' + ','.join(m for m in {heavy} if m in sys.modules), end='')"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")
    return [name for name in found.stdout.rsplit("\n", 1)[1].split(",") if name]
