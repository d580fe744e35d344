"""Makes what artifactctl manages: corpora out of response sets, vocabulary maps, hidden states.

`artifactctl extract ...` is found through the entry-point group `artifactctl.commands`; this package imports
`artifactctl.api` and `artifactctl.domain` and nothing else of artifactctl. What a stage writes is written aside, made
durable, renamed into place, and only then registered with what it was made from. Heavy libraries are imported where
they are used; `requirements` says what to install where one is missing.
"""
