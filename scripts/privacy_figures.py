"""Print what maintained libraries say a rho is worth as epsilon: the figures of tests/problem/test_privacy.py.

They are no dependency of FLoRA: dp-accounting 0.6.0 wants an attrs that others here do not, and OpenDP is 47 MB for one
formula that each party needs. So this runs in an environment of its own:

    python -m venv figures && figures/bin/pip install opendp==0.16.0 dp-accounting==0.6.0
    figures/bin/python scripts/privacy_figures.py
"""

from importlib import import_module
from itertools import product
from typing import Any

RHOS, DELTAS = (0.001, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0), (1e-5, 1e-2)
ORDERS = [*(1 + k / 1000 for k in range(1, 1000)), *(2 + k / 10 for k in range(2000)), *range(202, 4000, 4)]


def main() -> None:
    """Print a line for each rho and delta: OpenDP, dp-accounting by Renyi orders, and exact for one Gaussian."""
    opendp, accounting = import_module("opendp.prelude"), import_module("dp_accounting")
    renyi = import_module("dp_accounting.rdp.rdp_privacy_accountant")
    exact = import_module("dp_accounting.pld.pld_privacy_accountant")
    opendp.enable_features("contrib")
    for rho, delta in product(RHOS, DELTAS):
        scale = (1 / (2 * rho)) ** 0.5
        space = opendp.atom_domain(T=float, nan=False), opendp.absolute_distance(T=float)
        curve = opendp.c.make_zCDP_to_approxDP(opendp.m.make_gaussian(*space, scale=scale)).map(1.0)
        event = accounting.GaussianDpEvent(scale)
        others = [_spent(one, event, delta) for one in (renyi.RdpAccountant(orders=ORDERS), exact.PLDAccountant())]
        print(rho, delta, curve.epsilon(delta), *others)  # noqa: T201


def _spent(accountant: Any, event: Any, delta: float) -> float:
    accountant.compose(event)
    return float(accountant.get_epsilon(delta))


if __name__ == "__main__":
    main()
