#!/usr/bin/env python3
"""What a release names in several places agrees: the version, and the commands that workflows call.

The version of `Cargo.toml` is that of `CITATION.cff` and of the newest heading of `CHANGELOG.md` after *Unreleased*. Every
`make` target in `.github/workflows/` is one of the Makefile.
"""

import re
import sys
import tomllib
from pathlib import Path

from common import files, report

HEADING = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d{2}-\d{2}$", re.MULTILINE)
CITED = re.compile(r"^version: (\S+)$", re.MULTILINE)
CALLED = re.compile(r"\bmake ([a-z][a-z-]*)")
TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)


def first(pattern: re.Pattern, path: Path) -> str:
    """What the pattern finds first in a file, or what is said where it finds nothing."""
    match = pattern.search(path.read_text())
    return match[1] if match else "no version"


def check(root: Path) -> list[str]:
    """One message for each name that differs."""
    version = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    named = {"CITATION.cff": first(CITED, root / "CITATION.cff"), "CHANGELOG.md": first(HEADING, root / "CHANGELOG.md")}
    problems = [f"{name}: {got}, where Cargo.toml has {version} (docs/release.md)" for name, got in named.items() if got != version]
    targets = set(TARGET.findall((root / "Makefile").read_text()))
    for path in files(root / ".github" / "workflows", ".yml"):
        for target in sorted(set(CALLED.findall(path.read_text())) - targets):
            problems.append(f"{path.relative_to(root).as_posix()}: make {target} is no target of the Makefile")
    return problems


if __name__ == "__main__":
    sys.exit(report(check, "the version is one, and workflows call what there is"))
