"""The command line: parse, call, print. What is slow to import is imported by the command that needs it."""

import argparse
import json
import re
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from flora.core.naming import nearest
from flora.core.rules import MOST_TEXT, one_line
from flora.errors import FloraError, InputError

COMMANDS = {  # each is a module of flora.cli.commands; in the order of --help
    "demo": "a whole run on a bundled dataset, in under a minute",
    "tune": "search at all parties, recommend one config, train one federated model",
    "search": "one party's local search, to be sent to the aggregator as a file",
    "aggregate": "recommend one config from the parties' files alone",
    "answer": "answer at one party what the aggregator asks for in a file",
    "predict": "apply the federated model to new rows",
    "evaluate": "how good the federated model is on rows that it has not seen",
    "export": "the federated model as a file of ONNX or scikit-learn",
    "spaces": "the default search spaces as JSON, to be changed and given to --space",
    "schema": "what a party's columns are, or what several parties agree on",
    "report": "a run as one self-contained HTML page",
    "compare": "two runs side by side",
    "project": "make the kits of a consortium: the aggregator's and each party's",
    "adopt": "add FLoRA to a workspace of a consortium that runs NVFlare already",
    "certificate": "make a key of one's own, renew a certificate, shut out a stolen kit",
    "party": "take part in a consortium's runs, in the foreground",
    "aggregator": "serve a consortium's runs, in the foreground",
    "status": "who is connected, and how far a run is",
    "audit": "read and verify a party's record of all that left it",
    "completion": "a script for bash, zsh or fish that completes commands and options",
}
EXAMPLES = {  # below a command's options; a test holds them to what may be typed
    "tune": (
        "flora tune a.csv b.csv c.csv --target COL",
        "flora tune all.csv --target COL --parties 5 --split dirichlet:0.5 --test 0.2",
        "flora tune a.csv b.csv --target COL --model svm --trials 50 --jobs 4 --out flora-run",
        "flora tune --project KIT --model hgb",
    ),
    "search": ("flora search a.csv --target COL --out trials-a.json",),
    "aggregate": (
        "flora aggregate trials-a.json trials-b.json --propose 8 --out step.json",
        "flora aggregate trials-a.json trials-b.json reply-a.json reply-b.json --out flora-run",
    ),
    "answer": ("flora answer a.csv step.json --target COL --out reply-a.json",),
    "predict": (
        "flora predict flora-run new.csv --id case --output predictions.csv",
        "zcat new.csv.gz | flora predict flora-run - --only classes",
    ),
    "evaluate": ("flora evaluate flora-run new.csv", "flora evaluate flora-run new.csv --json"),
    "export": ("flora export flora-run --to onnx", "flora export flora-run --to sklearn --output model.skops"),
    "compare": ("flora compare flora-run other-run", "flora compare flora-run other-run --json"),
    "spaces": ("flora spaces", "flora spaces hgb > space.json"),
    "schema": ("flora schema a.csv --target COL --out schema-a.json",),
    "completion": ('eval "$(flora completion bash)"',),
}
PASSWORD = re.compile(r"(://[^/@:\s]*):[^@/\s]*@")  # of an address: it goes into no file
OWN_CODE = ("tune", "search", "answer", "predict", "evaluate")  # may name an estimator of the current folder
SPACES = ("tune", "search")  # their help also has the default spaces


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Print the error and leave with exit code 2."""
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 0 done, 2 the input is wrong, 1 anything else."""
    typed = sys.argv[1:] if arguments is None else list(arguments)
    try:
        parsed = _parsed(typed)
        document = command(parsed.command).run(parsed)
    except InputError as error:
        if not _fitted(error):
            print(f"flora: error: {_shown(error)}", file=sys.stderr)
        return 2
    except FloraError as error:
        print(f"flora: {_shown(error)}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of our output has left
        sys.stderr.close()
        return 1
    except OSError as error:
        if error.filename is None:
            raise
        print(f"flora: error: {_refused_place(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("flora: stopped; what is done is kept, the same command goes on from here", file=sys.stderr)
        return 1
    if document is not None and getattr(parsed, "json", False):
        print(json.dumps(document, allow_nan=False))
    return 0


def command(name: str) -> Any:
    """Return a command's module, which has ``add_arguments`` and ``run``."""
    return import_module(f"flora.cli.commands.{name}")


def _parsed(typed: Sequence[str]) -> argparse.Namespace:
    """Return what was typed."""
    parser = make_parser(typed)
    parsed, unknown = parser.parse_known_args(drop_by_drop(typed))
    if unknown:
        _refuse(parser, parsed.command, unknown[0])
    line = PASSWORD.sub(r"\1:***@", shlex.join(["flora", *typed]))
    parsed.typed = line if len(line) <= MOST_TEXT else f"{line[: MOST_TEXT - 4]} ..."  # it goes into the result
    if parsed.command in OWN_CODE and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # last, so that nothing there stands for a library
    return parsed


def _refuse(parser: argparse.ArgumentParser, name: str, word: str) -> NoReturn:
    """Leave because of a word that a command does not know, with the option that was probably meant."""
    from flora.cli.commands.completion import options_of_command

    parser.prog = f"{parser.prog} {name}"
    if not word.startswith("-"):
        parser.error(f"{word!r:.80} is one word too many")
    known = [option.lstrip("-") for option in options_of_command(name)]
    meant = nearest(word.lstrip("-").partition("=")[0], known)
    parser.error(f"there is no option {word!r:.80}{f'; did you mean --{meant}?' if meant else ''}")


def _shown(error: FloraError) -> str:
    """Return an error's text as it may be printed: it may quote what somebody else wrote."""
    return "\n".join(map(one_line, str(error).split("\n")))


def _fitted(error: InputError) -> bool:
    """Print an error that is a table as wide as the terminal is; say whether it was one, and there is a terminal."""
    table: Any = getattr(error, "table", error)
    if not hasattr(table, "cells") or not sys.stderr.isatty():
        return False
    from flora.cli.printing import note, show_cells

    note(f"flora: error: {table.title}")
    show_cells(table.cells)
    if table.more:
        note(table.more)
    return True


def _refused_place(error: OSError) -> str:
    """Return what the system says of a file or folder that a command was told to read or write."""
    reason = "a file, expected a folder" if isinstance(error, FileExistsError) else str(error.strerror).lower()
    return one_line(f"{error.filename}: cannot be used ({reason})")


def drop_by_drop(typed: Sequence[str]) -> list[str]:
    """Return what was typed with ``--drop A B`` as ``--drop A --drop B``; a word that is a file is no column.

    >>> drop_by_drop(["tune", "--drop", "A", "B", "--target", "y"])
    ['tune', '--drop', 'A', '--drop', 'B', '--target', 'y']
    """
    spread: list[str] = []
    in_drop = False
    for k, word in enumerate(typed):
        first = k > 0 and typed[k - 1] == "--drop"
        if word.startswith("-") and not first:
            in_drop = word == "--drop"
        elif in_drop and not first:
            in_drop = not any(Path(path).exists() for path in (word, word.partition("=")[2] or word))
            spread += ["--drop"] if in_drop else []
        spread.append(word)
    return spread


def make_parser(typed: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser, with the options of the command that was typed: nothing else need be imported."""
    parser = Parser(prog="flora", description="Single-shot hyper-parameter optimisation for federated learning.")
    parser.add_argument("--version", action="version", version=f"flora {version('flora-hpo')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    named = next((word for word in typed if not word.startswith("-")), None)
    meant = nearest(typed[0], COMMANDS) if typed and typed[0] not in COMMANDS else None
    if meant is not None:
        parser.error(f"there is no command {typed[0]!r:.80}; did you mean {meant}?")
    for name, words in COMMANDS.items():
        added = commands.add_parser(name, help=words, description=f"{words[0].upper()}{words[1:]}.")
        if name == named:
            command(name).add_arguments(added)
            added.formatter_class = argparse.RawDescriptionHelpFormatter
            added.epilog = _epilog(name, full={"-h", "--help"} & set(typed) != set())
    return parser


def _epilog(name: str, *, full: bool) -> str | None:
    """Return what stands below a command's options: examples and, where help is asked for, the default spaces."""
    parts = ["examples:\n" + "\n".join(f"  {line}" for line in EXAMPLES[name])] if name in EXAMPLES else []
    if full and name in SPACES:
        from flora.cli.commands.spaces import space_words

        parts.append(f"default search spaces (flora spaces prints them as JSON):\n{space_words()}")
    return "\n\n".join(parts) or None
