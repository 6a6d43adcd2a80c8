"""Whole numbers that are no quantities: identifiers, and codes such as those of places."""

import re
from typing import Any

import numpy as np
import pandas as pd

from flora.party.tables.dates import is_date_part

FEWEST = 20  # values: in fewer, that all differ says little
CODE = re.compile(
    r"zip|plz|post(al)?_?code|postcode|area_?code|phone|telephone|fax|mobile|iban|ssn|mrn|fips|siret|nhs|isbn|"
    r"(^|_)(id|ids|uid|uuid|guid|key|code|nr|no|num|number|index|idx|record|row|rownumber|unnamed: 0)($|_)"
)


def identifier(values: "pd.Series[Any]") -> str | None:
    """Return why a column of numbers is an identifier: it names a row, and can only mislead a model."""
    numbers = _whole(values)
    if numbers is None or len(numbers) < FEWEST or len(np.unique(numbers)) < len(numbers):
        return None
    if numbers.max() - numbers.min() == len(numbers) - 1:
        return "whole numbers without a gap, each once: an identifier"
    if CODE.search(_words(str(values.name))):
        return "whole numbers, all different, and a name like that of an identifier"
    return None


def suspicion(values: "pd.Series[Any]") -> str | None:
    """Return why a column of numbers may be an identifier or a code, for a note; None where it looks like a quantity.

    The words hold nothing of the values: a note leaves the party.
    """
    numbers = _whole(values)
    if numbers is None or len(numbers) < FEWEST:
        return None
    distinct = len(np.unique(numbers))
    if distinct == len(numbers):
        return "whole numbers that all differ, as identifiers do"
    if distinct > 2 and CODE.search(_words(str(values.name))):
        return "whole numbers with the name of a code"
    return None


def _whole(values: "pd.Series[Any]") -> Any:
    """Return a column's numbers, if they all are whole; None for other columns."""
    present = values.dropna()
    if is_date_part(str(values.name)):  # the days of a diary all differ, and are quantities
        return None
    if not pd.api.types.is_numeric_dtype(present) or pd.api.types.is_bool_dtype(present) or present.empty:
        return None
    numbers = present.to_numpy(dtype=float)
    return numbers if np.isfinite(numbers).all() and (numbers % 1 == 0).all() else None


def _words(name: str) -> str:
    """Return a name as words, with strokes between: ``PatientID`` is patient_id."""
    return re.sub(r"[\s.-]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)).lower()
