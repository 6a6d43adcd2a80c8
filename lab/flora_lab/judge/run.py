"""Computes cells. Each is a file, and so is each search on all rows, which cells share.

A cell's parties are asked by the product's own program, up to its training.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from flora.aggregator.aggregation import aggregate, conclude
from flora.aggregator.surface import SURFACES, SurfaceChoice
from flora.aggregator.verdict import predicted_verdict
from flora.engines.threads import in_process
from flora.models import family_of
from flora.models.rows import encode
from flora.party.party import Party
from flora.party.split import split
from flora.party.table import describe
from flora.problem.messages import Confirmation, Reply, Step
from flora.problem.plan import SearchPlan
from flora.problem.trials import PartyTrials
from flora.program.drive import Ask
from flora.program.request import Request
from flora.program.result import versions
from flora.program.single_shot import single_shot, trials_of
from flora_lab.judge.cells import Cell, Protocol, Record
from flora_lab.judge.datasets import declared, load
from flora_lab.judge.truth import POOLED, measure_truths
from flora_lab.paper.cells import Protocol as Thoroughness
from flora_lab.paper.datasets import TARGET
from flora_lab.paper.pieces import FIT, Bench, keep, search_work, searched, while_asked

FOLDER = "recommend"


def bench_of(results: Path, data: Path | None, protocol: Protocol) -> Bench:
    """Return where cells are kept, what they are computed from, and how thoroughly."""
    thoroughness = Thoroughness(protocol.trials, protocol.folds, protocol.central)
    place = results.absolute()
    return Bench(place, place / ".work", data.absolute() if data else None, thoroughness)


@dataclass(frozen=True)
class PooledSearch:
    """The search on all rows that "best" comes from: one for all ways to deal them out, so with one seed."""

    dataset: str
    family: str
    protocol: Protocol

    def file(self, bench: Bench) -> Path:
        """Return the file of its trials."""
        return bench.results / FOLDER / self.protocol.name / "pooled" / f"{self.family}-{self.dataset}.json"

    def compute(self, bench: Bench) -> bytes:
        """Return its trials."""
        table = load(self.dataset, bench.data)
        plan = replace(_plan(self.family, self.protocol, seed=0), trials=self.protocol.central)
        return searched(plan, encode(table, describe(table, TARGET)), POOLED, self._storage(bench))

    def work(self, bench: Bench) -> tuple[float, float]:
        """Return how much work it is, and which part of it is done."""
        return search_work(self.protocol.central, declared(self.dataset).rows, self._storage(bench))

    def trials(self, bench: Bench) -> PartyTrials:
        """Return its trials; they are computed once."""
        return PartyTrials.read(keep(self, bench))

    def _storage(self, bench: Bench) -> Path:
        return bench.work / f"{FOLDER}-{self.protocol.name}-{self.family}-{self.dataset}.db"


@dataclass(frozen=True)
class CellRecord:
    """What is stored of a cell."""

    cell: Cell
    protocol: Protocol

    @property
    def pooled(self) -> PooledSearch:
        """The search on all rows that it needs."""
        return PooledSearch(self.cell.dataset, self.cell.family, self.protocol)

    def file(self, bench: Bench) -> Path:
        """Return the cell's file."""
        return bench.results / FOLDER / self.protocol.name / f"{self.cell.name}.json"

    def compute(self, bench: Bench) -> bytes:
        """Return the cell."""
        return _record(self.cell, self.protocol, self.pooled.trials(bench), bench).to_json().encode()

    def work(self, bench: Bench) -> tuple[float, float]:  # noqa: ARG002  (all that it depends on is in the cell)
        """Return how much work it is: the parties' fits, and those on all rows, twice for each config."""
        rows, parties = declared(self.cell.dataset).rows, self.cell.parties
        at_parties = (self.protocol.trials + self.protocol.candidates + 1) * (rows + parties * FIT)
        return float(at_parties + 2 * (self.protocol.candidates + len(SURFACES) + 2) * (rows + FIT)), 0.0


def _record(cell: Cell, protocol: Protocol, pooled: PartyTrials, bench: Bench) -> Record:
    table = load(cell.dataset, bench.data)
    plan = _plan(cell.family, protocol, cell.seed)
    said = replies_before_training(_request(cell.family, protocol, cell.seed), _ask(cell, protocol, bench))
    trials = tuple(trials_of(reply, plan) for reply in said["search"])
    confirmed = {reply.party: reply.confirmations for reply in said["confirm"]}
    found = {name: aggregate(trials, SurfaceChoice(name), cell.seed) for name in SURFACES}
    minima = {name: each.recommendation.config for name, each in found.items()}
    measured = [each.config for each in next(iter(confirmed.values()))]
    sizes = {party.party: party.rows or 0 for party in trials}
    concluded = conclude(found["aplm"], confirmed, sizes, "mean").choice
    grown = [candidate.config for candidate in concluded.candidates] if concluded else []
    rows = encode(table, describe(table, TARGET))
    truths = measure_truths(
        rows,
        plan,
        family_of(cell.family),
        trained=[plan.space.default, *measured, *grown],
        others=[*minima.values(), pooled.best.config],
        parties=cell.parties,
    )
    return Record(
        cell,
        protocol,
        trials,
        confirmed,
        minima,
        predicted_verdict(found["aplm"].surface, plan.space, minima["aplm"]).gain,
        pooled.best.config,
        truths,
        versions(),
    )


def _ask(cell: Cell, protocol: Protocol, bench: Bench) -> Ask:
    """Return the engine that carries steps to the cell's parties; their searches go on where they stopped."""
    tables = split(load(cell.dataset, bench.data), TARGET, cell.parties, cell.split, cell.seed)
    stored = f"{FOLDER}-{protocol.name}-{cell.searches}"
    ask = in_process(
        [
            Party(name, rows, TARGET, storage=bench.work / f"{stored}-{name}.db", progress=while_asked)
            for name, rows in tables.items()
        ]
    )
    return with_liar(ask) if cell.liar else ask


def replies_before_training(request: Request, ask: Ask) -> dict[str, list[Reply]]:
    """Return what the parties reply to each step of the product's program, which ends where the training begins."""
    program = single_shot(request)
    step, said = next(program), dict[str, list[Reply]]()
    while step.name != "train":
        said[step.name] = sorted(ask(step), key=lambda reply: reply.party)
        step = program.send(said[step.name])
    program.close()
    return said


def with_liar(ask: Ask) -> Ask:
    """Let the first party say 1 - loss wherever it should say its loss: its worst config then looks best."""

    def lied(step: Step) -> list[Reply]:
        first, *others = sorted(ask(step), key=lambda reply: reply.party)
        return [_inverted(first), *others]

    return lied


def _inverted(reply: Reply) -> Reply:
    trials = reply.trials
    if trials is not None:
        trials = replace(trials, trials=tuple(replace(trial, loss=1 - trial.loss) for trial in trials.trials))
    confirmations = tuple(
        Confirmation(replace(each.trial, loss=1 - each.trial.loss), -each.gain, each.gain_error)
        for each in reply.confirmations
    )
    return replace(reply, trials=trials, confirmations=confirmations)


def _request(family: str, protocol: Protocol, seed: int) -> Request:
    return Request(
        family,
        task="classification",
        trials=protocol.trials,
        folds=protocol.folds,
        seed=seed,
        confirm=protocol.candidates,
    )


def _plan(family: str, protocol: Protocol, seed: int) -> SearchPlan:
    return _request(family, protocol, seed).plan("classification")
