"""Machines: the only place that touches managed storage.

`protocol` is what any machine must do (one contract suite in tests/contract runs over every implementation); `probe` is
the standard-library-only code that does it, imported on this machine and sent to others. `looks` and `acts` put its
answers into the types of the domain and ask by name (`probe.calls`, one line a primitive), in process or over a wire:
`local` is this machine, `remote` another one, `wire` what lies between. `failing` words what goes wrong.

Why not let guards or the engine look by themselves: one probe gives here and there the same safety, and a test can
prove that no other module unlinks, renames or walks.
"""
