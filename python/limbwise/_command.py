"""The command ``limbwise``, the same as the Rust program."""

import os
import sys

from limbwise._limbwise import command
from limbwise._nvrtc import name_folder


def main() -> None:
    """Run the command with the arguments of this process and exit with its code."""
    # Searches and clusters of a sweep are run by this Python, which has the package.
    os.environ.setdefault("LIMBWISE_PYTHON", sys.executable)
    name_folder()
    # A module by its name and never one of the folder that the command is run in.
    again = ["-P", "-m", "limbwise"]
    sys.exit(command(["limbwise", *sys.argv[1:]], sys.executable, again))
