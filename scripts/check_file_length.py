#!/usr/bin/env python3
"""No source file has more than 600 lines, no machine model more than 400 (STYLE.md, "Files")."""

import sys
from pathlib import Path

from common import files, report

LIMIT = 600
MACHINE_LIMIT = 400
MACHINES = "crates/machines/src/machine/"


def check(root: Path) -> list[str]:
    """One message for each file that is too long."""
    problems = []
    for path in files(root, ".rs", ".py", ".cu", ".cuh"):
        name = path.relative_to(root).as_posix()
        limit = MACHINE_LIMIT if name.startswith(MACHINES) else LIMIT
        lines = len(path.read_bytes().splitlines())
        if lines > limit:
            problems.append(f"{name}: {lines} lines; wanted at most {limit} (split it by concept)")
    return problems


if __name__ == "__main__":
    sys.exit(report(check, "no file is too long"))
