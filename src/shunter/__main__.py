"""The entry point of the `shunter` command. It imports nothing itself, so that Ctrl-C while the command is imported ends it as
quietly as afterwards."""

import sys


def main() -> None:
    """Runs the command; exit code 130 for Ctrl-C at any time."""
    try:
        from shunter.cli.main import main as command

        command()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
