"""The laboratory's command line: the paper's tables, the judge of recommendations, and the benchmarks."""

import argparse
import json
import sys
from collections.abc import Sequence
from importlib import import_module

from flora.cli.main import Parser
from flora.errors import FloraError, InputError

COMMANDS = {  # each in a module with add_arguments and run; in the order of --help
    "paper": ("flora_lab.paper.command", "the paper's tables, next to the paper's numbers"),
    "judge": ("flora_lab.judge.command", "how good recommendations are, against a truth on all rows"),
    "calibration": ("flora_lab.judge.calibration", "what is said of the judge's stored cells, against their truth"),
    "held-out": ("flora_lab.judge.held_out", "what answers are worth, on rows that nobody had before the run"),
    "null": ("flora_lab.judge.null", 'how often the product says "use" where nothing can be gained'),
    "private": ("flora_lab.judge.private", "what a private search costs, on the judge's stored cells"),
    "certificate": ("flora_lab.judge.certificate", "what the certificate says of a few runs"),
    "speed": ("flora_lab.speed.command", "how long users wait, beside what they would do instead"),
    "masks": ("flora_lab.masks", "what masks cost a training, in one process"),
    "averaging": ("flora_lab.averaging", "what federated averaging of networks loses against pooled training"),
    "left-out": ("flora_lab.left_out", "what HPs are worth that the paper leaves out"),
    "network": ("flora_lab.network.command", "what the exchange between parties costs"),
    "many": ("flora_lab.network.many", "how many parties one aggregator bears, and what each takes"),
    "pack": ("flora_lab.pack", "make the files of results as small as can be"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 0 done, 2 the input is wrong, 1 anything else."""
    typed = sys.argv[1:] if arguments is None else list(arguments)
    parsed = make_parser(typed).parse_args(typed)
    try:
        document = import_module(COMMANDS[parsed.command][0]).run(parsed)
    except InputError as error:
        return _leave(f"error: {error}", 2)
    except FloraError as error:
        return _leave(str(error), 1)
    except KeyboardInterrupt:
        return _leave("stopped; what is done is kept, the same command goes on from here", 1)
    except BrokenPipeError:  # the reader of our output has left
        sys.stderr.close()
        return 1
    if getattr(parsed, "json", False):
        sys.stdout.write(json.dumps(document, allow_nan=False) + "\n")
    return 0


def _leave(words: str, code: int) -> int:
    sys.stderr.write(f"flora-lab: {words}\n")
    return code


def make_parser(typed: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser, with the options of the command that was typed: nothing else need be imported."""
    parser = Parser(prog="flora-lab", description="FLoRA's laboratory: the paper's tables, the judge, the benchmarks.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    named = next((word for word in typed if not word.startswith("-")), None)
    for name, (module, words) in COMMANDS.items():
        command = commands.add_parser(name, help=words)
        if name == named:
            import_module(module).add_arguments(command)
    return parser
