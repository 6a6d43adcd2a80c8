"""The numbers that the paper prints, as data. Accuracies are in percent, regrets relative: 0 is best, 1 the default."""

from typing import NamedTuple

from flora_lab.statistics import Summary

SURFACES = ("sgm", "sgm+u", "mplm", "aplm")


class PrintedRow(NamedTuple):
    """One row of the tables "HGB", "SVM" and "MLP-Adam": three parties."""

    baseline: float
    best: float
    gap: float
    worst_party: float  # PMin
    best_party: float  # PMax
    gamma: float
    regrets: tuple[float, float, float, float]  # in the order of SURFACES


COMPARISON: dict[str, dict[str, PrintedRow]] = {
    "hgb": {
        "pc3": PrintedRow(58.99, 63.81, 4.82, 61.67, 64.37, 1.04, (0.66, 0.72, 0.39, 0.38)),
        "pollen": PrintedRow(48.86, 52.21, 3.35, 51.83, 52.64, 1.02, (0.43, 0.54, 0.43, 0.69)),
        "electricity": PrintedRow(87.75, 92.84, 5.10, 88.42, 89.19, 1.01, (0.17, 0.14, 0.09, 0.12)),
        "sonar": PrintedRow(87.43, 91.25, 3.82, 83.75, 88.33, 1.05, (1.33, 0.41, 0.92, 0.71)),
        "heart-statlog": PrintedRow(79.42, 85.58, 6.17, 78.00, 86.50, 1.11, (0.69, 0.55, 0.89, 0.50)),
        "oil-spill": PrintedRow(63.22, 74.58, 11.36, 68.16, 82.16, 1.21, (0.47, 1.13, 0.46, 0.61)),
        "eeg-eye-state": PrintedRow(89.96, 94.66, 4.70, 91.80, 92.29, 1.01, (0.14, 0.12, 0.11, 0.12)),
    },
    "svm": {
        "pollen": PrintedRow(49.48, 50.30, 0.82, 51.55, 53.55, 1.04, (1.35, 1.45, 2.84, 2.30)),
        "sonar": PrintedRow(80.20, 89.29, 9.09, 83.33, 87.92, 1.06, (0.17, 0.17, 0.27, 0.17)),
        "heart-statlog": PrintedRow(83.67, 84.92, 1.25, 77.00, 88.00, 1.14, (0.00, 0.00, 6.80, 0.67)),
        "oil-spill": PrintedRow(82.76, 86.54, 3.78, 77.14, 88.45, 1.15, (1.28, 1.16, 1.12, 0.41)),
        "eeg-eye-state": PrintedRow(50.24, 60.51, 10.28, 69.54, 71.72, 1.03, (-0.01, -0.01, -0.02, -0.01)),
        "pc3": PrintedRow(74.03, 77.96, 3.92, 75.26, 76.95, 1.02, (0.59, 0.79, 0.70, 0.79)),
    },
    "mlp": {
        "pollen": PrintedRow(50.39, 51.26, 0.87, 51.46, 52.23, 1.02, (1.88, 1.45, 1.45, 1.31)),
        "electricity": PrintedRow(76.95, 78.06, 1.11, 77.01, 77.39, 1.00, (0.24, 0.41, 0.16, 0.53)),
        "sonar": PrintedRow(61.63, 79.32, 17.69, 69.17, 78.75, 1.14, (0.26, 0.55, 0.52, 0.39)),
        "heart-statlog": PrintedRow(72.17, 85.17, 13.00, 79.50, 89.50, 1.13, (0.46, 0.37, 0.42, 0.28)),
        "oil-spill": PrintedRow(50.00, 65.22, 15.22, 54.83, 63.63, 1.16, (0.80, 1.03, 1.00, 0.79)),
        "eeg-eye-state": PrintedRow(49.99, 51.66, 1.67, 50.02, 51.84, 1.04, (0.99, 0.99, 0.99, 0.99)),
        "pc3": PrintedRow(50.00, 59.56, 9.56, 53.47, 56.60, 1.06, (0.96, 1.00, 0.89, 0.90)),
    },
}


AGGREGATE: dict[str, dict[str, Summary]] = {
    "hgb": {
        "sgm": Summary(0.56, 0.37, (0.30, 0.47, 0.68), (6, 0, 1), (26, 0.02126)),
        "sgm+u": Summary(0.52, 0.32, (0.27, 0.54, 0.64), (6, 0, 1), (27, 0.01400)),
        "mplm": Summary(0.47, 0.31, (0.25, 0.43, 0.67), (7, 0, 0), (28, 0.00898)),
        "aplm": Summary(0.45, 0.23, (0.25, 0.50, 0.65), (7, 0, 0), (28, 0.00898)),
    },
    "svm": {
        "sgm": Summary(0.56, 0.57, (0.04, 0.38, 1.11), (4, 0, 2), (18, 0.05793)),
        "sgm+u": Summary(0.59, 0.58, (0.04, 0.48, 1.07), (4, 0, 2), (17, 0.08648)),
        "mplm": Summary(1.95, 2.35, (0.38, 0.91, 2.41), (3, 0, 3), (9, 0.62342)),
        "aplm": Summary(0.72, 0.76, (0.23, 0.54, 0.76), (5, 0, 1), (15, 0.17272)),
    },
    "mlp": {
        "sgm": Summary(0.80, 0.53, (0.36, 0.80, 0.97), (6, 0, 1), (21, 0.11836)),
        "sgm+u": Summary(0.83, 0.37, (0.48, 0.99, 1.01), (4, 1, 2), (15, 0.17272)),
        "mplm": Summary(0.78, 0.40, (0.47, 0.89, 1.00), (5, 1, 1), (18, 0.05793)),
        "aplm": Summary(0.74, 0.34, (0.46, 0.79, 0.95), (6, 0, 1), (24, 0.04548)),
    },
    "overall": {
        "sgm": Summary(0.64, 0.51, (0.22, 0.53, 0.97), (16, 0, 4), (174, 0.00499)),
        "sgm+u": Summary(0.64, 0.51, (0.32, 0.55, 1.01), (14, 1, 5), (164, 0.00272)),
        "mplm": Summary(1.02, 1.46, (0.36, 0.61, 0.99), (15, 1, 4), (141, 0.03206)),
        "aplm": Summary(0.63, 0.50, (0.36, 0.57, 0.79), (18, 0, 2), (183.5, 0.00169)),
    },
}

# The other tables: gamma_p, and the regrets in the order of SURFACES.
Printed = tuple[float, tuple[float, float, float, float]]

PARTIES: dict[tuple[str, int], Printed] = {  # (dataset, p), HGB
    ("eeg-eye-state", 3): (1.01, (0.14, 0.12, 0.11, 0.12)),
    ("eeg-eye-state", 6): (1.01, (0.07, 0.00, 0.07, 0.09)),
    ("eeg-eye-state", 10): (1.03, (0.08, 0.00, 0.16, 0.01)),
    ("eeg-eye-state", 25): (1.08, (0.35, 0.92, 0.17, 0.04)),
    ("eeg-eye-state", 50): (1.20, (0.20, 0.23, 0.67, 0.12)),
    ("electricity", 3): (1.01, (0.17, 0.14, 0.09, 0.12)),
    ("electricity", 6): (1.01, (0.25, 0.21, 0.18, 0.13)),
    ("electricity", 10): (1.02, (0.03, 0.06, 0.32, 0.14)),
    ("electricity", 25): (1.04, (0.40, 0.42, 1.42, 0.89)),
    ("electricity", 50): (1.07, (1.57, 1.57, 0.89, 1.13)),
    ("electricity", 100): (1.14, (1.45, 1.47, 0.48, 1.11)),
    ("pollen", 3): (1.02, (0.43, 0.54, 0.43, 0.69)),
    ("pollen", 6): (1.10, (1.02, 0.91, 0.54, 0.56)),
    ("pollen", 10): (1.16, (1.05, 0.73, 0.75, 1.12)),
}

ROUNDS: dict[tuple[str, str, int], Printed] = {  # (family, dataset, T)
    ("mlp", "heart-statlog", 5): (1.13, (0.58, 0.33, 0.22, 0.56)),
    ("mlp", "heart-statlog", 10): (1.13, (0.33, 0.16, 0.60, 0.39)),
    ("mlp", "heart-statlog", 20): (1.13, (0.49, 0.15, 0.24, 0.44)),
    ("mlp", "heart-statlog", 40): (1.13, (0.44, 0.30, 0.42, 0.29)),
    ("mlp", "heart-statlog", 60): (1.13, (0.37, 0.15, 0.33, 0.22)),
    ("mlp", "heart-statlog", 80): (1.13, (0.35, 0.40, 0.35, 0.26)),
    ("mlp", "sonar", 5): (1.14, (0.38, 0.38, 0.51, 0.78)),
    ("mlp", "sonar", 10): (1.14, (0.45, 0.23, 0.43, 0.62)),
    ("mlp", "sonar", 20): (1.14, (0.39, 0.24, 0.36, 0.30)),
    ("mlp", "sonar", 40): (1.14, (0.23, 0.37, 0.65, 0.49)),
    ("mlp", "sonar", 60): (1.14, (0.53, 0.14, 0.34, 0.48)),
    ("mlp", "sonar", 80): (1.14, (0.46, 0.07, 0.19, 0.30)),
    ("svm", "sonar", 5): (1.06, (0.17, 0.17, 1.16, 0.28)),
    ("svm", "sonar", 10): (1.06, (0.17, 0.43, 0.34, 0.27)),
    ("svm", "sonar", 20): (1.06, (0.17, 0.17, 0.17, 0.17)),
    ("svm", "sonar", 40): (1.06, (0.17, 0.17, 0.22, 0.27)),
    ("svm", "sonar", 60): (1.06, (0.17, 0.17, 0.17, 0.17)),
    ("svm", "sonar", 80): (1.06, (0.17, 0.11, 0.27, 0.17)),
    ("svm", "eeg-eye-state", 5): (1.03, (-0.01, -0.01, 0.92, 0.16)),
    ("svm", "eeg-eye-state", 10): (1.03, (-0.01, -0.01, -0.01, 0.14)),
    ("svm", "eeg-eye-state", 20): (1.03, (-0.01, -0.01, -0.00, -0.00)),
    ("svm", "eeg-eye-state", 40): (1.03, (-0.02, -0.02, 0.01, 0.00)),
    ("svm", "eeg-eye-state", 60): (1.03, (-0.01, -0.01, 0.02, 0.03)),
    ("svm", "eeg-eye-state", 80): (1.03, (-0.01, -0.01, 0.01, -0.0)),
}

COMMUNICATION: dict[tuple[str, str, int], Printed] = {  # (family, dataset, T') of T = 100
    ("mlp", "heart-statlog", 5): (1.13, (0.33, 0.27, 0.38, 0.71)),
    ("mlp", "heart-statlog", 10): (1.13, (0.35, 0.31, 0.33, 1.72)),
    ("mlp", "heart-statlog", 20): (1.13, (0.42, 0.39, 2.02, 0.55)),
    ("mlp", "heart-statlog", 40): (1.13, (0.34, 0.44, 0.88, 0.51)),
    ("mlp", "heart-statlog", 60): (1.13, (0.38, 0.22, 0.31, 0.32)),
    ("mlp", "heart-statlog", 80): (1.13, (0.34, 0.38, 0.22, 0.33)),
    ("mlp", "sonar", 5): (1.14, (0.39, 0.50, 1.78, 0.65)),
    ("mlp", "sonar", 10): (1.14, (0.73, 0.18, 1.66, 0.58)),
    ("mlp", "sonar", 20): (1.14, (0.20, 0.41, 1.23, 0.37)),
    ("mlp", "sonar", 40): (1.14, (0.60, 0.42, 0.18, 0.51)),
    ("mlp", "sonar", 60): (1.14, (0.10, 0.33, 0.55, 0.26)),
    ("mlp", "sonar", 80): (1.14, (0.47, 0.41, 0.34, 0.32)),
    ("svm", "eeg-eye-state", 5): (1.03, (-0.02, -0.01, 0.39, 1.02)),
    ("svm", "eeg-eye-state", 10): (1.03, (-0.01, -0.01, 1.02, 1.02)),
    ("svm", "eeg-eye-state", 20): (1.03, (-0.01, -0.01, 0.01, -0.01)),
    ("svm", "eeg-eye-state", 40): (1.03, (-0.01, -0.01, -0.00, -0.01)),
    ("svm", "eeg-eye-state", 60): (1.03, (-0.01, -0.01, -0.01, -0.01)),
    ("svm", "eeg-eye-state", 80): (1.03, (-0.01, -0.01, -0.01, -0.01)),
    ("svm", "sonar", 5): (1.06, (0.17, 0.17, 0.43, 1.43)),
    ("svm", "sonar", 10): (1.06, (0.17, 0.17, 0.17, 0.17)),
    ("svm", "sonar", 20): (1.06, (0.17, 0.17, 0.22, 0.17)),
    ("svm", "sonar", 40): (1.06, (0.17, 0.38, 0.27, 0.17)),
    ("svm", "sonar", 60): (1.06, (0.17, 0.43, 0.27, 0.17)),
    ("svm", "sonar", 80): (1.06, (0.17, 0.43, 0.27, 0.17)),
}


class Testbed(NamedTuple):
    """One row of the table of real federated trainings of HGB: balanced accuracy on rows that nobody trained on."""

    parties: int
    rows: int  # of each party
    held_out: float  # share of all rows
    baseline: float
    scores: tuple[float, float, float, float]  # in the order of SURFACES

    @property
    def split(self) -> str:
        """How rows are dealt out, as the name of a split."""
        return f"n{self.rows}-h{100 * self.held_out:g}"


TESTBED: dict[str, Testbed] = {
    "oil-spill": Testbed(3, 200, 0.4, 58.95, (73.74, 59.09, 70.61, 73.32)),
    "eeg-eye-state": Testbed(3, 3000, 0.2, 88.64, (91.53, 92.11, 92.51, 92.45)),
    "electricity": Testbed(6, 4000, 0.4, 84.48, (85.62, 86.27, 86.21, 86.24)),
}
