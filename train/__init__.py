"""Training EAGLE-3 drafts on what `extract` made: `draft` is the model, `run` the stage."""
