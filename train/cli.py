"""`artifactctl train ...`: the stages, each imported when it is run."""

from extract.stage_group import StageGroup

STAGES = {
    "run": ("train.command:run_command", "Train an EAGLE-3 draft on hidden states."),
    "eval": ("train.evaluating.command:eval_command", "Measure what a draft is worth on its target."),
    "export": ("train.exporting.command:export_command", "Write a checkpoint as SGLang serves it."),
}
"""Stage to (`module:attribute`, its line in the help)."""

train = StageGroup("train", stages=STAGES, help="Train EAGLE-3 drafts on what was extracted.")
