"""The command line with the `train` group in it, as an installation has it."""

from artifactctl.cli import main
from train.cli import train

if __name__ == "__main__":
    main.program.add_command(train)
    main.main()
