"""Try an installed wheel as a new user would: the demonstration, a tune of tables, predictions, and how large it is."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path


def flora(*words: str, folder: Path) -> str:
    """Run a command of the environment's own flora."""
    program = Path(sys.executable).parent / "flora"
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(f"flora {' '.join(words)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def main() -> None:
    """Run what the README promises, from a folder in which no source lies."""
    import flora as package

    site = Path(package.__file__).parent.parent
    if site.name != "site-packages":
        raise SystemExit(f"flora is not from the wheel: {package.__file__}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shown = flora("demo", folder=folder)
        from sklearn.datasets import load_iris

        load_iris(as_frame=True).frame.to_csv(folder / "all.csv", index=False)
        quick = ("--trials", "3", "--cv", "3", "--out", "run", "--json")
        tuned = flora("tune", "all.csv", "--target", "target", "--parties", "2", *quick, folder=folder)
        predictions = flora("predict", "run", "all.csv", folder=folder)
        scored = json.loads(flora("evaluate", "run", "all.csv", "--json", folder=folder))
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) / 1e6
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    good = "Expected gain" in shown and json.loads(tuned)["model"] and predictions.count("\n") == 151
    if not good or scored["rows"] != 150:
        raise SystemExit("the wheel runs, and does not give what it should")
    sys.stdout.write(f"Python {version}: demo, tune, predict and evaluate run; the environment has {size:.0f} MB\n")


if __name__ == "__main__":
    main()
