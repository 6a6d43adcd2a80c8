"""Our words, explained where they stand. The texts are those of docs/glossary.md, and a test holds them to it."""

from flora.outcome.report.markup import Html, element, join, section, table

MEANINGS = {
    "hyper-parameter": "a setting of a model that training does not learn, such as the learning rate.",
    "config": "one value for every HP.",
    "loss": "how far a model is from perfect: `1 - score`; lower is better.",
    "trial": "a config with the loss that a party measured for it.",
    "fold": "one of K parts of a party's rows. Each part is the test set once, and the loss is the mean over the "
    "parts.",
    "path": "the values of an HP that one fit passes through. A fit of 200 trees also scores 10 trees, 16 trees and "
    "so on.",
    "surface": "the aggregator's prediction of the federated loss at any config, learnt from all trials.",
    "slice": "the surface along one HP, while all others stay as recommended.",
    "APLM, MPLM, SGM, SGM+U": "the paper's surfaces. APLM averages one regressor for each party, and MPLM takes "
    "their maximum. SGM fits one regressor to all trials, and SGM+U adds its uncertainty. `median` is ours: the middle "
    "party.",
    "gamma_p": "the best party's best score divided by the worst party's. It is 1 where all parties reach the same "
    "score.",
    "rank correlation": "how alike two parties rank configs: 1 is the same order, 0 is no relation, -1 is the "
    "opposite order.",
    "Sobol index": "the share of a surface's variation that one HP makes, alone or together with others.",
    "candidate": "one of the few configs with low predicted losses that all parties measure again.",
    "confirmation": "the round in which all parties measure the candidates and the default, on folds no search has "
    "seen.",
    "gain": "the default's loss minus a config's loss on the same folds. It is in the scoring's own unit.",
    "standard error": "the size of a number's chance variation. A gain within one standard error may be chance.",
    "certificate": "upper bounds on the loss that a better config could still save beside the one that is trained. "
    "Each of their terms is marked as proved, estimated or assumed.",
    "mask": "random words that two parties share, and that one adds to its numbers and the other subtracts. The "
    "aggregator gets noise from each party, and the right sum from all.",
    "digest": "a fingerprint of a file: the same bytes have the same one, and other bytes another.",
}


def term(word: str, shown: str | None = None) -> Html:
    """Return a word of ours whose meaning shows when the reader points at it, or comes to it by the keyboard."""
    return element("dfn", shown or word, tabindex="0", title=MEANINGS[word].replace("`", ""), class_="term")


def words() -> Html:
    """Return all words with their meanings, for paper and for who looks one up."""
    rows = [[word, _with_code(meaning)] for word, meaning in sorted(MEANINGS.items(), key=lambda item: item[0].lower())]
    return section("words", "Words", table("Words of this page", ["word", "meaning"], rows))


def _with_code(text: str) -> Html:
    """Return a text whose parts between backticks are code."""
    return join(element("code", part) if place % 2 else part for place, part in enumerate(text.split("`")))
