"""The tests. They run a process to each core, so no library starts threads beside: these would spin for one another."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when numpy and scikit-learn are first imported, after this
