"""``flora tune --test``: rows that no party has, to score the trained model on."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console

from flora.cli.commands.evaluate import evaluated
from flora.cli.new_rows import fitted_rows, model_of, read_rows
from flora.cli.options import WorkOptions
from flora.core.files import write_whole
from flora.errors import DataError, InputError
from flora.outcome.folder import REPORT, TEST, write_report
from flora.party.tables.format import TableFormat
from flora.randomness import stream

if TYPE_CHECKING:
    import pandas as pd

    from flora.party.tables.table import Table


@dataclass
class TestRows:
    """A table, or a share of all parties' rows, which is known when they are kept back."""

    __test__ = False  # no class of tests
    share: float
    format: TableFormat
    table: "pd.DataFrame | None" = None
    rows: "list[pd.DataFrame]" = field(default_factory=list)

    @classmethod
    def of(cls, asked: str | None, form: TableFormat, *, simulated: bool) -> Self:
        """Return what ``--test`` asks for: a file by its name, a share by its number.

        A file is read before the run, so that one that is no table ends it then, and not after hours.
        """
        if asked is None:
            return cls(0.0, form)
        try:
            share = float(asked)
        except ValueError:
            if not Path(asked).is_file():
                raise InputError(f"--test takes a table or a share of the rows such as 0.2, got {asked!r}") from None
            return cls(0.0, form, read_rows(asked, form))
        if not 0 < share < 1:
            raise InputError(f"--test: a share of the rows is above 0 and below 1, got {asked}")
        if not simulated:
            raise InputError(f"--test: the rows of other machines stay there; name a table of this one, got {asked}")
        return cls(share, form)

    def _check(self, tables: "Mapping[str, Table]") -> None:
        """Raise if the table of new rows lacks a column that the model will ask for."""
        from flora.models.rows import not_in_table
        from flora.party.tables.dates import with_date_parts

        if self.table is None:
            return
        for party in tables.values():
            names = [str(name) for name in party.frame.columns if name not in {party.weight, *party.drop}]
            given = with_date_parts(self.table, self.format.dates, keep=names, wanted=names)
            lacking = [name for name in names if name not in given.columns]
            if lacking:
                what = "the target" if lacking[0] == party.target else "column"
                raise not_in_table(f"--test: {what}", lacking[0], self.table.columns)

    def kept_back(self, tables: "Mapping[str, Table]", seed: int) -> "Mapping[str, Table]":
        """Return the tables without the share of each that is kept back, by a draw of the party's own."""
        self._check(tables)
        if not self.share:
            return tables
        left = {}
        for name, table in tables.items():
            order = stream(seed, name, "test").permutation(len(table.frame))
            count = round(self.share * len(order))
            if not 0 < count < len(order):
                raise DataError(
                    f"--test {self.share:g}: party {name!r} has {len(order)} rows, too few for such a share"
                )
            self.rows.append(table.frame.iloc[sorted(order[:count])])
            left[name] = replace(table, frame=table.frame.iloc[sorted(order[count:])])
        return left

    def told(self, document: dict[str, Any], work: WorkOptions) -> dict[str, Any]:
        """Score the run's model on these rows, write and show it, and return the document with it."""
        if self.table is None and not self.rows:
            return document
        import pandas as pd

        from flora.outcome.console import show_evaluation

        stored = model_of(work.out, ())
        table = pd.concat(self.rows) if self.table is None else fitted_rows(self.table, self.format, stored)
        found = evaluated(work.out, table)
        write_whole(work.out / TEST, json.dumps(found.to_document(), indent=1).encode())
        write_report(work.out, work.out / REPORT)  # now with the score on these rows
        if not work.json:
            show_evaluation(found, Console())
        return {**document, "test": found.to_document()}
