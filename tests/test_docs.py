"""What the docs say of defaults and lengths is what the code has."""

import re
from pathlib import Path

from flora.aggregator.surface import SurfaceChoice
from flora.program.request import Request
from flora.sklearn import FloraSearchCV

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_readmes_table_of_options_has_the_requests_defaults() -> None:
    stated = dict(re.findall(r"^\| `--(\w+) (\w+)` \|", README, re.MULTILINE))
    assert stated.pop("space") == "FILE"
    assert (stated.pop("seconds"), Request.seconds) == ("S", None)
    assert (stated.pop("trainings"), Request.trainings) == ("B", None)
    assert stated == {
        "confirm": str(Request.confirm),
        "objective": Request.objective,
        "surface": SurfaceChoice.name,
    }


def test_the_estimator_has_the_requests_defaults() -> None:
    made = FloraSearchCV(None, {})
    assert (made.n_trials, made.cv, made.sampler) == (Request.trials, Request.folds, Request.sampler)
    assert (made.confirm, made.objective, made.surface) == (Request.confirm, Request.objective, SurfaceChoice.name)


def test_lines_of_docs_wrap_at_120() -> None:
    """But for tables and printed output, whose lines cannot be broken, and for the generated page."""
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        if page.name == "results.md":
            continue
        long = [line for line in page.read_text().splitlines() if len(line) > 120 and line[0] not in "| "]
        assert long == [], page


def _anchors(page: Path) -> set[str]:
    """The names under which a page's headings can be reached."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def test_every_link_leads_somewhere() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
            name, _, anchor = link.partition("#")
            if "://" in link:
                continue
            target = page.parent / name if name else page
            assert target.exists(), (page, link)
            assert not anchor or anchor in _anchors(target), (page, link)


def test_a_glossary_has_at_most_thirty_words() -> None:
    assert 20 <= len(re.findall(r"\*\*[^*]+\*\*", (ROOT / "docs" / "glossary.md").read_text())) <= 30
