"""Plain lines on standard output, with nothing in them that moves a cursor: they may quote what somebody else wrote."""

import sys


def harmless(text: str) -> str:
    """Return a text whose only controls are ends of lines and tabs."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "?" for letter in text)


def print_line(text: str) -> None:
    """Print a plain line; nothing in it is markup."""
    sys.stdout.write(f"{harmless(text)}\n")
    sys.stdout.flush()
