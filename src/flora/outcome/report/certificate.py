"""The section on the certificate: what was measured, the bound, and what each of its numbers rests on."""

from collections.abc import Mapping, Sequence
from typing import Any

from flora.aggregator.certificate.measured import MeasuredGap
from flora.aggregator.certificate.record import STATUSES, TERMS, Certificate, Number
from flora.outcome.numbers import decimals, plain
from flora.outcome.report.analysis import Analysis
from flora.outcome.report.markup import Html, element, folded, section, table

BASES = {
    "trained": "trainings of both configs by all parties",
    "measured": "each party on its own rows",
}
NUMBERS = {
    "bound": "the config that is trained loses at most this much more than the best config of a finite set",
    "tried": "the same, beside those of the set that somebody tried",
    "range": "what the config may lose itself, above the lowest loss that there is: no bound above it says anything",
    "spread": "how far the tried losses lie apart; a bound above it says little",
    "beta": "how much a loss changes with the distribution of the data",
}
FORMS = {
    "paper": "the bound as the paper states it, of the surface's minimum",
    "iid": "the paper's form for parties whose data has one distribution",
}
REGRETS = {
    "measured": "the regret beside the best measured config, by the gain that is shown: 0 is the best, 1 the default",
    "bound": "the same beside the best config of the finite set, by the bound and the gain that is proved with it",
    "surface": "the paper's corollary, with the surface's lowest loss for that of a centrally tuned config",
}
PARTY_NUMBERS = {
    "w": "the party's weight",
    "W1": "the distance of its data from that of all parties",
    "W1_by_chance": "what that distance would be by chance alone",
    "noise": "the standard error of a difference between two configs",
    "loss_error": "the standard error of one loss",
    "size": "what training on all rows may change",
    "distance": "from where the bound is attained to the trial that decides there",
    "omega": "how much its loss may change over that distance",
    "L_tilde": "the Lipschitz constant of its losses, as the paper needs it",
    "L_hat": "the Lipschitz constant of its surface, as the paper needs it",
    "delta": "the largest error of its surface at its own trials, as the paper needs it",
}
HEAD = ("number", "value", "status", "meaning")


def certificate(run: Analysis) -> Html:
    """Return the bound and its terms; nothing where none were computed."""
    stated = run.result.certificate
    if stated is None:
        return Html("")
    return section(
        *("certificate", "Certificate"),
        *_sentences(stated),
        *_measured(stated.measured),
        table("The theorem's bound, and on what each number rests", HEAD, _numbers(stated), numbers=1, words=2),
        *_contributions(stated.contributions),
        *_parties(stated.parties),
        element("p", _STATUS_WORDS, class_="soft"),
    )


def _sentences(stated: Certificate) -> list[Html]:
    """Return the certificate in words; what more rows change at each party is there for who asks."""
    growth = stated.growth_words
    words = [element("p", sentence) for sentence in stated.summary if sentence not in growth]
    at_parties = [element("p", sentence) for sentence in growth]
    return [*words, folded("What the rows of all parties change at each of them", *at_parties)] if growth else words


def _rounded(values: Sequence[float | None]) -> list[str]:
    """Return a column of numbers with as many decimals as leave the middle one three digits."""
    digits = decimals(None if value is None else abs(value) for value in values) + 1
    return [plain(value, digits) for value in values]


def _measured(gaps: Sequence[MeasuredGap]) -> list[Html]:
    """Return the gaps to the best of what was measured: no theorem, and nothing assumed."""
    caption = "How much less another config loses, at most: what was measured shows it, without the theorem"
    heads = ["evidence", "configs", "at most", "sure", "gain over the default, at least"]
    most, least = _rounded([gap.value for gap in gaps]), _rounded([gap.gain for gap in gaps])
    rows = [
        [BASES[gap.basis], gap.configs, value, f"{gap.level:.0%}", gain]
        for gap, value, gain in zip(gaps, most, least, strict=True)
    ]
    return [table(caption, heads, rows, numbers=4)] if rows else []


_STATUS_WORDS = (
    "Proved: follows from what was measured, or is the theorem's own. Estimated: measured on a sample, so that the "
    "true number may differ. Assumed: nobody measured it."
)


def _numbers(stated: Certificate) -> list[list[Any]]:
    named: list[tuple[str, Number | None, str]] = [
        ("bound", stated.bound, NUMBERS["bound"]),
        ("tried", stated.tried, NUMBERS["tried"]),
        ("range", stated.range, NUMBERS["range"]),
        ("spread", stated.spread, NUMBERS["spread"]),
        ("beta", stated.beta, NUMBERS["beta"]),
    ]
    named += [(f"forms: {name}", entry, FORMS.get(name, "")) for name, entry in stated.forms.items()]
    named += [(f"regret: {name}", entry, REGRETS.get(name, "")) for name, entry in stated.regret.items()]
    values = _rounded([entry.value if entry else None for _, entry, _ in named])
    return [
        [name, value, _status(entry.status if entry else "no bound"), meaning]
        for (name, entry, meaning), value in zip(named, values, strict=True)
    ]


def _status(status: str) -> Html:
    return element("span", status, class_=f"status-{status}" if status in STATUSES else "status")


def _contributions(contributions: Mapping[str, float]) -> list[Html]:
    ranked = sorted(contributions.items(), key=lambda item: -item[1])
    values = _rounded([value for _, value in ranked])
    rows = [[name, value, TERMS.get(name, "")] for (name, _), value in zip(ranked, values, strict=True)]
    caption = "What the bound is made of, where it is attained; the parts add up to it"
    return [table(caption, ["term", "contribution", "meaning"], rows, numbers=1, words=1)] if rows else []


def _parties(parties: Mapping[str, Mapping[str, Number]]) -> list[Html]:
    if not parties:
        return []
    symbols = list(dict.fromkeys(symbol for numbers in parties.values() for symbol in numbers))
    columns = [
        _rounded([numbers[symbol].value if symbol in numbers else None for numbers in parties.values()])
        for symbol in symbols
    ]
    rows = []
    for symbol in symbols:
        found = [numbers[symbol] for numbers in parties.values() if symbol in numbers]
        values = [entry.value for entry in found]
        weakest = max((entry.status for entry in found), key=STATUSES.index)
        rows.append([symbol, *_rounded([min(values), max(values)]), _status(weakest), PARTY_NUMBERS.get(symbol, "")])
    each = [[name, *cells] for name, *cells in zip(parties, *columns, strict=True)]
    heads = ["number", "lowest", "highest", "status", "meaning"]
    return [
        table("The parties' numbers", heads, rows, numbers=2, words=2),
        folded("The numbers of each party", table("Of each party", ["party", *symbols], each, numbers=len(symbols))),
    ]
