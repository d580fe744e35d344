"""Which name leads to which command, with the line `artifactctl --help` shows for it (no module is loaded for that).

The line equals the command's own short help; a test compares them.
"""

PLUG_IN_GROUP = "artifactctl.commands"
"""The entry-point group through which other packages add commands."""

SECTIONS: tuple[tuple[str, dict[str, tuple[str, str]]], ...] = (
    (
        "Set up",
        {
            "completion": (
                "artifactctl.cli.commands.completion:completion",
                "Print the completion script for a shell.",
            ),
        },
    ),
)

COMMANDS: dict[str, str] = {name: target for _, table in SECTIONS for name, (target, _) in table.items()}
"""Command name to `module:attribute`."""

PLUG_IN_SUMMARIES = {
    "extract": "Make response sets, corpora, vocabulary maps and hidden states.",
    "train": "Train, evaluate and export EAGLE-3 draft models.",
}
"""What help says about the plug-ins that ship with artifactctl; others are listed with the package they come from."""
