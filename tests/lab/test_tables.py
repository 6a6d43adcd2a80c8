"""Tables as text."""

from typing import Any

from flora_lab.tables import markdown, middle, number, to_csv, with_quartiles


def test_markdown_has_a_head() -> None:
    assert markdown(["", "a"], [["b", "1"]]) == "|  | a |\n| --- | --- |\n| b | 1 |"


def test_csv_names_a_number_by_the_way_to_it() -> None:
    lines: list[dict[str, Any]] = [{"a": 1, "b": {"c": None, "d": [1, 2]}}, {"a": True, "e": 0.5}]
    assert to_csv(lines).splitlines() == ["a,b c,b d,e", "1,,1/2,", "True,,,0.5"]


def test_a_spread_in_words() -> None:
    assert with_quartiles({"median": 0.2, "low": 0.1, "high": 0.4}, 1) == "0.2 (0.1–0.4)"
    assert with_quartiles({"median": 0.2, "low": 0.2, "high": 0.2}, 2) == "0.20"
    assert with_quartiles(None, 1) == middle(None, 1) == number(None, 1) == "-"
    assert middle({"median": 0.25, "low": 0.1, "high": 0.4}, 2) == "0.25"
