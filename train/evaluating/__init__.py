"""What a draft is worth: speculative decoding beside the target's own, on prompts that it was not trained on.

One chain of proposals a round, no tree: what a tree would accept beyond it is not counted. `decoding` reads like the
papers, `choosing` holds the rule that keeps the target's output (greedy: the same tokens; sampled: the same
distribution), `chain` is the draft at work, `running_target` the target with its cache of keys and values. What is
measured, and against what, says `measuring`.
"""
