"""How commands print: the answer on standard output, all else on standard error."""

from rich.console import Console

from flora.cli.plain import harmless

messages = Console(stderr=True)


def note(text: str) -> None:
    """Tell the person something beside the result."""
    messages.print(harmless(text), markup=False, highlight=False, soft_wrap=True)
