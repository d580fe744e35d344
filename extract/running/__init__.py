"""`extract run`: the hidden states of a corpus, by any engine, into packed shards.

An engine computes (`engine`), the runner does everything else: which records are missing, the checks, the room on the
volume, the shards, what the catalog is told. Heavy libraries belong to the engines and are imported by them.
"""
