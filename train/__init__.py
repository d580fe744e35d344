"""EAGLE-3 drafts of what `extract` made: `run` trains, `evaluating` measures, `exporting` writes for servers."""
