"""The cell's parties as an engine: they answer the product's own program with the models of the tables.

They measure candidates on their own rows as the product's parties do. A training by all of them stands for the
federated one as everywhere in the tables: it is one on the rows of all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from flora.core.workers import one_thread
from flora.errors import FloraError
from flora.models import family_of
from flora.models.family import Held, TrainsTogether
from flora.models.guess import Guess, target_sums
from flora.models.rows import Rows
from flora.models.scored import score_of
from flora.party.measure import confirm
from flora.party.training import hold_out, leave_out
from flora.problem.messages import Confirm, ConfirmReply, Reply, Step, Train, TrainReply
from flora.problem.path import HELD
from flora.problem.plan import SearchPlan
from flora.problem.space import Config
from flora.problem.trials import loss_of
from flora.randomness import derived_seed, stream
from flora_lab.paper.as_published import AuthorsModel


@dataclass(frozen=True)
class EmulatedParties:
    """An engine that carries the steps after the search."""

    rows: Mapping[str, Rows]
    model: AuthorsModel

    def __call__(self, step: Step) -> Sequence[Reply]:
        """Answer a step."""
        match step:
            case Confirm():
                return [
                    ConfirmReply(name, len(own), confirm(own, step.plan, self.model, step.configs, party=name))
                    for name, own in self.rows.items()
                ]
            case Train():
                return self._trained(step)
        raise FloraError(f"emulated parties measure and train, they were asked to {step.name}")

    def _trained(self, step: Train) -> Sequence[Reply]:
        """Train on all rows but a fold of every party's, and score the model on that fold."""
        plan = step.plan
        apart = {
            name: leave_out(own, step.fold, step.folds, stream(plan.seed, name, "fold"))
            for name, own in self.rows.items()
        }
        kept = {name: most for name, (most, _) in apart.items()}
        config = counted(step.config, kept, plan) if step.choose else step.config
        left = together([held for _, held in apart.values()])
        fitted = uncounted(config) if step.choose else config
        with one_thread():
            [(_, score)] = self.model.score(fitted, together(list(kept.values())), left, plan.scoring, plan.seed)
        losses = loss_of(plan.scoring, score), guess_loss(left, plan.scoring)
        return [TrainReply(name, len(own), b"", config, *losses) for name, own in self.rows.items()]


def guess_loss(rows: Rows, scoring: str) -> float | None:
    """Return the loss of the best prediction that looks at no column."""
    guess = Guess.of(target_sums(rows), scoring, len(rows.schema.classes))
    return None if guess is None else loss_of(scoring, score_of(guess, rows, scoring))


def counted(config: Config, parties: Mapping[str, Rows], plan: SearchPlan) -> Config:
    """Return a config with as many trees as held-out rows of all parties choose, by the product's own first pass."""
    family = family_of(plan.family)
    if not isinstance(family, TrainsTogether):
        raise FloraError(f"a training of {plan.family} passes through nothing that rows could choose")
    pairs = [hold_out(own, HELD, stream(plan.seed, name, "held")) for name, own in parties.items()]
    judges = [Held(held, plan.scoring) for _, held in pairs]
    with one_thread():
        chosen = family.train_together(config, [kept for kept, _ in pairs], derived_seed(plan.seed, "train"), judges)
    return chosen.config


def uncounted(config: Config) -> Config:
    """Return a config whose trees are not counted once more: from 10,000 rows on scikit-learn stops early by itself."""
    return {**config, "early_stopping": False}


def together(parts: Sequence[Rows]) -> Rows:
    """Return the rows of several parties as one table."""
    X, y = np.concatenate([part.X for part in parts]), np.concatenate([part.y for part in parts])
    return replace(Rows(X, y, parts[0].schema))
