"""What is where: managed roots, scanning, registering, verifying.

Scanning goes over a root once. Recognition says what belongs to what; here its answer is weighed, compared with the
catalog and recorded. What holds:
- A sealed artifact keeps its members and sizes until a person accepts a drift (`scan --accept NAME`, audited).
- An artifact is `missing` only where the look was complete: the root's marker is there, its filesystem is the recorded
  one, and no folder on the way was unreadable. An unmounted volume is refused, never taken for an empty one.
- Looking without writing is the same code with nobody to record (`look` and `scan`).
- Every change of state has its audit event in the same transaction.
"""
