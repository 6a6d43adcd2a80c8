"""The commands behind the command line: options in, files and a result document out."""

import json
import time
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from flora.aggregation import Aggregation, conclude
from flora.aggregation import aggregate as aggregate_trials
from flora.console import progress_bars, show_result
from flora.durable import write_whole
from flora.engines.inprocess import in_process
from flora.errors import DataError, InputError
from flora.exchange import ANSWER, Answer, Candidates, check_answers, format_of
from flora.federation import Ask, Reply, Step, drive
from flora.model_file import read_model
from flora.party import Party
from flora.result import RunFolder, aggregate_document, past_range, read_run, tune_document
from flora.schema import Schema, agree
from flora.single_shot import Request, plan_of, schema_of, single_shot, trials_of
from flora.space_formats import read_space
from flora.split import split
from flora.surface import SurfaceChoice
from flora.table import describe, read_table
from flora.trials import PartyTrials, check_party_name
from flora.workers import workers

Document = dict[str, Any]
messages = Console(stderr=True)


def tune(options: Namespace) -> Document:
    """Run the whole algorithm on this machine."""
    return run(_tables(options), options, request_of(options))


def demo(options: Namespace) -> Document:
    """Run the whole algorithm on scikit-learn's handwritten digits, dealt out to three parties."""
    from sklearn.datasets import load_digits

    table = load_digits(as_frame=True).frame
    options = Namespace(**vars(options), target="target", drop=[])
    request = Request(family="svm", trials=20, folds=5, scoring="balanced_accuracy")
    tables = split(table, "target", 3, "iid", request.seed)
    return run(tables, options, request)


def run(tables: Mapping[str, pd.DataFrame], options: Namespace, request: Request) -> Document:
    """Run a request on tables and write the folder of the run."""
    _check_jobs(options.jobs)
    folder = RunFolder(options.out, _identity(tables, options, request))
    seconds: dict[str, float] = {}
    with workers(options.jobs) as spread, progress_bars(sorted(tables), messages) as progress:
        parties = [
            Party(name, table, options.target, options.drop, folder.study(name), spread, progress)
            for name, table in tables.items()
        ]
        ask = _timed(in_process(parties, jobs=options.jobs), seconds, folder)
        outcome = drive(single_shot(request), ask)
    document = {**tune_document(outcome, request, seconds), "command": options.typed}
    finish(folder, document, outcome.found.trials, outcome.model, options)
    return document


def finish(
    folder: RunFolder, document: Document, trials: Sequence[PartyTrials], model: bytes, options: Namespace
) -> None:
    """Write what a run found out, and show it."""
    folder.finish(document, trials, model)
    _write_report(options.out, options.out / "report.html")
    if not options.json:
        show_result(document, Console())
        print_line(f"{_trained(document)} {document['training']}")
        beside = f"result.json, {document['model']} and trials are beside it"
        print_line(f"Written: {options.out / 'report.html'} to look at; {beside}")


def search(options: Namespace) -> Document:
    """Run one party's search and write the file that may leave."""
    _check_jobs(options.jobs)
    request = request_of(options)
    name = options.party if options.party is not None else _stem(options.data)
    check_party_name(name)
    storage = options.out.with_name(options.out.name + ".study.db")
    party = Party(name, read_table(options.data), options.target, options.drop, storage)
    given = {"schema": _json(request.schema), "task": request.task}
    described = party.answer(Step("describe", given))
    plan = request.plan((request.schema or schema_of(described)).task)
    if options.out.exists():
        _check_own_output(options.out, name)
    with workers(options.jobs) as spread, progress_bars([name], messages) as progress:
        searching = replace(party, spread=spread, progress=progress)
        reply = searching.answer(Step("search", {**given, "plan": plan.to_json()}))
    found = trials_of(reply, plan)
    write_whole(options.out, found.to_json().encode())
    if not options.json:
        _show_search(found, (*described.notes, *reply.notes), options.out, storage)
    return json.loads(found.to_json())  # type: ignore[no-any-return]


def _show_search(found: PartyTrials, notes: Sequence[str], out: Path, storage: Path) -> None:
    for note in notes:
        print_line(f"note: {note}")
    failed = f", {len(found.failed)} failed" if found.failed else ""
    print_line(f"{len(found.trials)} trials{failed}, best loss {found.best.loss:.4f} ({found.scoring})")
    if found.default is not None:
        print_line(f"loss of the default config: {found.default.loss:.4f}")
    print_line(f"Written: {out}, which is all that leaves; {storage} stays here")


def _trained(document: Document) -> str:
    """Return what the model was trained with, in a sentence."""
    config = document["trained_config"]
    named = "the recommendation" if document["verdict"] == "use" else "the defaults"
    if len(document["trainings"]) > 1:
        named = f"the best of {len(document['trainings'])} trainings"
    chosen = [f"{name} = {config[name]}" for name in document["chosen_in_training"]]
    inside = f", and {' and '.join(chosen)} chosen inside the training" if chosen else ""
    if past := past_range(document):
        inside += f" ({past})"
    return f"The federated model was trained with {named}{inside}."


def aggregate(options: Namespace) -> Document:
    """Recommend one config from files of trials and, where parties have measured candidates, their answers."""
    space = read_space(options.space) if options.space else None
    paths = [Path(path) for path in options.files]
    answers = [Answer.read(path) for path in paths if _is_answer(path)]
    trials = [_read_trials(path, space, options.scoring) for path in paths if not _is_answer(path)]
    choice = _surface(options)
    found = aggregate_trials(trials, choice, options.seed)
    if options.propose is not None:
        return _propose(found, answers, options)
    if answers:
        check_answers(answers, trials)
        confirmed = {answer.party: answer.confirmations for answer in answers}
        found = conclude(found, confirmed, {answer.party: answer.rows for answer in answers}, options.objective)
    document = aggregate_document(found, choice, options.objective, options.seed)
    if options.out:
        write_whole(options.out, (json.dumps(document, indent=1, allow_nan=False) + "\n").encode())
    if not options.json:
        show_result(document, Console())
    return document


def _propose(found: Aggregation, answers: Sequence[Answer], options: Namespace) -> Document:
    """Write what the parties should measure."""
    if options.propose < 1 or answers:
        raise InputError(f"--propose takes a number of at least 1 and files of trials alone, got {options.propose}")
    if not options.out:
        raise InputError("--propose writes a file for the parties: name it with --out")
    candidates = Candidates(plan_of(found, options.seed), tuple(found.propose(options.propose, options.seed)))
    write_whole(options.out, candidates.to_json().encode())
    if not options.json:
        print_line(f"Written: {options.out}, {len(candidates.configs)} configs for every party to measure:")
        print_line(f"  flora confirm DATA {options.out} --target COL --party NAME --out answer.json")
        print_line("Then give the answers to flora aggregate, together with the trials.")
    return json.loads(candidates.to_json())  # type: ignore[no-any-return]


def confirm(options: Namespace) -> Document:
    """Measure at one party what the aggregator proposes, and write the file that may leave."""
    _check_jobs(options.jobs)
    candidates = Candidates.read(options.candidates)
    plan = candidates.plan
    if ":" in plan.family and plan.family != options.model:
        raise InputError(
            f"{options.candidates} names the model {plan.family!r:.80}, and to use it is to run its package; "
            f"if you trust it, say --model {plan.family:.80}"
        )
    request = Request(family=plan.family, scoring=plan.scoring, space=plan.space.to_json())
    request.plan(plan.task)  # what a search would refuse
    name = options.party if options.party is not None else _stem(options.data)
    check_party_name(name)
    if options.out.exists() and Answer.read(options.out).party != name:
        raise InputError(f"{options.out} holds the answer of another party; name another with --out")
    schema = Schema.read(options.schema) if options.schema else None
    with workers(options.jobs) as spread:
        party = Party(name, read_table(options.data), options.target, options.drop, spread=spread)
        configs = [dict(config) for config in candidates.configs]
        reply = party.answer(Step("confirm", {"plan": plan.to_json(), "schema": _json(schema), "configs": configs}))
    answer = Answer(name, reply.rows, candidates.digest, reply.confirmations)
    write_whole(options.out, answer.to_json().encode())
    if not options.json:
        best = max(answer.confirmations, key=lambda each: each.gain)
        print_line(f"{len(candidates.configs)} configs measured beside the default on fresh folds ({plan.scoring})")
        print_line(f"best gain over the default here: {best.gain:+.4f} ± {best.gain_error:.4f} (standard error)")
        print_line(f"Written: {options.out}, which is all that leaves")
    return json.loads(answer.to_json())  # type: ignore[no-any-return]


def predict(options: Namespace) -> None:
    """Apply a federated model to new rows."""
    path = options.run / "model.flora" if options.run.is_dir() else options.run
    stored = read_model(path, allow=options.trust)
    predictions = stored.predict_table(read_table(options.data))
    text = predictions.to_csv(index=False)
    if options.output:
        write_whole(options.output, text.encode())
        print_line(f"Written: {options.output}, {len(predictions)} predictions of {stored.schema.target}")
    else:
        Console().out(text, end="", highlight=False)


def schema(options: Namespace) -> None:
    """Describe tables, or merge what parties described."""
    schemas: dict[str, Schema] = {}
    for name in options.inputs:
        if Path(name).suffix == ".json":
            schemas[_stem(name)] = Schema.read(name)
        elif options.target is None:
            raise InputError(f"{name}: a table needs --target COL")
        else:
            schemas[_stem(name)] = describe(read_table(name), options.target, task=options.task, drop=options.drop)
    if len(schemas) < len(options.inputs):
        raise DataError(f"party names must differ, got {[_stem(name) for name in options.inputs]}")
    agreed = agree(schemas)
    write_whole(options.out, (json.dumps(agreed.to_json(), indent=1) + "\n").encode())
    print_line(f"Written: {options.out}: {len(agreed.columns)} columns, {agreed.task} of {agreed.target!r}")


def report(options: Namespace) -> None:
    """Write a run as one HTML page."""
    target = options.out or options.run / "report.html"
    _write_report(options.run, target)
    print_line(f"Written: {target}")


def _write_report(run: Path, target: Path) -> None:
    from flora.report import page

    document, trials = read_run(run)
    try:
        text = page(document, trials)
    except (KeyError, TypeError) as error:
        raise InputError(f"{run / 'result.json'}: is not the result of a run ({error!r})") from error
    write_whole(target, text.encode())


def paper(options: Namespace) -> Document:
    """Rerun a table of the paper, and show it beside the paper's own."""
    from flora.experiments.command import paper as rerun

    _check_jobs(options.jobs)
    return rerun(options, messages)


def print_line(text: str) -> None:
    """Print a plain line; nothing in it is markup."""
    Console().print(text, markup=False, highlight=False, soft_wrap=True)


def request_of(options: Namespace) -> Request:
    """Return what the options ask for."""
    surface = _surface(options) if hasattr(options, "surface") else SurfaceChoice()
    return Request(
        family=options.model,
        space=read_space(options.space) if options.space else None,
        aggregator_hps=options.aggregator_hps,
        task=options.task,
        schema=Schema.read(options.schema) if options.schema else None,
        scoring=options.scoring,
        trials=options.trials,
        folds=options.cv,
        sampler=options.sampler,
        send=options.send,
        seed=options.seed,
        surface=surface,
        confirm=getattr(options, "confirm", Request.confirm),
        objective=getattr(options, "objective", "mean"),
        trainings=getattr(options, "trainings", 1),
        certificate=getattr(options, "certificate", False),
    )


def _surface(options: Namespace) -> SurfaceChoice:
    usual = "mplm" if options.objective == "worst" else "aplm"
    return SurfaceChoice(options.surface or usual, options.regressor, options.alpha, options.weights)


def _tables(options: Namespace) -> Mapping[str, pd.DataFrame]:
    """Return each party's table: a file each, or one file dealt out."""
    if not options.data or options.target is None:
        raise InputError("a run needs DATA and --target COL, or --project KIT for parties on other machines")
    dealt = options.parties is not None or options.split.startswith("column:")
    if dealt and len(options.data) > 1:
        raise InputError(f"--parties and --split deal out one table, got {len(options.data)} files")
    if dealt:
        table = read_table(options.data[0])
        return split(table, options.target, options.parties, options.split, options.seed)
    if len(options.data) == 1:
        raise InputError(f"{options.data[0]}: one table is one party; add the others' tables, or say --parties N")
    named = [_named(data) for data in options.data]
    for name, path in named:
        check_party_name(name)
        others = [other for same, other in named if same == name and other != path]
        if others or named.count((name, path)) > 1:
            raise DataError(
                f"party names must differ, {name!r} is {path} and {(others or [path])[0]}; write NAME=FILE to name them"
            )
    return {name: read_table(path) for name, path in named}


def _named(data: str) -> tuple[str, str]:
    name, equals, path = data.partition("=")
    return (name, path) if equals and not Path(data).exists() else (_stem(data), data)


def _stem(path: str) -> str:
    return Path(path).name.split(".")[0] or Path(path).name


def _identity(tables: Mapping[str, pd.DataFrame], options: Namespace, request: Request) -> Document:
    """Return what makes a run the same run; its length may change. The searches compare the rows themselves."""
    settings = asdict(replace(request, schema=None))
    may_change = ("trials", "send", "schema", "surface", "confirm", "objective", "trainings", "certificate")
    return {
        **{key: value for key, value in settings.items() if key not in may_change},
        "parties": {name: len(table) for name, table in sorted(tables.items())},
        "target": options.target,
        "drop": sorted(options.drop),
        "schema": _json(request.schema),
    }


def _timed(ask: Ask, seconds: dict[str, float], folder: RunFolder) -> Ask:
    """Note how long each step takes; the folder is made when the input has proved good."""

    def timed(step: Step) -> Iterable[Reply]:
        if step.name == "search":
            folder.begin()
        began = time.perf_counter()
        replies = list(ask(step))
        seconds[step.name] = time.perf_counter() - began
        return replies

    return timed


def _read_trials(path: Path, space: Any, scoring: str) -> PartyTrials:
    if path.suffix.lower() != ".csv":
        return PartyTrials.read(path)
    if space is None:
        raise InputError(f"{path}: CSV files need --space FILE, the search space as JSON")
    from flora.space import SearchSpace

    return PartyTrials.from_csv(path, SearchSpace.from_json(space), scoring=scoring)


def _is_answer(path: Path) -> bool:
    return path.suffix.lower() == ".json" and format_of(path) == ANSWER


def _check_own_output(path: Path, party: str) -> None:
    """Raise where the output is there already and is not this party's file of trials."""
    if PartyTrials.read(path).party != party:
        raise InputError(f"{path} holds the trials of another party; name another with --out")


def _check_jobs(jobs: int) -> None:
    if jobs < 1:
        raise InputError(f"jobs must be a whole number of at least 1, got {jobs}")


def _json(schema: Schema | None) -> Any:
    return None if schema is None else schema.to_json()
