"""What can go wrong, as one tree.

FloraError                  anything FLoRA refuses or cannot do: exit code 1
├── InputError (ValueError) the user's input breaks a rule: exit code 2
│   ├── SpaceError          a search space, or a config that does not fit one
│   ├── DataError           a table, a column, a target or the parties' agreement on them
│   ├── TrialsError         a file of trials, or trials that do not belong together
│   └── WireError           a message between aggregator and party
├── ConsentError            a party does not allow what it is asked for; the aggregator may read the sentence
└── CollectiveError         parties fell out of step in the one federated training
"""


class FloraError(Exception):
    """Anything FLoRA refuses or cannot do."""


class InputError(FloraError, ValueError):
    """The user's input breaks a rule; the message names the thing, the rule and the value."""


class SpaceError(InputError):
    """A search space that cannot be, or a config that is not in it."""


class DataError(InputError):
    """A table, a column, a target, or what the parties must agree on about them."""


class TrialsError(InputError):
    """A file of trials that cannot be trusted, or trials that do not belong together."""


class WireError(InputError):
    """A message between aggregator and party that cannot be trusted; the text names the field."""


class ConsentError(FloraError):
    """A party does not allow what it is asked for. The text is one sentence that the aggregator may read."""


class CollectiveError(FloraError):
    """The parties fell out of step in the one federated training."""
