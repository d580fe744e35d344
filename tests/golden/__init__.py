"""Sessions as people see them; `tests/bench/golden.py` runs them."""
