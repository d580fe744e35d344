"""What a person types: click commands, the clock, the wiring, the exit codes.

A command is four moves: parse, call one function, render, exit. It is a function decorated with
`@click.command(cls=Command)` (or `@group.command()` of a `Group`) and `@pass_wiring`; it lives in `commands/`, is named
in `command_table`, and imports whatever is heavy (the catalog, the hosts, the engine) inside its body, so that `--help`
stays as quick as click itself. stdout is data, stderr is talk; `failures` alone turns errors into words and codes.

Why not `auto_envvar_prefix`: a variable such as ARTIFACTCTL_RECLAIM_YES would answer the confirmations of every later
command without anybody typing it. The variables that exist are read by `wiring`, after the flags.
"""
