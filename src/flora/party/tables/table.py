"""A party's rows: from a file to numbers. Nothing here leaves the party."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from flora.core.naming import to_drop
from flora.errors import DataError
from flora.models.rows import Rows, category_of, counted, encode, feature_numbers, not_in_table
from flora.party.tables.cells import dressed_numbers, nearly_numeric
from flora.party.tables.dates import are_dates, date_parts, parts_advice
from flora.party.tables.file import name_of_table, read_table
from flora.party.tables.format import Say, TableFormat, unsaid
from flora.party.tables.identifiers import identifier
from flora.party.tables.notes import notes_on
from flora.party.tables.problems import Problem, UnfitError
from flora.party.tables.target import is_numeric, with_target
from flora.problem.schema import Column, Kind, Schema, Task

MOST_CATEGORIES = 1000


@dataclass(frozen=True)
class Table:
    """A party's rows as they came, with the column to predict, those to leave out, and that of the rows' weights."""

    frame: pd.DataFrame
    target: str
    drop: Sequence[str] = ()
    weight: str | None = None
    problems: tuple[Problem, ...] = ()  # with its dates, as they were read

    @property
    def count(self) -> int:
        """The number of rows that have a target, and a weight above 0 where they have weights."""
        if self.target not in self.frame.columns:  # it is said where the columns are looked at
            return len(self.frame)
        try:
            return len(counted(self.frame, self.target, self.weight)[0])
        except DataError:
            return len(self.frame)

    def described(self, task: Task | None, like: Schema | None) -> tuple[Schema, int, list[str]]:
        """Return the schema, the number of rows with a target, and what the user should know."""
        schema = self._schema(task, like)
        rows = len(counted(self.frame, self.target, schema.weight)[0])
        notes = notes_on(self.frame, schema, given=like is not None)
        if rows < len(self.frame):
            without = "a target" if schema.weight is None else "a target or a weight"
            notes.append(f"{len(self.frame) - rows} rows without {without} are left out")
        return schema, rows, notes

    def local_rows(self, task: Task | None, like: Schema | None) -> Rows:
        """Return the rows for the local search.

        They depend on this party's table and the columns' kinds alone, not on the other parties' categories or
        classes: so a party that searches by itself finds the same trials as one in a federation.
        """
        schema = self._schema(task, like)
        filled = tuple(column for column in schema.columns if self.frame[column.name].notna().any())
        if not filled:
            raise DataError("need at least one column with values besides the target, got none")
        return encode(self.frame, replace(schema, columns=filled))

    def rows(self, schema: Schema) -> Rows:
        """Return the rows as the agreed schema has them."""
        return encode(self.frame, schema)

    def _schema(self, task: Task | None, like: Schema | None) -> Schema:
        bad = {problem.column for problem in self.problems}
        try:
            schema = describe(
                self.frame, self.target, task=task, like=like, drop=(*self.drop, *bad), weight=self.weight
            )
        except UnfitError as error:
            others = [each for each in error.problems if each.column.rpartition(".")[0] not in bad]  # no part is there
            raise UnfitError((*self.problems, *others)) from error
        if self.problems:
            raise UnfitError(self.problems)
        return schema


def open_table(
    path: str | Path,
    target: str,
    drop: Sequence[str],
    form: TableFormat,
    *,
    like: Schema | None = None,
    say: Say = unsaid,
) -> Table:
    """Return a party's table from its file, ready for what is asked; ``say`` hears what was found out on the way."""

    def heard(text: str) -> None:
        say(f"{name_of_table(path)}: {text}")

    frame = read_table(path, form, say)
    wanted = like.names if like else ()
    dropped = split_names(drop, frame.columns)
    weight = form.weight or (like.weight if like else None)
    roles = (target,) if weight is None else (target, weight)
    frame, problems = date_parts(frame, form.dates, keep=(*roles, *dropped), wanted=wanted, say=heard)
    if form.auto:
        found = left_out(frame, roles, dropped, like)
        for name, why in found.items():
            heard(f"column {name!r} is left out (--auto): {why}")
        dropped = (*dropped, *found)
    return Table(frame, target, dropped, weight, tuple(problems))


def alike(tables: Mapping[str, Table]) -> Mapping[str, Table]:
    """Return tables of one machine with the same columns left out: what --auto finds at one goes at all."""
    dropped = dict.fromkeys(name for table in tables.values() for name in table.drop)
    return {
        party: replace(table, drop=tuple(name for name in dropped if name in table.drop or name in table.frame.columns))
        for party, table in tables.items()
    }


def left_out(
    table: pd.DataFrame, roles: Sequence[str], drop: Sequence[str] = (), like: Schema | None = None
) -> Mapping[str, str]:
    """Return the columns that ``--auto`` leaves out, and why: identifiers and free text, or all but a schema's.

    Target and weight, which have their ``roles``, are never among them.
    """
    names = [str(name) for name in table.columns if name not in {*roles, *drop}]
    if like is not None:
        return {name: "the schema does not name it" for name in names if name not in like.names}
    found = {}
    for name in names:
        column = _examined(table[name], None)
        why = (column.unfit if isinstance(column, Problem) else "") or identifier(table[name])
        if why:
            found[name] = why
    return found


def split_names(typed: Iterable[str], columns: Iterable[str]) -> tuple[str, ...]:
    """Return the names of ``--drop A,B C``; a column whose own name has a comma is meant as it stands."""
    known = set(columns)
    parts = [[text] if text in known else [part.strip() for part in text.split(",")] for text in typed]
    return tuple(dict.fromkeys(name for names in parts for name in names if name))


def describe(
    table: pd.DataFrame,
    target: str,
    *,
    task: Task | None = None,
    like: Schema | None = None,
    drop: Sequence[str] = (),
    weight: str | None = None,
) -> Schema:
    """Return the schema of one party's table; ``like`` (the consortium's) decides the kinds where it is given."""
    drop = split_names(drop, table.columns)
    _check_columns(table, target, drop, like)
    weight = _agreed_weight(weight, like)
    if weight is not None and weight not in table.columns:
        raise not_in_table("weight", weight, table.columns)
    if weight in drop:
        raise DataError(f"{weight!r} is the weight, and cannot be left out, too")
    names = sorted(set(map(str, table.columns)) - {target, weight} - set(drop))
    problems = _unlike(names, like) if like else []
    if weight is not None:
        try:
            table = counted(table, target, weight)[0]
        except DataError as error:
            problems.append(Problem.of(weight, error))
    examined = _all_examined(table, names, like)
    problems += [each for each in examined if isinstance(each, Problem)]
    columns = tuple(each for each in examined if isinstance(each, Column))
    schema: Schema | None = None
    try:
        schema = with_target(table[target].dropna(), target, columns, task, like)
    except DataError as error:
        if not problems:
            raise
        problems.insert(0, Problem.of(target, error))
    if problems or schema is None:
        raise UnfitError(problems)
    return replace(schema, weight=weight)


def _agreed_weight(weight: str | None, like: Schema | None) -> str | None:
    """Return the column of weights; the consortium's schema has decided on it."""
    if like is None or weight in (None, like.weight):
        return weight if like is None else like.weight
    has = f"{like.weight!r}" if like.weight else "none"
    raise DataError(f"the schema's weight is {has}, got {weight!r}; all parties count their rows alike")


def _check_columns(table: pd.DataFrame, target: str, drop: Sequence[str], like: Schema | None) -> None:
    for name in (target, *drop):
        if name not in table.columns:
            what = "target" if name == target else "dropped column"
            raise not_in_table(what, name, table.columns)
    if target in drop:
        raise DataError(f"{target!r} is the target, and cannot be left out, too")
    if like is not None and like.target != target:
        raise DataError(f"the schema's target is {like.target!r}, got {target!r}")
    if table[target].notna().sum() == 0:
        raise DataError(f"target {target!r}: every value is missing")


def _unlike(names: Sequence[str], like: Schema) -> list[Problem]:
    """Return the columns that only the table has, or only the schema."""
    surplus = [Problem(name, "in the table, not in the schema", to_drop(name)) for name in names]
    lacking = [
        Problem(name, "in the schema, not in the table", "the consortium's schema must fit") for name in like.names
    ]
    differing = set(names) ^ set(like.names)
    return [problem for problem in (*surplus, *lacking) if problem.column in differing]


def _all_examined(table: pd.DataFrame, names: Sequence[str], like: Schema | None) -> list[Column | Problem]:
    """Return what each column is, or what is wrong with it; of a given schema's, only those that it has."""
    known = {column.name: column for column in like.columns} if like else {}
    return [_examined(table[name], known.get(name)) for name in names if like is None or name in known]


def _examined(values: "pd.Series[Any]", known: Column | None) -> Column | Problem:
    """Return what a column is, or what is wrong with it."""
    name = str(values.name)
    try:
        return _describe_column(values, known)
    except UnfitError as error:
        return error.problems[0]
    except DataError as error:
        return Problem.of(name, error)


def _describe_column(values: "pd.Series[Any]", known: Column | None) -> Column:
    name, present = str(values.name), values.dropna()
    kind = known.kind if known and known.kind != "empty" else _kind_of(name, present)
    if kind == "categorical":
        found = tuple(sorted({category_of(value) for value in present.unique()}))
        if known is None:
            _refuse_free_text(name, found, len(present))
        return Column(name, "categorical", found)
    if kind == "numeric":
        feature_numbers(name, values)
    return Column(name, kind, low=known.low if known else None, high=known.high if known else None)


def _kind_of(name: str, present: "pd.Series[Any]") -> Kind:
    if present.empty:
        return "empty"
    if isinstance(present.dtype, pd.CategoricalDtype):
        return "categorical"
    if is_numeric(present):
        return "numeric"
    if are_dates(present):
        first = str(present.iloc[0])
        advice = f"{parts_advice(first)}, or {to_drop(name)}"
        raise UnfitError([Problem(name, f"dates are not supported, got {first!r:.40}", advice)])
    if present.dtype == object and not present.map(pd.api.types.is_scalar).all():
        what = f"a value is a number, a bool or a text, got {present.iloc[0]!r:.40}"
        raise UnfitError([Problem(name, what, to_drop(name))])
    dressed = dressed_numbers(present)
    if dressed:
        advice = f"{dressed[1]}, or leave them out with {to_drop(name)} or --auto"
        raise UnfitError([Problem(name, dressed[0], advice, unfit="numbers with signs or grouped digits")])
    nearly = nearly_numeric(present)
    if nearly:
        raise UnfitError([Problem(name, nearly[0], f"{nearly[1]}, or {to_drop(name)}")])
    return "categorical"


def _refuse_free_text(name: str, found: Sequence[str], count: int) -> None:
    many = len(found) > 20 and len(found) > count / 2
    if many or len(found) > MOST_CATEGORIES:
        what = (
            f"{len(found)} different texts in {count} rows look like free text or an identifier, "
            "and a list of categories would leave the party"
        )
        advice = f"leave it out with {to_drop(name)} or --auto, or group its values"
        raise UnfitError(
            [Problem(name, what, advice, unfit="texts that nearly all differ: free text or an identifier")]
        )
