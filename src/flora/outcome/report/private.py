"""What a report shows of a private search: sums, and what left the parties."""

from typing import Any

from flora.outcome.explain import private_words
from flora.outcome.numbers import counted, number, with_error
from flora.outcome.report.confirmation import train_rows
from flora.outcome.report.details import left, schema_rows, timing
from flora.outcome.report.markup import Html, element, section, table
from flora.problem.privacy import Ledger
from flora.program.result import Result
from flora.program.result_parts import PrivateResult


def sums(result: Result) -> Html:
    """Return what the sums say of the parties' surfaces."""
    found = result.private
    deviation = number(found.deviation) if found else "unknown"
    predicted = with_error(result.predicted_loss, result.predicted_loss_error, 4)
    spread = f"At its lowest point the parties' surfaces have a standard deviation of {deviation}. "
    words = f"At the recommendation the mean surface predicts a loss of {predicted}. {spread}"
    ledger = found.ledger if found else None
    if ledger:
        words = (
            f"At the recommendation the surface is at {predicted}, by which it is above its own mean over the points; "
            "each party's was cut to a norm, so real differences are larger. "
        )
    return section(
        *("surface", "The loss surface"),
        element("p", f"{private_words(result)[0].upper()}{private_words(result)[1:]}"),
        element("p", f"{words}No map is drawn: it would show a regressor of the sums, and no trial."),
        *([ledger_table(ledger)] if ledger else []),
    )


def ledger_table(ledger: Ledger) -> Html:
    """Return what the search's sum tells of a party, and on which grounds."""
    rows: list[list[Any]] = [
        ["epsilon", f"{ledger.epsilon:g}"],
        ["delta", f"{ledger.delta:g}"],
        ["rho (zero-concentrated)", number(ledger.rho)],
        ["numbers added up", f"{ledger.numbers}"],
        ["largest norm of a party's numbers", number(ledger.clip)],
        ["standard deviation of the noise, in such norms", number(ledger.multiplier)],
        ["parties that must be honest", f"{ledger.honest} of {ledger.parties}"],
        ["mechanism", ledger.mechanism],
    ]
    return table("Ledger: one party's share of the sum against none", ["", "value"], rows)


def cost(result: Result) -> Html:
    """Return what the run cost in time and trials."""
    each = counted(result.parties[0].trials if result.parties else 0, "trial")
    asked = f"Each of {counted(len(result.parties), 'party', 'parties')} was asked for {each}."
    return section("cost", "Cost", element("p", asked), *timing(result))


def _survey_words(found: PrivateResult | None) -> str:
    points = found.points if found else 0
    if found and found.ledger:
        return f"of their surfaces at {points:,} points, under noise: epsilon {found.ledger.epsilon:g} of the search"
    return f"of their surfaces at {points:,} points; of squares at 66 of these"


def disclosure(result: Result) -> Html:
    """Return what left each party, field by field."""
    rows: list[list[Any]] = [
        *schema_rows(result.schema),
        ["search-privately", "party, rows, searched", "its name, its rows, whether these allow a search"],
        ["survey", "sums over all parties", _survey_words(result.private)],
    ]
    if result.candidates:
        words = f"of gains at {counted(len(result.candidates), 'config')}, and of squares at the best of each"
        rows.append(["confirm-privately", "sums over all parties", words])
    rows += train_rows(result)
    kept = "Rows, predictions, the text of errors, and pairs of hyper-parameters and losses did not leave a party."
    return left(result, [party.name for party in result.parties], rows, kept)
