"""What tells people what they may type: help, examples, spaces, completion, and python -m flora."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flora.cli.main import COMMANDS, EXAMPLES, make_parser
from flora.models import FAMILIES, family_of
from flora.problem.family import space_of
from flora.problem.space import SearchSpace
from flora.problem.space_formats import read_space
from tests.cli.conftest import Run
from tests.conftest import two_moons


def test_an_estimator_of_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from sklearn.linear_model import LogisticRegression\n\n\n"
        "class Calm(LogisticRegression):\n    def __init__(self, C=1.0):\n        super().__init__(C=C, max_iter=500)\n"
    )
    (tmp_path / "space.json").write_text('{"C": {"type": "real", "space": "log", "range": [0.01, 100]}}')
    for name, seed in (("a", 1), ("b", 2)):
        two_moons(40, seed).to_csv(tmp_path / f"{name}.csv", index=False)
    script = "import sys; from flora.cli.main import main; sys.exit(main())"

    def typed(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-c", script, *words]  # -P: as a script, without the current folder
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    options = ["--target", "kind", "--model", "mine:Calm", "--space", "space.json", "--trials", "2", "--cv", "2"]
    done = typed("tune", "a.csv", "b.csv", *options, "--out", "run")
    assert done.returncode == 0, done.stderr
    assert "say --trust mine" in typed("predict", "run", "a.csv").stderr
    assert typed("predict", "run", "a.csv", "--trust", "mine").stdout.count("\n") == 41


def test_python_m_flora_is_flora() -> None:
    done = subprocess.run([sys.executable, "-m", "flora", "--version"], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"flora \d+\.\d+\.\d+\n", done.stdout)


@pytest.mark.parametrize("line", [line for lines in EXAMPLES.values() for line in lines if "|" not in line])
def test_every_example_can_be_typed(line: str) -> None:
    inner = re.search(r"flora [^)>]+", line)
    assert inner is not None
    words = shlex.split(inner[0])[1:]
    assert make_parser(words).parse_args(words).command == words[0]


@pytest.mark.parametrize("command", ["tune", "search"])
def test_help_has_examples_and_the_default_spaces(flora: Run, command: str) -> None:
    code, printed, _ = flora(command, "--help")
    assert code == 0
    assert all(line in printed for line in EXAMPLES[command])
    assert "min_samples_leaf     1 to 40; default 20" in printed
    assert "gamma                1e-05 to 10, log; default 0.1" in printed


@pytest.mark.parametrize("name", FAMILIES)
def test_a_printed_space_comes_back(flora: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "space.json").write_text(flora("spaces", name)[1])
    again = SearchSpace.from_json(read_space(tmp_path / "space.json"))
    assert again.digest == space_of(family_of(name), "classification").digest


def test_all_spaces_at_once(flora: Run) -> None:
    assert set(json.loads(flora("spaces")[1])) == set(FAMILIES)
    numbers = json.loads(flora("spaces", "--task", "regression")[1])
    assert {"hgb", "mlp"} <= set(numbers)
    assert "svm" not in numbers
    assert "local_epochs" in json.loads(flora("spaces", "mlp", "--aggregator-hps")[1])
    assert flora("spaces", "svm", "--task", "regression")[0] == 2


def completed(script: str, *typed: str) -> set[str]:
    words = " ".join(shlex.quote(word) for word in ("flora", *typed))
    ask = f'{script}\nCOMP_WORDS=({words}); COMP_CWORD={len(typed)}; _flora; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_bash_completes_commands_options_values_and_files(flora: Run, tmp_path: Path) -> None:
    code, script, _ = flora("completion", "bash")
    assert code == 0
    assert completed(script, "a") == {name for name in COMMANDS if name.startswith("a")}
    assert completed(script, "tune", "--obj") == {"--objective"}
    assert completed(script, "tune", "--objective", "") == {"mean", "worst"}
    assert "--propose" in completed(script, "aggregate", "--")
    (tmp_path / "table.csv").write_text("x")
    assert completed(script, "tune", f"{tmp_path}/ta") == {f"{tmp_path}/table.csv"}


def test_other_shells_have_a_script_of_their_own(flora: Run) -> None:
    assert flora("completion", "zsh")[1].startswith("autoload -U +X bashcompinit")
    fish = flora("completion", "fish")[1]
    assert "complete -c flora -n '__fish_seen_subcommand_from tune' -l objective -x -a 'mean worst'" in fish
    assert flora("completion", "cmd")[0] == 2
    if shutil.which("fish"):
        subprocess.run(["fish", "-n", "-c", fish], check=True)
