"""A fold is encoded once, by its rows to fit alone."""

import numpy as np
import pytest

from flora.core.collective import Alone
from flora.models import encoded_fold
from flora.models.encoded_fold import EncodedFold
from flora.models.encoding import fit_encoding
from flora.models.recent import Recent
from flora.models.rows import Rows
from tests.models.hgb.tables import table


def test_it_is_encoded_by_the_rows_to_fit_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoded_fold, "_recent", Recent())
    rows = table("categories", 3, 300)
    train, test = rows.take(np.arange(200)), rows.take(np.arange(200, 300))
    found = EncodedFold.recalled(train, test)
    encoding = fit_encoding(train, Alone())
    assert np.array_equal(found.train, encoding(train.X))
    assert np.array_equal(found.test, encoding(test.X))
    assert EncodedFold.recalled(Rows(train.X.copy(), train.y, train.schema), test) is found
    assert EncodedFold.recalled(test, train) is not found
