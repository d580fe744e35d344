"""One file per command or group of commands; `artifactctl.cli.command_table` says which name leads where."""
