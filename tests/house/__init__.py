"""Rules about the code base itself that no linter knows: who may touch storage, read the clock, load what."""
