"""``flora-lab private``: what a private search costs, on the judge's stored cells: the same pairs, known as sums.

With ``--epsilon``: what noise costs besides (:mod:`flora_lab.judge.epsilon`).
"""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from flora.cli.parsed import options_of
from flora.core.codec import read, to_document
from flora.engines.threads import in_process
from flora.errors import InputError
from flora.models import family_of
from flora.party.gate import Gate
from flora.party.party import Party, memory_key
from flora.party.tables.table import Table
from flora.problem.messages import Reply, Step
from flora.problem.private_messages import SearchPrivately, SearchPrivatelyReply
from flora.problem.space import Config
from flora.program.drive import Ask, drive
from flora.program.single_shot import single_shot
from flora_lab.cells import Cell, Protocol
from flora_lab.datasets import TARGET
from flora_lab.judge import command
from flora_lab.judge.command import EXPERIMENT, JudgeOptions, protocol_of
from flora_lab.judge.epsilon import NoisyCell, TruthGrid, prices, show_prices
from flora_lab.judge.record import Record, Truth
from flora_lab.judge.rules import APLM, DEFAULT, RULES, JudgedRule, as_trained
from flora_lab.judge.run import JudgedCell, all_rows, request_for
from flora_lab.judge.score import score_cells, score_rules
from flora_lab.judge.show import show
from flora_lab.judge.truth import measure_truths
from flora_lab.pieces import Bench, Piece, at_hand, keep
from flora_lab.tables import to_csv, wide_console

USUAL_FOLDS = command.USUAL.folds
USUAL = (DEFAULT, APLM, "flora", "flora's choice")


@dataclass(frozen=True)
class PrivateOptions:
    """What ``flora-lab private`` was asked for."""

    judge: JudgeOptions
    epsilon: tuple[float, ...]


@dataclass(frozen=True)
class Private:
    """What a private search comes to in one cell, and what that is worth."""

    minimum: Config  # of the mean surface, where the parties looked
    chosen: Config
    use: bool
    truths: tuple[Truth, ...]


@dataclass(frozen=True)
class PrivateCell:
    """A cell of the judge, whose parties keep their pairs."""

    cell: Cell
    judged: Bench  # where the cell is stored

    @property
    def name(self) -> str:
        """Its name in the store."""
        return f"private/{self.cell.name}"

    def compute(self, bench: Bench) -> dict[str, Any]:
        """Return what the private search comes to: the searches are the stored ones."""
        record = JudgedCell(self.cell).record(self.judged)
        request = replace(request_for(self.cell.family, bench.protocol, self.cell.seed), private=True)
        ask, family = _ask(record, bench), family_of(self.cell.family)
        minimum = drive(single_shot(replace(request, confirm=0)), ask).found.recommendation.config
        found = drive(single_shot(request), ask).found
        chosen, plan = found.recommendation.config, request.plan("classification")
        truths = measure_truths(
            all_rows(self.cell.dataset, bench),
            plan,
            family,
            trained=[plan.space.default, chosen],
            others=[minimum],
            parties=self.cell.parties,
        )
        use = found.verdict is not None and found.verdict.decision == "use"
        return to_document(Private(minimum, chosen, use, truths))

    def work(self, bench: Bench) -> tuple[float, float]:
        """Return how much work it is, roughly."""
        return JudgedCell(self.cell).work(bench)

    def result(self, bench: Bench) -> Private:
        """Return what is stored, computed if it is not there."""
        return read(Private, keep(self, bench))


def _ask(record: Record, bench: Bench) -> Ask:
    """Return the engine of the cell's parties, which have searched before."""
    trials = {party.party: party for party in record.trials}
    plan = request_for(record.cell.family, bench.protocol, record.cell.seed).plan("classification")
    parties = [
        Party(name, Table(rows, TARGET), kept={memory_key(plan): trials[name]})
        for name, rows in record.cell.tables(bench.data).items()
    ]
    engine = in_process([Gate(party) for party in parties])

    def ask(step: Step) -> Sequence[Reply]:
        if isinstance(step, SearchPrivately):
            return [SearchPrivatelyReply(name, rows, searched=True) for name, rows in record.rows.items()]
        return list(engine(step))

    return ask


def _rules(private: Mapping[str, Private]) -> tuple[JudgedRule, ...]:
    """Return the product's rules and the private ones, by the cell's name."""

    def chosen(record: Record) -> Any:
        return as_trained(record, private[record.cell.name].chosen)

    def verdict(record: Record) -> Any:
        found = private[record.cell.name]
        return as_trained(record, found.chosen if found.use else record.default)

    def minimum(record: Record) -> Any:
        return replace(as_trained(record, private[record.cell.name].minimum), in_training=False)

    usual = tuple(rule for rule in RULES if rule.name in USUAL)
    return (
        *usual,
        JudgedRule("private minimum", minimum),
        JudgedRule("private", verdict),
        JudgedRule("private's choice", chosen),
    )


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    command.add_arguments(parser)
    parser.add_argument(
        "--epsilon",
        action="append",
        default=[],
        type=float,
        metavar="E",
        help="what noise costs, beside votes on grid cells (svm); may be repeated; needs no stored cells",
    )


def run(parsed: Namespace) -> dict[str, Any]:
    """Ask the parties of stored cells again, in private, and score what comes of it beside the usual rule."""
    found = options_of(PrivateOptions, parsed)
    return _noisy(found.judge, found.epsilon) if found.epsilon else _exact(found.judge)


def _noisy(options: JudgeOptions, epsilons: tuple[float, ...]) -> dict[str, Any]:
    """Draw the noise of each epsilon, and score what is then recommended beside what votes would recommend."""
    protocol = Protocol(options.trials, USUAL_FOLDS)
    bench = options.run.bench("private", protocol)
    pieces = [NoisyCell(cell, epsilons) for cell in options.cells() if cell.family == "svm"]
    if not pieces:
        raise InputError(f"what noise costs is measured with svm, got {' and '.join(options.family)}")
    tables = [TruthGrid(name) for name in dict.fromkeys(piece.cell.dataset for piece in pieces)]
    every: list[Piece] = [*pieces, *tables]
    known = {each.name for each in at_hand(every, bench, stored=options.run.stored, jobs=options.run.jobs)}
    pieces = [each for each in pieces if {each.name, TruthGrid(each.cell.dataset).name} <= known]
    lines = prices(pieces, bench)
    options.run.write_csv(to_csv([asdict(line) for line in lines]))
    if not options.run.json:
        show_prices(lines, wide_console())
    return {"benchmark": "epsilon", "protocol": protocol.numbers, "lines": list(map(asdict, lines))}


def _exact(options: JudgeOptions) -> dict[str, Any]:
    protocol: Protocol = protocol_of(options)
    judged, bench = options.run.bench(EXPERIMENT, protocol), options.run.bench("private", protocol)
    there = judged.store.names()
    cells = [cell for cell in options.cells() if JudgedCell(cell).name in there and cell.parties > 2]
    pieces = [PrivateCell(cell, judged) for cell in cells]
    if not pieces:
        raise InputError(f"{judged.store.packed}: has none of the cells that were asked for")
    pieces = at_hand(pieces, bench, stored=options.run.stored, jobs=options.run.jobs)
    found = {piece.cell.name: piece.result(bench) for piece in pieces}
    records = [JudgedCell(piece.cell).record(judged) for piece in pieces]
    more = [replace(record, truths=(*record.truths, *found[record.cell.name].truths)) for record in records]
    scored = score_cells(more, _rules(found))
    rules = score_rules(scored)
    if not options.run.json:
        show(scored, rules, wide_console())
    return {"benchmark": "private", "protocol": protocol.numbers, "rules": list(map(asdict, rules))}
