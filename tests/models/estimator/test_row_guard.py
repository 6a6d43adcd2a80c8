"""What a model may take with it when it leaves a party."""

import io
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from flora.core.archive import members_of
from flora.core.collective import Collective
from flora.core.threads import in_step
from flora.errors import DataError
from flora.models.estimator.family import AnyEstimator, SoftVote
from flora.models.rows import Rows
from flora.problem.schema import Task
from flora.randomness import stream
from tests.conftest import Recorder
from tests.models.estimator.test_family import FOREST, LOGISTIC, RIDGE, TREE, alone, made, with_x


def shapes_of(archive: bytes) -> list[tuple[int, ...]]:
    members = members_of(archive, 10_000)
    return [np.load(io.BytesIO(content)).shape for name, content in members.items() if name.endswith(".npy")]


KEEPERS = {
    "sklearn.neighbors:KNeighborsClassifier": "_fit_X",
    "sklearn.svm:SVC": "support_vectors_",
    "sklearn.gaussian_process:GaussianProcessClassifier": "X_train_",
    "sklearn.semi_supervised:LabelPropagation": "X_",
    "sklearn.neighbors:KNeighborsRegressor": "_fit_X",
    "sklearn.svm:SVR": "support_vectors_",
    "sklearn.gaussian_process:GaussianProcessRegressor": "X_train_",
    "sklearn.kernel_ridge:KernelRidge": "X_fit_",
    "sklearn.cross_decomposition:PLSRegression": "_scores",
}
SUMMARIES: dict[str, dict[str, Any]] = {
    LOGISTIC: {},
    TREE: {},
    FOREST: {"n_estimators": 10},
    "sklearn.ensemble:ExtraTreesClassifier": {"n_estimators": 10},
    "sklearn.ensemble:HistGradientBoostingClassifier": {"max_iter": 3},
    "sklearn.ensemble:GradientBoostingClassifier": {"n_estimators": 10},
    "sklearn.ensemble:AdaBoostClassifier": {"n_estimators": 10},
    "sklearn.naive_bayes:GaussianNB": {},
    "sklearn.discriminant_analysis:LinearDiscriminantAnalysis": {},
    "sklearn.discriminant_analysis:QuadraticDiscriminantAnalysis": {},
    "sklearn.linear_model:SGDClassifier": {},
    "sklearn.neural_network:MLPClassifier": {"solver": "lbfgs", "hidden_layer_sizes": 10, "max_iter": 1000},
    RIDGE: {},
    "sklearn.linear_model:Lasso": {},
    "sklearn.linear_model:LinearRegression": {},
}


def rows_for(name: str, n: int, **shape: Any) -> Rows:
    task: Task = "classification" if "classification" in AnyEstimator.named(name).tasks else "regression"
    return made(n, task=task, **shape)


class TestWhatLeavesAParty:
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize(("name", "place"), KEEPERS.items(), ids=KEEPERS.keys())
    def test_a_model_that_keeps_rows_is_refused(self, name: str, place: str) -> None:
        with pytest.raises(DataError) as caught:
            alone(name, rows_for(name, 43))
        text = str(caught.value)
        assert text.startswith(f"{name}: the trained model keeps this party's 43 rows (")
        assert place in text
        assert "take an estimator that keeps none" in text

    @pytest.mark.parametrize("n", [21, 101])
    @pytest.mark.parametrize(("name", "config"), SUMMARIES.items(), ids=SUMMARIES.keys())
    def test_a_model_that_keeps_none_is_accepted(self, name: str, config: dict[str, Any], n: int) -> None:
        alone(name, rows_for(name, n), **config)

    def test_neighbours_are_refused_by_any_algorithm(self) -> None:
        for algorithm in ("brute", "kd_tree", "ball_tree"):
            with pytest.raises(DataError, match="_fit_X"):
                alone("sklearn.neighbors:KNeighborsClassifier", made(31), algorithm=algorithm)

    def test_few_support_vectors_of_categories_are_refused(self) -> None:
        rows = made(60)
        with pytest.raises(DataError, match="support_vectors_"):
            alone("sklearn.svm:SVC", with_x(rows, np.eye(3)[np.arange(60) % 3]), kernel="linear")

    def test_a_vector_with_an_entry_for_each_row_is_refused(self) -> None:
        with pytest.raises(DataError, match="oob_decision_function_ has an entry for each of them"):
            alone(FOREST, made(61), oob_score=True, n_estimators=30)

    def test_the_centre_of_a_class_of_one_row_is_that_row(self) -> None:
        rows = made(30)
        single = Rows(rows.X, (np.arange(30) == 4).astype(np.int64), rows.schema)
        with pytest.raises(DataError, match="centroids_ contains some of them as they are"):
            alone("sklearn.neighbors:NearestCentroid", single)

    @pytest.mark.parametrize("n", [10, 13])
    def test_as_many_trees_units_or_columns_as_rows_are_chance(self, n: int) -> None:
        alone(FOREST, made(n), n_estimators=n)
        alone("sklearn.ensemble:GradientBoostingClassifier", made(n), n_estimators=n)
        alone("sklearn.neural_network:MLPClassifier", made(n), hidden_layer_sizes=n, solver="lbfgs", max_iter=5000)
        alone(LOGISTIC, made(n, width=n))

    def test_as_many_nodes_as_rows_are_chance(self) -> None:
        rows, found = made(15, width=1), 0
        for seed in range(100):
            noise = Rows(rows.X, stream(seed, "noise").integers(0, 2, 15), rows.schema)
            if found < 3 and DecisionTreeClassifier(random_state=0).fit(rows.X, noise.y).tree_.node_count == 15:
                found += alone(TREE, noise).models[0].tree_.node_count == 15
        assert found == 3

    def test_numbers_that_happen_to_be_a_row_are_chance(self) -> None:
        rows = made(40)
        corners = with_x(rows, np.column_stack([rows.y, np.arange(40) % 3 / 2]))  # (0, 1) is a row, and classes_
        model = alone("sklearn.dummy:DummyClassifier", corners)
        assert model.models[0].classes_.tolist() == [0, 1]
        flat = made(40, task="regression")
        zeros = with_x(flat, np.vstack([np.zeros((5, 3)), flat.X[5:, :3]]))
        assert not alone("sklearn.linear_model:Lasso", zeros, alpha=10.0).models[0].coef_.any()

    def test_with_a_prime_number_of_rows_no_array_has_that_length(self) -> None:
        family, rows = AnyEstimator.named(LOGISTIC), made(97)
        ends: list[Recorder] = []

        def share(collective: Collective) -> SoftVote:
            ends.append(Recorder(collective))
            return family.train({}, rows, ends[-1], 0).model

        in_step([share, share])
        for end in ends:
            assert len(end.sums) > 0
            assert all(97 not in array.shape for array in end.sums)
            count, model = end.gathered
            assert count == b"97"
            shapes = shapes_of(model)
            assert (1, 4) in shapes
            assert all(97 not in shape for shape in shapes)

    def test_nothing_of_the_machines_memory_leaves_with_the_trees(self) -> None:
        archive = alone(FOREST, made(61), n_estimators=5).files()["party-000.skops"]
        records = [
            array
            for name, content in members_of(archive, 1000).items()
            if name.endswith(".npy") and (array := np.load(io.BytesIO(content))).dtype.names
        ]
        assert len(records) == 5
        for array in records:
            used = np.zeros(array.dtype.itemsize, dtype=bool)
            for kind, offset, *_ in (array.dtype.fields or {}).values():
                used[offset : offset + kind.itemsize] = True
            raw = np.frombuffer(array.tobytes(), np.uint8).reshape(len(array), -1)
            assert not used.all()
            assert not raw[:, ~used].any()
