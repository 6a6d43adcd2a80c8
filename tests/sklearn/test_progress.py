"""How far a search is, in lines and in a notebook."""

import pytest

from flora.sklearn.progress import Lines, NotebookProgress, in_notebook, progress_of


def test_lines_are_as_many_as_verbose_wants(capsys: pytest.CaptureFixture[str]) -> None:
    for verbose, lines in ((0, 0), (1, 1), (2, 2)):
        told = progress_of(verbose)
        assert told == Lines(verbose)  # a test is no notebook
        told.report("north", 1, 2)
        told.report("north", 2, 2)
        assert capsys.readouterr().out.count("[FloraSearchCV] north: ") == lines


def test_a_notebook_has_one_table_with_a_bar_for_each_party() -> None:
    shown: list[str] = []
    told = NotebookProgress(shown.append)
    told.report("<b>north</b>", 1, 8)
    told.report("south", 3, 8)
    told.say("refit on <all> rows")
    assert not in_notebook()
    assert len(shown) == 3
    assert shown[-1].count("<progress") == 2
    assert "&lt;b&gt;north&lt;/b&gt;" in shown[-1]
    assert "3 of 8 trials" in shown[-1]
    assert "refit on &lt;all&gt; rows" in shown[-1]
