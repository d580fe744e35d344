"""Other machines over ssh, with paramiko.

From the name a person wrote to bytes that travel, one module a step: `address` reads `ssh://user@host:port`,
`config_file` and `config_lines` what ssh_config says of it, `destination` puts both together; `known_hosts` and
`host_keys` say which keys are pinned; `dialing` reaches the port (directly, by jumps, by a command), `handshake` agrees
on keys with the machine and compares its own, `login` proves who we are, `heartbeat` notices a link that died silently.
`connection` is all of that in one call. On a connection, `starting` runs one program and `channel` carries its bytes;
`shell` writes commands that every login shell takes, `python` finds the interpreter, `facts` asks who the machine is,
and `coreutils` measures where there is no Python.

A key is believed only when it was pinned before: in known_hosts, by a person who saw its fingerprint, or in the
catalog. There is no way to accept whatever comes. paramiko takes a third of a second to import, so that nothing here
does before a connection is made; and nothing here is particular to Linux: the operating side may be a Mac.

Why not paramiko's own SSHConfig and HostKeys: the first knows no `Include` and fails on `Match exec`, the second takes
`@revoked` keys for unreadable lines and knows no patterns.
"""
