"""A fold as dense matrices, encoded once for all configs of a search."""

from dataclasses import dataclass
from typing import Self

from flora.core.collective import Alone
from flora.models.encoding import Floats, fit_encoding
from flora.models.recent import Recent, digest_of
from flora.models.rows import Rows


@dataclass(frozen=True, eq=False)
class EncodedFold:
    """The rows to fit and the rows to score, both in the encoding of the rows to fit. Nobody may write into them."""

    train: Floats
    test: Floats

    @classmethod
    def of(cls, train: Rows, test: Rows) -> Self:
        """Encode a fold."""
        encoding = fit_encoding(train, Alone())
        return cls(encoding(train.X), encoding(test.X))

    @classmethod
    def recalled(cls, train: Rows, test: Rows) -> "EncodedFold":
        """Return the fold, which is the same object if this process has had it lately."""
        return _recent.recall(digest_of(train, test), lambda: cls.of(train, test))


_recent: Recent[EncodedFold] = Recent()
