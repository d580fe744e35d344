"""Merging response sets into one corpus, and checking a merge: the correctness that a deletion of the sources rests on.

| word | meaning |
|---|---|
| source | one file of records; `read` counts them all, also those that cannot be read |
| content key | the SHA-256 of a record's token ids (int32, little endian), after truncation: a record's identity |
| loss mask | 1 where a token lies wholly in what the assistant produced, the token that ends its turn included |
| place | where a record stands: a hash of its content key, keyed with the seed |

For each source read = kept + dropped by each reason, or nothing is published. Order and content depend on the records,
the tokenizer, the template and the seed, never on how the records are spread over files, or on the date. Memory is
bounded by the sort's buffer, not by the corpus. Only what the recipe says is left out is left out: duplicates (same
token ids; the first by source and line stays), empty records, those without a token to learn, those that are too short,
those whose template hides what was produced, and what cannot be read, which makes the exit code 5.
"""
