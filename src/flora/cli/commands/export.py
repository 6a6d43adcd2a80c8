"""``flora export``: the federated model as a file of another library."""

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flora.cli.parsed import options_of
from flora.cli.plain import print_line
from flora.core.files import write_whole
from flora.program.result import model_file

FORMATS = {"onnx": ".onnx", "sklearn": ".skops"}  # and their suffixes


@dataclass(frozen=True)
class ExportOptions:
    """What ``flora export`` was asked for."""

    run: Path
    to: str
    output: Path | None


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("run", type=Path, metavar="OUT", help="the folder of a run, or its model file")
    parser.add_argument(
        "--to",
        choices=list(FORMATS),
        required=True,
        help="onnx: a graph with an input for each column; sklearn: a fitted pipeline, as a skops file "
        "(hgb's trees are scikit-learn's, so there is no LightGBM text)",
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="(OUT/model.onnx or OUT/model.skops)")


def run(parsed: Namespace) -> None:
    """Write a federated model in another library's format."""
    from flora.models.export import exported
    from flora.models.model_file import read_model

    options = options_of(ExportOptions, parsed)
    path = model_file(options.run)
    stored = read_model(path)
    output = options.output or path.with_suffix(FORMATS[options.to])
    write_whole(output, exported(stored, options.to))
    columns = len(stored.schema.columns)
    print_line(f"Written: {output}, a model of {stored.schema.target} with {columns} columns, without pickle")
