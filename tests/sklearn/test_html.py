"""A search in a notebook."""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from flora import FloraSearchCV


def test_a_notebook_shows_the_answer_above_the_diagram() -> None:
    X, y = load_iris(return_X_y=True)
    search = FloraSearchCV(
        DecisionTreeClassifier(max_depth=1),
        {"max_depth": [None, 1, 3]},
        n_trials=3,
        cv=2,
        confirm=1,
        regressor="gp",
        random_state=0,
    )
    assert "<table>" not in search._repr_html_().partition("sk-top-container")[0]
    search.fit(X, y, groups=np.resize(["<b>north</b>", "south"], len(y)))
    shown = search._repr_mimebundle_()["text/html"]
    top = shown.partition("sk-")[0]
    assert search._repr_html_().startswith(top)
    assert "Use the recommendation" in top
    assert "&lt;b&gt;north&lt;/b&gt;" in top
    assert "a refit on the pooled rows of 2 parties" in top
    assert f"<td>max_depth</td><td>1</td><td>{search.best_params_['max_depth']}</td>" in top
    assert "sk-container" in shown
