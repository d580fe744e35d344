"""`artifactctl extract ...`: the stages, each imported when it is run."""

from extract.stage_group import StageGroup

STAGES = {
    "respond": ("extract.responding.command:respond_command", "Have a server answer prompts: one response set."),
    "merge": ("extract.merging.command:merge_command", "Merge response sets into one corpus, or check a merge."),
    "vocab": ("extract.vocabulary.command:vocab_command", "Make the draft vocabulary of a corpus, or check a map."),
    "run": ("extract.running.command:run_command", "Extract the hidden states of a corpus."),
    "convert": ("extract.shards.command:convert_command", "Write hidden states anew in another layout, bit for bit."),
}
"""Stage to (`module:attribute`, its line in the help)."""


extract = StageGroup("extract", stages=STAGES, help="Make response sets, corpora, vocabulary maps and hidden states.")
