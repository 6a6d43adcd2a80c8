"""One contract for all families: add one to ``FAMILIES`` and it is tested."""

from functools import partial

import numpy as np
import pytest

from flora.core.collective import Alone, Collective
from flora.core.threads import in_step
from flora.core.workers import one_thread
from flora.errors import InputError
from flora.models import FAMILIES, family_of
from flora.models.family import Model, ModelFamily, Trained
from flora.models.rows import Rows, encode
from flora.party.tables.table import describe
from flora.problem.family import OWN, space_of
from flora.problem.path import path_through
from tests.conftest import two_moons

FRAME = two_moons(240, 3).assign(place=lambda table: np.where(table.x > 0.5, "town", "land"))
ROWS = encode(FRAME, describe(FRAME, "kind"))
HALVES = [ROWS.take(np.arange(k, len(ROWS), 2)) for k in range(2)]


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> ModelFamily:
    return family_of(request.param)


def trained(family: ModelFamily, shares: list[Rows]) -> list[Trained[Model]]:
    """Train at as many parties as there are shares of the rows."""
    config = dict(space_of(family, "classification").default)

    def train(rows: Rows, collective: Collective) -> Trained[Model]:
        return family.train(config, rows, collective, 7)

    with one_thread():
        return in_step([partial(train, rows) for rows in shares])


class TestEveryFamily:
    def test_its_spaces_have_its_defaults_and_it_refuses_what_it_does_not_have(self, family: ModelFamily) -> None:
        for task in family.tasks:
            spaces = family.spaces(task)
            assert next(iter(spaces)) == OWN
            for space in spaces.values():
                assert dict(space.default) == dict(family.defaults(list(space.names), task))
        with pytest.raises(InputError, match="no_such_hp"):
            family.defaults(["no_such_hp"], "classification")

    def test_its_name_is_the_registrys_and_its_note_a_sentence(self, family: ModelFamily) -> None:
        assert family_of(family.name).name == family.name
        assert family.note.endswith(".")
        assert family.note[0].isupper()

    def test_a_score_is_of_the_config_first_and_then_of_its_path(self, family: ModelFamily) -> None:
        space = space_of(family, "classification")
        path = path_through(space, family.passes_through)
        along = path.configs(space.default)[:2] if path else []
        with one_thread():
            found = family.score(space.default, HALVES[0], HALVES[1], "balanced_accuracy", 5, along)
            again = family.score(space.default, HALVES[0], HALVES[1], "balanced_accuracy", 5, along)
        assert found == again
        assert [config for config, _ in found] == [space.default, *along]
        assert all(0 <= score <= 1 for _, score in found)
        assert found[0][1] > 0.7

    def test_every_party_ends_with_the_same_bytes(self, family: ModelFamily) -> None:
        first, second = trained(family, HALVES)
        assert first.model.files() == second.model.files()
        assert first.config == second.config
        assert trained(family, HALVES)[0].model.files() == first.model.files()

    def test_a_model_comes_back_from_its_files(self, family: ModelFamily) -> None:
        model = trained(family, HALVES)[0].model
        again = family.load(model.files(), ROWS.schema)
        assert np.array_equal(again.predict(ROWS.X), model.predict(ROWS.X))
        assert np.mean(again.predict(ROWS.X) == ROWS.y) > 0.75
        probabilities = again.predict_proba(ROWS.X)
        if probabilities is not None:
            assert probabilities.shape == (len(ROWS), 2)
            assert np.allclose(probabilities.sum(axis=1), 1)

    def test_other_files_are_refused(self, family: ModelFamily) -> None:
        with pytest.raises(InputError):
            family.load({"strange.bin": b"\x00"}, ROWS.schema)

    def test_one_party_alone_trains_too(self, family: ModelFamily) -> None:
        config = dict(space_of(family, "classification").default)
        with one_thread():
            model = family.train(config, ROWS, Alone(), 7).model
        assert np.mean(model.predict(ROWS.X) == ROWS.y) > 0.75
