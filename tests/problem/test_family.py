"""A family's spaces by name."""

import pytest

from flora.errors import InputError
from flora.models import FAMILIES, family_of
from flora.problem.family import FEDERATED, OWN, space_of


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_a_space_of_its_own_with_a_default(name: str) -> None:
    family = family_of(name)
    for task in family.tasks:
        assert next(iter(family.spaces(task))) == OWN
        assert space_of(family, task) == family.spaces(task)[OWN]
        assert space_of(family, task).is_default(space_of(family, task).default)


def test_the_aggregators_hps_are_a_space_where_a_family_has_any() -> None:
    mlp = family_of("mlp")
    assert space_of(mlp, "regression", FEDERATED).names[:3] == space_of(mlp, "regression").names
    with pytest.raises(InputError, match="the model svm has no HPs of the aggregator; mlp has"):
        space_of(family_of("svm"), "classification", FEDERATED)


def test_an_estimator_needs_a_space() -> None:
    ridge = family_of("sklearn.linear_model:Ridge")
    with pytest.raises(InputError, match=r"Ridge: this model needs a search space \(--space FILE\)"):
        space_of(ridge, "regression")
