#!/usr/bin/env python3
"""Every [KEY] in comments and documents is an entry of docs/bibliography.md, and every entry is cited.

A key is a capitalised word that ends in two digits (HK20) or has three capitals (ARK, BLAKE3). In Rust doc comments it is
written with backslashes, \\[HK20\\], because rustdoc takes plain brackets for a link; `--fix` writes them.
"""

import re
import sys
from pathlib import Path

from common import files, report

BIBLIOGRAPHY = "docs/bibliography.md"
KEY = r"[A-Z][A-Za-z]*[0-9]{2}|[A-Z]{3,}[0-9]*"
PLAIN = re.compile(rf"(?<![\\\w\]!`])\[({KEY})\](?![(\[])")
ESCAPED = re.compile(rf"\\\[({KEY})\\\]")
ENTRY = re.compile(rf"^- \*\*\[({KEY})\]\*\*")
# Words in brackets that look like a key: the placeholder of STYLE.md, and marks of a Markdown quote.
NOT_KEYS = {"KEY", "NOTE"}
RUST_DOC = re.compile(r"^\s*//[/!]")
COMMENT = {".rs": re.compile(r"//(.*)"), ".py": re.compile(r"#(.*)"), ".toml": re.compile(r"#(.*)")}


def prose(path: Path) -> list[tuple[int, str, bool]]:
    """(line number, text that may cite, whether it is a Rust doc comment); code is left out."""
    found = []
    fenced = False
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        if path.suffix == ".md":
            if line.lstrip().startswith("```"):
                fenced = not fenced
            elif not fenced:
                found.append((number, re.sub(r"`[^`]*`", "", line), False))
        elif match := COMMENT[path.suffix].search(line):
            found.append((number, match[1], path.suffix == ".rs" and bool(RUST_DOC.match(line))))
    return found


def check(root: Path) -> list[str]:
    """One message for each citation without an entry, each entry without a citation, each key rustdoc would link."""
    problems = []
    bibliography = root / BIBLIOGRAPHY
    entries = {m[1] for line in bibliography.read_text().splitlines() if (m := ENTRY.match(line))}
    cited = set()
    for path in files(root, ".md", ".rs", ".toml", ".py"):
        name = path.relative_to(root).as_posix()
        if name == BIBLIOGRAPHY or name.startswith("scripts/"):
            continue
        for number, text, rust_doc in prose(path):
            plain = set(PLAIN.findall(text)) - NOT_KEYS
            keys = plain | set(ESCAPED.findall(text))
            cited |= keys
            for key in sorted(keys - entries):
                problems.append(f"{name}:{number}: [{key}] is not in {BIBLIOGRAPHY} (add the full reference there)")
            for key in sorted(plain & entries if rust_doc else ()):
                problems.append(f"{name}:{number}: write \\[{key}\\] in a doc comment, rustdoc takes [{key}] for a link (--fix does it)")
    problems += [f"{BIBLIOGRAPHY}: [{key}] is cited nowhere (remove it)" for key in sorted(entries - cited)]
    return problems


def fix(root: Path) -> None:
    """Writes the backslashes in Rust doc comments."""
    for path in files(root, ".rs"):
        lines = path.read_text().splitlines(keepends=True)
        mend = lambda m: m[0] if m[1] in NOT_KEYS else f"\\[{m[1]}\\]"  # noqa: E731
        mended = [PLAIN.sub(mend, line) if RUST_DOC.match(line) else line for line in lines]
        if mended != lines:
            path.write_text("".join(mended))
            print(f"mended {path.relative_to(root)}")


if __name__ == "__main__":
    if "--fix" in sys.argv:
        sys.argv.remove("--fix")
        fix(Path(__file__).resolve().parent.parent)
    sys.exit(report(check, "every citation has its entry"))
