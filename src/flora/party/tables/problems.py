"""What is wrong with a table's columns: all of it in one error, so that one start is enough to mend the file."""

from collections.abc import Sequence
from dataclasses import dataclass

from flora.core.rules import one_line
from flora.errors import DataError

MOST_SHOWN = 40


@dataclass(frozen=True)
class Problem:
    """One column that cannot be used as it is."""

    column: str
    what: str
    advice: str
    unfit: bool = False  # an identifier or free text: --auto leaves it out

    @classmethod
    def of(cls, column: str, error: DataError) -> "Problem":
        """Return the problem that an error tells, without the column's name, which has its own place."""
        for prefix, usual in (
            (f"column {column!r}: ", f"mend it, or --drop {column}"),
            (f"target {column!r}: ", "mend it"),
            (f"weight {column!r}: ", "mend it, or name another column with --weight"),
        ):
            if str(error).startswith(prefix):
                what, _, advice = str(error).removeprefix(prefix).partition("; ")
                return cls(column, what, advice or usual)
        return cls(column, str(error), "mend it")


class UnfitError(DataError):
    """A column that cannot be used; it is caught where the columns are gone through."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(one_line(f"column {problem.column!r}: {problem.what}; {problem.advice}"))
        self.problem = problem


def refused(problems: Sequence[Problem]) -> DataError:
    """Return one error for all problems: a line for one, a table for several."""
    if len(problems) == 1:
        return UnfitError(problems[0])
    shown = problems[:MOST_SHOWN]
    rows = [
        ("column", "what", "advice"),
        *(tuple(map(one_line, (each.column, each.what, each.advice))) for each in shown),
    ]
    widths = [max(len(row[k]) for row in rows) for k in range(2)]
    lines = ["  ".join((row[0].ljust(widths[0]), row[1].ljust(widths[1]), row[2])) for row in rows]
    more = [f"... and {len(problems) - len(shown)} more"] if len(problems) > len(shown) else []
    return DataError("\n".join([f"{len(problems)} problems in the table:", *lines, *more]))
