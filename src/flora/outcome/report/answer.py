"""The first screen: use it or not, how good the model is, who gains, what left, and what to do next."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flora.models import FAMILIES
from flora.outcome.explain import (
    edge_words,
    gain_words,
    grade_words,
    private_words,
    same_as_default,
    settle_words,
    trained_words,
)
from flora.outcome.numbers import (
    bytes_words,
    counted,
    decimals,
    listed,
    number,
    signed,
    with_error,
)
from flora.outcome.report.confirmation import basis
from flora.outcome.report.glossary import term
from flora.outcome.report.markup import Html, element, section, table
from flora.outcome.report.plot import Extent, share, strip
from flora.outcome.report.scores import Score, scores
from flora.program.result import Result

if TYPE_CHECKING:
    from flora.outcome.evaluation import Evaluation

GRADES = {"shown": 3, "likely": 2, "not shown": 1}  # dots of three
COMMANDS = {
    "predict": "flora predict RUN new.csv",
    "evaluate": "flora evaluate RUN new.csv",
    "propose": "flora aggregate trials-*.json --propose 8",
}


def answer(result: Result, size: int = 0, tested: "Evaluation | None" = None) -> Html:
    """Return the four questions of who must approve, with their answers, and what to do next.

    Args:
        result: The run's.
        size: The bytes of the trials that left the parties.
        tested: What came of the model on rows that no party had.
    """
    cards = [_verdict(result), _model(result, tested), _gainers(result), _left(result, size)]
    return section(
        *("answer", "The answer"),
        element("div", *(card for card in cards if card), class_="cards4"),
        *_next(result),
        _configs(result),
        *_notes(result),
    )


def kind_of(result: Result) -> str:
    """Return the class of the verdict's card: green is what is shown to gain, and nothing else."""
    if result.verdict == "use":
        return "shown" if result.grade == "shown" else "likely"
    return "keep" if result.verdict else "unknown"


def _card(title: str, *children: object, kind: str = "") -> Html:
    return element("div", element("h3", title), *children, class_=f"card {kind}".strip())


def _verdict(result: Result) -> Html:
    words = {
        "use": "Use the recommended hyper-parameters.",
        "keep-defaults": "Keep the defaults.",
        None: "Try the recommended hyper-parameters; there is no default to compare them with.",
    }[result.verdict]
    reasons = [gain_words(result), grade_words(result), *([] if result.measured else [basis(result)])]
    said = [element("p", reason) for reason in reasons if reason]
    return _card("Use it or not?", element("p", words, class_="verdict"), *_grade(result), *said, kind=kind_of(result))


def _grade(result: Result) -> list[Html]:
    """Return how sure the verdict is: one, two or three dots of three."""
    if result.grade is None or result.verdict is None or same_as_default(result):
        return []
    count = GRADES[result.grade]
    gain = result.verdict == "use" or result.grade == "not shown"
    words = f"the gain is {result.grade}" if gain else f"{result.grade} that there is no gain"
    dots = element("span", "●" * count + "○" * (3 - count), class_="dots", aria_hidden="true")
    return [element("p", dots, f" How sure: {words}", class_="grade")]


def _model(result: Result, tested: "Evaluation | None") -> Html:
    """Return the model's score beside the default's and beside those that the parties reach alone."""
    found = scores(result, tested)
    if not found:
        return Html("")
    digits = decimals(score.error for score in found)
    scale = Extent.over([end for score in found for end in score.ends])
    rows = [[score.name, _score_strip(score, scale), with_error(score.value, score.error, digits)] for score in found]
    caption = f"{result.scored}: higher is better; the line is one standard error, small ticks are single parties"
    words = [found[0].words, *(score.words for score in found[1:] if score.words and score.words != found[0].words)]
    body = table(caption, ["", "", "score"], rows, numbers=1, kind="few strips")
    return _card("How good is the model?", body, element("p", " ".join(filter(None, words)), class_="soft"))


def _score_strip(score: Score, scale: Extent) -> Html:
    error = score.error or 0.0
    line = element(
        "line", x1=share(scale.place(score.value - error)), x2=share(scale.place(score.value + error)), y1=11, y2=11,
        class_="error",
    )  # fmt: skip
    ticks = [
        element("line", x1=share(scale.place(x)), x2=share(scale.place(x)), y1=6, y2=16, class_="single")
        for x in score.single
    ]
    dot = element("use", href="#m0", x=share(scale.place(score.value)), y=11, class_=f"dot {score.kind}")
    return strip(line, *ticks, dot)


def _gainers(result: Result) -> Html:
    """Return who gains by its own measurement, who sees no difference, and who loses."""
    known = [(party, party.measured) for party in result.parties if party.measured]
    if result.private:
        words = f"{private_words(result)[0].upper()}{private_words(result)[1:]}"
        return _card("Who gains and who does not?", element("p", words))
    if not known:
        return Html("")
    if same_as_default(result):
        return _card("Who gains?", element("p", "Nobody: the recommendation is the default."))
    groups = {
        "gains": [party.name for party, seen in known if seen.gain > seen.gain_error],
        "no difference beyond its error": [p.name for p, seen in known if abs(seen.gain) <= seen.gain_error],
        "loses": [party.name for party, seen in known if seen.gain < -seen.gain_error],
    }
    rows = [[words, f"{len(names)} of {len(known)}", listed(names, 3)] for words, names in groups.items() if names]
    caption = "Parties by what each measured on its own rows, with a model of its own"
    odd = [party.name for party, seen in known if seen.disagrees]
    far = [element("p", f"Further from the others than chance would have it: {listed(odd)}.")] if odd else []
    return _card(
        *("Who gains and who does not?", _all_gains(result), table(caption, ["", "parties", ""], rows)),
        *far,
        element("p", element("a", "Each party's gain", href="#parties"), class_="soft"),
    )


def _all_gains(result: Result) -> Html:
    """Return the parties' gains as marks on one line, where nothing gained is the line across."""
    gains = [party.measured.gain for party in result.parties if party.measured]
    scale = Extent.over([0.0, *gains], 0.1)
    digits = decimals(party.measured.gain_error for party in result.parties if party.measured)
    ticks = [
        element(
            "use", href="#m0", x=share(scale.place(party.measured.gain)), y=11, class_="dot",
            data_tip=f"{party.name}: {signed(party.measured.gain, digits)}",
        )
        for party in result.parties
        if party.measured
    ]  # fmt: skip
    zero = share(scale.place(0.0))
    line = element("line", x1=zero, x2=zero, y1=0, y2=22, class_="zero")
    low, high = signed(min(gains), digits), signed(max(gains), digits)
    ends = element("p", f"from {low} to {high} in {result.scored}; the upright line is no gain", class_="soft")
    return element("div", strip(line, *ticks), ends, class_="spread")


def _left(result: Result, size: int) -> Html:
    """Return what left the parties, in a few lines."""
    fits = sum(entry.trials for entry in result.parties)
    items = [f"Hyper-parameters with their losses: {counted(fits, 'trial')}, {bytes_words(size)} in all."]
    if result.private:
        noise = f", under noise (epsilon {result.private.ledger.epsilon:g})" if result.private.ledger else ""
        points = f"{result.private.points:,} points{noise}"
        items = [f"Sums over all parties: of their surfaces at {points}. No pair left a party."]
    if result.schema is not None:
        lists = " and the lists of their categories" if any(c.categories for c in result.schema.columns) else ""
        items.append(f"The names and kinds of {counted(len(result.schema.columns), 'column')}{lists}.")
    if result.candidates:
        what = "Sums over all parties: of their gains at" if result.private else "Losses of"
        items.append(f"{what} {counted(len(result.candidates), 'config')} that all parties measured again.")
    if result.certificate:
        items.append("Sketches of the data, for the certificate: averages of at least ten rows.")
    if result.model:
        own = result.family in FAMILIES
        what = "sums over all parties" if own else "each party's own model"
        items.append(f"In {counted(max(len(result.trainings), 1), 'training')}: {what}.")
    return _card(
        "What left the parties?",
        element("p", element("strong", "No rows and no predictions.")),
        element("ul", *(element("li", item) for item in items)),
        element("p", element("a", "Field by field", href="#disclosure"), class_="soft"),
    )


def _next(result: Result) -> list[Html]:
    """Return what to do next, the most urgent first."""
    steps: list[Sequence[object]] = []
    if settle := settle_words(result):
        steps.append([f"Before you rely on it: {settle[0].lower()}{settle[1:]}"])
    if result.verdict is not None and not result.measured:
        steps.append(["Let all parties measure the best configs: ", element("code", COMMANDS["propose"]), "."])
    if odd := [party.name for party in result.parties if party.measured and party.measured.disagrees]:
        steps.append([f"Ask the administrator of {listed(odd)} what is different there."])
    if result.missing:
        steps.append([f"Ask why {listed(result.missing)} took no part."])
    if result.model:
        steps.append([f"{trained_words(result)} Score it on rows that nobody has used: ", _code("evaluate")])
        steps.append(["Use it on new rows: ", _code("predict")])
    else:
        use = "these hyper-parameters" if result.verdict != "keep-defaults" else "the defaults"
        steps.append([f"No federated model was trained in this run: train one with {use}."])
    if edge := edge_words(result):
        before, option, after = edge.partition("--space")
        steps.append([f"Look at the space: {before}", element("code", option, class_="option"), f"{after}."])
    items = [element("li", *step) for step in steps]
    where = [element("p", "RUN is the folder of this report.", class_="soft")] if result.model else []
    return [element("div", element("h3", "What to do next"), element("ol", *items), *where, class_="next")]


def _code(name: str) -> Html:
    return element("code", COMMANDS[name])


def _configs(result: Result) -> Html:
    """Return the two configs; bold is what is to be used, and nothing else."""
    default, used = result.default, result.trained_config
    keep = result.verdict == "keep-defaults"
    heads = ["default" + " (keep these)" * keep] if default else []
    heads.append("recommended" + " (use these)" * (result.verdict == "use"))
    heads += ["trained with"] if used and used not in (default, result.config) else []
    rows = []
    for name, value in result.config.items():
        cells = [_bold(number(default[name]), keep)] if default else []
        cells.append(_bold(number(value), result.verdict == "use"))
        cells += [number(used[name])] if used and len(heads) > len(cells) else []
        rows.append([name, *cells])
    head = term("hyper-parameter", "hyper-parameter")
    return table("Hyper-parameters", [head, *heads], rows, numbers=len(heads))


def _bold(text: str, bold: bool) -> Html | str:
    return element("strong", text) if bold else text


def _notes(result: Result) -> list[Html]:
    if not result.notes:
        return []
    return [element("h3", "Worth knowing"), element("ul", *(element("li", note) for note in result.notes))]
