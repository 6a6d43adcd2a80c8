"""How far a run is."""

import io
import time
from typing import Any

import pytest
from rich.console import Console

from flora.core.workers import one_by_one
from flora.engines.threads import in_process
from flora.outcome.progress import BETWEEN, RunProgress, Stage, run_progress
from flora.party.gate import Gate
from flora.party.party import Party
from flora.party.tables.table import Table
from flora.program.drive import drive
from flora.program.request import Request
from flora.program.single_shot import Outcome, single_shot
from flora.program.status import PartyStatus, RunStatus
from tests.conftest import two_moons


def followed(progress: RunProgress, family: str = "svm") -> Outcome:
    gates = [
        Gate(
            Party(
                name,
                Table(two_moons(50, k), "kind"),
                None,
                progress.counting(name, one_by_one),
                progress.report,
                training=progress.trains,
            )
        )
        for k, name in enumerate(progress.parties)
    ]
    request = Request(family=family, trials=3, folds=2, confirm=2)
    return drive(single_shot(request), progress.asking(in_process(gates)))


def test_every_step_is_told_and_what_is_between_them() -> None:
    told: list[str] = []
    followed(RunProgress(["a", "b"], lambda stage: told.append(f"{stage.words} {stage.count}/{stage.total}")))
    steps = list(dict.fromkeys(line.rsplit(" ", 1)[0] for line in told))
    assert steps[:4] == ["columns", BETWEEN, "search", "confirmation: configs measured"]
    assert "search 6/6" in told
    assert "confirmation: configs measured 6/6" in told  # the default and two more, at two parties
    assert any(line.startswith("training 1") for line in told)


def test_inside_a_training_its_iterations_are_told() -> None:
    lines: list[str] = []
    shares: list[float] = []

    def show(stage: Stage) -> None:
        if stage.inside:
            lines.append(stage.line())
            shares.append(stage.reached)

    followed(RunProgress(["a", "b"], show), "mlp")
    assert lines[0].startswith("training 1, iteration 1 of at most 200")
    assert shares == sorted(shares)
    assert 0 < shares[0] < 1
    assert len(set(shares)) > 3


def test_a_training_in_two_passes_is_half_done_after_the_first() -> None:
    shown: list[tuple[str, float]] = []
    progress = RunProgress(["a", "b"], lambda stage: shown.append((stage.inside, stage.reached)))
    counts = {"a": (8, 8), "b": (8, 8)}

    def says() -> None:
        parties = {name: PartyStatus("works", done, most) for name, (done, most) in counts.items()}
        progress.follow(RunStatus("train", 1, parties, training=1, passes=2))

    for party, said in (("a", (8, 8)), ("a", (1, 4)), ("b", (2, 4))):
        counts[party] = said
        says()
    assert shown[-3:] == [
        ("iteration 8 of at most 8", 0.5),
        ("iteration 8 of at most 8", 0.5),  # one of them is still in the first pass
        ("iteration 2 of at most 4", 0.75),
    ]


def test_a_terminal_has_bars_and_a_quiet_run_has_nothing() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with run_progress(["[b]a", "b"], console) as progress:
        followed(progress)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(words in text for words in ("search at [b]a", "3/3", "confirmation: configs measured", "training 1"))
    still = Console(file=io.StringIO(), force_terminal=True)
    with run_progress(["a"], still, quiet=True) as progress:
        followed(progress)
    assert still.file.getvalue() == ""  # type: ignore[attr-defined]


def test_many_parties_share_a_bar() -> None:
    names = [f"p{k:02}" for k in range(13)]
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with run_progress(names, console) as progress:
        progress.stage = Stage("search", "search")
        for name in names:
            progress.report(name, 1, 5)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "13/65" in text
    assert "p07" not in text


def test_elsewhere_a_line_every_so_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flora.outcome.progress.SECONDS", 0.01)
    console = Console(file=io.StringIO(), width=100)
    with run_progress(["a", "b"], console) as progress:
        progress.stage = Stage("search", "search", 8, {"a": 2}, began=time.monotonic() - 30)
        while "search" not in console.file.getvalue():  # type: ignore[attr-defined]
            time.sleep(0.01)
    assert "search 2 of 8, 30 s, about 90 s left" in console.file.getvalue()  # type: ignore[attr-defined]


def test_a_run_that_is_driven_elsewhere_is_followed_by_what_its_aggregator_says() -> None:
    told: list[str] = []
    progress = RunProgress(["a", "b"], lambda stage: told.append(stage.line().rsplit(", ", stage.left is not None)[0]))

    def says(step: str, number: int, a: tuple[int, int] = (0, 0), **more: Any) -> None:
        parties = {"a": PartyStatus("works", *a), "b": PartyStatus()}
        progress.follow(RunStatus(step, number, parties, **more))

    says("describe", 1)
    says("search", 2)
    says("search", 2, (3, 10))
    says("confirm", 3, (1, 9))
    says("train", 4, training=4, fold=1, folds=5)  # one who came late knows which one it is
    says("train", 5, training=5, fold=2, folds=5)
    says("train", 5, (30, 100), training=5, fold=2, folds=5, passes=2)
    assert told[-1].startswith("training 5 of 11, iteration 30 of at most 100")
    lines = [line.split(", ")[0] for line in told]
    assert "search 3 of 20" in lines
    assert "confirmation: configs measured 1 of 18" in lines
    assert [line for line in lines if line.startswith("train")][-1] == "training 5 of 11"
    assert progress.stage.count == 4  # trainings done, of 11
    assert [stage.name for stage in progress.past] == ["describe", "search", "confirm"]


def test_a_search_with_a_budget_of_seconds_ends_with_it() -> None:
    began = time.monotonic() - 5
    stage = Stage("search", "search", 800, {"a": 4, "b": 4}, began, budget=8.0)
    assert stage.left is not None
    assert 0 < stage.left <= 3
    assert Stage("search", "search", 800, {"a": 4}, began, budget=4.0).left is None
    assert Stage("search", "search", 800, {"a": 4}, began).left > 100  # type: ignore[operator]


def test_a_run_with_a_budget_knows_it() -> None:
    budgets = set()
    progress = RunProgress(["a", "b"], lambda stage: budgets.add((stage.name, stage.budget)))
    gates = [Gate(Party(name, Table(two_moons(50, 1), "kind"), None)) for name in progress.parties]
    request = Request(family="svm", trials=2, folds=2, confirm=0, trainings=1, seconds=30.0)
    drive(single_shot(request), progress.asking(in_process(gates)))
    assert {("search", 60.0), ("train", None)} <= budgets
