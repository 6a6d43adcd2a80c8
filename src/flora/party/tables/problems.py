"""What is wrong with a table's columns: all of it in one error, so that one start is enough to mend the file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from flora.core.naming import some_of, to_drop
from flora.core.rules import one_line
from flora.errors import DataError

MOST_SHOWN = 40
EXAMPLE = re.compile(r", (such as|got) .*")  # of one party
HEADER = ("column", "what", "advice")


@dataclass(frozen=True)
class Problem:
    """One column that cannot be used as it is."""

    column: str
    what: str
    advice: str
    unfit: str = ""  # why --auto leaves it out, if it does, in words that parties share: no count, no value

    @classmethod
    def of(cls, column: str, error: DataError) -> "Problem":
        """Return the problem that an error tells, without the column's name, which has its own place."""
        for prefix, usual in (
            (f"column {column!r}: ", f"mend it, or {to_drop(column)}"),
            (f"target {column!r}: ", "mend it"),
            (f"weight {column!r}: ", "mend it, or name another column with --weight"),
        ):
            if str(error).startswith(prefix):
                what, _, advice = str(error).removeprefix(prefix).partition("; ")
                return cls(column, what, advice or usual)
        return cls(column, str(error), "mend it")


class SeveralError(DataError):
    """What is wrong, as a table: its text is as wide as it must be; ``cells`` are for whoever knows the screen."""

    def __init__(self, rows: Sequence[tuple[str, ...]], header: tuple[str, ...], where: str) -> None:
        self.cells = (header, *(tuple(map(one_line, row)) for row in rows[:MOST_SHOWN]))
        self.title = f"{len(rows)} problem{'s' * (len(rows) > 1)} in {where}:"
        self.more = f"... and {len(rows) - MOST_SHOWN} more" if len(rows) > MOST_SHOWN else ""
        super().__init__("\n".join(filter(None, (self.title, *_beside(self.cells), self.more))))


class UnfitError(DataError):
    """Columns that cannot be used: a line for one, a table for several."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        rows = [(each.column, each.what, each.advice) for each in problems]
        self.table = SeveralError(rows, HEADER, "the table") if len(problems) > 1 else None
        super().__init__(str(self.table) if self.table else _line(problems[0]))
        self.problems = tuple(problems)


def refused_together(errors: Mapping[str, DataError]) -> DataError | None:
    """Return one error for what several parties' tables have; a problem that is the same at some comes once.

    Where no column is bad an option is wrong, such as a target that no table has: that is told well by one party.
    """
    if len(errors) < 2 or not any(isinstance(error, UnfitError) for error in errors.values()):
        return None
    found: dict[Problem, list[tuple[str, Problem]]] = {}
    for party, error in sorted(errors.items()):
        for problem in error.problems if isinstance(error, UnfitError) else (Problem("", str(error), ""),):
            found.setdefault(replace(problem, what=problem.unfit or EXAMPLE.sub("", problem.what)), []).append(
                (party, problem)
            )
    merged = [
        ([party for party, _ in told], told[0][1] if len(told) == 1 else shared) for shared, told in found.items()
    ]
    if len(merged) == 1:
        names, problem = merged[0]
        return DataError(f"parties {some_of(names)}: {_line(problem)}")
    rows = [(some_of(names), each.column, each.what, each.advice) for names, each in merged]
    return SeveralError(rows, ("party", *HEADER), "the parties' tables")


def _line(problem: Problem) -> str:
    return one_line(f"column {problem.column!r}: {problem.what}; {problem.advice}")


def _beside(cells: Sequence[tuple[str, ...]]) -> list[str]:
    """Return a table's lines, with its columns below each other."""
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]) - 1)]
    return ["  ".join((*map(str.ljust, row, widths), row[-1])).rstrip() for row in cells]
