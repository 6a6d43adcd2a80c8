"""No name is lost in a narrow terminal."""

import io

import pytest
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from flora.outcome.console import show_result
from flora.outcome.narrow import whole
from tests.outcome.report.cases import MIXED, tuned

NAMES = ("max_iter", "learning_rate", "min_samples_leaf", "l2_regularization", "max_leaf_nodes", "max_features")


def printed(table: Table, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(whole(table, width))
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def candidates() -> Table:
    table = Table("", *NAMES, "gain", box=SIMPLE_HEAD)
    table.add_row("default", *["0.1234"] * 6, "+0.0000 ± 0.0000")
    table.add_row("chosen", *["2.169e-05"] * 6, "+0.0077 ± 0.0034")
    return table


@pytest.mark.parametrize("width", [120, 80, 60, 40])
def test_every_letter_is_there(width: int) -> None:
    text = printed(candidates(), width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    for word in (*NAMES, "default", "chosen", "2.169e-05"):
        assert all(text.count(letter) >= word.count(letter) for letter in word), word


def test_words_stay_whole_where_there_is_room() -> None:
    table = Table("party", "recommended", "gain", box=SIMPLE_HEAD)
    table.add_row("Klinikum Nord", "0.123 ± 0.012", "+0.010 ± 0.002")
    text = printed(table, 40)
    assert all(word in text for word in ("Klinikum", "Nord", "recommended", "0.123", "+0.010"))


def test_a_table_that_fits_is_left_alone() -> None:
    table = candidates()
    assert printed(table, 200) == printed(candidates(), 200)
    assert table.columns[1].overflow == "ellipsis"


@pytest.mark.parametrize("width", [80, 60])
def test_a_whole_result(width: int) -> None:
    result, _ = tuned(["Universitätsklinikum Süd", "north", "west"])
    console, aside = Console(file=io.StringIO(), width=width), Console(file=io.StringIO(), width=200)
    show_result(result, console, aside)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "…" not in text
    for name in (*MIXED.names, "north", "west", "recommended", "Süd"):
        assert name in text
    assert result.notes[0] not in text
    assert f"note: {result.notes[0]}" in aside.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [100, 80, 60, 40])
@pytest.mark.parametrize("names", [MIXED.names, NAMES, ("hidden_layer_sizes", "alpha", "learning_rate_init")])
def test_no_number_parts_from_its_error_and_no_value_from_itself(width: int, names: tuple[str, ...]) -> None:
    table = Table("", box=SIMPLE_HEAD, pad_edge=False)
    for name in (*names, "gain"):
        table.add_column(name, justify="right")
    for k in range(9):
        table.add_row(f"{k} (best)", *["2.169e-05"] * len(names), f"+0.05{k} ± 0.020", style="bold")
    text = printed(table, width)
    assert max(map(len, text.splitlines())) <= width
    assert text.count("2.169e-05") == 9 * len(names)
    assert all(f"+0.05{k} ± 0.020" in text for k in range(9))


def test_rows_that_do_not_fit_are_told_one_pair_after_the_other() -> None:
    text = printed(candidates(), 40)
    assert "default   max_iter 0.1234," in text
    assert "learning_rate 2.169e-05," in text


def test_the_column_gives_in_which_the_fewest_cells_break() -> None:
    table = Table("", "gain", box=SIMPLE_HEAD)
    table.add_row("1 (chosen)", "+0.059 ± 0.020")
    table.add_row("2", "+0.052 ± 0.022")
    text = printed(table, 29)
    assert all(gain in text for gain in ("+0.059 ± 0.020", "+0.052 ± 0.022"))
    assert "1 (chosen)" not in text
