#!/usr/bin/env python3
"""Dependencies of the tested Python package have the features that the workspace's tests give them (ADR 115).

Where they differ, everything above them is built twice in CI.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OWN = "limbwise-py "


def built(*selected: str) -> set[str]:
    """Packages with their features, as one cargo command builds them."""
    command = ["cargo", "tree", "--locked", "--prefix", "none", "--format", "{p} {f}", *selected]
    told = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {line.removesuffix(" (*)") for line in told.splitlines() if line and not line.startswith(OWN)}


def main() -> int:
    """Names what would be built twice."""
    tests = built("--workspace", "--edges", "normal,build,dev")
    package = built("--package", "limbwise-py", "--features", "as-tested", "--edges", "normal,build")
    differing = sorted(package - tests)
    for line in differing:
        name = line.split(" ")[0]
        others = [other for other in tests if other.startswith(name + " ")]
        print(f"the package builds {line!r}, the tests {others}", file=sys.stderr)
    if differing:
        print("wanted: the same features; add what differs to `as-tested` in crates/py/Cargo.toml", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
