#!/usr/bin/env python3
"""Dependencies of the tested Python package and of the server have the features that the workspace's tests give them.

Where they differ, everything above them is built or checked twice in CI (ADR 115).
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What is selected, and what of it is built apart: of a server, the crates that hold secret keys elsewhere.
SELECTED = {
    "package": ("limbwise-py ", ["--package", "limbwise-py", "--features", "as-tested"]),
    "server": ("limbwise", ["--package", "limbwise-cli", "--no-default-features", "--features", "as-tested"]),
}


def built(*selected: str) -> set[str]:
    """Packages with their features, as one cargo command builds them."""
    command = ["cargo", "tree", "--locked", "--prefix", "none", "--format", "{p} {f}", *selected]
    told = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {line.removesuffix(" (*)") for line in told.splitlines() if line}


def main() -> int:
    """Names what would be built twice."""
    tests = built("--workspace", "--edges", "normal,build,dev")
    differs = False
    for what, (own, selected) in SELECTED.items():
        for line in sorted(built(*selected, "--edges", "normal,build") - tests):
            if line.startswith(own):
                continue
            name = line.split(" ")[0]
            others = [other for other in tests if other.startswith(name + " ")]
            print(f"the {what} builds {line!r}, the tests {others}", file=sys.stderr)
            differs = True
    if differs:
        print("wanted: the same features; add what differs to `as-tested` in crates/py/Cargo.toml or crates/cli/Cargo.toml", file=sys.stderr)
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
