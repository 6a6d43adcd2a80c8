"""A report of one run: one HTML page that needs no network, for the screen, the phone and paper."""

from flora.outcome.report.assembly import page

__all__ = ["page"]
