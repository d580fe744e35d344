"""`extract run`: the hidden states of a corpus, by any engine, into packed shards.

An engine computes (`engine`), the runner does everything else: which records are missing, the checks, the room on the
volume, the shards, what the catalog is told. Heavy libraries belong to the engines and are imported by them.

A worker (`run`):
1. The corpus is opened and leased; a run that is at the place already must be this one (`place`, `identity`).
2. The first records of what is left are computed and measured (`probe`), the planner asked, room promised (`room`).
3. Shares are claimed one by one. A share is a range of records that fills one shard (`ranges`), whoever makes it.
   Before each the volume is looked at: enough room, or wait, or stop.
4. Its records are computed, checked (`checking`) and written aside; the claim is proven; the shard gets its name
   (`sharing`).
   Shards that were lost since are made again; records that were rejected before are tried once more (`mending`).
5. Whoever gets the last share completes the artifact: manifest, seal, end of the run (`completing`).
Killed anywhere, nothing is lost but the shard in hand, and the next run makes the same one.
"""
