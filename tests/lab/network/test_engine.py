from functools import partial

from flora.core.collective import Alone, Collective
from flora.core.threads import in_step
from flora_lab.network.engine import SIZES, latency_of, train


def share(rows: int, collective: Collective) -> str:
    return train(collective, rows, 20)


def test_all_parties_train_the_same_model_and_other_rows_another() -> None:
    models = in_step([partial(share, 150)] * 2)
    assert models[0] == models[1]
    assert models[0] != in_step([partial(share, 140)] * 2)[0]


def test_the_latency_is_that_of_one_call() -> None:
    assert latency_of(Alone(), 8) > 0
    assert SIZES[0] == 8
    assert SIZES[-1] == 20_000_000
