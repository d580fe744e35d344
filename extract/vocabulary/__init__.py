"""The draft vocabulary of a corpus, and how much of another corpus a map covers.

`d2t` int64 [draft]: `target_id = draft_id + d2t[draft_id]`; `t2d` bool [target]: true exactly at those ids. The draft's
tokens are the most frequent ones under the loss mask, ties by the smaller id, in ascending order of their ids. A map is
known by the hash of both tensors: a trained draft is worth nothing with another one.
"""
