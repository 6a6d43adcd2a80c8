"""What a report shows of a private search: sums, and what left the parties."""

from typing import Any

from flora.outcome.explain import private_words
from flora.outcome.numbers import counted, number, with_error
from flora.outcome.report.confirmation import train_rows
from flora.outcome.report.evidence import MASKS, STEPS, schema_rows
from flora.outcome.report.markup import Html, element, section, table
from flora.program.result import Result


def sums(result: Result) -> Html:
    """Return what the sums say of the parties' surfaces."""
    found = result.private
    deviation = number(found.deviation) if found else "unknown"
    predicted = with_error(result.predicted_loss, result.predicted_loss_error, 4)
    return section(
        *("surface", "The loss surface"),
        element("p", f"{private_words(result)[0].upper()}{private_words(result)[1:]}"),
        element(
            "p",
            f"At the recommendation the mean surface predicts a loss of {predicted}. At its lowest point the parties' "
            f"surfaces have a standard deviation of {deviation}. No map is drawn: it would show a regressor of the "
            "sums, and no trial.",
        ),
    )


def cost(result: Result) -> Html:
    """Return what the run cost in time and trials."""
    steps = [[STEPS.get(step, step), f"{value:.1f}"] for step, value in result.seconds.items()]
    timing = [table("Seconds of each step, over all parties", ["step", "seconds"], steps, numbers=1)] if steps else []
    each = counted(result.parties[0].trials if result.parties else 0, "trial")
    asked = f"Each of {counted(len(result.parties), 'party', 'parties')} was asked for {each}."
    return section("cost", "Cost", element("p", asked), *timing)


def disclosure(result: Result) -> Html:
    """Return what left each party, field by field."""
    points = result.private.points if result.private else 0
    rows: list[list[Any]] = [
        *schema_rows(result.schema),
        ["search-privately", "party, rows, searched", "its name, its rows, whether these allow a search"],
        ["survey", "sums over all parties", f"of their surfaces at {points:,} points; of squares at 66 of these"],
    ]
    if result.candidates:
        words = f"of gains at {counted(len(result.candidates), 'config')}, and of squares at the best of each"
        rows.append(["confirm-privately", "sums over all parties", words])
    rows += train_rows(result)
    if result.notes:
        rows.append(["any", "notes", "the sentences under the answer"])
    names = ", ".join(party.name for party in result.parties)
    return section(
        *("disclosure", "What left each party"),
        element("p", f"The same fields left each of the {len(result.parties)} parties: {names}."),
        table("Field by field", ["step", "field", "in this run"], rows),
        element(
            "p",
            "Rows, predictions, the text of errors, and pairs of hyper-parameters and losses did not leave a party.",
            MASKS,
        ),
    )
