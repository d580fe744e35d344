"""An in-memory machine: the executable specification of what `artifactctl.hosts.protocol.Host` promises.

`FakeMachine` (machine.py) is a whole `Host`. Its parts, from the bottom: `clock`, `inodes`, `volume` (space),
`disk` (names, mounts, the system calls with their errno), `steps` (kill points, injected errors, races), `processes`
(who holds what), `looking` (walks and observations), `ledger` (journal and manifests as files on the fake disk),
`quarantine` (the life of a removal).

A test arranges the world through `machine.disk` and `machine.processes`; the engine acts through the `Host` methods.
Only what the engine does is counted as steps, can be killed and can be made to fail.
"""
