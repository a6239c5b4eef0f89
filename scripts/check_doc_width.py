#!/usr/bin/env python3
"""Lines of code in pages that people read are at most 72 characters, so that no block scrolls sideways.

Looked at: fenced blocks of the README, of `docs/` (decisions aside), of `python/README.md` and `bench/`, and the cells of
lessons. Blocks of `json` and `none` show files whose lines are long by their format, and wrap; `{…}` are directives.
"""

import json
import sys
from pathlib import Path

from common import files, report

WIDEST = 72
LOOKED_AT = ("README.md", "docs/", "python/", "bench/", "SECURITY.md", "CONTRIBUTING.md")
PASSED_OVER = ("docs/adr/",)
WRAPPED = ("```json", "```none", "```{")


def blocks(text: str) -> list[tuple[int, str]]:
    """Number and text of each line that stands in a fenced block which does not wrap."""
    found, inside, wraps = [], False, False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            inside, wraps = not inside, line.lstrip().startswith(WRAPPED)
        elif inside and not wraps:
            found.append((number, line))
    return found


def cells(text: str) -> list[tuple[int, str]]:
    """Number of the cell and text of each line of code in a notebook."""
    book = json.loads(text)
    code = [(n, "".join(cell["source"])) for n, cell in enumerate(book["cells"], 1) if cell["cell_type"] == "code"]
    return [(number, line) for number, source in code for line in source.splitlines()]


def check(root: Path) -> list[str]:
    """One message for each line that is too long."""
    problems = []
    for path in files(root, ".md", ".ipynb"):
        name = path.relative_to(root).as_posix()
        if not name.startswith(LOOKED_AT) or name.startswith(PASSED_OVER):
            continue
        lines = (cells if path.suffix == ".ipynb" else blocks)(path.read_text())
        problems += [
            f"{name}:{number}: {len(line)} characters of code (at most {WIDEST}: break the line)"
            for number, line in lines
            if len(line) > WIDEST
        ]
    return problems


if __name__ == "__main__":
    sys.exit(report(check, f"code in pages has at most {WIDEST} characters a line"))
