"""First aid: what could go and why, how fast a disk fills, and what is never offered."""
