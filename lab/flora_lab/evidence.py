"""What a run's verdict rests on, stored without the verdict: so today's rule can be asked of runs of any day."""

from dataclasses import dataclass, replace
from typing import Self

from flora.aggregator.choose import Choice
from flora.aggregator.comparison import Comparison
from flora.aggregator.verdict import Verdict
from flora.errors import FloraError
from flora.problem.trials import Gain


@dataclass(frozen=True)
class RunEvidence:
    """The losses of a run's federated models, fold by fold, and what the parties had measured before."""

    trained: Comparison | None  # None where no federated models were compared
    measured: Gain  # of what was chosen, over the default
    chosen_from: int  # configs, by what was measured

    @classmethod
    def of(cls, choice: Choice | None, comparison: Comparison | None) -> Self:
        """Return what a run found out."""
        if choice is None:
            raise FloraError("nothing was measured: the run confirmed no candidates, or the family has no default")
        return cls(comparison, choice.chosen.gain, choice.chosen_from)

    def beside_guess(self, loss: float) -> Self:
        """Return it with the loss of the best prediction that looks at no column, where the run did not store it."""
        if self.trained is None or self.trained.guesses:
            return self
        return replace(self, trained=replace(self.trained, guesses=(loss,) * len(self.trained.default)))

    @property
    def without_trainings(self) -> Verdict:
        """What is said where the only training is the model's."""
        return Verdict(self.measured, "measured", self.chosen_from)

    def verdict(self, parties: int) -> Verdict:
        """Return what the product says, with so many parties."""
        return (self.trained.verdict(self.measured, parties) if self.trained else None) or self.without_trainings
