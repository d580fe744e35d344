"""Machines: the only place that touches managed storage.

`protocol` is what any machine must do (one contract suite in tests/contract runs over every implementation); `probe` is
the standard-library-only code that does it, imported on this machine and sent to others; `local` is this machine.

Why not let guards or the engine look by themselves: one probe gives here and there the same safety, and a test can
prove that no other module unlinks, renames or walks.
"""
