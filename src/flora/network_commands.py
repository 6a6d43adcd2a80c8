"""The commands across machines: kits, a party, the aggregator, and a run from afar."""

import signal
import socket
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import IO, Any

import pandas as pd
from rich.console import Console

from flora.audit import audit_command
from flora.commands import Document, finish, messages, print_line, request_of
from flora.consent import Consent, DataSource
from flora.console import progress_bars
from flora.engines.nvflare import require_nvflare
from flora.engines.nvflare.consortium import AGGREGATOR, SCIENTIST, Consortium, Kit
from flora.engines.nvflare.kits import make_kits
from flora.engines.nvflare.remote import Follower, run_for
from flora.engines.nvflare.service import Service, die_with_parent, end_tree, running
from flora.engines.nvflare.session import session
from flora.errors import InputError
from flora.result import RunFolder
from flora.single_shot import Request
from flora.split import split
from flora.table import describe, read_table

Say = Callable[[str], None]


def project(options: Namespace) -> None:
    """Make the kits of a consortium."""
    require_nvflare()
    consortium = Consortium.read(options.consortium)
    out = options.out or Path(consortium.name)
    for kit in make_kits(consortium, out):
        print_line(f"Written: {out / kit.path.name}, the kit of {kit.whose}; its README.md says what to do")
    print_line(f"{out / 'authority'} holds the root key of all certificates: keep it, and hand it to nobody")


def party(options: Namespace) -> None:
    """Take part in runs until stopped."""
    from flora.engines.nvflare.executor import Settings

    require_nvflare()
    kit = Kit.open(options.kit, "party")
    _check_jobs(options.jobs)
    consent = Consent.read(kit.path / "local" / "flora.json")
    source = _source(options, consent)
    describe(read_table(source.path), source.target, drop=source.drop)  # what is wrong with it is better said now
    print_line(consent.describe())
    say = _line_of(kit.name)
    with _ended_cleanly(say), running(kit, say) as service:
        Settings(source.path, source.target, source.drop, options.jobs, options.ask).write(kit)
        say(f"dialling {kit.consortium.aggregator} port {kit.consortium.port}; Ctrl-C stops")
        service.start()
        while True:
            service.step()
            if options.ask:
                _answer(service)
            time.sleep(0.2)


def _source(options: Namespace, consent: Consent) -> DataSource:
    """Return where the party's rows are: as typed, or as its own file says."""
    own = consent.data or DataSource("", "")
    path, target = options.data or own.path, options.target or own.target
    if not path or not target:
        raise InputError("a party needs --data FILE and --target COL, or both in its local/flora.json")
    return DataSource(str(Path(path).resolve()), target, tuple(options.drop) or own.drop)


def aggregator(options: Namespace) -> None:
    """Serve runs until stopped."""
    require_nvflare()
    kit = Kit.open(options.kit, AGGREGATOR)
    say = _line_of("aggregator")
    with _ended_cleanly(say), running(kit, say) as service:
        say(f"starting on port {kit.consortium.port}, for {', '.join(kit.consortium.parties)}; Ctrl-C stops")
        service.start()
        while True:
            service.step()
            time.sleep(0.2)


def status(options: Namespace) -> Document:
    """Show who is connected and how far a run is."""
    require_nvflare()
    kit = Kit.open(options.kit, AGGREGATOR, SCIENTIST)
    with session(kit) as line:
        connected, jobs = line.connected(), line.running()
        states = [found for job in jobs if (found := line.status(job))]
    at_work: dict[str, Any] = states[0]["parties"] if states else {}
    step = states[0]["step"] if states else None
    entries = []
    for name in kit.consortium.parties:
        entry = at_work.get(name, {})
        entries.append({"name": name, "connected": name in connected, "state": entry.get("state")})
        entries[-1] |= {"done": entry.get("done"), "total": entry.get("total")}
    document = {"consortium": kit.consortium.name, "runs": len(jobs), "step": step, "parties": entries}
    if not options.json:
        _show_status(kit, document)
    return document


def audit(options: Namespace) -> Document:
    """Read and verify what left a party."""
    return audit_command(options)


def _show_status(kit: Kit, document: Mapping[str, Any]) -> None:
    where = f"{kit.consortium.aggregator} port {kit.consortium.port}"
    under_way = f"a run is under way, at {document['step']!r}" if document["runs"] else "no run is under way"
    print_line(f"Consortium {kit.consortium.name}, aggregator {where}: {under_way}")
    for entry in document["parties"]:
        count = f", {entry['done']} of {entry['total']} trials" if entry["total"] else ""
        doing = f", {entry['state']}{count}" if entry["state"] else ""
        print_line(f"  {entry['name']}: {'connected' if entry['connected'] else 'not connected'}{doing}")


def tune(options: Namespace) -> Document:
    """Run the whole algorithm at the parties of a consortium."""
    require_nvflare()
    for name, given in (("DATA", options.data), ("--target", options.target), ("--drop", options.drop)):
        if given:
            raise InputError(f"{name}: with --project the parties bring their own tables, got {given!r}")
    if options.parties is not None:
        raise InputError(f"--parties: with --project the kit names the parties, got {options.parties}")
    kit = Kit.open(options.project, AGGREGATOR, SCIENTIST)
    if options.quorum is not None and not 1 <= options.quorum <= len(kit.consortium.parties):
        raise InputError(f"--quorum: from 1 to the number of parties, got {options.quorum}")
    return tune_remotely(kit, request_of(options), options)


def tune_remotely(kit: Kit, request: Request, options: Namespace) -> Document:
    """Run a request at a kit's consortium and write the folder of the run."""
    run = run_for(kit, request)
    folder = RunFolder(options.out, {**run.identity, "parties": list(run.parties)})
    with stoppable(), progress_bars(run.parties, messages) as progress:
        follower = Follower(kit, run, note, progress, options.quorum, options.wait)
        result = follower.follow()
    folder.begin()
    document = {**result.document, "command": options.typed}
    finish(folder, document, result.trials, result.model, options)
    return document


def demo(options: Namespace) -> Document:
    """Run the demonstration's parties and aggregator as processes of their own, over TLS on this machine."""
    require_nvflare()
    tables, request = _demo_run()
    with TemporaryDirectory() as folder:
        consortium = Consortium("demo", "localhost", tuple(sorted(tables)), free_port())
        kits = make_kits(consortium, Path(folder) / "kits")
        settings = Namespace(**vars(options), quorum=None, wait=120.0)
        with stoppable(), ExitStack() as stack:
            stack.enter_context(child("aggregator", ["aggregator", str(kits[0].path)], note))
            for kit in kits[1:]:
                data = _written(tables[kit.name], Path(folder) / f"{kit.name}.csv")
                arguments = ["party", str(kit.path), "--data", str(data), "--target", "target"]
                stack.enter_context(child(kit.name, arguments, note))
            return tune_remotely(kits[0], request, settings)


def _demo_run() -> tuple[Mapping[str, pd.DataFrame], Request]:
    """Return scikit-learn's breast cancer data, dealt out to three parties: two classes, so that few sums travel."""
    from sklearn.datasets import load_breast_cancer

    request = Request(family="svm", trials=10, folds=5, scoring="balanced_accuracy")
    return split(load_breast_cancer(as_frame=True).frame, "target", 3, "iid", request.seed), request


def _written(table: pd.DataFrame, path: Path) -> Path:
    table.to_csv(path, index=False)
    return path


def free_port() -> int:
    """Return a port of this machine that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def child(name: str, arguments: list[str], say: Say) -> Iterator["subprocess.Popen[str]"]:
    """Run one of our own commands in a process of its own, and pass its lines on, until the block ends."""
    program = "import sys; from flora.cli import main; sys.exit(main())"
    process = subprocess.Popen(  # noqa: S603  (our own command)
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=partial(die_with_parent, signal.SIGTERM),  # noqa: PLW1509  (no thread of ours takes a lock)
    )
    Thread(target=_pass_on, args=(process.stdout, name, say), name="flora-lines", daemon=True).start()
    try:
        yield process
    finally:
        end_tree(process.pid)
        process.wait()


def _pass_on(lines: IO[str], name: str, say: Say) -> None:
    for line in lines:
        if line.strip():
            say(line.rstrip() if f" {name}: " in line else f"{name}: {line.rstrip()}")


def _answer(service: Service) -> None:
    """Put the question that waits, if there is one, to the person at the terminal."""
    question = service.desk.question()
    if question is None:
        return
    name, text = question
    print_line(text)
    try:
        typed = Console().input("Let this leave? yes or no: ")
    except EOFError:
        raise InputError("--ask needs a terminal, or an answer on standard input") from None
    service.desk.answer(name, yes=typed.strip().lower() in ("y", "yes"))


def _line_of(name: str) -> Say:
    def say(text: str) -> None:
        print_line(f"{time.strftime('%H:%M:%S')} {name}: {text}")

    return say


def note(text: str) -> None:
    """Tell the person something beside the result."""
    messages.print(text, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def stoppable() -> Iterator[None]:
    """Let a service manager's stop be a Ctrl-C, so that nothing is left behind."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _ended_cleanly(say: Say) -> Iterator[None]:
    """Let a command that runs until it is stopped end well when it is."""
    try:
        with stoppable():
            yield
    except KeyboardInterrupt:
        say("stopped; started again, it goes on from here")


def _check_jobs(jobs: int) -> None:
    if jobs < 1:
        raise InputError(f"jobs must be a whole number of at least 1, got {jobs}")
