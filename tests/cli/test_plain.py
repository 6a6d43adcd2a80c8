from pathlib import Path

import pytest

from flora.cli.main import main
from flora.cli.plain import harmless, print_line
from flora.cli.printing import note


def test_a_line_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    for say in (print_line, note):
        say("a\x1b[2Jb\x07\r\x9b1m\u202eé\tc\nd [bold]e")
    printed = capsys.readouterr()
    assert printed.out == "a?[2Jb???1m?é\tc\nd [bold]e\n"
    assert "\x1b" not in printed.err
    assert "\u202e" not in printed.err


def test_what_can_be_printed_stays() -> None:
    assert harmless("Größe ≤ 3: 你好 – 'x'\n\t1") == "Größe ≤ 3: 你好 – 'x'\n\t1"


def test_a_table_of_somebody_else_moves_no_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sides, kinds = ("right", "le\x1b[2Jft"), ("down", "u\x1b]0;x\x07p")
    rows = [f"{k % 7},{sides[k % 3 > 0]},{kinds[k % 2]}" for k in range(90)]
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("\n".join(["x\x1b[31m,side,kind\x9b", *rows]), "utf-8")
    tables = [str(tmp_path / f"{name}.csv") for name in ("a", "b")]
    options = ["--target", "kind\x9b", "--trials", "3", "--model", "svm", "--out", str(tmp_path / "out")]
    main(["tune", *tables, *options])
    main(["schema", tables[0], "--target", "kind\x9b", "--out", str(tmp_path / "schema.json")])
    main(["report", str(tmp_path / "out")])
    printed = capsys.readouterr()
    assert not {"\x1b", "\x9b", "\x07"} & set(printed.out + printed.err)
