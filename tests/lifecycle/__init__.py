"""Random histories of a whole lifecycle, on the machine in memory with a real catalog, held against a simple model.

`test_histories.py` prints its seed; ARTIFACTCTL_HISTORY_STEPS says how many steps to make (CI makes some thousands),
ARTIFACTCTL_HISTORY_SEED makes those of another run again.
"""
