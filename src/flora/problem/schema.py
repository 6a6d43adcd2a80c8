"""What the parties agree on before they search: columns, their kinds and categories, and the classes.

A schema holds no rows. It leaves a party in the schema step, or the consortium writes it and nothing leaves.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

from flora.core.codec import has_form, read_fields
from flora.core.documents import MOST_BYTES, contents, object_in
from flora.core.naming import to_drop
from flora.core.rules import check
from flora.errors import DataError, InputError

Task = Literal["classification", "regression"]
Kind = Literal["numeric", "categorical", "empty"]  # empty: this party has no value in it at all
Label = str | int | bool
FORMAT, VERSION = "flora-schema", 1


@dataclass(frozen=True)
class Column:
    """One feature: a number (booleans are 0 and 1), or one of a list of categories."""

    name: str
    kind: Kind
    categories: tuple[str, ...] = ()
    low: float | None = None  # a public range: given by the consortium, never taken from the rows
    high: float | None = None

    def __post_init__(self) -> None:
        check(self, DataError)
        if self.kind != "categorical" and self.categories:
            raise DataError(f"column {self.name!r}: only a categorical column has categories, got {self.kind}")
        if len(set(self.categories)) < len(self.categories):
            raise DataError(f"column {self.name!r}: categories must be different texts")
        if (self.low is None) != (self.high is None):
            raise DataError(f"column {self.name!r}: a range needs both low and high")
        if self.low is not None and self.high is not None and not -math.inf < self.low <= self.high < math.inf:
            raise DataError(f"column {self.name!r}: need low <= high, got {self.low} and {self.high}")


@dataclass(frozen=True)
class Schema:
    """The columns, sorted by name, the target, and the column that says how much each row counts, if any does."""

    target: str
    task: Task
    columns: tuple[Column, ...]
    classes: tuple[Label, ...] = ()
    weight: str | None = None

    def __post_init__(self) -> None:
        check(self, DataError)
        names = [column.name for column in self.columns]
        if names != sorted(set(names)):
            object.__setattr__(self, "columns", tuple(sorted(self.columns, key=lambda column: column.name)))
        weight = () if self.weight is None else (self.weight,)
        repeated = [name for name, count in Counter((self.target, *weight, *names)).items() if count > 1]
        if repeated:
            what = "columns, target and weight" if weight else "columns and target"
            raise DataError(f"{what} must have different names, {repeated[0]!r} comes twice")
        if self.task == "classification":
            _check_classes(self.target, self.classes)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(column.name for column in self.columns)

    def with_positive(self, label: Label | None) -> Self:
        """Return the same with a class as the last of two: scores of one class are asked of the last."""
        if label is None or self.classes[-1:] == (label,):
            return self
        if len(self.classes) != 2 or (type(label), label) not in {(type(each), each) for each in self.classes}:
            raise DataError(
                f"target {self.target!r}: the positive class is one of two, {list(self.classes)[:5]}, got {label!r:.80}"
            )
        return replace(self, classes=tuple(reversed(self.classes)))

    @property
    def categorical(self) -> tuple[int, ...]:
        """The indices of the categorical columns."""
        return tuple(k for k, column in enumerate(self.columns) if column.kind == "categorical")

    def to_json(self) -> dict[str, Any]:
        """Return the schema as JSON's types: all that leaves a party in the schema step."""
        columns = [{k: v for k, v in vars(column).items() if v not in (None, ())} for column in self.columns]
        return {
            "format": FORMAT,
            "version": VERSION,
            "target": self.target,
            "task": self.task,
            **({} if self.weight is None else {"weight": self.weight}),
            "classes": list(self.classes),
            "columns": [{**c, "categories": list(c["categories"])} if "categories" in c else c for c in columns],
        }

    @classmethod
    def from_json(cls, document: Any) -> Self:
        """Read what :meth:`to_json` wrote, or what the consortium wrote by hand."""
        if not isinstance(document, Mapping) or (document.get("format"), document.get("version")) != (FORMAT, VERSION):
            raise DataError(f"a schema is a JSON object with format {FORMAT!r} and version {VERSION}")
        rest = {key: value for key, value in document.items() if key not in ("format", "version")}
        try:
            return read_fields(cls, rest)
        except InputError as error:
            words = "a schema has target, task, classes, columns (name, kind, ...) and perhaps a weight"
            raise DataError(f"{words}: {error}") from error

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a schema file."""
        document = object_in(contents(Path(path), MOST_BYTES, DataError), str(path), DataError)
        try:
            return cls.from_json(document)
        except ValueError as error:
            raise DataError(f"{path}: {error}") from error


has_form(Schema, Schema.to_json, Schema.from_json)


def agree(schemas: Mapping[str, Schema]) -> Schema:
    """Return the schema that serves all parties: the same columns, the union of categories and of classes."""
    parties = sorted(schemas)
    first = schemas[parties[0]]
    for party in parties[1:]:
        _check_alike(parties[0], first, party, schemas[party])
    alike = zip(*(schemas[p].columns for p in parties), strict=True)  # sorted by name, and the names are the same
    columns = tuple(_agree_on_column(dict(zip(parties, same, strict=True))) for same in alike)
    classes = _agree_on_classes({p: schemas[p].classes for p in parties})
    if first.task == "classification":
        check_several(first.target, classes)
    return Schema(first.target, first.task, columns, classes, first.weight)


def _check_alike(a: str, first: Schema, b: str, second: Schema) -> None:
    if first.target != second.target:
        raise DataError(f"target: {first.target!r} at party {a!r}, {second.target!r} at party {b!r}")
    if first.task != second.task:
        raise DataError(
            f"target {first.target!r}: {first.task} at party {a!r}, {second.task} at party {b!r}; say which with --task"
        )
    if first.weight != second.weight:
        one, other = (f"{name!r}" if name else "none" for name in (first.weight, second.weight))
        raise DataError(
            f"weight: {one} at party {a!r}, {other} at party {b!r}; all parties need the same --weight, or none"
        )
    for name in sorted(set(first.names) ^ set(second.names)):
        has, lacks = (a, b) if name in first.names else (b, a)
        raise DataError(
            f"column {name!r}: party {has!r} has it, party {lacks!r} does not; all must have the same columns: "
            f"{to_drop(name)} where it is, or give all parties one --schema"
        )


def _agree_on_column(columns: Mapping[str, Column]) -> Column:
    name = next(iter(columns.values())).name
    filled = {p: column for p, column in columns.items() if column.kind != "empty"}
    if not filled:
        return Column(name, "empty")
    a, first = next(iter(filled.items()))
    for b, column in filled.items():
        if column.kind != first.kind:
            raise DataError(
                f"column {name!r}: {first.kind} at party {a!r}, {column.kind} at party {b!r}; say which in a file "
                f"that all are given with --schema (flora schema --out writes one), or {to_drop(name)}"
            )
    if first.kind == "numeric":
        return first
    return replace(first, categories=tuple(sorted({c for column in filled.values() for c in column.categories})))


def _agree_on_classes(classes: Mapping[str, tuple[Label, ...]]) -> tuple[Label, ...]:
    kinds = {party: {type(label) for label in labels} for party, labels in classes.items() if labels}
    if len({kind for found in kinds.values() for kind in found}) > 1:
        shown = ", ".join(f"{p!r} has {list(classes[p])[:3]}" for p in kinds)
        raise DataError(f"the target's classes must be of one type at all parties, but {shown}")
    return tuple(sorted({label for labels in classes.values() for label in labels}))


def check_several(target: str, classes: tuple[Label, ...]) -> None:
    """Raise unless there is something to tell apart; one party alone may have one class only."""
    if len(classes) < 2:
        raise DataError(f"target {target!r}: need at least 2 classes, got {list(classes)}")


def _check_classes(target: str, classes: tuple[Label, ...]) -> None:
    if not classes:
        raise DataError(f"target {target!r}: need the classes of a classification, got none")
    if not all(isinstance(label, str | int) for label in classes) or len({type(label) for label in classes}) > 1:
        raise DataError(f"target {target!r}: classes are all text, all whole numbers or all bools, got {classes!r:.80}")
    if len(set(classes)) < len(classes):
        raise DataError(f"target {target!r}: classes must differ, got {classes!r:.80}")
