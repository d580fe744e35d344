"""Everything that proves artifactctl; `README.md` beside this file says how to run it."""
