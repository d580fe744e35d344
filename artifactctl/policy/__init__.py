"""What may be offered for removal, how much at once, and after how long.

A policy offers and limits; it never permits: the guards do. Until policy files exist, `BUILTIN` is the policy.
"""

from artifactctl.policy.builtin import BUILTIN, REBUILDABLE, SUPERSEDED, Policy, Standing

__all__ = ["BUILTIN", "REBUILDABLE", "SUPERSEDED", "Policy", "Standing"]
