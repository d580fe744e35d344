"""The command line with the `train` group in it, as an installation has it."""

from artifactctl.cli import main
from artifactctl.cli.command_table import COMMANDS

if __name__ == "__main__":
    COMMANDS["train"] = "train.cli:train"
    main.main()
