"""`artifactctl extract ...`: the stages, each imported when it is run."""

import importlib

import click

from artifactctl.domain.errors import UsageError

STAGES = {
    "respond": ("extract.responding.command:respond_command", "Have a server answer prompts: one response set."),
    "merge": ("extract.merging.command:merge_command", "Merge response sets into one corpus, or check a merge."),
    "vocab": ("extract.vocabulary.command:vocab_command", "Make the draft vocabulary of a corpus, or check a map."),
    "run": ("extract.running.command:run_command", "Extract the hidden states of a corpus."),
    "convert": ("extract.shards.command:convert_command", "Write hidden states anew in another layout, bit for bit."),
}
"""Stage to (`module:attribute`, its line in the help)."""


class StageGroup(click.Group):
    """The group of stages; its help imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the stages in the order in which they are run."""
        return list(STAGES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one stage, None when there is none of that name."""
        if cmd_name not in STAGES:
            return None
        module, attribute = STAGES[cmd_name][0].split(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve the stage; an unknown one is an error that names those there are."""
        if args[0].startswith("-") or ctx.resilient_parsing or args[0] in STAGES:
            return super().resolve_command(ctx, args)
        raise UsageError(f"there is no stage `{args[0]}`", remedy=f"`{ctx.command_path} {' | '.join(STAGES)}`")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the stages with their lines."""
        with formatter.section("Stages"):
            formatter.write_dl([(name, summary) for name, (_, summary) in STAGES.items()])


extract = StageGroup(
    name="extract",
    help="Make response sets, corpora, vocabulary maps and hidden states.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    no_args_is_help=True,
)
