"""Draw a run's loss surface over two HPs, with all parties' trials on it: draw_surface.py RUN PICTURE."""

import json
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

from flora import PartyTrials, SearchSpace, fit_surface
from flora.problem.space import Points

mpl.use("Agg")
from matplotlib import pyplot as plt

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")  # Okabe and Ito's, for all eyes


def main(run: Path, picture: Path) -> None:
    """Read ``run/result.json`` and ``run/trials``, and write the picture."""
    result = json.loads((run / "result.json").read_text())
    trials = [PartyTrials.read(path) for path in sorted((run / "trials").glob("*.json"))]
    space = trials[0].space
    surface = fit_surface(result["surface"], trials, space, result["seed"], regressor=result["regressor"])
    across, up = space.names[:2]
    grid = np.linspace(0, 1, 120)
    points = _slice(space, result["config"], grid)
    losses = surface(points).reshape(len(grid), len(grid))

    figure, axes = plt.subplots(figsize=(7.2, 4.6), layout="constrained")
    shown = axes.contourf(grid, grid, losses, levels=18, cmap="cividis_r")
    figure.colorbar(shown, label=f"predicted federated loss ({result['scoring']})")
    for party, colour in zip(trials, COLOURS, strict=False):
        tried = space.encode([trial.config for trial in party.trials])
        axes.scatter(tried[:, 0], tried[:, 1], s=22, c=colour, edgecolors="white", linewidths=0.5, label=party.party)
    for name, config, marker in (("default", result["default"], "X"), ("recommended", result["config"], "*")):
        x, y = space.encode([config])[0, :2]
        axes.scatter([x], [y], s=230, marker=marker, c="white", edgecolors="black", label=name, zorder=3)
    _ticks(axes.set_xticks, space, across)
    _ticks(axes.set_yticks, space, up)
    axes.set(xlabel=across, ylabel=up, title=f"{result['surface'].upper()}: what the aggregator believes")
    figure.legend(loc="outside lower center", ncols=len(trials) + 2, frameon=False)
    figure.savefig(picture, dpi=110)


def _slice(space: SearchSpace, config: dict[str, float], grid: np.ndarray) -> Points:
    """Return the points of a plane through ``config``: its first two axes run over the grid."""
    across, up = np.meshgrid(grid, grid)
    points = np.repeat(space.encode([config]), grid.size**2, axis=0)
    points[:, 0], points[:, 1] = across.ravel(), up.ravel()
    return points


def _ticks(set_ticks: object, space: SearchSpace, name: str) -> None:
    parameter = next(p for p in space.parameters if p.name == name)
    places = np.linspace(0, 1, 6)
    set_ticks(places, [f"{value:.2g}" for value in parameter.decode(places.reshape(-1, 1))])  # type: ignore[operator]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
