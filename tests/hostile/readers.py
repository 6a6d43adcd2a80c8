"""Every reader of a file or message that somebody else may have written, with valid documents to begin from.

A reader takes bytes, and a folder of its own where it reads files. Add one here and it is tested.
"""

import base64
import gzip
import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from flora.core.codec import to_document
from flora.core.collective import Alone, Collective
from flora.core.documents import object_in
from flora.core.rules import one_line
from flora.engines.files import is_reply, read_files
from flora.engines.nvflare.consortium import Consortium, Kit
from flora.engines.nvflare.guard.orders import Order, app_refusal, client_settings, order_refusal
from flora.engines.nvflare.guard.revocation import read_revoked
from flora.engines.nvflare.guard.rules import JOB
from flora.engines.nvflare.kits.adoption import adopt
from flora.engines.nvflare.kits.renewal import request_certificate, request_in
from flora.engines.nvflare.run.collective import CellCollective, call_of, header_of, message
from flora.engines.nvflare.run.ending import Ending
from flora.engines.nvflare.run.hub import KINDS, Call, Hub
from flora.engines.nvflare.run.job import Run
from flora.engines.nvflare.run.session import read_status
from flora.engines.nvflare.run.site_settings import SiteSettings
from flora.engines.nvflare.run.tasks import HEADER, TEXT, ReplyHeader, StepHeader, answer_of, fill, order_of
from flora.errors import FloraError
from flora.models import family_of
from flora.models.estimator.family import AnyEstimator
from flora.models.model_file import pack, read_model
from flora.models.rows import Rows, encode
from flora.outcome.folder import TEST, RunFolder, read_run, read_test
from flora.outcome.live import FILE as LIVE_FILE
from flora.outcome.live import FORMAT, Live
from flora.outcome.report import live as live_pages
from flora.outcome.report import page
from flora.outcome.report.scores import scores
from flora.party.audit import AuditLog, verify
from flora.party.consent import Consent, DataSource, Pairs
from flora.party.tables.format import TableFormat
from flora.party.tables.table import describe, open_table
from flora.problem.messages import Step
from flora.problem.schema import Schema
from flora.problem.space import SearchSpace
from flora.problem.space_formats import read_space
from flora.problem.trials import PartyTrials
from flora.problem.wire import read_letter, read_reply, read_step, reply_text, step_text
from flora.program.journal import Journal
from flora.program.request import Request
from tests.cli.test_watch import live
from tests.conftest import SVM_SPACE, two_moons
from tests.engines.nvflare.kits.test_adoption import CLIENT, workspace
from tests.hostile.mutations import Edit, Mutate, gzipped, inside, of_bytes, of_json, of_text
from tests.outcome.report.cases import MIXED, Case, tuned
from tests.problem.test_wire import EVERY_REPLY, EVERY_STEP, SCHEMA, TRIALS

Read = Callable[[bytes, Path], Any]


@dataclass(frozen=True)
class Reader:
    """One reader: what valid input it is given, how that is made hostile, and what is then called."""

    name: str
    corpus: Callable[[], Sequence[bytes]]
    mutate: Mutate
    read: Read
    share: float = 1.0  # of the short form's cases: some readers are slow


FRAME = two_moons(60, 5).assign(place=lambda table: (table.x > 0.5).map({True: "town", False: "land"}))
ESTIMATORS: dict[str, dict[str, Any]] = {
    "sklearn.linear_model:LogisticRegression": {"C": 0.5},
    "sklearn.ensemble:RandomForestClassifier": {"n_estimators": 2, "max_depth": 2, "min_samples_leaf": 12},
    "sklearn.ensemble:HistGradientBoostingClassifier": {"max_iter": 2},
}
CSV_OF_TRIALS = b"C,gamma,tol,loss,error\n1.0,0.1,0.001,0.25,0.01\n10,0.01,0.01,0.2,\n100.0,1e-3,0.1,0.125,0.5\n"
OPTUNA = {"x": '{"name": "FloatDistribution", "attributes": {"low": 0.1, "high": 2.0, "log": true, "step": null}}'}
TESTED = {
    "rows": 9,
    "figures": [{"scoring": "balanced_accuracy", "score": 0.9, "error": 0.1}],
    "classes": ["a", "b"],
    "confusion": [[4, 1], [0, 4]],
    "calibration": [{"rows": 9, "confidence": 0.8, "right": 0.9}],
    "calibration_error": 0.1,
    "in_training": {"score": 0.8, "standard_error": 0.1, "folds": 5, "default_score": 0.7, "guess_score": 0.5},
    "positive": "b",
    "weight": None,
}
CONSORTIUM = b"""name: hearts
aggregator: agg.example.org   # the name that the parties dial
port: 8002
scheme: grpc
parties: [north, south]
more: &a {x: [1, 2.5, 2024-01-01], y: *a}
"""
RUN_NAME = "123e4567-e89b-12d3-a456-426614174000"


def _json(*documents: Any) -> Callable[[], list[bytes]]:
    return lambda: [json.dumps(document).encode() for document in documents]


def _file(name: str, read: Callable[[Path], Any]) -> Read:
    """Return what reads bytes as a file of that name."""

    def written(data: bytes, folder: Path) -> Any:
        (folder / name).write_bytes(data)
        return read(folder / name)

    return written


def _models() -> list[bytes]:
    schema = describe(FRAME, "kind")
    rows = encode(FRAME, schema)
    configs: dict[str, dict[str, Any]] = {"hgb": {"max_iter": 3}, "svm": {}, "mlp": {"max_iter": 2}}
    found = [
        pack(family_of(name).train(config, rows, Alone(), 0).model, family=name, schema=schema, config=config)
        for name, config in configs.items()
    ]
    for name, config in ESTIMATORS.items():
        model = AnyEstimator.named(name).train(config, rows, Alone(), 0).model
        found.append(pack(model, family=name, schema=schema, config=config))
    return found


def _of_member(name: str) -> Mutate:
    if name.endswith(".skops"):
        return inside(_of_member)
    return of_json if name.endswith(".json") else of_bytes


def _applied(path: Path) -> None:
    read_model(path).predict_table(FRAME.head(5))


def _tables(kind: str) -> list[bytes]:
    buffer = io.BytesIO()
    if kind == "parquet":
        FRAME.to_parquet(buffer)
    elif kind == "feather":
        FRAME.to_feather(buffer)
    else:
        FRAME.head(8).to_excel(buffer, index=False)
    return [buffer.getvalue()]


def _csv() -> list[bytes]:
    text = FRAME.head(30).to_csv(index=False)
    dated = FRAME.head(9).assign(day="2024-01-31", y=FRAME.y.round(2).astype(str).str.replace(".", ","))
    return [text.encode(), dated.to_csv(index=False, sep=";").encode("utf-16")]


def _gz() -> list[bytes]:
    return [gzip.compress(text) for text in _csv()]


def _described(path: Path) -> None:
    describe(open_table(str(path), "kind", (), TableFormat(dates="parts")).frame, "kind")


def _trials_and_replies() -> list[bytes]:
    return [TRIALS.to_json().encode(), *(reply_text(reply, step).encode() for step, reply in EVERY_REPLY)]


def _is_given(path: Path) -> None:
    is_reply(path)
    read_files([path])


def _replies() -> list[bytes]:
    """Return replies, each after the number of its step."""
    return [bytes([k]) + reply_text(reply, step).encode() for k, (step, reply) in enumerate(EVERY_REPLY)]


def _of_reply(data: bytes, edits: Sequence[Edit]) -> bytes:
    return data[:1] + of_json(data[1:], edits)


def _reply(data: bytes, _: Path) -> None:
    step = EVERY_REPLY[data[0]][0]
    read_reply(data[1:], step)
    read_letter(data[1:], "a reply")


def _reply_text(data: bytes, _: Path) -> None:
    """Read a reply as NVFlare brings it: as a text, which may not be Unicode."""
    step = EVERY_REPLY[data[0]][0]
    read_reply(data[1:].decode("utf-8", "surrogateescape" if len(data) % 2 else "replace"), step)


@cache
def _case() -> Case:
    return tuned(("a", "bb", "ccc"))


@cache
def _texts_of_trials() -> tuple[str, ...]:
    return tuple(party.to_json() for party in _case()[1])


def _results() -> list[bytes]:
    result, _ = _case()
    return [result.to_text().encode()]


def _run_folder(data: bytes, folder: Path, *, shown: bool) -> None:
    (folder / "trials").mkdir(exist_ok=True)
    (folder / "result.json").write_bytes(data)
    for place, text in enumerate(_texts_of_trials()):
        (folder / "trials" / f"{place}.json").write_text(text)
    found = read_run(folder)
    if shown:
        page(*found)


def _test(data: bytes, folder: Path) -> None:
    """Read what came of a model on new rows, and place its scores as the report does."""
    (folder / TEST).write_bytes(data)
    scores(_case()[0], read_test(folder))


def _marker(data: bytes, folder: Path) -> None:
    (folder / "run.json").write_bytes(data)
    RunFolder(folder, {"seed": 3, "trials": {"a": "b"}})


def _journal(data: bytes, folder: Path) -> None:
    """Read an aggregator's journal of which one file was changed."""
    step, reply = EVERY_REPLY[3]
    place = folder / "journal"
    journal = Journal(place, {"seed": 1})
    journal.known(step, ["a"])
    journal.keep(step, reply, reply_text(reply, step))
    files = sorted(path for path in place.rglob("*.json"))
    files[len(data) % len(files)].write_bytes(data)
    Journal(place, {"seed": 1}).known(step, ["a", "b"])


def _audit_log() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        log = AuditLog(Path(folder) / "audit.jsonl")
        for k in range(3):
            log.record("reply", "aggregator", bytes(k), f"note {k}")
        return [log.path.read_bytes()]


def _audited(path: Path) -> None:
    try:
        verify(path)
    finally:
        AuditLog(path).record("reply", "aggregator", b"data")


def _kit(data: bytes, folder: Path) -> None:
    (folder / "flora-kit.json").write_bytes(data)
    kit = Kit.open(folder, "party", "aggregator", "scientist")
    assert isinstance(kit.whose, str)


def _settings(data: bytes, folder: Path) -> None:
    kit = Kit(folder, "party", "north", Consortium("c", "localhost", ("north",)))
    kit.state.mkdir(exist_ok=True)
    (kit.state / "party.json").write_bytes(data)
    SiteSettings.read(kit)


def _run() -> list[bytes]:
    full = Run("hearts", ("north", "south"), Request(schema=SCHEMA, space=MIXED.to_json()), {"north": "run"}, ("x",))
    return [full.to_json().encode(), Run("c", ("a",), Request()).to_json().encode()]


def _run_from(data: bytes, _: Path) -> None:
    run = Run.from_json(data.decode("utf-8", "replace"))
    assert run.digest
    assert run.folder
    assert run.asked(training=True) is not None
    assert run.present is not None


@dataclass
class Carrier:
    """Stands for NVFlare's message, which carries what it was given."""

    parts: dict[str, Any] = field(default_factory=dict)
    payload: Any = b""

    def __setitem__(self, key: str, value: Any) -> None:
        self.parts[key] = value

    def get(self, key: str) -> Any:
        return self.parts.get(key)

    get_header = get


def _tasks() -> list[bytes]:
    order = fill(Carrier(), StepHeader(3, "server.run", ("north", "south"), "0.1.0"), "{}")
    answer = fill(Carrier(), ReplyHeader("refused", "no"), "text")
    return [order.get(HEADER).encode(), answer.get(HEADER).encode()]


def _task(data: bytes, _: Path) -> None:
    carried = Carrier({HEADER: data.decode("utf-8", "replace"), TEXT: "{}"})
    _quietly(lambda: order_of(carried, 100))
    _quietly(lambda: answer_of(carried, 100))


def _quietly(call: Callable[[], Any]) -> None:
    """Call one of several readers: the next must be tried though this one has refused."""
    words = ""
    try:
        call()
    except FloraError as error:
        words = str(error)
    assert words == one_line(words)


def _calls() -> list[bytes]:
    """Return calls of the collective: a header as JSON, and the data in base64."""
    calls = [Call(7, 0, "add", (2,)), Call(7, 0, "gather"), Call(7, 0, "again"), Call(7, 0, "add", (1, 2))]
    data = [bytes(16), b"abc", b"", bytes(16)]
    return [
        json.dumps({**to_document(call), "data": base64.b64encode(part).decode()}).encode()
        for call, part in zip(calls, data, strict=True)
    ]


def _call(data: bytes, _: Path) -> None:
    """Let a party of three make a hostile call beside two honest ones: all are answered, and none waits for ever."""
    document = _parsed(data)
    document = document if isinstance(document, dict) else {}
    payload = _payload(document.pop("data", ""))
    answered: list[Any] = []
    hub = Hub(7, ["a", "b", "c"], lambda address, answer: answered.append((address, answer.state)))
    call = call_of(Carrier({"flora": json.dumps(document)}))
    own = hub.receive("b", "b", call, payload)
    for honest in ("a", "c"):
        kind = call.kind if call.kind in KINDS else "add"
        shape = () if kind == "gather" else (2,)
        reply = hub.receive(honest, honest, Call(7, 0, kind, shape), b"abc" if kind == "gather" else bytes(16))
        answered += [] if reply is None else [(honest, reply.state)]
    answered += [] if own is None else [("b", own.state)]
    assert {state for _, state in answered} <= {"ok", "over", "wait"}
    if call.step < hub.step:  # a message that was under way for long: it is answered, and ends nothing for the others
        assert answered == [("b", "over")]
    elif call.kind != "again":  # who repeats a call that it never made is told so by the clock
        assert {address for address, _ in answered} == {"a", "b", "c"}


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return {}


def _payload(text: Any) -> bytes:
    try:
        return base64.b64decode(text)
    except (ValueError, TypeError):
        return str(text).encode(errors="replace")


def _answers() -> list[bytes]:
    answer = {"state": "ok", "number": 0, "lengths": [1, 2], "reason": ""}
    return [json.dumps(found).encode() for found in (answer, {**answer, "state": "over", "reason": "no"})]


def _answer(data: bytes, _: Path) -> None:
    """Let a party's end of the collective hear a hostile aggregator: it gets its parts, or leaves the training."""
    payload = b"abc" if len(data) % 2 else bytes(24)
    heard = Carrier({"flora": data.decode("utf-8", "replace")}, payload)

    def end() -> CellCollective:
        turns = iter(range(20))  # an aggregator that says "wait" for ever is not a matter of reading
        return CellCollective(0, 2, 7, lambda *_: heard, lambda: next(turns, None) is None)

    _quietly(lambda: end().allgather(b"x"))
    _quietly(lambda: end().add_integers(_ONES))


_ONES: Any = np.ones(3, dtype=np.int64)


def _jobs() -> list[bytes]:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("config/config_fed_client.json", json.dumps(client_settings("a.B")))
        archive.writestr("config/config_fed_server.json", "{}")
    return [buffer.getvalue()]


def _order(data: bytes, _: Path) -> None:
    assert isinstance(app_refusal(data, ["a.B"]), str)
    meta = _parsed(data[:200])
    for run in (RUN_NAME, meta, data.decode("latin-1")):
        headers = {"job_id": run, "job_meta": meta}
        reason = order_refusal(Order("train.deploy", headers, data), from_own_run=False, executors=["a.B"])
        assert reason or (isinstance(run, str) and JOB.fullmatch(run))


class _Hostile:
    """A collective whose other parties send what they like."""

    rank, size = 0, 2

    def __init__(self, parts: Sequence[bytes]) -> None:
        self._parts = iter(parts)

    def add_integers(self, values: Any) -> Any:
        return values

    def allgather(self, data: bytes) -> Sequence[bytes]:
        return [data, next(self._parts)]


@cache
def _rows() -> Rows:
    return encode(FRAME, describe(FRAME, "kind"))


def _shares() -> list[bytes]:
    model = AnyEstimator.named("sklearn.linear_model:LogisticRegression").train({"C": 0.5}, _rows(), Alone(), 0).model
    return [b"60|" + model.files()["party-000.skops"]]


def _of_share(data: bytes, edits: Sequence[Edit]) -> bytes:
    count, _, model = data.partition(b"|")
    (what, *_), *_ = edits
    changed = of_text(count, edits) if what % 4 == 0 else count
    return changed.replace(b"|", b"") + b"|" + inside(_of_member)(model, edits)


def _share(data: bytes, _: Path) -> None:
    """Take another party's model in the training of an estimator."""
    count, model = data.split(b"|", 1)
    rows = _rows()
    hostile: Collective = _Hostile([count, model])
    found = AnyEstimator.named("sklearn.linear_model:LogisticRegression").train({"C": 0.5}, rows, hostile, 0).model
    found.predict(rows.X[:3])


def _certificates() -> list[bytes]:
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "north")])
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(1), now + timedelta(9))
    return [made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)]


def _of_certificate(data: bytes, edits: Sequence[Edit]) -> bytes:
    """Change what is inside of the armour, or the armour."""
    head, *lines, tail = data.strip().split(b"\n")
    if edits[0][0] % 4 == 0:
        return of_bytes(data, edits)
    inner = of_bytes(base64.b64decode(b"".join(lines)), edits)
    return b"\n".join([head, base64.encodebytes(inner).strip(), tail, b""])


def _certificate(data: bytes, folder: Path) -> None:
    from flora.engines.nvflare.kits.certificates import check_certificate, ending

    kit = Kit(folder, "party", "north", Consortium("c", "localhost", ("north",)))
    (folder / "startup").mkdir(exist_ok=True)
    for name in ("client.crt", "rootCA.pem"):
        (folder / "startup" / name).write_bytes(data)
    _quietly(lambda: check_certificate(kit))
    ending(kit)


def _requests() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        return [request_certificate(Kit(Path(folder), "party", "north", Consortium("c", "localhost", ("north",))))]


def _adopted(data: bytes, folder: Path) -> None:
    place = workspace(folder / "site", "fed_client.json", {})
    (place / "startup" / "fed_client.json").write_bytes(data)
    adopt(place)
    Kit.open(place, "party")


def _steps() -> list[bytes]:
    return [step_text(step).encode() for step in EVERY_STEP]


def _step(data: bytes, _: Path) -> None:
    step: Step = read_step(data)
    assert read_step(step_text(step)) == step


def _trials(data: bytes, _: Path) -> None:
    party = PartyTrials.from_json(data)
    assert PartyTrials.from_json(party.to_json()) == party
    assert party.digest
    assert party.space.encode([trial.config for trial in party.trials]) is not None


def _space(path: Path) -> None:
    space = SearchSpace.from_json(read_space(path))
    points = space.sample(np.random.default_rng(0), 3)
    assert space.encode(space.decode(points)).shape == (3, space.width)


def _message(data: bytes, _: Path) -> None:
    message({}, data)  # NVFlare's own envelope is made of our header alone
    header_of(Carrier({"flora": data.decode("utf-8", "replace")}))


KIT = {"role": "party", "name": "a", "consortium": {"name": "c", "aggregator": "h", "parties": ["a"]}}
SETTINGS = {"data": {"path": "a.csv", "target": "kind"}, "jobs": 1, "ask": False}
STATUS = {"step": "train", "number": 3, "parties": {"a": {"state": "works", "done": 1, "total": 9}}, "awaited": ["a"]}
ENDING = {"format": "flora-ending", "version": 1, "state": "lost", "error": "gone", "parties": ["a"], "step": "train"}
CONSENT = Consent(pairs=Pairs(4, 20), data=DataSource("a.csv", "kind", ("x",))).to_json()


def _watched(path: Path) -> None:
    live = FORMAT.record(Live, FORMAT.file(path), str(path))
    live_pages.line(live)
    live_pages.steps(live, [])


READERS = (
    Reader("trials", lambda: [TRIALS.to_json().encode()], of_json, _trials),
    Reader(
        "trials as CSV", lambda: [CSV_OF_TRIALS], of_text, _file("a.csv", lambda p: PartyTrials.from_csv(p, SVM_SPACE))
    ),
    Reader("given files", _trials_and_replies, of_json, _file("given.json", _is_given)),
    Reader("a step", _steps, of_json, _step),
    Reader("a step, torn", _steps, of_bytes, lambda data, _: read_step(data)),
    Reader("a reply", _replies, _of_reply, _reply),
    Reader("a reply as text", _replies, lambda d, e: d[:1] + of_bytes(d[1:], e), _reply_text),
    Reader("a test of a model", _json(TESTED), of_json, _test),
    Reader("a result", _results, of_json, partial(_run_folder, shown=False)),
    Reader("a result, shown", _results, of_json, partial(_run_folder, shown=True), share=0.01),
    Reader("a run under way", lambda: [FORMAT.text(to_document(live())).encode()], of_json, _file(LIVE_FILE, _watched)),
    Reader("a run's mark", _json({"seed": 3, "trials": {"a": "b"}}), of_json, _marker),
    Reader("a journal", _trials_and_replies, of_json, _journal, share=0.2),
    Reader("a space", _json(MIXED.to_json(), SVM_SPACE.to_json(), OPTUNA), of_json, _file("space.json", _space)),
    Reader("a schema", _json(SCHEMA.to_json()), of_json, _file("schema.json", Schema.read)),
    Reader("a model", _models, inside(_of_member), _file("model.flora", _applied), share=0.5),
    Reader("another party's model", _shares, _of_share, _share, share=0.05),
    Reader("a CSV table", _csv, of_text, _file("table.csv", _described), share=0.3),
    Reader("a packed CSV table", _gz, gzipped(of_text), _file("table.csv.gz", _described), share=0.3),
    Reader("a Parquet table", lambda: _tables("parquet"), of_bytes, _file("table.parquet", _described), share=0.3),
    Reader("a Feather table", lambda: _tables("feather"), of_bytes, _file("table.feather", _described), share=0.3),
    Reader(
        "an Excel table", lambda: _tables("excel"), inside(lambda _: of_bytes), _file("t.xlsx", _described), share=0.1
    ),
    Reader(
        "a consortium", lambda: [CONSORTIUM, CONSORTIUM.split(b"more")[0]], of_bytes, _file("c.yml", Consortium.read)
    ),
    Reader("a kit", _json(KIT), of_json, _kit),
    Reader("a party's settings", _json(SETTINGS), of_json, _settings),
    Reader("a consent", _json(CONSENT, {}), of_json, _file("flora.json", Consent.read)),
    Reader("an audit log", _audit_log, of_bytes, _file("audit.jsonl", _audited), share=0.2),
    Reader("a request", _run, of_json, _run_from),
    Reader("how a run ended", _json(ENDING), of_json, _file("outcome.json", lambda p: Ending.read(p.parent))),
    Reader("how far a run is", _json(STATUS), of_json, lambda data, _: read_status(object_in(data, "it"))),
    Reader("the header of a task", _tasks, of_json, _task),
    Reader("the header of a call", _calls, of_json, _message),
    Reader("a call of the collective", _calls, of_json, _call),
    Reader("an answer of the collective", _answers, of_json, _answer),
    Reader("a run's files at a party", _jobs, inside(_of_member), _order),
    Reader("a certificate", _certificates, _of_certificate, _certificate),
    Reader("a request for a certificate", _requests, _of_certificate, lambda data, _: request_in(data)),
    Reader("who is revoked", _json({"north": "2026-03-01T12:00:00+00:00"}), of_json, _file("r.json", read_revoked)),
    Reader("a workspace of NVFlare's", _json(CLIENT), of_json, _adopted),
)
