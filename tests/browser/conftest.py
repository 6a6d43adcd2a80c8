"""A real browser for the tests of the report: Chromium, headless, driven by Playwright."""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

QUIET = (
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "browser: needs Chromium; $FLORA_BROWSER names it")


@dataclass
class Opened:
    """A page that is open, and all that it said and asked for since."""

    page: "Page"
    said: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)

    def dismiss(self, dialog: "Dialog") -> None:
        """Note a dialog, and close it."""
        self.said.append(f"dialog: {dialog.message}")
        dialog.dismiss()


Open = Callable[..., Opened]


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """Chromium, with a fresh profile. Where $FLORA_BROWSER names it, it must be there."""
    path = os.environ.get("FLORA_BROWSER") or shutil.which("chromium")
    if path is None:
        pytest.skip("there is no Chromium here: set FLORA_BROWSER")
    if not os.environ.get("FLORA_BROWSER"):
        pytest.importorskip("playwright")
    from playwright.sync_api import sync_playwright

    root = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's sandbox refuses the super-user
    with sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=path, args=[*QUIET, *root])
        yield launched
        launched.close()


@pytest.fixture
def opened(browser: "Browser") -> Iterator[Open]:
    """Open a file at a width and a colour scheme, and wait until all charts are drawn."""
    contexts: list[Any] = []

    def open_file(path: Path, width: int = 1280, scheme: str = "light") -> Opened:
        context: Any = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
        contexts.append(context)
        found = Opened(context.new_page())
        found.page.on("console", lambda message: found.said.append(f"{message.type}: {message.text}"))
        found.page.on("pageerror", lambda error: found.said.append(f"error: {error}"))
        found.page.on("dialog", found.dismiss)
        found.page.on("request", lambda request: found.requested.append(request.url))
        found.page.goto(path.as_uri())
        found.page.wait_for_selector("html[data-drawn=all]", state="attached")
        return found

    yield open_file
    for context in contexts:
        context.close()
