#!/usr/bin/env python3
"""Every path that a document names exists.

Looked at: words in backticks that start with a folder of the repository (`crates/…`), and targets of Markdown links.
`{a,b}` is expanded and `*` may match anything. Names with `<…>` or `…` are placeholders and are left alone.
"""

import re
import sys
from itertools import product
from pathlib import Path

from common import files, report

FOLDERS = ("crates/", "docs/", "scripts/", "tests/", "examples/", "bench/", ".ci/", "python/", "fuzz/")
CODE = re.compile(r"`([^`\s]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
BRACES = re.compile(r"\{([^{}]*)\}")


def expand(path: str) -> list[str]:
    """The path with every `{a,b}` written out."""
    parts = BRACES.split(path)
    choices = [[part] if i % 2 == 0 else part.split(",") for i, part in enumerate(parts)]
    return ["".join(choice) for choice in product(*choices)]


def exists(base: Path, path: str) -> bool:
    """Whether the path, or anything it matches as a pattern, is there."""
    if "*" in path:
        return any(base.glob(path))
    return (base / path).exists()


def check(root: Path) -> list[str]:
    """One message for each path that is not there."""
    problems = []
    for document in files(root, ".md"):
        name = document.relative_to(root).as_posix()
        fenced = False
        for number, line in enumerate(document.read_text().splitlines(), 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            if fenced:
                continue
            named = [(root, p) for word in CODE.findall(line) if word.startswith(FOLDERS) for p in expand(word)]
            linked = [(document.parent, p.split("#")[0]) for p in LINK.findall(CODE.sub("", line)) if "://" not in p]
            for base, path in named + linked:
                if path and not any(mark in path for mark in "<…") and not exists(base, path.rstrip(".,;:")):
                    problems.append(f"{name}:{number}: {path} does not exist (mend the path, or the document)")
    return problems


if __name__ == "__main__":
    sys.exit(report(check, "every path named in a document exists"))
