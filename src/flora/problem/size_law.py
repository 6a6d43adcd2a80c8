r"""How much more the rows of all parties take than those of one: :math:`p^{0.4}` times, with p parties.

Of trees, of the C of a support vector machine, and of rounds without a gain before federated averaging ends.
"""

GROWTH = 0.4  # with the number of rows, on a log scale
MANY = 5  # parties: from here on they are much smaller than all together, and tell errors and outliers themselves
MOST = 10.0  # times, however many the parties are: what a party lets itself be asked for


def further(parties: int) -> float:
    """Return how many times further all parties' rows get than those of one."""
    return min(float(parties**GROWTH), MOST)


def times_more(parties: int) -> float:
    """Return how many times more of an HP all parties' rows take than what one measured: few parties as much."""
    return further(parties) if parties >= MANY else 1.0
