"""The local search: what is tried, on which folds, and what is left off because it cannot win."""
