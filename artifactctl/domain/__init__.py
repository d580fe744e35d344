"""The nouns of the field: frozen types with units in their names, standard library only.

The vocabulary is that of `artifactctl/DESIGN.md`, section 2; one word per concept, here and everywhere above.
Paths below a managed root are `bytes` relative to it; instants are aware UTC `datetime`; sizes end in `_bytes`.
"""
