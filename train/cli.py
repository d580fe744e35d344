"""`artifactctl train ...`: the stages, each imported when it is run."""

from extract.stage_group import StageGroup

STAGES = {
    "eval": ("train.evaluating.command:eval_command", "Measure what a draft is worth on its target."),
    "export": ("train.exporting.command:export_command", "Write a checkpoint as SGLang serves it."),
}
"""Stage to (`module:attribute`, its line in the help)."""

train = StageGroup("train", stages=STAGES, help="Train EAGLE-3 drafts on what was extracted.")
