"""The command ``limbwise``, the same as the Rust program."""

import sys

from limbwise._limbwise import command


def main() -> None:
    """Run the command with the arguments of this process and leave with its exit code."""
    sys.exit(command(["limbwise", *sys.argv[1:]]))
