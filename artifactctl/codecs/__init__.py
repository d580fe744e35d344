"""Lossless coding of tensors; pure. numpy and zstandard are imported where a block is coded, so that the base install
runs without numpy.

`planes` codes bf16: what compresses (the exponents) apart from what does not (sign and mantissa). Shards of hidden
states are written with it; `streams` codes a whole file as a row of such blocks.
"""
