"""What to do with an unfinished operation: a pure table."""
