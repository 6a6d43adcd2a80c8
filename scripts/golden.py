"""Runs that must not change: the digests of what they leave, in process, by files and across processes.

    python scripts/golden.py OUT.json [--network] [--source DIR/src]

Run it on two revisions (``--source`` names another checkout's ``src``) and compare the two files. Left out of the
digests is what differs between two runs of one revision: how long it took, and the command as it was typed.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

MAIN = "import sys; from {module} import main; sys.exit(main())"
LIGHT = ["--trials", "4", "--cv", "3", "--seed", "7"]
TREE_SPACE = {
    "max_depth": {"type": "int", "range": [1, 8], "default": 3},
    "min_samples_leaf": {"type": "int", "range": [1, 9], "default": 1},
}
NEVER_BY_FILES = (  # fields that a result by files once did not have
    *("folds", "sampler", "trained_config", "chosen_in_training", "trainings", "training"),
    *("model", "model_digest", "schema", "notes", "certificate"),
)
RUNS = {
    "hgb": ["--model", "hgb", *LIGHT],
    "svm": ["--model", "svm", *LIGHT, "--certificate"],
    "mlp": ["--model", "mlp", *LIGHT],
    "estimator": ["--model", "sklearn.tree:DecisionTreeClassifier", "--space", "space.json", *LIGHT],
    "trainings": ["--model", "svm", *LIGHT, "--trainings", "5", "--surface", "sgm+u"],
    "worst": ["--model", "hgb", *LIGHT, "--objective", "worst", "--send", "9"],
}


def main() -> None:
    """Run all, and write the digests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--source", type=Path, default=Path(__file__).parent.parent / "src")
    parser.add_argument("--network", action="store_true")
    options = parser.parse_args()
    found: dict[str, object] = {}
    with TemporaryDirectory() as folder:
        runs = Golden(Path(folder), options.source.resolve())
        for name, arguments in RUNS.items():
            found[name] = runs.tuned(name, ["north.csv", "south.csv", "west.csv", *arguments])
        found["five"] = runs.tuned("five", ["all.csv", "--parties", "5", "--model", "hgb", *LIGHT])
        found["many rows"] = runs.tuned("rows", ["rows.csv", "--parties", "3", "--model", "hgb", *LIGHT])
        found["regression"] = runs.tuned("number", ["number.csv", "--parties", "3", *LIGHT], target="y")
        found["by files"] = runs.by_files()
        if options.network:
            found["network"] = runs.across_processes()
    options.out.write_text(json.dumps(found, indent=1) + "\n")


class Golden:
    """The runs, in a folder of their own."""

    def __init__(self, folder: Path, source: Path) -> None:
        self.folder, self.source = folder, source
        self.module = "flora.cli.main" if (source / "flora" / "cli").is_dir() else "flora.cli"
        for name, rows, shift in (("north", 60, 0.0), ("south", 45, 0.3), ("west", 80, -0.2)):
            moons(rows, rows, shift).to_csv(folder / f"{name}.csv", index=False)
        moons(400, 4, 0.0).to_csv(folder / "all.csv", index=False)
        moons(5100, 5, 0.0).to_csv(folder / "rows.csv", index=False)
        table = moons(200, 6, 0.0)
        table.assign(y=table.x * table.y + (table.kind == "upper")).to_csv(folder / "number.csv", index=False)
        (folder / "space.json").write_text(json.dumps(TREE_SPACE))

    def flora(self, *arguments: str) -> None:
        """Run a command, which must end well."""
        environment = {**os.environ, "PYTHONPATH": str(self.source)}
        command = [sys.executable, "-c", MAIN.format(module=self.module), *arguments]
        done = subprocess.run(  # noqa: S603  (our own command)
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"{' '.join(arguments)}\n{done.stdout}{done.stderr}")

    def tuned(self, name: str, arguments: list[str], target: str = "kind") -> dict[str, str]:
        """Return the digests of a run in process."""
        self.flora("tune", *arguments, "--target", target, "--out", name)
        return digests(self.folder / name)

    def by_files(self) -> dict[str, str]:
        """Return the digests of an exchange by files: the parties' trials and the result."""
        parties = ("north", "south", "west")
        for party in parties:
            out = f"t-{party}.json"
            self.flora("search", f"{party}.csv", "--target", "kind", "--model", "svm", *LIGHT, "--out", out)
        trials = [f"t-{party}.json" for party in parties]
        self.flora("aggregate", *trials, "--propose", "5", "--seed", "7", "--out", "candidates.json")
        answer = "answer" if self.module.endswith("main") else "confirm"  # its name before there were steps as files
        for party in parties:
            self.flora(answer, f"{party}.csv", "candidates.json", "--target", "kind", "--out", f"a-{party}.json")
        answers = [f"a-{party}.json" for party in parties]
        self.flora("aggregate", *trials, *answers, "--seed", "7", "--out", "aggregated")
        found = self.folder / "aggregated"
        result = found / "result.json" if found.is_dir() else found
        digested = {name: digest((self.folder / name).read_bytes()) for name in trials}
        return {"result": answer_digest(result, NEVER_BY_FILES), **digested}

    def across_processes(self) -> dict[str, str]:
        """Return the digests of the demonstration with real processes and certificates."""
        self.flora("demo", "--network", "--out", "network")
        return digests(self.folder / "network")


def moons(rows: int, seed: int, shift: float) -> pd.DataFrame:
    """Return a table of two classes, with a text column and holes."""
    rng = np.random.default_rng(seed)
    label, angle = rng.integers(0, 2, rows), rng.uniform(0, np.pi, rows)
    x = np.where(label == 0, np.cos(angle), 1 - np.cos(angle)) + shift + rng.normal(0, 0.3, rows)
    y = np.where(label == 0, np.sin(angle), 0.5 - np.sin(angle)) + rng.normal(0, 0.3, rows)
    x[rng.random(rows) < 0.05] = np.nan
    place = np.where(rng.random(rows) < 0.2 + 0.4 * label, "town", "land")
    return pd.DataFrame({"x": x, "y": y, "place": place, "kind": np.where(label == 0, "upper", "lower")})


def digests(run: Path) -> dict[str, str]:
    """Return the digests of a run's folder."""
    trials = {path.name: digest(path.read_bytes()) for path in sorted((run / "trials").glob("*.json"))}
    return {"result": answer_digest(run / "result.json"), "model": digest((run / "model.flora").read_bytes()), **trials}


def answer_digest(path: Path, less: tuple[str, ...] = ()) -> str:
    """Return the digest of a result, without what differs from run to run."""
    document = json.loads(path.read_bytes())
    left_out = ("seconds", "command", *less)
    return digest(json.dumps({k: v for k, v in document.items() if k not in left_out}).encode())


def digest(data: bytes) -> str:
    """Return a short SHA-256."""
    return hashlib.sha256(data).hexdigest()[:16]


if __name__ == "__main__":
    main()
