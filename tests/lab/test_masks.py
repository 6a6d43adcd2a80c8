import pytest

from flora.errors import FloraError
from flora_lab import masks, searches
from flora_lab.main import main


def test_a_training_with_masks_is_the_same_and_sends_a_word_more_a_sum() -> None:
    (plain,), (masked,) = masks.costs_of("hgb", 3, 90, 1)
    assert plain.model == masked.model
    assert masked.calls == plain.calls + 2  # keys and signatures
    keys = 32 + 2000
    assert 8 * plain.calls < masked.sent - plain.sent < 8 * plain.calls + keys


def test_a_line_has_both(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["masks", "--families", "mlp", "--parties", "2", "--rows", "60", "--repeats", "1"]) == 0
    line = capsys.readouterr().out.splitlines()[-1].split("|")
    assert [line[1].strip(), line[2].strip()] == ["mlp", "2"]
    assert len(line) == 10


def test_a_mask_costs_more_than_its_stream_alone() -> None:
    whole, cipher = masks.seconds_of_a_mask(repeats=3)
    assert whole.shape == cipher.shape == (3,)
    assert min(whole.min(), cipher.min()) > 0


def test_masks_that_change_a_model_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def trained(family: str, shares: object, begin: object) -> masks.TrainingCost:
        return masks.TrainingCost(1.0, 1, 8, "one" if begin is masks.as_it_is else "another")

    monkeypatch.setattr(masks, "trained", trained)
    with pytest.raises(FloraError, match="mlp with 2 parties: masks have changed the model"):
        masks.line_of("mlp", 2, 60, 1)


def test_too_few_rows_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["masks", "--rows", "100"]) == 2
    assert "need at least 10 rows for each party, got 100 for 50" in capsys.readouterr().err


def test_a_search_in_sums_is_counted_beside_one_with_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["masks", "--searches", "--families", "svm", "--parties", "3", "--rows", "150"]) == 0
    pairs, sums = ([cell.strip() for cell in line.split("|")] for line in capsys.readouterr().out.splitlines()[-2:])
    assert [pairs[1:4], sums[1:4]] == [["svm", "3", "pairs"], ["svm", "3", "in sums"]]
    assert pairs[8] == "0"  # no sums
    assert int(sums[8]) == 2 + 5 + 2 + 2  # keys and signatures of two steps, and their sums
    assert float(sums[9]) > float(pairs[9]) > 0  # kilobytes


def test_seconds_of_trials_come_apart_and_rows_are_for_each_party_by_default() -> None:
    usual, private = searches.costs_of("svm", 3, 150, 30)
    assert 0 < usual.trials < usual.parties
    assert 0 < private.trials < private.parties
    first = next(searches.lines(["svm"], [3], None, 30))
    assert first == f"{searches.ROWS_EACH} rows for each party, 30 columns"


def test_too_few_parties_for_sums_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["masks", "--searches", "--parties", "2"]) == 2
    assert "parties must be a whole number of at least 3, got 2" in capsys.readouterr().err
