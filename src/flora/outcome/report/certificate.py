"""The section on the certificate: the bound, each of its numbers with what it rests on, and what adds most to it."""

from collections.abc import Mapping
from typing import Any

from flora.aggregator.certificate.record import TERMS
from flora.outcome.report.analysis import Analysis
from flora.outcome.report.markup import NONE, Html, element, folded, number, section, table

STATUSES = ("proved", "estimated", "assumed")  # from the strongest to the weakest
NUMBERS = {
    "bound": "the recommendation loses at most this much more than the best config of a finite set",
    "spread": "how far the tried losses lie apart; a bound above it says nothing",
    "beta": "how much a loss changes with the distribution of the data",
}
FORMS = {
    "paper": "the bound as the paper states it, which takes more rows to change nothing",
    "iid": "the paper's form for parties whose data has one distribution",
    "lipschitz": "our bound, by Lipschitz constants",
    "modulus": "our bound, by moduli of continuity",
}
REGRETS = {
    "paper": "the bound on the relative regret as the paper states it: 0 is the best config, 1 the default",
    "ours": "the same with losses of the surface not taken for true ones",
}
PARTY_NUMBERS = {
    "w": "the party's weight",
    "W1": "the distance of its data from that of all parties",
    "W1_by_chance": "what that distance would be by chance alone",
    "alpha": "its weight in the surface where the bound is attained",
    "L_tilde": "the Lipschitz constant of its losses",
    "L_hat": "the Lipschitz constant of its surface",
    "A_tilde": "the slope of the line above the modulus of its losses",
    "B_tilde": "that line at distance 0",
    "A_hat": "the slope of the line above the modulus of its surface",
    "B_hat": "that line at distance 0",
    "distance": "from where the bound is attained to its nearest trial",
    "delta": "the largest error of its surface at its own trials",
    "size": "what training on all rows may change",
}
HEAD = ("number", "value", "status", "meaning")


def certificate(run: Analysis) -> Html:
    """Return the bound and its terms, where they were computed."""
    stated = run.result.certificate
    if not isinstance(stated, Mapping):
        return section("certificate", "Certificate", element("p", "None was computed in this run."))
    return section(
        *("certificate", "Certificate"),
        *(element("p", sentence) for sentence in stated.get("summary", [])),
        table("The bound, and on what each number rests", HEAD, _numbers(stated)),
        *_contributions(stated.get("contributions") or {}),
        *_parties(stated.get("parties") or {}),
        element("p", _STATUS_WORDS, class_="soft"),
    )


_STATUS_WORDS = (
    "Proved: follows from what was measured, or is the theorem's own. Estimated: measured on a sample, so that the "
    "true number may differ. Assumed: nobody measured it."
)


def _numbers(stated: Mapping[str, Any]) -> list[list[Any]]:
    named = [(name, stated.get(name), meaning) for name, meaning in NUMBERS.items()]
    for group, meanings in (("forms", FORMS), ("regret", REGRETS)):
        found = stated.get(group) or {}
        named += [(f"{group}: {name}", entry, meanings.get(name, "")) for name, entry in found.items()]
    return [[name, *_value_and_status(entry), meaning] for name, entry, meaning in named]


def _value_and_status(entry: Any) -> list[Any]:
    if not isinstance(entry, Mapping):
        return [NONE, "no bound"]
    return [number(entry.get("value")), _status(entry.get("status"))]


def _weakness(status: Any) -> int:
    return STATUSES.index(status) if status in STATUSES else len(STATUSES)


def _status(status: Any) -> Html:
    kind = f"status-{status}" if status in STATUSES else "status"
    return element("span", status, class_=kind)


def _contributions(contributions: Mapping[str, Any]) -> list[Html]:
    ranked = sorted(contributions.items(), key=lambda item: -item[1])
    rows = [[name, number(value), TERMS.get(name, "")] for name, value in ranked]
    caption = "What the bound is made of, where it is attained; the parts add up to it"
    return [table(caption, ["term", "contribution", "meaning"], rows)] if rows else []


def _parties(parties: Mapping[str, Mapping[str, Any]]) -> list[Html]:
    if not parties:
        return []
    symbols = list(dict.fromkeys(symbol for numbers in parties.values() for symbol in numbers))
    rows = []
    for symbol in symbols:
        found = [numbers[symbol] for numbers in parties.values() if symbol in numbers]
        values = [entry["value"] for entry in found]
        weakest = max((entry["status"] for entry in found), key=_weakness)
        span = [number(min(values)), number(max(values))]
        rows.append([symbol, *span, _status(weakest), PARTY_NUMBERS.get(symbol, "")])
    each = [
        [name, *(number((numbers.get(symbol) or {}).get("value")) for symbol in symbols)]
        for name, numbers in parties.items()
    ]
    return [
        table("The parties' numbers", ["number", "lowest", "highest", "status", "meaning"], rows),
        folded("The numbers of each party", table("Of each party", ["party", *symbols], each)),
    ]
