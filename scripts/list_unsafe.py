#!/usr/bin/env python3
"""Every `unsafe` of the workspace with its reason: file, line, and the `// SAFETY:` line above it.

    scripts/list_unsafe.py [--check] [ROOT]

Without --check the list is printed. A use without a reason is an error in both forms, and so is one in a crate that may have
none (STYLE.md, section 3). Compilers check the same of blocks (`undocumented_unsafe_blocks`); here `unsafe impl`, `unsafe fn`
and `unsafe extern` count as well, and the list says how many there are.
"""

import re
import sys
from pathlib import Path

from common import files

# Where it may stand: a folder or a file, and why.
PLACES = {
    "crates/taint/src/lib.rs": "requests to valgrind",
    "crates/cpu/src/": "vector kernels, limbs that threads share, system memory",
    "crates/cuda/src/": "the driver's interface, and the host's build of the kernels",
    "crates/py/src/buffer.rs": "arrays of other libraries, read in place",
}
USE = re.compile(r"\bunsafe\b(?!_)")
# Names of lints, types of function pointers, and what is only said.
NO_USE = re.compile(r'unsafe_code|unsafe extern "\w+" fn\(|unsafe_op|"[^"]*\bunsafe\b[^"]*"|//.*\bunsafe\b')
REASON = re.compile(r"//\s*SAFETY:\s*(.*)|///\s*# Safety")
# How many lines a reason may stand above its use: comments, attributes and the statement that it begins.
ABOVE = 12


def reason(lines: list[str], at: int) -> str | None:
    """The reason above a line; none if there is none."""
    for above in range(at, max(at - ABOVE, -1), -1):
        if found := REASON.search(lines[above]):
            return (found.group(1) or "see # Safety").strip()
        # A use ends the search for the one below it, unless both stand in one statement.
        if above < at and lines[above].rstrip().endswith(("}", ";")) and not lines[above].lstrip().startswith(("//", "#")):
            return None
    return None


def uses(root: Path) -> list[tuple[str, int, str | None]]:
    """Path, line and reason of each use."""
    found = []
    for path in files(root / "crates", ".rs"):
        lines = path.read_text().splitlines()
        name = path.relative_to(root).as_posix()
        for at, line in enumerate(lines):
            if USE.search(NO_USE.sub("", line)):
                found.append((name, at + 1, reason(lines, at)))
    return found


def check(root: Path) -> list[str]:
    """One message for each use without a reason or in a place that may have none."""
    problems = []
    for name, line, why in uses(root):
        if not any(name.startswith(place) for place in PLACES):
            problems.append(f"{name}:{line}: unsafe; wanted none outside {', '.join(PLACES)} (STYLE.md, section 3)")
        elif why is None:
            problems.append(f"{name}:{line}: unsafe without a reason; wanted a line // SAFETY: above it")
    return problems


def main() -> int:
    """The status for the shell."""
    words = [word for word in sys.argv[1:] if word != "--check"]
    root = Path(words[0]) if words else Path(__file__).resolve().parent.parent
    found, problems = uses(root), check(root)
    if "--check" not in sys.argv:
        for name, line, why in found:
            print(f"{name}:{line}: {why or 'NO REASON'}")
        for place, what in PLACES.items():
            print(f"{place}: {sum(name.startswith(place) for name, _, _ in found)} uses: {what}")
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"list_unsafe: {len(found)} uses, {f'{len(problems)} problems' if problems else 'each with its reason'}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
