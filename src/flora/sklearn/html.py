"""A fitted search in a notebook: the answer as a small table, above scikit-learn's diagram."""

from collections.abc import Sequence
from html import escape
from typing import Any

WORDS = {
    "use": "Use the recommendation",
    "keep-defaults": "Keep the defaults",
}


def summary(search: Any) -> str:
    """Return what a fitted search found, as HTML; nothing in it is taken for markup."""
    gain = search.gain_
    stated = f"{gain.estimate:+.4f} ± {gain.error:.4f}"
    head = f"<b>{WORDS[search.verdict_]}.</b> Expected gain {escape(stated)} (standard error)."
    default, found = search.space_default_, search.recommended_params_
    params = [(name, _text(default[name]), _text(found[name]), _text(search.best_params_[name])) for name in found]
    return (
        f"<div>{head} {_refit(search)}</div>"
        + _table(("", "default", "recommended", "best_params_"), params)
        + _table(("party", "rows", "trials", "best score"), [_party(party) for party in search.trials_])
    )


def _refit(search: Any) -> str:
    if not hasattr(search, "best_estimator_"):
        return "Nothing was refitted."
    return f"<code>best_estimator_</code> is a refit on the pooled rows of {len(search.parties_)} parties."


def _party(party: Any) -> tuple[str, ...]:
    from flora.problem.trials import loss_of

    best = loss_of(party.scoring, party.best.loss)
    return party.party, str(party.rows), str(len(party.trials) + len(party.failed)), f"{best:.4f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
