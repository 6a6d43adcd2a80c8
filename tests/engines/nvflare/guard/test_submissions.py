"""What whoever holds a scientist's kit may submit: a run, under the name that NVFlare gives it."""

import inspect
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from nvflare.private.fed.server.job_cmds import JobCommandModule
from nvflare.private.fed.server.job_meta_validator import JobMetaValidator

from flora.engines.nvflare.consortium import Consortium, Kit
from flora.engines.nvflare.guard.alarm import Alarm
from flora.engines.nvflare.guard.submissions import META, watch_submissions
from flora.engines.nvflare.run.job import NAME, Run, write_job
from flora.party.audit import verify
from flora.program.request import Request


@pytest.fixture
def validate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """NVFlare's own look at a submission, after ours."""
    monkeypatch.setattr(JobMetaValidator, "validate", JobMetaValidator.validate)
    watch_submissions(Alarm(Kit(tmp_path, "aggregator", "agg", Consortium("c", "agg.example.org", ("north",)))))
    return JobMetaValidator().validate


def packed(folder: Path, name: str = NAME, meta: Any = None, **more: str) -> str:
    """Return the archive of a run, with other settings or more files."""
    job = write_job(folder, Run("c", ("north",), Request()))
    files = {str(path.relative_to(job)): path.read_text() for path in job.rglob("*") if path.is_file()}
    files[META] = json.dumps({**json.loads(files[META]), **(meta or {})})
    with zipfile.ZipFile(folder / "job.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir(f"{name}/app/config")
        for file, text in (files | more).items():
            archive.writestr(f"{name}/{file}", text)
    return str(folder / "job.zip")


def test_a_run_is_taken(validate: Any, tmp_path: Path) -> None:
    found, words, meta = validate(NAME, packed(tmp_path))
    assert (found, words, meta["deploy_map"]) == (True, "", {"app": ["server", "north"]})


@pytest.mark.parametrize(
    "meta",
    [
        {"job_id": "startup"},
        {"job_id": "5bad8af9-c4b2-4c94-99cd-b8ccacca2c0c"},
        {"byoc": True},
        {"launcher_spec": {"default": {"process": {"python_path": "/bin/sh"}}}},
        {"resource_spec": {"north": {"num_of_gpus": 1}}},
        {"deploy_map": {"../startup": ["server"]}},
        {"deploy_map": 3},
    ],
    ids=str,
)
def test_a_run_says_nothing_else_of_itself(validate: Any, tmp_path: Path, meta: Any) -> None:
    found, words, _ = validate(NAME, packed(tmp_path, meta=meta))
    assert not found
    assert words.startswith(("its settings", "its files"))
    assert [entry.what for entry in verify(tmp_path / "state" / "audit.jsonl")] == ["refused"]


@pytest.mark.parametrize("file", ["app/custom/a.py", "app/config/config_fed_server.conf", "meta.conf", "../x", "more"])
def test_a_run_brings_no_other_file(validate: Any, tmp_path: Path, file: str) -> None:
    found, words, _ = validate(NAME, packed(tmp_path, **{file: "{}"}))
    assert not found
    assert words == f"it brings the file {f'{NAME}/{file}'!r}"


def test_no_folder_of_another_name_nothing_huge_and_nothing_torn(validate: Any, tmp_path: Path) -> None:
    assert validate("other", packed(tmp_path, "other"))[:2] == (False, "it is none of FLoRA's")
    huge = {"app/config/config_fed_server.json": "0" * (65 * 2**20)}
    assert "more than" in validate(NAME, packed(tmp_path / "huge", **huge))[1]
    (tmp_path / "torn.zip").write_bytes(b"PK\x03\x04 and no more")
    assert "cannot be read" in validate(NAME, str(tmp_path / "torn.zip"))[1]


def test_the_seam_is_where_it_was() -> None:
    assert list(inspect.signature(JobMetaValidator.validate).parameters) == ["self", "job_name", "job_data"]
    source = inspect.getsource(JobCommandModule.submit_job)
    assert "job_validator.validate(folder_name, zip_file_name)" in source
    assert source.index(".validate(") < source.index("job_def_manager.create(")
