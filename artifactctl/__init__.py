"""A storage-aware lifecycle manager for training artifacts, with guarded deletion.

`DESIGN.md` beside this file holds the vocabulary, the layers, the deletion protocol and the invariants.
"""

__version__ = "0.1.0"
