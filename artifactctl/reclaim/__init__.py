"""Removing with proof: planning, approving and recovery are pure; execution and reconciliation act.

The protocol is section 4 of `artifactctl/DESIGN.md`; its numbered steps are repeated where they are carried out, in
`execution` (1 to 6), `purging` (8 to 10) and `reconciliation` (11). Planning and applying run the same guard functions;
there is no dry-run branch anywhere in here.

I1 nothing is removed without a durable intent. I5 a plan's digest determines its steps; a step applies at most once, to
the root and filesystem it was made for. I7 the catalog says gone only after a machine said so. I8 no interleaving
removes the last verified copy, or an artifact together with the only inputs that could rebuild it.
"""
