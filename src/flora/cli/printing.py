"""How commands print: the answer on standard output, all else on standard error."""

from rich.console import Console

messages = Console(stderr=True)


def print_line(text: str) -> None:
    """Print a plain line; nothing in it is markup."""
    Console().print(text, markup=False, highlight=False, soft_wrap=True)


def note(text: str) -> None:
    """Tell the person something beside the result."""
    messages.print(text, markup=False, highlight=False, soft_wrap=True)
