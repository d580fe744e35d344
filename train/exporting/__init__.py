"""A trained draft in the layout that SGLang serves, checked name by name: a server ignores what it does not know.

`served` says what the layout is, `checking` whether a folder has it, `layer_ids` how a family of targets is told which
states the draft reads, `stage` makes an export out of a checkpoint.
"""
