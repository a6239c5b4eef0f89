#!/usr/bin/env python3
"""The recipes of docs/recipes are true: a toy of every kind touches the files that its recipe names, and no other.

A toy (scripts/recipes/*.toml) is new files and texts inserted at anchors; an anchor stands exactly once in its file. What a
recipe says is touched are the paths in backticks before the first colon of each numbered step, `<name>` being the toy's name;
a path that ends in `/` is a folder. Files that `make bless` rewrites are named by the toy and by the recipe.

With `--compile` all toys are applied to one copy of the tree, which is type-checked: some minutes. What follows is handed to
`cargo check`.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from check_doc_paths import expand
from common import report

TOYS = "scripts/recipes"
RECIPES = "docs/recipes"
STEP = re.compile(r"^\d+\. (.*)$", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
# Recipes of things that nothing registers: their text is read, not executed.
WITHOUT_TOY = {"add-a-lesson.md", "add-a-file-kind.md"}
CHECKERS = ["check_file_length.py", "check_layering.py", "check_citations.py", "check_doc_paths.py"]


def read(root: Path) -> dict[str, dict]:
    """The toys by the names of their files."""
    return {path.name: tomllib.loads(path.read_text()) for path in sorted((root / TOYS).glob("*.toml"))}


def sections(text: str) -> dict[str, str]:
    """The parts of a recipe that have steps, by their headings; what stands before the first has none."""
    parts = re.split(r"^## (.*)$", "## \n" + text, flags=re.MULTILINE)
    return {title: part for title, part in zip(parts[1::2], parts[2::2], strict=True) if STEP.search(part)}


def named(text: str, name: str) -> set[str]:
    """The paths that the steps of a recipe say are touched."""
    # A colon inside backticks belongs to a path or a name.
    heads = [re.split(r":(?=(?:[^`]*`[^`]*`)*[^`]*$)", step, maxsplit=1)[0] for step in STEP.findall(text)]
    words = [word.replace("<name>", name) for head in heads for word in CODE.findall(head)]
    return {path for word in words if "/" in word or "." in word for path in expand(word)}


def touched(toy: dict) -> set[str]:
    """The files that a toy makes, changes, or has rewritten."""
    parts = toy.get("file", []) + toy.get("edit", [])
    return {part["path"] for part in parts} | set(toy.get("blessed", []))


def differences(toy: dict, recipe: str) -> list[str]:
    """Where the files of a toy and those of its recipe are not the same."""
    part = sections(recipe).get(toy["recipe"].partition("#")[2], "")
    wanted, found = named(part, toy["name"]), touched(toy)
    folders = tuple(path for path in wanted if path.endswith("/"))
    unsaid = sorted(path for path in found - wanted if not path.startswith(folders or ("\0",)))
    idle = sorted(path for path in wanted - found if not (path in folders and any(f.startswith(path) for f in found)))
    problems = [f"touches {path}, which {toy['recipe']} does not name" for path in unsaid]
    return problems + [f"does not touch {path}, which {toy['recipe']} names" for path in idle]


def misplaced(root: Path, toy: dict) -> list[str]:
    """Files that are there already or are not there, and anchors that are not found once."""
    problems = [f"{part['path']} is there already" for part in toy.get("file", []) if (root / part["path"]).exists()]
    problems += [f"{path} is not there to be blessed" for path in toy.get("blessed", []) if not (root / path).exists()]
    for part in toy.get("edit", []):
        path = root / part["path"]
        count = path.read_text().count(part["after"]) if path.exists() else 0
        if count != 1:
            problems.append(f"{part['path']}: {count} times {part['after'].strip()!r} (wanted once)")
    return problems


def check(root: Path) -> list[str]:
    """One message for each difference between a recipe, its toys and the tree."""
    toys = read(root)
    problems = []
    for name, toy in toys.items():
        recipe = root / RECIPES / toy["recipe"].partition("#")[0]
        text = recipe.read_text() if recipe.exists() else ""
        problems += [f"{TOYS}/{name}: {problem}" for problem in differences(toy, text) + misplaced(root, toy)]
    played = {toy["recipe"] for toy in toys.values()}
    for recipe in sorted((root / RECIPES).glob("add-*.md")):
        wanted = {f"{recipe.name}#{title}".rstrip("#") for title in sections(recipe.read_text())}
        if recipe.name not in WITHOUT_TOY:
            problems += [f"{RECIPES}/{missing}: no toy in {TOYS} executes it" for missing in sorted(wanted - played)]
    return problems


def apply(root: Path, toy: dict, newest: float) -> None:
    """Carries out what a toy of this age says; a file is as new as its text, so that a second check is a short one."""
    for part in toy.get("file", []) + toy.get("edit", []):
        path = root / part["path"]
        changed = max(newest, path.stat().st_mtime if path.exists() else 0)
        path.parent.mkdir(parents=True, exist_ok=True)
        if "text" in part:
            path.write_text(part["text"])
        else:
            put = [part["insert"], part["after"]] if part.get("before") else [part["after"], part["insert"]]
            path.write_text(path.read_text().replace(part["after"], "".join(put), 1))
        os.utime(path, (changed, changed))


def copied(root: Path, target: Path) -> Path:
    """A copy of the tree below the target folder, with the times of its files."""
    copy = target / "recipes"
    shutil.rmtree(copy, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=root, check=True, capture_output=True
    )
    for name in listed.stdout.decode().split("\0"):
        if name and (root / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, copy / name)
    return copy


def said(tree: Path) -> list[str]:
    """What the checkers of a tree say of it."""
    ran = [
        subprocess.run([sys.executable, tree / "scripts" / name], capture_output=True, check=False) for name in CHECKERS
    ]
    return [line for checker in ran for line in checker.stderr.decode().splitlines()]


def new_problems(root: Path, copy: Path) -> list[str]:
    """What is wrong with the copy and not with the tree; lines may have moved."""
    old = {re.sub(r":\d+:", ":", problem) for problem in said(root)}
    return [problem for problem in said(copy) if re.sub(r":\d+:", ":", problem) not in old]


def compiled(root: Path, more: list[str]) -> int:
    """Applies all toys to a copy and type-checks it, after the other checkers have read it."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target")).resolve()
    copy = copied(root, target)
    toys = read(root)
    for name, toy in toys.items():
        apply(copy, toy, (root / TOYS / name).stat().st_mtime)
    print(f"check_recipes: {len(toys)} toys applied in {copy}", flush=True)
    brought = new_problems(root, copy)
    for problem in brought:
        print(problem, file=sys.stderr)
    command = ["cargo", "check", "--workspace", "--all-targets", *more]
    built = subprocess.run(
        command, cwd=copy, env=os.environ | {"CARGO_TARGET_DIR": str(target)}, check=False
    ).returncode
    print(f"check_recipes: {'the tree with all toys type-checks' if not built else 'the recipes leave something out'}")
    return 1 if built or brought else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--compile"]:
        sys.exit(compiled(Path(__file__).resolve().parent.parent, sys.argv[2:]))
    sys.exit(report(check, "every recipe names the files that its toy touches"))
