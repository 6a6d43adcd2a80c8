"""The formats a search space may be written in: the paper's dictionary, Optuna's distributions, JSON of either."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from flora.core.documents import parse
from flora.errors import SpaceError
from flora.problem.parameters import Boolean, Categorical, Integer, Parameter, Real, Value

Entry = Mapping[str, Any]
_NUMBER = ("space", "range", "step")
_KEYS: dict[str, tuple[str, ...]] = {"real": _NUMBER, "int": _NUMBER, "cat": ("values",), "bool": ()}


def parameters_of(document: Any) -> tuple[tuple[Parameter, ...], dict[str, Value]]:
    """Return the HPs of ``document`` and the defaults that it states."""
    if isinstance(document, str):
        document = _read("a search space", document)
    if not isinstance(document, Mapping):
        raise SpaceError(f"a search space is a mapping of HP names to ranges, got {_short(document)}")
    parameters, defaults = [], {}
    for name, written in document.items():
        if not isinstance(name, str) or not name or not name.isprintable():
            raise SpaceError(f"an HP's name must be printable text, got {_short(name)}")
        entry = _plain(name, written)
        parameters.append(_parameter(name, entry))
        if "default" in entry:
            defaults[name] = entry["default"]
    return tuple(parameters), defaults


def _plain(name: str, written: Any) -> Entry:
    """Return ``written`` as the paper's dictionary, whichever format it comes in."""
    if isinstance(written, str):  # what optuna.distributions.distribution_to_json gives
        written = _read(name, written)
    elif type(written).__module__.startswith("optuna.distributions"):
        written = {"name": type(written).__name__, "attributes": written._asdict()}
    if not isinstance(written, Mapping):
        raise SpaceError(f"{name}: a range is a mapping with a type, got {_short(written)}")
    return _from_optuna(name, written) if "attributes" in written else written


def _from_optuna(name: str, entry: Entry) -> Entry:
    kinds = {"FloatDistribution": "real", "IntDistribution": "int", "CategoricalDistribution": "cat"}
    kind, attributes = kinds.get(str(entry.get("name"))), entry["attributes"]
    if kind is None or not isinstance(attributes, Mapping):
        raise SpaceError(f"{name}: the distribution must be one of {list(kinds)}, got {_short(entry.get('name'))}")
    default = {"default": entry["default"]} if "default" in entry else {}
    if kind == "cat":
        return {"type": "cat", "values": attributes.get("choices"), **default}
    step = attributes.get("step")
    plain_step = None if kind == "int" and step == 1 else step
    return {
        "type": kind,
        "space": "log" if attributes.get("log") else "linear",
        "range": [attributes.get("low"), attributes.get("high")],
        **({} if plain_step is None else {"step": plain_step}),
        **default,
    }


def _parameter(name: str, entry: Entry) -> Parameter:
    makers: dict[Any, Callable[[str, Entry], Parameter]] = {
        "real": lambda n, e: Real(n, *_range(n, e), e.get("space", "linear"), e.get("step")),
        "int": lambda n, e: Integer(n, *_range(n, e), e.get("space", "linear"), e.get("step")),
        "cat": lambda n, e: Categorical(n, _values(n, e)),
        "bool": lambda n, _: Boolean(n),
    }
    kind = entry.get("type")
    if not isinstance(kind, str) or kind not in makers:
        raise SpaceError(f"{name}: the type must be one of {list(makers)}, got {_short(kind)}")
    known = ["type", *_KEYS[kind], "default"]
    for key in entry:
        if key not in known:
            raise SpaceError(f"{name}: unknown key {_short(key)}, a {kind} has {', '.join(known)}")
    return makers[kind](name, entry)


def _range(name: str, entry: Entry) -> tuple[Any, Any]:
    bounds = entry.get("range")
    if not isinstance(bounds, list | tuple) or len(bounds) != 2:
        raise SpaceError(f"{name}: the range must be [low, high], got {_short(bounds)}")
    return bounds[0], bounds[1]


def _values(name: str, entry: Entry) -> tuple[Value, ...]:
    values = entry.get("values")
    if not isinstance(values, list | tuple):
        raise SpaceError(f"{name}: the values must be a list, got {_short(values)}")
    return tuple(values)


def read_space(path: str | Path) -> Any:
    """Return the JSON of a search space file, checked to be one; its defaults may still be the model's own."""
    path = Path(path)
    if not path.is_file():
        raise SpaceError(f"{path}: no such file")
    try:
        document = parse(path.read_bytes())
    except ValueError as error:
        raise SpaceError(f"{path}: not a JSON file ({error})") from error
    try:
        parameters_of(document)
    except SpaceError as error:
        raise SpaceError(f"{path}: {error}") from error
    return document


def _read(name: str, text: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise SpaceError(f"{name}: not a mapping nor JSON of one ({error}), got {_short(text)}") from error


def _short(value: Any) -> str:
    return f"{value!r:.80}"
