"""What may be offered for removal, how much at once, and after how long.

A policy offers and limits; it never permits: the guards do.
"""
