"""Computes cells: their parties are asked by the product's own program, and the truth is measured on all rows."""

from dataclasses import dataclass, replace
from typing import Any

from flora.aggregator.aggregation import aggregate
from flora.aggregator.surface import SURFACES, SurfaceChoice
from flora.aggregator.verdict import predicted_verdict, tried_configs
from flora.engines.threads import in_process
from flora.models import family_of
from flora.models.rows import Rows, encode
from flora.party.gate import Gate
from flora.party.party import Party
from flora.party.split import split
from flora.party.tables.table import Table, describe
from flora.problem.family import PAPER
from flora.problem.messages import Confirmation, ConfirmReply, Reply, SearchReply, Step
from flora.problem.trials import PartyTrials
from flora.program.drive import Ask, drive
from flora.program.request import Request
from flora.program.result import versions
from flora.program.single_shot import single_shot
from flora_lab.cells import Cell, Protocol
from flora_lab.datasets import TARGET, declared, load
from flora_lab.judge.record import Record
from flora_lab.judge.truth import measure_truths
from flora_lab.pieces import FIT, POOLED, Bench, keep, search_work, searched, while_asked


@dataclass(frozen=True)
class PooledSearch:
    """The search on all rows that "best" comes from: one for all ways to deal them out, so with one seed."""

    family: str
    dataset: str

    @property
    def name(self) -> str:
        """Its name in the store."""
        return f"pooled/{self.family}-{self.dataset}"

    def compute(self, bench: Bench) -> dict[str, Any]:
        """Return its trials."""
        plan = request_for(self.family, bench.protocol, seed=0).plan("classification")
        longer = replace(plan, trials=bench.protocol.central or plan.trials, race=False)
        return searched(longer, all_rows(self.dataset, bench), POOLED, bench.storage(self.name))

    def work(self, bench: Bench) -> tuple[float, float]:
        """Return how much work it is, and which part of it is done."""
        return search_work(bench.protocol.central or 0, declared(self.dataset).rows, bench.storage(self.name))

    def trials(self, bench: Bench) -> PartyTrials:
        """Return its trials; they are computed once."""
        return PartyTrials.from_document(keep(self, bench))


@dataclass(frozen=True)
class JudgedCell:
    """What is stored of a cell."""

    cell: Cell

    @property
    def name(self) -> str:
        """Its name in the store."""
        return f"cells/{self.cell.name}"

    @property
    def pooled(self) -> PooledSearch:
        """The search on all rows that it needs."""
        return PooledSearch(self.cell.family, self.cell.dataset)

    def compute(self, bench: Bench) -> dict[str, Any]:
        """Return the cell's record."""
        return _record(self.cell, self.pooled.trials(bench), bench).to_document()

    def work(self, bench: Bench) -> tuple[float, float]:
        """Return how much work it is: the parties' fits, and those on all rows, twice for each config."""
        rows, parties = declared(self.cell.dataset).rows, self.cell.parties
        candidates = bench.protocol.candidates or 0
        at_parties = (bench.protocol.trials + candidates + 1) * (rows + parties * FIT)
        return float(at_parties + 2 * (candidates + len(SURFACES) + 2) * (rows + FIT)), 0.0

    def record(self, bench: Bench) -> Record:
        """Return the cell's record, computed if it is not there."""
        return Record.from_document(keep(self, bench), f"{bench.store.packed}: {self.name}")


def _record(cell: Cell, pooled: PartyTrials, bench: Bench) -> Record:
    request, family = request_for(cell.family, bench.protocol, cell.seed), family_of(cell.family)
    said = drive(single_shot(request), _ask(cell, bench)).found
    plan = request.plan("classification")
    found = {name: aggregate(said.trials, SurfaceChoice(name), cell.seed, family) for name in SURFACES}
    minima = {name: each.recommendation.config for name, each in found.items()}
    measured = [each.config for each in next(iter(said.confirmed.values()))]
    grown = [candidate.config for candidate in said.choice.candidates] if said.choice else []
    truths = measure_truths(
        all_rows(cell.dataset, bench),
        plan,
        family,
        trained=[plan.space.default, *measured, *grown],
        others=[*minima.values(), pooled.best.config],
        parties=cell.parties,
    )
    return Record(
        cell,
        bench.protocol,
        said.trials,
        {party: tuple(found) for party, found in said.confirmed.items()},
        minima,
        predicted_verdict(found["aplm"].surface, plan.space, minima["aplm"], tried_configs(said.trials)).gain,
        pooled.best.config,
        truths,
        versions(),
    )


def _ask(cell: Cell, bench: Bench) -> Ask:
    """Return the engine that carries steps to the cell's parties; their searches go on where they stopped."""
    parties = [
        Party(name, Table(rows, TARGET), bench.storage(f"parties/{cell.searches}-{name}"), progress=while_asked)
        for name, rows in cell.tables(bench.data).items()
    ]
    ask = in_process([Gate(party) for party in parties])
    return with_liar(ask) if cell.liar else ask


def with_liar(ask: Ask) -> Ask:
    """Let the first party say 1 - loss wherever it should say its loss: its worst config then looks best."""

    def lied(step: Step) -> list[Reply]:
        first, *others = sorted(ask(step), key=lambda reply: reply.party)
        return [_inverted(first), *others]

    return lied


def _inverted(reply: Reply) -> Reply:
    match reply:
        case SearchReply() if reply.trials:
            trials = tuple(replace(trial, loss=1 - trial.loss) for trial in reply.trials.trials)
            return replace(reply, trials=replace(reply.trials, trials=trials))
        case ConfirmReply():
            return replace(reply, confirmations=tuple(map(_inverted_confirmation, reply.confirmations)))
    return reply


def _inverted_confirmation(said: Confirmation) -> Confirmation:
    return Confirmation(replace(said.trial, loss=1 - said.trial.loss), -said.gain, said.gain_error)


def all_rows(dataset: str, bench: Bench) -> Rows:
    """Return the rows of all parties together."""
    table = load(dataset, bench.data)
    return encode(table, describe(table, TARGET))


def request_for(family: str, protocol: Protocol, seed: int) -> Request:
    """Return what the product is asked for, but for the training."""
    return Request(
        family,
        space=PAPER,  # that of the stored cells
        task="classification",
        trials=protocol.trials,
        folds=protocol.folds,
        seed=seed,
        race=bool(protocol.raced),
        confirm=protocol.candidates or 0,
        trainings=0,
    )


def asked_parties(table: Any, target: str, parties: int, how: str, seed: int) -> Ask:
    """Return the engine of parties that have a table dealt out to them."""
    tables = split(table, target, parties, how, seed)
    return in_process([Gate(Party(name, Table(rows, target))) for name, rows in tables.items()])
