"""`python -m artifactctl` is the same program as `artifactctl`."""

from artifactctl.cli.main import main

if __name__ == "__main__":
    main()
