#!/usr/bin/env python3
"""What a release names in several places agrees: the version, the oldest compiler, and the commands that workflows call.

The version of `Cargo.toml` is that of `CITATION.cff` and of the newest heading of `CHANGELOG.md` after *Unreleased*. Every
`make` target in `.github/workflows/` is one of the Makefile. The `rust-version` of `Cargo.toml` is that of the image and of
`RUSTUP_TOOLCHAIN` in `Dockerfile`, and that of the workflow that builds with the oldest compiler.
"""

import re
import sys
import tomllib
from pathlib import Path

from common import files, report

HEADING = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d{2}-\d{2}$", re.MULTILINE)
CITED = re.compile(r"^version: (\S+)$", re.MULTILINE)
CALLED = re.compile(r"\bmake ([a-z][a-z-]*)")
COMPILERS = re.compile(r"\bFROM rust:(\d+\.\d+)|\bRUSTUP_TOOLCHAIN[=:] ?\"?(\d+\.\d+)")
TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)


def first(pattern: re.Pattern, path: Path) -> str:
    """What the pattern finds first in a file, or what is said where it finds nothing."""
    match = pattern.search(path.read_text())
    return match[1] if match else "no version"


def check(root: Path) -> list[str]:
    """One message for each name that differs."""
    package = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]
    version, oldest = package["version"], package["rust-version"]
    named = {"CITATION.cff": first(CITED, root / "CITATION.cff"), "CHANGELOG.md": first(HEADING, root / "CHANGELOG.md")}
    problems = [f"{name}: {got}, where Cargo.toml has {version} (docs/release.md)" for name, got in named.items() if got != version]
    for path in [root / "Dockerfile", root / ".github" / "workflows" / "test.yml"]:
        found = {image or named for image, named in COMPILERS.findall(path.read_text())}
        if found != {oldest}:
            got = ", ".join(sorted(found)) or "none"
            problems.append(f"{path.relative_to(root).as_posix()}: compiler {got}, where Cargo.toml has rust-version {oldest}")
    targets = set(TARGET.findall((root / "Makefile").read_text()))
    for path in files(root / ".github" / "workflows", ".yml"):
        for target in sorted(set(CALLED.findall(path.read_text())) - targets):
            problems.append(f"{path.relative_to(root).as_posix()}: make {target} is no target of the Makefile")
    return problems


if __name__ == "__main__":
    sys.exit(report(check, "the version is one, and workflows call what there is"))
