"""The bench the tests stand on: real volumes, real processes that hold files, real runs of the command line.

One noun a file: `volumes`, `holders`, `system_calls`, `command_line`, `warm_command_line` (with `forking`), `site`,
`pausing`, `golden`, `clocks`, `nobody`, `sandbox`. The fixtures built on them are in `fixtures`.
Nothing here stands in for artifactctl itself.
"""
